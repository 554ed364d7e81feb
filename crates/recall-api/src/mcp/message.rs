//! JSON-RPC messages as they come in.

use std::collections::HashMap;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::failure::Failure;
use crate::body::{self, describe};
use crate::strict::{self, Members, Strict};

/// The key of a request's own metadata that names the revision it speaks.
pub(super) const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
/// The key under which it says what the client can do.
pub(super) const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";

/// A request, or a notification if it has no id.
#[derive(Debug)]
pub(super) struct Incoming {
    /// Any JSON value, `null` included, as it was written: a number beyond what a float holds is
    /// echoed as itself.
    pub(super) id: Option<Box<RawValue>>,
    pub(super) method: String,
    pub(super) params: Option<Value>,
    /// Whether it says `"jsonrpc": "2.0"`.
    pub(super) versioned: bool,
    /// Whether it answers a request. This server never asks one.
    pub(super) answers: bool,
}

/// Why a body is no message, and the id of the message that it would be, if that can be read.
#[derive(Debug)]
pub(super) struct Unread {
    pub(super) id: Option<Box<RawValue>>,
    pub(super) failure: Failure,
}

impl From<Failure> for Unread {
    fn from(failure: Failure) -> Self {
        Self { id: None, failure }
    }
}

type Named<'a> = HashMap<String, &'a RawValue>;

impl Incoming {
    /// Reads one message. Batches are not part of the protocol.
    pub(super) fn parse(body: &[u8]) -> Result<Self, Unread> {
        let members = members(body)?;
        let id = members.get("id").map(|id| RawValue::to_owned(id));
        if let Err(error) = body::shallow(body) {
            let failure = Failure::parse(error.message);
            return Err(Unread { id, failure });
        }
        let read = |name: &str| {
            let value = members.get(name).map(|raw| {
                let read = serde_json::from_str(raw.get());
                read.map(|Strict(value)| value)
            });
            value.transpose().map_err(|error| Unread {
                id: id.clone(),
                failure: Failure::parse(format!("{name}: {}", describe(&error))),
            })
        };
        let method = match read("method")? {
            Some(Value::String(method)) => method,
            None => String::new(),
            Some(_) => {
                let failure = Failure::parse("method: must be a string");
                return Err(Unread { id, failure });
            }
        };
        let params = read("params")?.filter(|params: &Value| !params.is_null());
        let says = |name: &str| members.contains_key(name);
        Ok(Self {
            answers: !says("method") && (says("result") || says("error")),
            versioned: read("jsonrpc")?.is_some_and(|version: Value| version == "2.0"),
            id,
            method,
            params,
        })
    }

    /// Whether its id is one by the letter of the protocol.
    pub(super) fn is_named(&self) -> bool {
        self.id.as_deref().is_some_and(names)
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

/// The members of the object that a body is, as they were written.
fn members(body: &[u8]) -> Result<Named<'_>, Unread> {
    let Members(members) = {
        let members = read_members(body)?;
        if let Some(name) = members.doubled() {
            let failure = Failure::parse(strict::doubled(name));
            let mut ids = members.0.iter().filter(|(name, _)| name == "id");
            let id = match (ids.next(), ids.next()) {
                (Some((_, id)), None) => Some(RawValue::to_owned(id)),
                _ => None,
            };
            return Err(Unread { id, failure });
        }
        members
    };
    Ok(members.into_iter().collect())
}

fn read_members(body: &[u8]) -> Result<Members<&RawValue>, Failure> {
    let first = body.iter().find(|byte| !byte.is_ascii_whitespace());
    match (first, serde_json::from_slice(body)) {
        (Some(b'{'), Ok(members)) => Ok(members),
        (Some(b'{'), Err(error)) => {
            // What nests too deeply may also end too early; the first is what there is to mend.
            body::shallow(body).map_err(|error| Failure::parse(error.message))?;
            Err(Failure::parse(describe(&error)))
        }
        (_, _) => {
            body::shallow(body).map_err(|error| Failure::parse(error.message))?;
            let value: Value =
                serde_json::from_slice(body).map_err(|error| Failure::parse(describe(&error)))?;
            let what = if value.is_array() {
                "batches are not supported: "
            } else {
                ""
            };
            Err(Failure::parse(format!("{what}send one JSON-RPC object")))
        }
    }
}

/// Whether a value can be the id of a request: a text or a whole number.
pub(super) fn names(id: &RawValue) -> bool {
    let text = id.get();
    let digits = text.strip_prefix('-').unwrap_or(text);
    text.starts_with('"') || digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body: &str, id: Option<&str>, read: bool) {
        let found = Incoming::parse(body.as_bytes());
        assert_eq!(found.is_ok(), read, "{body}: {found:?}");
        let found = match found {
            Ok(message) => message.id,
            Err(unread) => {
                assert_eq!(unread.failure.code, -32700, "{body}");
                unread.id
            }
        };
        assert_eq!(found.as_deref().map(RawValue::get), id, "{body}");
    }

    #[test]
    fn an_id_is_kept_as_it_was_written_and_read_where_it_can_be() {
        for id in [
            "1",
            "-0",
            "123456789012345678901234567890",
            "1e400",
            "0.10",
            "null",
            "{}",
            r#""\u0061""#,
        ] {
            check(&format!(r#"{{"id":{id},"method":"ping"}}"#), Some(id), true);
        }
        check(r#"{"id":1,"id":2,"method":"ping"}"#, None, false);
        check(r#"{"id":7,"method":"ping","method":"x"}"#, Some("7"), false);
        check(
            r#"{"id":7,"method":"x","params":{"a":1,"a":2}}"#,
            Some("7"),
            false,
        );
        check(r#"{"method":"ping"}"#, None, true);
        check(
            r#"{"id":7,"method":"x","params":{"a":"\ud800"}}"#,
            Some("7"),
            false,
        );
        check(
            r#"{"id":7,"method":"x","params":{"a":1e999}}"#,
            Some("7"),
            false,
        );
        let deep = "[".repeat(70) + &"]".repeat(70);
        check(&format!(r#"{{"id":7,"params":{deep}}}"#), Some("7"), false);
        check(r#"{"id":7,"method":5}"#, Some("7"), false);
        check(r#"{"id":7,"#, None, false);
        check(r#"[{"id":7,"method":"ping"}]"#, None, false);
        check(r#"{"id":7,"method":"ping"} x"#, None, false);
    }

    #[test]
    fn an_answer_is_told_from_a_request() {
        for (body, answers) in [
            (r#"{"id":1,"result":{}}"#, true),
            (r#"{"id":1,"error":{"code":1,"message":"x"}}"#, true),
            (r#"{"id":1,"method":"ping","result":{}}"#, false),
            (r#"{"id":1}"#, false),
        ] {
            let message = Incoming::parse(body.as_bytes()).expect(body);
            assert_eq!(message.answers, answers, "{body}");
        }
    }

    #[test]
    fn a_text_or_a_whole_number_can_name_a_request() {
        let named = |id: &str| names(&RawValue::from_string(id.to_owned()).expect(id));
        for good in ["1", "-1", "123456789012345678901234567890", "\"\""] {
            assert!(named(good), "{good}");
        }
        for bad in ["1.5", "1e3", "null", "{}", "[]", "true"] {
            assert!(!named(bad), "{bad}");
        }
    }
}
