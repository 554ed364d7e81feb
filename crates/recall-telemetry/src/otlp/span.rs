//! One span, and how it is written.
//!
//! What it says is written as JSON when it is said: nothing is kept in another shape first.

use std::fmt::{self, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::json::{shown, string};

/// What the sender names the kind of a span by.
const INTERNAL: u8 = 1;
const SERVER: u8 = 2;
/// A status that is an error.
const ERROR: u8 = 2;
/// Room for what most spans say.
const ROOM_BYTES: usize = 1024;
/// Room for most batches.
const USUAL_BYTES: usize = 1024 * 1024;

/// An id in hexadecimal digits, as it is written: 32 of a trace, 16 of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HexId<const DIGITS: usize>([u8; DIGITS]);

pub(super) type TraceId = HexId<32>;
pub(super) type SpanId = HexId<16>;

impl<const DIGITS: usize> HexId<DIGITS> {
    /// The id that `text` is, if it is one.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let digits = text.as_bytes().try_into().ok()?;
        let hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        hex.then_some(Self(digits))
    }

    pub(super) fn as_str(&self) -> &str {
        str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl SpanId {
    pub(super) fn of(number: u64) -> Self {
        let mut digits = [0; 16];
        let written = hex::encode_to_slice(number.to_be_bytes(), &mut digits);
        debug_assert!(written.is_ok(), "two digits a byte");
        Self(digits)
    }
}

impl TraceId {
    pub(super) fn of(high: u64, low: u64) -> Self {
        let mut digits = [0; 32];
        digits[..16].copy_from_slice(&SpanId::of(high).0);
        digits[16..].copy_from_slice(&SpanId::of(low).0);
        Self(digits)
    }
}

/// A span that is open.
#[derive(Debug)]
pub(super) struct Span {
    pub(super) trace_id: TraceId,
    pub(super) span_id: SpanId,
    pub(super) parent_id: Option<SpanId>,
    name: &'static str,
    /// Whether it stands for a request from outside.
    serves: bool,
    began: SystemTime,
    /// Members of a JSON array.
    attributes: String,
    failed: bool,
    /// Whether its trace is sent after all.
    pub(super) sent: bool,
}

impl Span {
    pub(super) fn new(
        name: &'static str,
        trace_id: TraceId,
        span_id: SpanId,
        began: SystemTime,
    ) -> Self {
        Self {
            trace_id,
            span_id,
            parent_id: None,
            name,
            serves: false,
            began,
            attributes: String::with_capacity(ROOM_BYTES),
            failed: false,
            sent: true,
        }
    }

    /// It stands for a request from outside.
    pub(super) fn serves(mut self) -> Self {
        self.serves = true;
        self
    }

    /// The operation failed.
    pub(super) fn fail(&mut self) {
        self.failed = true;
    }

    pub(super) fn put(&mut self, key: &str, value: Typed<'_>) {
        let written = self.write_attribute(key, value);
        debug_assert!(written.is_ok(), "a String takes everything");
    }

    fn write_attribute(&mut self, key: &str, value: Typed<'_>) -> fmt::Result {
        let out = &mut self.attributes;
        if !out.is_empty() {
            out.push(',');
        }
        out.push_str(r#"{"key":"#);
        string(out, key)?;
        out.push_str(r#","value":{"#);
        match value {
            Typed::Bool(flag) => write!(out, r#""boolValue":{flag}"#)?,
            // Numbers of 64 bits are texts in OTLP's JSON.
            Typed::Unsigned(number) => write!(out, r#""intValue":"{number}""#)?,
            Typed::Signed(number) => write!(out, r#""intValue":"{number}""#)?,
            Typed::Double(number) if number.is_finite() => {
                write!(out, r#""doubleValue":{number:?}"#)?;
            }
            Typed::Double(number) => write!(out, r#""stringValue":"{number}""#)?,
            Typed::Text(text) => {
                out.push_str(r#""stringValue":"#);
                string(out, text)?;
            }
            Typed::Shown(value) => {
                out.push_str(r#""stringValue":"#);
                shown(out, format_args!("{value:?}"))?;
            }
        }
        out.push_str("}}");
        Ok(())
    }

    /// Writes the span as a collector takes it.
    pub(super) fn finish(&self, out: &mut String, ended: SystemTime) {
        let written = self.write(out, ended);
        debug_assert!(written.is_ok(), "a String takes everything");
    }

    fn write(&self, out: &mut String, ended: SystemTime) -> fmt::Result {
        let kind = if self.serves { SERVER } else { INTERNAL };
        write!(
            out,
            r#"{{"traceId":"{}","spanId":"{}","#,
            self.trace_id.as_str(),
            self.span_id.as_str()
        )?;
        if let Some(parent) = &self.parent_id {
            write!(out, r#""parentSpanId":"{}","#, parent.as_str())?;
        }
        out.push_str(r#""name":"#);
        string(out, self.name)?;
        write!(
            out,
            r#","kind":{kind},"startTimeUnixNano":"{}","endTimeUnixNano":"{}","attributes":[{}]"#,
            nanos(self.began),
            nanos(ended),
            self.attributes
        )?;
        if self.failed {
            write!(out, r#","status":{{"code":{ERROR}}}"#)?;
        }
        out.push('}');
        Ok(())
    }
}

/// A value of an attribute.
#[derive(Clone, Copy)]
pub(super) enum Typed<'a> {
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    Double(f64),
    Text(&'a str),
    /// By what it shows of itself.
    Shown(&'a dyn fmt::Debug),
}

/// A batch as a collector takes it, of finished spans.
#[derive(Debug)]
pub(super) struct Batch {
    body: String,
    head: usize,
    count: usize,
}

impl Batch {
    /// One with nothing in it. `version` is the service's own.
    pub(super) fn new(version: &str) -> Self {
        let resource = serde_json::json!([
            { "key": "service.name", "value": { "stringValue": "recall-server" } },
            { "key": "service.version", "value": { "stringValue": version } },
        ]);
        let body = format!(
            r#"{{"resourceSpans":[{{"resource":{{"attributes":{resource}}},"scopeSpans":[{{"scope":{{"name":"recall"}},"spans":["#
        );
        Self {
            head: body.len(),
            body,
            count: 0,
        }
    }

    /// Adds a span, which `write` appends as JSON.
    pub(super) fn push(&mut self, write: impl FnOnce(&mut String)) {
        if self.count > 0 {
            self.body.push(',');
        }
        write(&mut self.body);
        self.count += 1;
    }

    /// How many spans are in it.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The whole of it.
    pub(super) fn end(&mut self) -> &str {
        self.body.push_str("]}]}]}");
        &self.body
    }

    /// Takes everything out, and gives back what room an unusual one took.
    pub(super) fn clear(&mut self) {
        self.body.truncate(self.head);
        self.body.shrink_to(USUAL_BYTES);
        self.count = 0;
    }
}

fn nanos(at: SystemTime) -> u128 {
    at.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn an_id_has_its_digits_and_no_other() {
        assert!(TraceId::parse(&"0a".repeat(16)).is_some());
        for text in [
            "",
            "0a",
            &"0a".repeat(17),
            &"xy".repeat(16),
            &"é".repeat(16),
        ] {
            assert!(TraceId::parse(text).is_none(), "{text}");
        }
        let id = TraceId::of(1, 0xABC);
        assert_eq!(id.as_str(), "00000000000000010000000000000abc");
        assert_eq!(TraceId::parse(id.as_str()), Some(id));
    }

    #[test]
    fn a_batch_is_what_a_collector_takes() {
        let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        let mut span = Span::new("request", TraceId::of(1, 2), SpanId::of(3), at(4)).serves();
        span.parent_id = Some(SpanId::of(5));
        span.put("flag", Typed::Bool(true));
        span.put("many", Typed::Unsigned(u64::MAX));
        span.put("less", Typed::Signed(-1));
        span.put("part", Typed::Double(0.5));
        span.put("none", Typed::Double(f64::NAN));
        span.put("text", Typed::Text("a \"b\"\n"));
        span.put("shown", Typed::Shown(&"c"));
        span.fail();
        let below = Span::new("below", TraceId::of(1, 2), SpanId::of(6), at(4));
        let mut batch = Batch::new("1.0 \"beta\"");
        for _ in 0..2 {
            batch.clear();
            batch.push(|out| span.finish(out, at(5)));
            batch.push(|out| below.finish(out, at(5)));
            assert_eq!(batch.count(), 2);
        }
        let body: Value = serde_json::from_str(batch.end()).expect("JSON");
        let expected = json!({ "resourceSpans": [{
            "resource": { "attributes": [
                { "key": "service.name", "value": { "stringValue": "recall-server" } },
                { "key": "service.version", "value": { "stringValue": "1.0 \"beta\"" } },
            ] },
            "scopeSpans": [{ "scope": { "name": "recall" }, "spans": [
                {
                    "traceId": "00000000000000010000000000000002",
                    "spanId": "0000000000000003",
                    "parentSpanId": "0000000000000005",
                    "name": "request", "kind": 2,
                    "startTimeUnixNano": "4000000000", "endTimeUnixNano": "5000000000",
                    "attributes": [
                        { "key": "flag", "value": { "boolValue": true } },
                        { "key": "many", "value": { "intValue": "18446744073709551615" } },
                        { "key": "less", "value": { "intValue": "-1" } },
                        { "key": "part", "value": { "doubleValue": 0.5 } },
                        { "key": "none", "value": { "stringValue": "NaN" } },
                        { "key": "text", "value": { "stringValue": "a \"b\"\n" } },
                        { "key": "shown", "value": { "stringValue": "\"c\"" } },
                    ],
                    "status": { "code": 2 },
                },
                {
                    "traceId": "00000000000000010000000000000002",
                    "spanId": "0000000000000006",
                    "name": "below", "kind": 1,
                    "startTimeUnixNano": "4000000000", "endTimeUnixNano": "5000000000",
                    "attributes": [],
                },
            ] }],
        }] });
        assert_eq!(body, expected);
    }
}
