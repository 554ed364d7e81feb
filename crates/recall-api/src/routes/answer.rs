//! An answer of JSON.

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use serde_json::Value;

pub(super) fn json_response(status: StatusCode, value: &Value) -> Response {
    let mut response = (status, Bytes::from(value.to_string())).into_response();
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
