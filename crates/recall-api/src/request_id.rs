//! The outermost layer: gives each request an id, renders errors under it, counts and logs.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderName, HeaderValue};
use tracing::Instrument;
use tracing::field::Empty;

use crate::error::ApiError;
use crate::framing;
use crate::metrics::Route;
use crate::state::Api;
use crate::trace;

static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const MAX_REQUEST_ID_BYTES: usize = 128;

/// A request id of the client's own is kept if it is short and plain, so that logs on both sides
/// meet.
pub(crate) async fn layer(State(api): State<Api>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let route = Route::of(request.uri().path());
    let id = request
        .headers()
        .get(&REQUEST_ID)
        .filter(|id| plain(id))
        .cloned();
    let id = id.unwrap_or_else(generate);
    let last = framing::is_last(request.version(), request.headers());
    let span = tracing::info_span!(
        "request",
        request_id = id.to_str().unwrap_or_default(),
        trace_id = Empty,
        parent_id = Empty,
        http.response.status_code = Empty,
        http.request.method = request.method().as_str(),
        route = route.as_str(),
    );
    if let Some(parent) = trace::of(request.headers()) {
        parent.note(&span);
    }
    let response = next.run(request).instrument(span.clone()).await;
    let mut response = finish(response, &id);
    if last {
        framing::end(response.headers_mut());
    }
    let status = response.status();
    let elapsed = began.elapsed();
    span.record("http.response.status_code", status.as_u16());
    api.metrics.request(route, status, elapsed);
    tracing::debug!(
        parent: &span,
        status = status.as_u16(),
        latency_us = elapsed.as_micros() as u64,
        "request answered"
    );
    response.headers_mut().insert(REQUEST_ID.clone(), id);
    response
}

fn finish(mut response: Response, id: &HeaderValue) -> Response {
    match response.extensions_mut().remove::<ApiError>() {
        Some(error) => error.render(id.to_str().unwrap_or_default()),
        None => response,
    }
}

fn plain(id: &HeaderValue) -> bool {
    let bytes = id.as_bytes();
    (1..=MAX_REQUEST_ID_BYTES).contains(&bytes.len())
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte))
}

/// Half of it is this process's own, half counts: no two alike, and no system call for each.
fn generate() -> HeaderValue {
    static PROCESS: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one("process"));
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let text = format!(
        "{:016x}{:016x}",
        *PROCESS,
        NEXT.fetch_add(1, Ordering::Relaxed)
    );
    HeaderValue::try_from(text).unwrap_or_else(|_| HeaderValue::from_static("unknown"))
}
