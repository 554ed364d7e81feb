//! A toy service that greets the agent who asks.

use std::sync::Arc;

use axum::routing::get;
use axum::{Extension, Router};
use recall_identity::kube::{ApiServer, ConnectError, Connection, connect};
use recall_identity::tower::AuthLayer;
use recall_identity::{AgentRule, Caller, Limits, Resolver, Rules, TenantRule};

/// The service, for pods of the cluster behind `connection`.
///
/// # Errors
///
/// If the API server cannot be reached as configured.
pub async fn service(connection: &Connection) -> Result<Router, ConnectError> {
    let rules = Rules {
        audience: "toy".to_owned(),
        tenant: TenantRule::Namespace,
        agent: AgentRule::PodName,
        cluster: None,
    };
    let api = ApiServer::new(connect(connection).await?);
    let resolver = Resolver::new(api, rules, Limits::default());
    let router = Router::new().route("/", get(hello));
    Ok(router.layer(AuthLayer::new(Arc::new(resolver))))
}

async fn hello(Extension(caller): Extension<Caller>) -> String {
    format!("hello {} of {}", caller.agent, caller.tenant)
}
