//! What the client is told when the server's answer is no answer to its message.

use http::StatusCode;
use serde_json::{Value, json};

use super::message::Message;
use crate::client::Answer;
use crate::credential::Failure;

/// A JSON-RPC error as a line; `id` as it was written.
pub(super) fn line(id: &str, error: &Value) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}")
}

/// The error for a line that is no message.
pub(super) fn malformed(why: &str) -> String {
    line("null", &json!({ "code": -32700, "message": why }))
}

/// The error for a refusal over HTTP.
pub(super) fn refused(message: &Message, answer: &Answer) -> Value {
    let (code, text) = answer.error();
    let status = answer.status.as_u16();
    if message.stateless.is_some() {
        return stateless(&text, &json!({ "status": status, "code": code }));
    }
    let number = if answer.status == StatusCode::UNAUTHORIZED {
        -32001
    } else {
        -32000
    };
    json!({ "code": number, "message": format!("HTTP {status}: {text} ({code})") })
}

/// The error for a call that reached nobody, or for which there is no key.
pub(super) fn unsent(message: &Message, failure: &Failure) -> Value {
    match message.stateless {
        Some(_) => stateless(&failure.message, &json!({ "code": failure.code })),
        None => json!({ "code": -32000, "message": failure.message }),
    }
}

/// A client that asks what this is gives up soon, and must get an answer before.
pub(super) fn not_ready() -> Value {
    let text = "the server or the right to use it is not there yet; try again";
    stateless(text, &json!({ "code": "transport_error" }))
}

fn stateless(text: &str, data: &Value) -> Value {
    json!({ "code": -32603, "message": text, "data": data })
}

/// A JSON-RPC error of the server as a line. One that names no call, because the server could not read
/// the message as far as that, names the call that it answers: the client waits for its id.
pub(super) fn under(message: &Message, body: &[u8]) -> String {
    let answer: Value = serde_json::from_slice(body).unwrap_or_default();
    match &message.id {
        Some(id) if answer["id"].is_null() => line(id, &answer["error"]),
        _ => super::one_line(body),
    }
}

/// Whether a body is a JSON-RPC error that speaks for itself.
pub(super) fn is_json_rpc(body: &[u8]) -> bool {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    body["jsonrpc"] == "2.0" && body["error"]["code"].is_i64()
}
