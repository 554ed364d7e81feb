//! Refusals: one envelope, and for each status the codes that it comes with.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::codes::{CODES, Code};

/// Every refusal that is no JSON-RPC message.
pub(super) fn envelope() -> Value {
    let codes: Vec<_> = CODES.iter().map(|known| known.code).collect();
    json!({
        "type": "object",
        "properties": {
            "error": {
                "type": "object",
                "properties": {
                    "code": { "type": "string", "enum": codes },
                    "message": { "type": "string", "description": "What to do about it, for people." },
                    "request_id": { "type": "string" },
                    "retry_after_ms": { "type": "integer", "minimum": 0 },
                },
                "required": ["code", "message", "request_id"],
            },
        },
        "required": ["error"],
    })
}

/// What a refusal with this status is.
pub(super) fn reference(status: u16) -> Value {
    json!({ "$ref": format!("#/components/responses/Refused{status}") })
}

/// One response for each status that any code has.
pub(super) fn responses() -> Value {
    let statuses: BTreeSet<u16> = CODES
        .iter()
        .flat_map(|code| code.statuses)
        .copied()
        .collect();
    let responses = statuses
        .into_iter()
        .map(|status| (format!("Refused{status}"), response(status)));
    Value::Object(responses.collect())
}

fn response(status: u16) -> Value {
    let codes: Vec<&Code> = CODES
        .iter()
        .filter(|code| code.statuses.contains(&status))
        .collect();
    let names: Vec<_> = codes.iter().map(|code| code.code).collect();
    let told: Vec<_> = codes
        .iter()
        .map(|code| format!("`{}`: {} {}", code.code, code.when, code.what_to_do))
        .collect();
    let examples: Map<_, _> = codes
        .iter()
        .map(|code| {
            (
                code.code.to_owned(),
                json!({ "value": example(status, code) }),
            )
        })
        .collect();
    let narrowed =
        json!({ "properties": { "error": { "properties": { "code": { "enum": names } } } } });
    let schema = json!({ "allOf": [{ "$ref": "#/components/schemas/Error" }, narrowed] });
    json!({
        "description": told.join("\n\n"),
        "headers": headers_of(status),
        "content": { "application/json": { "schema": schema, "examples": examples } },
    })
}

fn example(status: u16, code: &Code) -> Value {
    let mut error = json!({ "code": code.code, "message": code.when, "request_id": "4f1c09" });
    if retries(status, code.code) {
        error["retry_after_ms"] = 1000.into();
    }
    json!({ "error": error })
}

fn retries(status: u16, code: &str) -> bool {
    [429, 503].contains(&status) || code == "sandbox_unclaimed"
}

fn headers_of(status: u16) -> Value {
    let mut headers = vec![("X-Request-Id", "RequestId")];
    match status {
        401 => headers.push(("WWW-Authenticate", "Challenge")),
        405 => headers.push(("Allow", "Allow")),
        409 | 503 => headers.push(("Retry-After", "RetryAfter")),
        415 => headers.push(("Accept-Encoding", "AcceptEncoding")),
        429 => headers.extend([
            ("Retry-After", "RetryAfter"),
            ("RateLimit-Policy", "RatePolicy"),
            ("RateLimit", "Rate"),
        ]),
        _ => {}
    }
    let headers = headers.into_iter().map(|(name, known)| {
        let reference = json!({ "$ref": format!("#/components/headers/{known}") });
        (name.to_owned(), reference)
    });
    Value::Object(headers.collect())
}

/// The headers that answers share.
pub(super) fn headers() -> Value {
    let header =
        |description: &str, schema: &Value| json!({ "description": description, "schema": schema });
    let text = json!({ "type": "string" });
    let whole = json!({ "type": "integer", "minimum": 0 });
    json!({
        "RequestId": header("The request's own id if it was sent and plain, else a new one.", &text),
        "Challenge": header("`Bearer realm=\"recall\"`", &text),
        "Allow": header("The methods that the route takes.", &text),
        "AcceptEncoding": header("`identity`: bodies are taken as they are.", &text),
        "RetryAfter": header("Seconds after which asking again makes sense.", &whole),
        "Revision": header("The revision of the memory that the answer is true of.", &whole),
        "RatePolicy": header("How often the key may call, where there is a limit: `q` calls in `w` seconds.", &text),
        "Rate": header("How it stands with that: `r` calls at once, and more, or all, in `t` seconds.", &text),
        "InScope": header("How many records the scope of a read held.", &whole),
        "Considered": header("How many of them met the conditions.", &whole),
        "LeftOut": header("How many of those the limit left out.", &whole),
        "NextCursor": header("The cursor with which the same request answers the rows after these; absent on the last page and where there is one page.", &text),
        "Indexes": header("By what the answer was found.", &text),
        "Degraded": header("What should have taken part in the search and did not.", &text),
        "Empty": header("Why an empty answer is empty.", &text),
    })
}
