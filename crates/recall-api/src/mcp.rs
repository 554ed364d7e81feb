//! `POST /mcp`: the Model Context Protocol over plain request and response.
//!
//! Every message stands alone: no session is issued, and a tool may be called without a handshake.
//! Both eras of the protocol are served at this one address: the revisions with `initialize`
//! (2024-11-05 to 2025-11-25), and 2026-07-28, where each request says what it speaks.

mod call;
mod era;
mod failure;
#[cfg(test)]
mod fuzz;
mod handshake;
mod header;
mod instructions;
mod message;
mod process;
mod revision;
mod stateless;
mod tools;

pub(crate) use tools::schemas as tool_schemas;

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use recall_keys::Grant;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::auth;
use crate::body;
use crate::bounds;
use crate::error::ApiError;
use crate::state::{Api, MAX_BODY_BYTES};
use crate::trace;

use era::Era;
use failure::Failure;
use message::{Incoming, Unread};
use process::Process;

/// What traces call a method that the server does not have.
const OTHER: &str = "_OTHER";

/// What a method answers.
type Outcome = Result<Value, Failure>;

pub(crate) async fn handle(State(api): State<Api>, request: Request) -> Result<Response, ApiError> {
    api.hosts.check(request.headers(), request.uri())?;
    let grant = auth::grant(&api, request.headers()).await?;
    auth::namespace(&grant)?;
    match *request.method() {
        Method::POST => {}
        // Nothing is kept for a session, so there is nothing to end.
        Method::DELETE => return Ok(StatusCode::OK.into_response()),
        _ => return Err(ApiError::method_not_allowed("POST, DELETE")),
    }
    let answer = message(&api, &grant, request).await;
    Ok(bounds::with_standing(answer, api.bounds.standing(&grant)))
}

async fn message(api: &Api, grant: &Arc<Grant>, request: Request) -> Result<Response, ApiError> {
    let headers = request.headers().clone();
    let body = body::read(request, MAX_BODY_BYTES).await?;
    let message = match Incoming::parse(&body) {
        Ok(message) => message,
        Err(Unread { id, failure }) => {
            let id = id.as_deref().unwrap_or(RawValue::NULL);
            return Ok(respond(failure.status, Some(id), Err(failure)));
        }
    };
    drop(body);
    let id = match message.id.clone() {
        Some(id) if !message.answers => id,
        // Neither a notification nor an answer, to what was never asked, is answered.
        Some(_) | None => return Ok(StatusCode::ACCEPTED.into_response()),
    };
    // What a client asks first, to find out what this is, is never counted.
    if message.method != "server/discover" {
        api.bounds.call(grant)?;
    }
    note_trace(api, &headers, &message);
    let process = Process::of(&headers)?;
    match Era::of(&message, &headers) {
        Ok(Era::Handshake) => {
            let outcome = handshake::answer(api, grant, process, message).await?;
            Ok(respond(StatusCode::OK, Some(&id), outcome))
        }
        Ok(Era::Stateless) => {
            let outcome = stateless::answer(api, grant, (&headers, process), message).await?;
            Ok(respond_stateless(&id, outcome))
        }
        Err(failure) => Ok(respond_stateless(&id, Err(failure))),
    }
}

/// A client that cannot set headers, such as one behind the bridge, names its trace in the metadata.
fn note_trace(api: &Api, headers: &HeaderMap, message: &Incoming) {
    if trace::of(headers).is_some() {
        return;
    }
    let parent = message.meta().and_then(|meta| meta.get("traceparent"));
    if let Some(parent) = parent.and_then(Value::as_str).and_then(trace::read) {
        parent.note(&tracing::Span::current(), api.traces.as_ref());
    }
}

/// Each failure has a status of its own, and an id that is none is left out.
fn respond_stateless(id: &RawValue, outcome: Outcome) -> Response {
    let status = match &outcome {
        Ok(_) => StatusCode::OK,
        Err(failure) => failure.status,
    };
    respond(status, message::names(id).then_some(id), outcome)
}

fn respond(status: StatusCode, id: Option<&RawValue>, outcome: Outcome) -> Response {
    let id = id.map(|id| format!("\"id\":{},", id.get()));
    let id = id.unwrap_or_default();
    let outcome = match outcome {
        Ok(result) => format!("\"result\":{result}"),
        Err(failure) => format!("\"error\":{}", failure.to_json()),
    };
    let answer = format!("{{\"jsonrpc\":\"2.0\",{id}{outcome}}}");
    let mut response = (status, Bytes::from(answer)).into_response();
    let kind = HeaderValue::from_static("application/json");
    response
        .headers_mut()
        .insert(http::header::CONTENT_TYPE, kind);
    response
}
