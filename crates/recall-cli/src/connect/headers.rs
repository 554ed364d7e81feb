//! The headers by which HTTP repeats what a message without a handshake says; standard input has
//! none.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use serde_json::Value;

const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
static VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
static METHOD: HeaderName = HeaderName::from_static("mcp-method");
static NAME: HeaderName = HeaderName::from_static("mcp-name");

/// What is repeated in headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repeated {
    version: String,
    method: String,
    name: Option<String>,
}

/// What a message says about itself; `None` if it claims no revision.
pub(super) fn repeated(method: &str, params: &Value) -> Option<Repeated> {
    let version = params["_meta"][VERSION_KEY].as_str()?;
    let member = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        _ => "",
    };
    Some(Repeated {
        version: version.to_owned(),
        method: method.to_owned(),
        name: params[member].as_str().map(str::to_owned),
    })
}

impl Repeated {
    pub(super) fn to_headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let both = HeaderValue::from_static("application/json, text/event-stream");
        headers.insert(header::ACCEPT, both);
        let name = self.name.as_ref();
        for (name, value) in [
            (&VERSION, Some(&self.version)),
            (&METHOD, Some(&self.method)),
            (&NAME, name),
        ] {
            if let Some(value) = value.and_then(|value| HeaderValue::try_from(spelt(value)).ok()) {
                headers.insert(name, value);
            }
        }
        headers
    }
}

/// Plain where a header can hold it, else encoded.
fn spelt(text: &str) -> String {
    let plain = text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
        && text.trim_matches(' ') == text
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    match plain {
        true => text.to_owned(),
        false => format!("=?base64?{}?=", STANDARD.encode(text)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(method: &str, params: &Value, expected: Option<[&str; 3]>) {
        let found = repeated(method, params).map(|repeated| repeated.to_headers());
        let read = |name: &HeaderName| {
            let headers = found.as_ref().expect("headers");
            let value = headers.get(name).map(|value| value.to_str().expect("text"));
            value.unwrap_or_default()
        };
        match expected {
            None => assert_eq!(found, None, "{params}"),
            Some(expected) => assert_eq!([&VERSION, &METHOD, &NAME].map(read), expected),
        }
    }

    #[test]
    fn only_what_a_message_claims_is_repeated() {
        let meta = json!({ VERSION_KEY: "2026-07-28" });
        check("tools/list", &json!({}), None);
        check("tools/list", &Value::Null, None);
        check("tools/list", &json!({ "_meta": { VERSION_KEY: 7 } }), None);
        let list = json!({ "_meta": meta, "name": "not asked for" });
        check("tools/list", &list, Some(["2026-07-28", "tools/list", ""]));
        for (name, spelt) in [
            ("remember", "remember"),
            ("two words", "two words"),
            ("é", "=?base64?w6k=?="),
            (" x", "=?base64?IHg=?="),
            ("=?base64?eA==?=", "=?base64?PT9iYXNlNjQ/ZUE9PT89?="),
            ("a\nb", "=?base64?YQpi?="),
        ] {
            let call = json!({ "_meta": meta, "name": name });
            check(
                "tools/call",
                &call,
                Some(["2026-07-28", "tools/call", spelt]),
            );
        }
    }
}
