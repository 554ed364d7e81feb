//! The outermost layer: gives each request an id, renders errors under it, counts and logs.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue, Method, StatusCode, Version};
use tracing::Instrument;
use tracing::field::Empty;

use crate::bounds::Standing;
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
    let parent = trace::of(request.headers());
    let traced = api
        .traces
        .as_ref()
        .and_then(|traces| traces.begin(parent, route.may_name_a_trace()));
    // A target is fixed where a span is written down.
    macro_rules! span {
        ($target:expr, $trace_id:expr, $traced:expr) => {
            tracing::info_span!(
                target: $target,
                "request",
                request_id = id.to_str().unwrap_or_default(),
                trace_id = $trace_id,
                parent_id = parent.map(|parent| parent.span_id),
                traced = $traced,
                http.response.status_code = Empty,
                http.request.method = method(request.method()),
                http.route = route.template(),
                network.protocol.version = version(request.version()),
                mcp.method.name = Empty,
                gen_ai.tool.name = Empty,
                error.type = Empty,
                route = route.as_str(),
            )
        };
    }
    let span = match &traced {
        Some(traced) => span!(
            trace::TRACED,
            Some(traced.trace_id.as_ref()),
            Some(traced.decided)
        ),
        None => span!(
            module_path!(),
            parent.map(|parent| parent.trace_id),
            None::<bool>
        ),
    };
    let framed = framing::names_its_host(request.version(), request.headers())
        .and_then(|()| framing::expects_what_is_known(request.headers()));
    let response = match framed {
        Ok(()) => next.run(request).instrument(span.clone()).await,
        Err(error) => error.into_response(),
    };
    let mut response = finish(response, &id);
    if last {
        framing::end(response.headers_mut());
    }
    let status = response.status();
    let elapsed = began.elapsed();
    span.record("http.response.status_code", status.as_u16());
    if status.is_server_error() {
        span.record("error.type", status.as_str());
    }
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
    let standing = response.extensions_mut().remove::<Standing>();
    let mut response = match response.extensions_mut().remove::<ApiError>() {
        Some(error) => error.render(id.to_str().unwrap_or_default()),
        None => response,
    };
    // Who was refused for asking too often was told so more exactly.
    match standing {
        Some(standing) if response.status() != StatusCode::TOO_MANY_REQUESTS => {
            standing.tell(response.headers_mut());
        }
        Some(_) | None => {}
    }
    response
}

/// The method as the conventions name it: none of a client's own making.
fn method(method: &Method) -> &str {
    let known = [
        Method::GET,
        Method::HEAD,
        Method::POST,
        Method::PUT,
        Method::PATCH,
        Method::DELETE,
        Method::OPTIONS,
        Method::TRACE,
        Method::CONNECT,
    ];
    match known.contains(method) {
        true => method.as_str(),
        false => "_OTHER",
    }
}

fn version(version: Version) -> &'static str {
    match version {
        Version::HTTP_2 => "2",
        Version::HTTP_10 => "1.0",
        _ => "1.1",
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
pub(crate) fn generate() -> HeaderValue {
    static PROCESS: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one("process"));
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let text = format!(
        "{:016x}{:016x}",
        *PROCESS,
        NEXT.fetch_add(1, Ordering::Relaxed)
    );
    HeaderValue::try_from(text).unwrap_or_else(|_| HeaderValue::from_static("unknown"))
}
