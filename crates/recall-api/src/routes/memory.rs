//! `POST /v1/<operation>`.

use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, header};
use recall_keys::Grant;
use recall_memory::{Answer, Args, Operation, Writer};

use crate::arguments;
use crate::auth;
use crate::body;
use crate::error::ApiError;
use crate::state::{Api, MAX_BODY_BYTES};

/// How many items in scope the answer leaves out, by a limit or because they match less.
static LEFT_OUT: HeaderName = HeaderName::from_static("recall-left-out");
static REVISION: HeaderName = HeaderName::from_static("recall-revision");

/// The operations by the last segment of their path.
const OPERATIONS: [(&str, Operation); 8] = [
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
    let body = body::read(request, MAX_BODY_BYTES).await?;
    let mut arguments = body::object(&body)?;
    drop(body);
    let session = arguments::settle(&mut arguments, grant)?;
    let args = Args::from(arguments);
    let answer = api
        .memory
        .call(namespace, &writer(grant, session), operation, args)
        .await?;
    Ok(respond(answer))
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

fn respond(answer: Answer) -> Response {
    let mut response = Bytes::from(answer.json).into_response();
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    headers.insert(REVISION.clone(), HeaderValue::from(answer.revision.0));
    if answer.coverage.left_out > 0 {
        headers.insert(
            LEFT_OUT.clone(),
            HeaderValue::from(answer.coverage.left_out),
        );
    }
    response
}

fn unknown() -> ApiError {
    let names: Vec<_> = OPERATIONS.iter().map(|(name, _)| *name).collect();
    ApiError::not_found(format!(
        "unknown operation; the operations are {}",
        names.join(", ")
    ))
}
