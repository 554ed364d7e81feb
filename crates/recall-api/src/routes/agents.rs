//! `/v1/agents`: what an operator sees of agents, and ending a lease.

use axum::extract::Request;
use axum::response::Response;
use http::{Method, StatusCode, Uri};
use recall_agent::{Agents, Error as AgentError};
use recall_keys::Grant;
use recall_memory::Listing;
use recall_store::{AgentId, Namespace};
use serde_json::json;

use super::answer::json_response;
use super::query::{self, Query};
use crate::auth;
use crate::error::ApiError;
use crate::state::Api;

/// The most agents of one page.
pub(crate) const MAX_LISTED: u32 = 200;

/// `path` is what follows `/v1/agents/`; none for the collection.
pub(super) async fn handle(
    api: &Api,
    grant: &Grant,
    path: Option<&str>,
    request: Request,
) -> Result<Response, ApiError> {
    auth::admin(grant)?;
    let agents = api.agents.as_ref().ok_or_else(|| {
        ApiError::not_found("this server keeps no agents; one with another --backend does")
    })?;
    let (method, uri) = (request.method(), request.uri());
    let Some(path) = path else {
        return list(agents, method, uri).await;
    };
    let (name, rest) = path.split_once('/').unwrap_or((path, ""));
    let agent: AgentId = name
        .parse()
        .map_err(|error| ApiError::invalid(format!("{error}")))?;
    match rest {
        "" => show(agents, &agent, method, uri).await,
        "lease" => break_lease(agents, grant, &agent, method, uri).await,
        _ => Err(ApiError::not_found(
            "there is nothing at this path; known are /v1/agents/ID and /v1/agents/ID/lease",
        )),
    }
}

async fn list(agents: &Agents, method: &Method, uri: &Uri) -> Result<Response, ApiError> {
    only(method, &Method::GET, "GET")?;
    let mut query = Query::parse(uri)?;
    let namespace = namespace(&mut query)?;
    let limit = query.limit(MAX_LISTED)?;
    let listing = Listing::of("agents", &[Some(namespace.as_str())]);
    let cursor: Option<AgentId> = query.cursor(listing)?;
    query.nothing_left("namespace, limit, cursor")?;
    let after = cursor.as_ref().map(AgentId::as_str);
    let page = agents.list(&namespace, after, limit).await.map_err(told)?;
    let mut answer = json!({ "agents": page.agents });
    if let Some(next) = page.next {
        answer["next_cursor"] = query::next(listing, &next).into();
    }
    Ok(json_response(StatusCode::OK, &answer))
}

async fn show(
    agents: &Agents,
    agent: &AgentId,
    method: &Method,
    uri: &Uri,
) -> Result<Response, ApiError> {
    only(method, &Method::GET, "GET")?;
    let namespace = one_namespace(uri)?;
    let shown = agents.show(&namespace, agent).await.map_err(told)?;
    let missing = || ApiError::not_found("nothing was ever kept of this agent in this namespace");
    Ok(json_response(StatusCode::OK, &shown.ok_or_else(missing)?))
}

async fn break_lease(
    agents: &Agents,
    grant: &Grant,
    agent: &AgentId,
    method: &Method,
    uri: &Uri,
) -> Result<Response, ApiError> {
    only(method, &Method::DELETE, "DELETE")?;
    let namespace = one_namespace(uri)?;
    let broken = agents.break_lease(&namespace, agent).await.map_err(told)?;
    tracing::info!(
        target: "recall::audit",
        decision = if broken.is_some() { "lease_broken" } else { "lease_was_free" },
        by = grant.key.as_ref().map(|id| id.as_str()),
        namespace = namespace.as_str(),
        agent = agent.as_str(),
        holder = broken.as_ref().and_then(|lease| lease["holder"].as_str()),
        epoch = broken.as_ref().and_then(|lease| lease["epoch"].as_u64()),
        "lease ended by an operator"
    );
    let answer = json!({ "broken": broken.is_some(), "lease": broken });
    Ok(json_response(StatusCode::OK, &answer))
}

fn only(method: &Method, allowed: &Method, allow: &'static str) -> Result<(), ApiError> {
    match method == allowed {
        true => Ok(()),
        false => Err(ApiError::method_not_allowed(allow)),
    }
}

fn one_namespace(uri: &Uri) -> Result<Namespace, ApiError> {
    let mut query = Query::parse(uri)?;
    let namespace = namespace(&mut query)?;
    query.nothing_left("namespace")?;
    Ok(namespace)
}

fn namespace(query: &mut Query) -> Result<Namespace, ApiError> {
    let text = query.take("namespace").unwrap_or_default();
    text.parse()
        .map_err(|error| ApiError::invalid(format!("{error}")))
}

/// Only the store can stand in an operator's way.
fn told(error: AgentError) -> ApiError {
    match error {
        AgentError::Store(error) => error.into(),
        other => {
            tracing::error!(error = %other, "an operator's request was refused by an agent");
            ApiError::invalid(other.to_string())
        }
    }
}
