//! Reading request bodies: bounded, strict, without words from our own types.

use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http_body_util::BodyExt;
use serde_json::{Map, Value};

use crate::error::ApiError;

/// How much of a body that is too long is still read before the refusal: most clients look for an
/// answer only after they have sent everything, and one that is cut off loses it.
const MAX_DROPPED_BYTES: u64 = 16 * 1024 * 1024;
/// How long that may take.
const MAX_DROPPING: Duration = Duration::from_secs(2);

/// Reads a whole body of at most `limit` bytes, whether its length was announced or not.
pub(crate) async fn read(request: Request, limit: usize) -> Result<Bytes, ApiError> {
    let (head, mut body) = request.into_parts();
    let announced = announced(&head.headers);
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

/// Reads a JSON object. An empty body and `null` count as `{}`, as the contract has it.
pub(crate) fn object(body: &[u8]) -> Result<Map<String, Value>, ApiError> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(Map::new());
    }
    match serde_json::from_slice(body) {
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
    format!(
        "the request body is not valid JSON: {what} (line {}, column {})",
        error.line(),
        error.column()
    )
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
