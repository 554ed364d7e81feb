//! JSON-RPC messages as they come in.

use serde_json::{Map, Value};

use super::failure::Failure;
use crate::body::{self, describe};

/// The key of a request's own metadata that names the revision it speaks.
pub(super) const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
/// The key under which it says what the client can do.
pub(super) const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";

/// A request, or a notification if it has no id.
#[derive(Debug)]
pub(super) struct Incoming {
    /// Any JSON value, `null` included: it is echoed.
    pub(super) id: Option<Value>,
    pub(super) method: String,
    pub(super) params: Option<Value>,
    /// Whether it says `"jsonrpc": "2.0"`.
    pub(super) versioned: bool,
}

impl Incoming {
    /// Reads one message. Batches are not part of the protocol.
    pub(super) fn parse(body: &[u8]) -> Result<Self, Failure> {
        body::shallow(body).map_err(|error| Failure::parse(error.message))?;
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
            versioned: object
                .get("jsonrpc")
                .is_some_and(|version| version == "2.0"),
        })
    }

    /// Whether its id is one by the letter of the protocol.
    pub(super) fn is_named(&self) -> bool {
        self.id.as_ref().is_some_and(names)
    }

    /// A member of the parameters.
    pub(super) fn param(&self, name: &str) -> Option<&Value> {
        self.params.as_ref()?.get(name)
    }

    /// The request's metadata.
    pub(super) fn meta(&self) -> Option<&Map<String, Value>> {
        self.param("_meta")?.as_object()
    }

    /// The revision that the request's metadata claims, whatever it is.
    pub(super) fn claim(&self) -> Option<&Value> {
        self.meta()?.get(VERSION_KEY)
    }
}

/// Whether a value can be the id of a request.
pub(super) fn names(id: &Value) -> bool {
    id.is_string() || id.is_i64() || id.is_u64()
}
