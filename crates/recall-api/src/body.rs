//! Reading request bodies: bounded, strict, without words from our own types.

use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http_body_util::BodyExt;
use serde_json::{Map, Value};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::error::ApiError;
use crate::strict::Strict;

/// How much of a body that is too long is still read before the refusal: most clients look for an
/// answer only after they have sent everything, and one that is cut off loses it.
const MAX_DROPPED_BYTES: u64 = 16 * 1024 * 1024;
/// How long that may take.
const MAX_DROPPING: Duration = Duration::from_secs(2);

/// A body that takes longer to arrive is given up: an idle client must not hold memory.
const MAX_ARRIVAL: Duration = Duration::from_secs(30);
/// Bodies above this are large, and only so many of them are held at once: parsed JSON takes a
/// multiple of its text.
const LARGE_BYTES: u64 = 256 * 1024;
const LARGE_AT_ONCE: usize = 8;
/// How long a large body waits for its place.
const MAX_WAIT: Duration = Duration::from_secs(5);

static LARGE: Semaphore = Semaphore::const_new(LARGE_AT_ONCE);

/// A whole body, and its place among the large ones for as long as it is held.
pub(crate) struct Whole {
    bytes: Bytes,
    _place: Option<SemaphorePermit<'static>>,
}

impl std::ops::Deref for Whole {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Reads a whole body of at most `limit` bytes, whether its length was announced or not.
pub(crate) async fn read(request: Request, limit: usize) -> Result<Whole, ApiError> {
    if is_encoded(request.headers()) {
        return Err(ApiError::encoded());
    }
    let announced = announced(request.headers());
    let small =
        limit as u64 <= LARGE_BYTES || announced.is_some_and(|length| length <= LARGE_BYTES);
    let place = if small { None } else { Some(place().await?) };
    let bytes = tokio::time::timeout(MAX_ARRIVAL, arrive(request, limit, announced));
    let bytes = bytes
        .await
        .unwrap_or_else(|_| Err(ApiError::too_slow(MAX_ARRIVAL)))?;
    Ok(Whole {
        bytes,
        _place: place,
    })
}

async fn place() -> Result<SemaphorePermit<'static>, ApiError> {
    match tokio::time::timeout(MAX_WAIT, LARGE.acquire()).await {
        Ok(Ok(place)) => Ok(place),
        Ok(Err(_)) | Err(_) => Err(ApiError::overloaded(
            "too many large requests are under way",
        )),
    }
}

async fn arrive(request: Request, limit: usize, announced: Option<u64>) -> Result<Bytes, ApiError> {
    let (head, mut body) = request.into_parts();
    let fits = announced.is_none_or(|length| length <= limit as u64);
    if fits && let Some(whole) = collect(&mut body, limit).await? {
        return Ok(whole);
    }
    // Who waits to be told to go on is not yet sending, and what cannot end in time is not begun.
    let waits = !fits && head.headers.contains_key(http::header::EXPECT);
    let ends = announced.is_none_or(|length| length <= limit as u64 + MAX_DROPPED_BYTES);
    if !waits && ends {
        // Whether it came to its end or not, the answer is the same.
        let _ = tokio::time::timeout(MAX_DROPPING, drop_rest(&mut body, MAX_DROPPED_BYTES)).await;
    }
    Err(ApiError::too_large(limit))
}

/// Whether a body stands for another text than its own.
fn is_encoded(headers: &HeaderMap) -> bool {
    let encodings = headers.get_all(http::header::CONTENT_ENCODING);
    let as_it_is = |value: &http::HeaderValue| {
        let value = value.as_bytes().trim_ascii();
        value.is_empty() || value.eq_ignore_ascii_case(b"identity")
    };
    !encodings.iter().all(as_it_is)
}

fn announced(headers: &HeaderMap) -> Option<u64> {
    let length = headers.get(http::header::CONTENT_LENGTH)?;
    length.to_str().ok()?.parse().ok()
}

