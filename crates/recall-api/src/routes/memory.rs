//! `POST /v1/<operation>`.

use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use recall_keys::Grant;
use recall_memory::{Answer, Args, Coverage, EmptyReason, Operation, Writer};

use crate::arguments;
use crate::auth;
use crate::body;
use crate::error::ApiError;
use crate::state::{Api, MAX_BODY_BYTES};

static REVISION: HeaderName = HeaderName::from_static("recall-revision");
static IN_SCOPE: HeaderName = HeaderName::from_static("recall-in-scope");
static CONSIDERED: HeaderName = HeaderName::from_static("recall-considered");
static LEFT_OUT: HeaderName = HeaderName::from_static("recall-left-out");
static INDEXES: HeaderName = HeaderName::from_static("recall-indexes");
static DEGRADED: HeaderName = HeaderName::from_static("recall-degraded");
static BECAUSE: HeaderName = HeaderName::from_static("recall-degraded-because");
static EMPTY: HeaderName = HeaderName::from_static("recall-empty");
static UNKNOWN: HeaderName = HeaderName::from_static("recall-unknown");

/// The operations by the last segment of their path.
pub(crate) const OPERATIONS: [(&str, Operation); 8] = [
    ("remember", Operation::Remember),
    ("recall", Operation::Recall),
    ("forget", Operation::Forget),
    ("history", Operation::History),
    ("timeline", Operation::Timeline),
    ("diff", Operation::Diff),
    ("predicates", Operation::Predicates),
    ("explain", Operation::Explain),
];

pub(super) async fn handle(
    api: &Api,
    grant: &Grant,
    path: &str,
    request: Request,
) -> Result<Response, ApiError> {
    let operation = OPERATIONS
        .iter()
        .find(|(name, _)| *name == path)
        .map(|(_, op)| *op);
    let operation = operation.ok_or_else(unknown)?;
    if request.method() != Method::POST {
        return Err(ApiError::method_not_allowed("POST"));
    }
    let namespace = auth::namespace(grant)?;
    api.bounds.call(grant)?;
    let body = body::read(request, MAX_BODY_BYTES).await?;
    let mut arguments = body::object(&body)?;
    drop(body);
    let session = arguments::settle(&mut arguments, grant)?;
    let args = Args::from(arguments);
    let _place = api.bounds.pools.memory.enter().await?;
    api.bounds.keep(&api.memory, namespace, operation).await?;
    let answer = api
        .memory
        .call(namespace, &writer(grant, session), operation, args)
        .await?;
    count(api, &answer);
    Ok(respond(operation, answer))
}

/// Who writes, for the log of the memory.
pub(crate) fn writer(grant: &Grant, session: Option<String>) -> Writer {
    let key_id = grant
        .key
        .as_ref()
        .map_or("static", |id| id.as_str())
        .to_owned();
    Writer { key_id, session }
}

/// Counts an answer that something was missing from.
pub(crate) fn count(api: &Api, answer: &Answer) {
    for index in answer.coverage.indexes.degraded() {
        api.metrics.degraded(index);
    }
}

fn respond(operation: Operation, answer: Answer) -> Response {
    let coverage = answer.coverage;
    let mut response = Bytes::from(answer.json).into_response();
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    headers.insert(REVISION.clone(), HeaderValue::from(answer.revision.0));
    if operation.reads() {
        cover(headers, &coverage);
    }
    response
}

/// Tells what an answer was taken from, beside a body whose shape is the contract's.
fn cover(headers: &mut HeaderMap, coverage: &Coverage) {
    let counts = [
        (&IN_SCOPE, coverage.in_scope),
        (&CONSIDERED, coverage.considered),
        (&LEFT_OUT, coverage.left_out),
    ];
    for (name, number) in counts {
        headers.insert(name.clone(), HeaderValue::from(number));
    }
    let empty = coverage.empty;
    let words = [
        (&INDEXES, coverage.indexes.used().join(", ")),
        (&DEGRADED, coverage.indexes.degraded().join(", ")),
        (
            &BECAUSE,
            coverage.indexes.why().unwrap_or_default().to_owned(),
        ),
        (&EMPTY, empty.map_or("", EmptyReason::as_str).to_owned()),
        (
            &UNKNOWN,
            empty
                .and_then(EmptyReason::unknown)
                .unwrap_or_default()
                .to_owned(),
        ),
    ];
    for (name, text) in words {
        if !text.is_empty()
            && let Ok(text) = HeaderValue::from_str(&text)
        {
            headers.insert(name.clone(), text);
        }
    }
}

fn unknown() -> ApiError {
    let names: Vec<_> = OPERATIONS.iter().map(|(name, _)| *name).collect();
    ApiError::not_found(format!(
        "unknown operation; the operations are {}",
        names.join(", ")
    ))
}
