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
mod revision;
mod stateless;
mod tools;

pub(crate) use tools::schemas as tool_schemas;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderValue, Method, StatusCode};
use serde_json::{Value, json};

use crate::auth;
use crate::body;
use crate::error::ApiError;
use crate::state::{Api, MAX_BODY_BYTES};

use era::Era;
use failure::Failure;
use message::Incoming;

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
    let headers = request.headers().clone();
    let body = body::read(request, MAX_BODY_BYTES).await?;
    let message = match Incoming::parse(&body) {
        Ok(message) => message,
        Err(failure) => return Ok(respond(failure.status, Some(&Value::Null), Err(failure))),
    };
    drop(body);
    let Some(id) = message.id.clone() else {
        return Ok(StatusCode::ACCEPTED.into_response());
    };
    // What a client asks first, to find out what this is, is never counted.
    if message.method != "server/discover" {
        api.bounds.call(&grant)?;
    }
    match Era::of(&message, &headers) {
        Ok(Era::Handshake) => {
            let outcome = handshake::answer(&api, &grant, message).await?;
            Ok(respond(StatusCode::OK, Some(&id), outcome))
        }
        Ok(Era::Stateless) => {
            let outcome = stateless::answer(&api, &grant, &headers, message).await?;
            Ok(respond_stateless(&id, outcome))
        }
        Err(failure) => Ok(respond_stateless(&id, Err(failure))),
    }
}

/// Each failure has a status of its own, and an id that is none is left out.
fn respond_stateless(id: &Value, outcome: Outcome) -> Response {
    let status = match &outcome {
        Ok(_) => StatusCode::OK,
        Err(failure) => failure.status,
    };
    let id = message::names(id).then_some(id);
    respond(status, id, outcome)
}

fn respond(status: StatusCode, id: Option<&Value>, outcome: Outcome) -> Response {
    let mut answer = json!({ "jsonrpc": "2.0" });
    if let Some(id) = id {
        answer["id"] = id.clone();
    }
    match outcome {
        Ok(result) => answer["result"] = result,
        Err(failure) => answer["error"] = failure.to_json(),
    }
    let mut response = (status, Bytes::from(answer.to_string())).into_response();
    let kind = HeaderValue::from_static("application/json");
    response
        .headers_mut()
        .insert(http::header::CONTENT_TYPE, kind);
    response
}