/// The whole body, or `None` as soon as it turns out longer than `limit`.
async fn collect(body: &mut Body, limit: usize) -> Result<Option<Bytes>, ApiError> {
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame =
            frame.map_err(|_| ApiError::invalid("the request body ended before it was whole"))?;
        if let Ok(data) = frame.into_data() {
            if whole.len() + data.len() > limit {
                return Ok(None);
            }
            whole.extend_from_slice(&data);
        }
    }
    Ok(Some(whole.freeze()))
}

/// Reads on to the end of a body, or until more than `most` bytes have come, and keeps nothing.
async fn drop_rest(body: &mut Body, most: u64) {
    let mut left = most;
    while let Some(Ok(frame)) = body.frame().await {
        let length = frame.data_ref().map_or(0, |data| data.len() as u64);
        match left.checked_sub(length) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}

/// The deepest nesting of a body. Nothing that is served nests beyond 4; what does only costs.
const MAX_DEPTH: usize = 64;

/// Refuses JSON that nests too deeply, before it is parsed.
pub(crate) fn shallow(body: &[u8]) -> Result<(), ApiError> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in body {
        match (in_string, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (_, b'"') => in_string = !in_string,
            (false, b'[' | b'{') => depth += 1,
            (false, b']' | b'}') => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            let message = format!("the request body nests more than {MAX_DEPTH} deep");
            return Err(ApiError::invalid(message));
        }
    }
    Ok(())
}

/// Reads a JSON object. An empty body and `null` count as `{}`, as the contract has it.
pub(crate) fn object(body: &[u8]) -> Result<Map<String, Value>, ApiError> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(Map::new());
    }
    shallow(body)?;
    match serde_json::from_slice(body).map(|Strict(value)| value) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(Value::Null) => Ok(Map::new()),
        Ok(_) => Err(ApiError::invalid(
            "the request body must be one JSON object",
        )),
        Err(error) => Err(ApiError::invalid(describe(&error))),
    }
}

/// What is wrong with a JSON text, without its content.
pub(crate) fn describe(error: &serde_json::Error) -> String {
    let what = error.to_string();
    // The place stands at the end in the parser's own words; ours say it once.
    let what = what.split(" at line ").next().unwrap_or_default();
    let place = format!("(line {}, column {})", error.line(), error.column());
    match error.is_data() {
        // It can be read, and says something twice.
        true => format!("{what} {place}"),
        false => format!("the request body is not valid JSON: {what} {place}"),
    }
}

/// Takes a member that must be a string if it is there; `null` counts as absent.
pub(crate) fn take_string(
    object: &mut Map<String, Value>,
    name: &str,
) -> Result<Option<String>, ApiError> {
    match object.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(ApiError::invalid(format!("{name}: must be a string"))),
    }
}

/// Refuses what no rule took.
pub(crate) fn nothing_left(object: &Map<String, Value>, known: &str) -> Result<(), ApiError> {
    match object.keys().next() {
        None => Ok(()),
        Some(name) => {
            let name: String = name.chars().take(64).collect();
            Err(ApiError::invalid(format!(
                "{name}: unknown field; this request takes {known}"
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body: &str, expected: bool) {
        assert_eq!(shallow(body.as_bytes()).is_ok(), expected, "{body}");
    }

    #[test]
    fn nesting_is_bounded_and_brackets_in_strings_are_text() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        check(&nested(MAX_DEPTH), true);
        check(&nested(MAX_DEPTH + 1), false);
        let text = |text: &str| format!("{{\"a\":\"{text}\"}}");
        check(&text(&"[".repeat(1000)), true);
        check(&text(&"\\\"[".repeat(1000)), true);
        check(&format!("\"\\\\\"{}", nested(MAX_DEPTH + 1)), false);
        check(&"[]".repeat(1000), true);
    }
}
