//! Reading request bodies: bounded, strict, without words from our own types.

use axum::body::Body;
use axum::extract::Request;
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde_json::{Map, Value};

use crate::error::ApiError;

/// Reads a whole body of at most `limit` bytes, whether its length was announced or not.
pub(crate) async fn read(request: Request, limit: usize) -> Result<Bytes, ApiError> {
    let announced = request
        .headers()
        .get(http::header::CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|length| length > limit as u64) {
        return Err(ApiError::too_large(limit));
    }
    collect(request.into_body(), limit).await
}

async fn collect(body: Body, limit: usize) -> Result<Bytes, ApiError> {
    match Limited::new(body, limit).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(ApiError::too_large(limit)),
        Err(_) => Err(ApiError::invalid(
            "the request body ended before it was whole",
        )),
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
