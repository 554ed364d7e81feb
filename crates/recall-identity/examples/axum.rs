//! An axum service that only pods of one cluster may use, and that knows which agent asks.
//!
//! In a pod: `cargo run --example axum --features kube,tower`.

use std::sync::Arc;

use axum::{Extension, Router, routing::get};
use recall_identity::kube::{ApiServer, Connection, connect};
use recall_identity::tower::AuthLayer;
use recall_identity::{AgentRule, Caller, Limits, Resolver, Rules, TenantRule};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (tenant, agent) = (TenantRule::Namespace, AgentRule::PodName);
    let rules = Rules {
        audience: "toy".to_owned(),
        tenant,
        agent,
        cluster: None,
    };
    rules.check()?;
    let api = ApiServer::new(connect(&Connection::default()).await?);
    let auth = AuthLayer::new(Arc::new(Resolver::new(api, rules, Limits::default())));
    let hello = async |Extension(caller): Extension<Caller>| format!("hello {}", caller.agent);
    let app = Router::new().route("/", get(hello)).layer(auth);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8000").await?;
    axum::serve(listener, app).await?;
    Ok(())
}
