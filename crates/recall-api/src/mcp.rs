//! `POST /mcp`: the Model Context Protocol over plain request and response.
//!
//! Every message stands alone: no session is issued, and a tool may be called without a handshake.
//! The revisions with `initialize` (2024-11-05 to 2025-11-25) are served; a later revision that
//! sends its own metadata is told `-32601` for what it asks first and falls back to `initialize`.

mod call;
mod instructions;
mod message;
mod tools;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderValue, Method, StatusCode, header};
use recall_keys::Grant;
use serde_json::{Map, Value, json};

use crate::auth;
use crate::body;
use crate::error::ApiError;
use crate::state::{Api, MAX_BODY_BYTES};

use message::{Failure, Incoming, Outcome};

/// The revisions that open with `initialize`, oldest first.
const REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/// What a client that names no revision gets.
const UNNAMED: &str = "2025-06-18";
/// What a client that names an unknown revision gets.
const NEWEST: &str = "2025-11-25";

pub(crate) async fn handle(State(api): State<Api>, request: Request) -> Result<Response, ApiError> {
    let grant = auth::grant(&api, request.headers()).await?;
    auth::namespace(&grant)?;
    match *request.method() {
        Method::POST => {}
        // Nothing is kept for a session, so there is nothing to end.
        Method::DELETE => return Ok(StatusCode::OK.into_response()),
        _ => return Err(ApiError::method_not_allowed("POST, DELETE")),
    }
    let body = body::read(request, MAX_BODY_BYTES).await?;
    let message = match Incoming::parse(&body) {
        Ok(message) => message,
        Err(failure) => {
            return Ok(respond(
                StatusCode::BAD_REQUEST,
                Some(&Value::Null),
                Err(failure),
            ));
        }
    };
    drop(body);
    let Some(id) = message.id.clone() else {
        return Ok(StatusCode::ACCEPTED.into_response());
    };
    let outcome = dispatch(&api, &grant, message).await?;
    Ok(respond(StatusCode::OK, Some(&id), outcome))
}

async fn dispatch(api: &Api, grant: &Grant, message: Incoming) -> Result<Outcome, ApiError> {
    match message.method.as_str() {
        "initialize" => initialize(api, grant, message.params.as_ref())
            .await
            .map(Ok),
        "ping" => Ok(Ok(json!({}))),
        "tools/list" => Ok(Ok(
            json!({ "tools": tools::list(api.memory.surface(), api.agents.is_some(), api.memory.reads_texts()) }),
        )),
        "tools/call" => match message.params {
            Some(Value::Object(params)) if params.get("name").is_none_or(Value::is_string) => {
                call::call(api, grant, params).await.map(Ok)
            }
            Some(Value::Object(_)) => Ok(Err(Failure::invalid_params("name: must be a string"))),
            Some(_) | None => Ok(Err(Failure::invalid_params(
                "params: must be an object with a name",
            ))),
        },
        _ => Ok(Err(Failure::method_not_found())),
    }
}

async fn initialize(api: &Api, grant: &Grant, params: Option<&Value>) -> Result<Value, ApiError> {
    let asked = params.and_then(|params| params.get("protocolVersion"));
    let revision = match asked {
        None | Some(Value::Null) => UNNAMED,
        Some(asked) => {
            let known = asked
                .as_str()
                .and_then(|asked| REVISIONS.iter().find(|known| **known == asked));
            known.copied().unwrap_or(NEWEST)
        }
    };
    let mut info = Map::new();
    info.insert("name".to_owned(), "recall".into());
    info.insert("version".to_owned(), api.version.into());
    Ok(json!({
        "protocolVersion": revision,
        "capabilities": { "tools": {} },
        "serverInfo": info,
        "instructions": instructions::text(api, auth::namespace(grant)?).await?,
    }))
}

fn respond(status: StatusCode, id: Option<&Value>, outcome: Outcome) -> Response {
    let mut answer = json!({ "jsonrpc": "2.0" });
    if let Some(id) = id {
        answer["id"] = id.clone();
    }
    match outcome {
        Ok(result) => answer["result"] = result,
        Err(Failure { code, message }) => {
            answer["error"] = json!({ "code": code, "message": message });
        }
    }
    let mut response = (status, Bytes::from(answer.to_string())).into_response();
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
