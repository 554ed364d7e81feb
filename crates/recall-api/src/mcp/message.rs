//! JSON-RPC messages as they come in.

use serde_json::Value;

use crate::body::describe;

/// A request, or a notification if it has no id.
#[derive(Debug)]
pub(super) struct Incoming {
    /// Any JSON value, `null` included: it is echoed.
    pub(super) id: Option<Value>,
    pub(super) method: String,
    pub(super) params: Option<Value>,
}

/// A JSON-RPC error.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) code: i32,
    pub(super) message: String,
}

/// What a method answers.
pub(super) type Outcome = Result<Value, Failure>;

impl Failure {
    fn parse(message: impl Into<String>) -> Self {
        Self {
            code: -32700,
            message: message.into(),
        }
    }

    pub(super) fn invalid_params(message: impl Into<String>) -> Self {
        Self {
            code: -32602,
            message: message.into(),
        }
    }

    pub(super) fn method_not_found() -> Self {
        let message = "this server has no such method; it serves initialize, ping, tools/list and \
                       tools/call";
        Self {
            code: -32601,
            message: message.to_owned(),
        }
    }
}

impl Incoming {
    /// Reads one message. Batches are not part of the protocol.
    pub(super) fn parse(body: &[u8]) -> Result<Self, Failure> {
        let value: Value =
            serde_json::from_slice(body).map_err(|error| Failure::parse(describe(&error)))?;
        let Value::Object(mut object) = value else {
            let what = if value.is_array() {
                "batches are not supported: "
            } else {
                ""
            };
            return Err(Failure::parse(format!("{what}send one JSON-RPC object")));
        };
        let method = match object.remove("method") {
            Some(Value::String(method)) => method,
            None => String::new(),
            Some(_) => return Err(Failure::parse("method: must be a string")),
        };
        let params = object.remove("params").filter(|params| !params.is_null());
        Ok(Self {
            id: object.remove("id"),
            method,
            params,
        })
    }
}
