//! The revisions with a handshake, and clients that claim no revision: as the published clients
//! need it, to the byte.

use std::sync::Arc;

use recall_keys::Grant;
use serde_json::{Value, json};
use tracing::Instrument;

use super::call::{self, UnknownTool};
use super::failure::Failure;
use super::message::Incoming;
use super::process::Process;
use super::{OTHER, Outcome, instructions, revision, tools};
use crate::auth;
use crate::error::ApiError;
use crate::state::Api;
use crate::trace;

const METHODS: &str = "initialize, ping, tools/list and tools/call";

pub(super) async fn answer(
    api: &Api,
    grant: &Arc<Grant>,
    process: Process,
    message: Incoming,
) -> Result<Outcome, ApiError> {
    trace::mcp(known(&message.method), None);
    match message.method.as_str() {
        "initialize" => initialize(api, grant, message.param("protocolVersion"))
            .await
            .map(Ok),
        "ping" => Ok(Ok(json!({}))),
        "tools/list" => Ok(Ok(json!({ "tools": tools::list(api, grant) }))),
        "tools/call" => match message.params {
            Some(Value::Object(params)) if params.get("name").is_none_or(Value::is_string) => {
                let (api, grant) = (api.clone(), Arc::clone(grant));
                // Here a client that hangs up has not called anything off: what it began runs to
                // its end.
                let call = async move { call::call(&api, &grant, &process, params).await };
                let call = tokio::spawn(call.in_current_span());
                finished(call.await)
            }
            Some(Value::Object(_)) => Ok(Err(Failure::invalid_params("name: must be a string"))),
            Some(_) | None => Ok(Err(Failure::invalid_params(
                "params: must be an object with a name",
            ))),
        },
        _ => Ok(Err(Failure::method_not_found(METHODS))),
    }
}

/// The method by a name of ours, however it is spelt.
fn known(method: &str) -> &'static str {
    let known = ["initialize", "ping", "tools/list", "tools/call"];
    known.into_iter().find(|it| *it == method).unwrap_or(OTHER)
}

type Called = Result<Result<Value, UnknownTool>, ApiError>;

fn finished(call: Result<Called, tokio::task::JoinError>) -> Result<Outcome, ApiError> {
    match call {
        Ok(Ok(Ok(result))) => Ok(Ok(result)),
        Ok(Ok(Err(unknown))) => Ok(Ok(call::refusal(&unknown.to_string()))),
        Ok(Err(error)) => Err(error),
        Err(error) => {
            tracing::error!(%error, "a tool call failed");
            Ok(Err(Failure::internal()))
        }
    }
}

async fn initialize(api: &Api, grant: &Grant, asked: Option<&Value>) -> Result<Value, ApiError> {
    let asked = asked.filter(|asked| !asked.is_null()).map(Value::as_str);
    Ok(json!({
        "protocolVersion": revision::settle(asked),
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "recall", "version": api.version },
        "instructions": instructions::text(api, auth::namespace(grant)?).await?,
    }))
}
