//! JSON-RPC errors.

use http::StatusCode;
use serde_json::{Value, json};

use super::revision;

/// A JSON-RPC error, and the HTTP status it has where the revision gives it one.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) code: i32,
    pub(super) message: String,
    pub(super) data: Option<Value>,
    pub(super) status: StatusCode,
}

impl Failure {
    fn new(status: StatusCode, code: i32, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
            status,
        }
    }

    pub(super) fn parse(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, -32700, message)
    }

    pub(super) fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, -32600, message)
    }

    /// `served` are the methods of the revision that is spoken.
    pub(super) fn method_not_found(served: &str) -> Self {
        let message = format!("this server has no such method; it serves {served}");
        Self::new(StatusCode::NOT_FOUND, -32601, message)
    }

    /// What a method refuses about its parameters.
    pub(super) fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(StatusCode::OK, -32602, message)
    }

    /// A request that does not say what it speaks and can.
    pub(super) fn incomplete_metadata(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, -32602, message)
    }

    pub(super) fn internal() -> Self {
        let message = "this server failed at it; its log says why";
        Self::new(StatusCode::OK, -32603, message)
    }

    pub(super) fn header_mismatch(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, -32020, message)
    }

    pub(super) fn unsupported_version(requested: &str) -> Self {
        let requested: String = requested.chars().take(64).collect();
        let message = "this server does not speak this revision of the protocol";
        Self {
            data: Some(json!({ "supported": revision::ALL, "requested": requested })),
            ..Self::new(StatusCode::BAD_REQUEST, -32022, message)
        }
    }

    pub(super) fn to_json(&self) -> Value {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let Some(data) = &self.data {
            error["data"] = data.clone();
        }
        error
    }
}
