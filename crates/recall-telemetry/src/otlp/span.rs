//! One finished span, and how it is written.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

/// What the sender names the kind of a span by.
const INTERNAL: u8 = 1;
const SERVER: u8 = 2;
/// A status that is an error.
const ERROR: u8 = 2;

#[derive(Debug, Clone)]
pub(super) struct Span {
    pub(super) trace_id: String,
    pub(super) span_id: String,
    pub(super) parent_id: Option<String>,
    pub(super) name: &'static str,
    /// Whether it stands for a request from outside.
    pub(super) serves: bool,
    pub(super) began: SystemTime,
    pub(super) ended: SystemTime,
    pub(super) attributes: Vec<(&'static str, Value)>,
    pub(super) failed: bool,
}

impl Span {
    fn to_json(&self) -> Value {
        let attributes: Vec<_> = self
            .attributes
            .iter()
            .map(|(key, value)| json!({ "key": key, "value": typed(value) }))
            .collect();
        let mut span = json!({
            "traceId": self.trace_id,
            "spanId": self.span_id,
            "name": self.name,
            "kind": if self.serves { SERVER } else { INTERNAL },
            "startTimeUnixNano": nanos(self.began),
            "endTimeUnixNano": nanos(self.ended),
            "attributes": attributes,
        });
        if let Some(parent) = &self.parent_id {
            span["parentSpanId"] = parent.as_str().into();
        }
        if self.failed {
            span["status"] = json!({ "code": ERROR });
        }
        span
    }
}

/// A batch as a collector takes it.
pub(super) fn request(spans: &[Span], version: &str) -> Value {
    let spans: Vec<_> = spans.iter().map(Span::to_json).collect();
    let resource = json!([
        { "key": "service.name", "value": { "stringValue": "recall-server" } },
        { "key": "service.version", "value": { "stringValue": version } },
    ]);
    let scope = json!({ "scope": { "name": "recall" }, "spans": spans });
    json!({ "resourceSpans": [{ "resource": { "attributes": resource }, "scopeSpans": [scope] }] })
}

/// Numbers of 64 bits are texts in OTLP's JSON.
fn typed(value: &Value) -> Value {
    match value {
        Value::Bool(flag) => json!({ "boolValue": flag }),
        Value::Number(number) if number.is_f64() => json!({ "doubleValue": number }),
        Value::Number(number) => json!({ "intValue": number.to_string() }),
        Value::String(text) => json!({ "stringValue": text }),
        other => json!({ "stringValue": other.to_string() }),
    }
}

fn nanos(at: SystemTime) -> String {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_nanos().to_string()
}
