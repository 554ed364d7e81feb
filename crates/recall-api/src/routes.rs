//! The routes and the order in which a request is checked.

mod agents;
mod answer;
mod batch;
mod exchange;
mod keys;
mod memory;
mod query;

pub(crate) use agents::MAX_LISTED as MAX_AGENTS_LISTED;
pub(crate) use batch::MAX_ITEMS;
pub(crate) use memory::{OPERATIONS, args, call, writer};

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::any;

use crate::auth;
use crate::error::ApiError;
use crate::mcp;
use crate::openapi;
use crate::request_id;
use crate::state::Api;

/// Every route of the Memory API.
pub fn router(api: Api) -> Router {
    Router::new()
        .route("/healthz", any(|| async { "ok\n" }))
        .route("/openapi.json", any(openapi::handle))
        .route("/mcp", any(mcp::handle))
        .route("/v1/auth/kubernetes", any(exchange::handle))
        .route("/v1", any(v1))
        .route("/v1/", any(v1))
        .route("/v1/{*path}", any(v1))
        .fallback(nowhere)
        .layer(middleware::from_fn_with_state(
            api.clone(),
            request_id::layer,
        ))
        .with_state(api)
}

async fn nowhere() -> ApiError {
    ApiError::not_found("there is nothing at this path; see the routes under /v1/ and /mcp")
}

/// The key comes before anything else about the request is looked at.
async fn v1(State(api): State<Api>, request: Request) -> Response {
    let grant = match auth::grant(&api, request.headers()).await {
        Ok(grant) => grant,
        Err(error) => return error.into_response(),
    };
    let path = request
        .uri()
        .path()
        .strip_prefix("/v1/")
        .unwrap_or_default()
        .to_owned();
    let manages = ["keys", "agents"].contains(&path.split('/').next().unwrap_or_default());
    let _place = match manages {
        false => None,
        true => match api.bounds.pools.admin.enter().await {
            Ok(place) => Some(place),
            Err(error) => return error.into_response(),
        },
    };
    let answer = match path.split_once('/') {
        None if path == "agents" => agents::handle(&api, &grant, None, request).await,
        Some(("agents", rest)) => agents::handle(&api, &grant, Some(rest), request).await,
        None if path == "keys" => keys::collection(&api, &grant, request).await,
        Some(("keys", "renew")) => keys::renew(&api, &grant, request).await,
        Some(("keys", id)) => keys::one(&api, &grant, id, request.method()).await,
        None | Some(_) => memory::handle(&api, &grant, &path, request).await,
    };
    answer.into_response()
}
