//! The admin listener: is it alive, is it ready, what has it counted. Never data.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{StatusCode, header};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

/// A readiness check that takes longer has failed.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);

/// The outcome of one readiness check: ready, or the reason in one line.
pub type Readiness = Result<(), String>;

/// One thing that must work for the server to be ready.
#[derive(Clone)]
pub struct Check {
    /// What is checked, in one word.
    pub name: &'static str,
    /// Does the check.
    pub probe: Arc<dyn Fn() -> Pin<Box<dyn Future<Output = Readiness> + Send>> + Send + Sync>,
}

impl std::fmt::Debug for Check {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Check").field(&self.name).finish()
    }
}

/// What the admin routes work on.
#[derive(Debug, Clone)]
pub struct AdminState {
    /// All metrics.
    pub registry: Arc<Registry>,
    /// All readiness checks.
    pub checks: Arc<[Check]>,
}

/// `/livez`, `/readyz` and `/metrics`.
pub fn admin_router(state: AdminState) -> Router {
    Router::new()
        .route("/livez", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .with_state(state)
}

async fn ready(State(state): State<AdminState>) -> Response {
    let mut failures = String::new();
    for check in state.checks.iter() {
        let outcome = tokio::time::timeout(CHECK_TIMEOUT, (check.probe)()).await;
        let outcome = outcome.unwrap_or_else(|_| Err("no answer within 2 s".to_owned()));
        if let Err(reason) = outcome {
            failures.push_str(&format!("{}: {reason}\n", check.name));
        }
    }
    match failures.is_empty() {
        true => "ok\n".into_response(),
        false => (StatusCode::SERVICE_UNAVAILABLE, failures).into_response(),
    }
}

async fn metrics(State(state): State<AdminState>) -> Response {
    let mut text = String::new();
    match encode(&mut text, &state.registry) {
        Ok(()) => {
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            ([(header::CONTENT_TYPE, kind)], text).into_response()
        }
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
