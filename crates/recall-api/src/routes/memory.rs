//! `POST /v1/<operation>`.

use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use recall_keys::Grant;
use recall_memory::{Answer, Args, Coverage, EmptyReason, Operation, Writer};
use recall_store::{Namespace, Revision};
use serde_json::{Map, Value};
use tracing::Instrument;

use super::{batch, query};
use crate::arguments;
use crate::auth;
use crate::body;
use crate::bounds;
use crate::error::{ApiError, whole_seconds};
use crate::idempotency::{IDEMPOTENCY_KEY, Kept, Stamp};
use crate::state::{Api, MAX_BODY_BYTES};
use crate::trace;

static REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
static REVISION: HeaderName = HeaderName::from_static("recall-revision");
static IN_SCOPE: HeaderName = HeaderName::from_static("recall-in-scope");
static CONSIDERED: HeaderName = HeaderName::from_static("recall-considered");
static LEFT_OUT: HeaderName = HeaderName::from_static("recall-left-out");
static NEXT_CURSOR: HeaderName = HeaderName::from_static("recall-next-cursor");
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

/// The headers that most answers have, and more.
const HEADERS: usize = 12;

/// The last segment of the path of many writes in one.
pub(crate) const BATCH: &str = "remember:batch";

/// What a path asks for.
#[derive(Clone, Copy)]
enum Asked {
    One(Operation),
    Batch,
}

impl Asked {
    fn by(path: &str) -> Option<Self> {
        if path == BATCH {
            return Some(Self::Batch);
        }
        let known = OPERATIONS.iter().find(|(name, _)| *name == path);
        known.map(|(_, operation)| Self::One(*operation))
    }

    fn reads(self) -> bool {
        matches!(self, Self::One(operation) if operation.reads())
    }
}

pub(super) async fn handle(
    api: &Api,
    grant: &Grant,
    path: &str,
    request: Request,
) -> Result<Response, ApiError> {
    let asked = Asked::by(path).ok_or_else(unknown)?;
    if let Asked::Batch = asked {
        query::none(request.uri())?;
    }
    if request.method() != Method::POST {
        return Err(ApiError::method_not_allowed("POST"));
    }
    auth::namespace(grant)?;
    let answer = answer(api, grant, path, asked, request).await;
    Ok(bounds::with_standing(answer, api.bounds.standing(grant)))
}

async fn answer(
    api: &Api,
    grant: &Grant,
    path: &str,
    asked: Asked,
    request: Request,
) -> Result<Response, ApiError> {
    let namespace = auth::namespace(grant)?;
    // Few writes have a name, and reads have no use for one.
    let named = !asked.reads() && request.headers().contains_key(&IDEMPOTENCY_KEY);
    let headers = named.then(|| request.headers().clone());
    if let Asked::One(_) = asked {
        // Each item of a batch is a call of its own.
        api.bounds.call(grant)?;
    }
    let body = body::read(request, MAX_BODY_BYTES).await?;
    let stamp = match &headers {
        Some(headers) => Stamp::of(headers, grant, path, &body)?,
        None => None,
    };
    // Before the body is understood: to send somebody away must cost little.
    let _place = api.bounds.pools.memory.enter().await?;
    let arguments = body::object(&body)?;
    drop(body);
    let write: BoxFuture<'_, _> = match asked {
        Asked::One(operation) if operation.reads() => {
            let answer = one(api, grant, namespace, operation, arguments).await?;
            return Ok(respond(answer));
        }
        Asked::One(operation) => Box::pin(async move {
            let answer = one(api, grant, namespace, operation, arguments).await?;
            Ok(Kept::new(answer.json, Some(answer.revision)))
        }),
        Asked::Batch => Box::pin(batch::remember(api, grant, namespace, arguments)),
    };
    let (kept, again) = api.answers.once(stamp, write).await?;
    Ok(written(kept, again))
}

/// One operation, within what its namespace may hold.
pub(super) async fn one(
    api: &Api,
    grant: &Grant,
    namespace: &Namespace,
    operation: Operation,
    mut arguments: Map<String, Value>,
) -> Result<Answer, ApiError> {
    let session = arguments::settle(&mut arguments, grant)?;
    let args = args(grant, operation, arguments);
    let writer = writer(grant, session);
    call(api, namespace, &writer, operation, args)
        .await
        .map_err(Into::into)
}

/// The arguments of an operation, without those that say who asks.
pub(crate) fn args(grant: &Grant, operation: Operation, arguments: Map<String, Value>) -> Args {
    let args = Args::from(arguments);
    match (operation, &grant.session) {
        (Operation::Remember, None) => args.beside(&["session"]),
        _ => args,
    }
}

/// Does an operation and tells the trace and the counters how it went.
pub(crate) async fn call(
    api: &Api,
    namespace: &Namespace,
    writer: &Writer,
    operation: Operation,
    args: Args,
) -> Result<Answer, recall_memory::Error> {
    let place = api.place(namespace);
    let span = trace::operation(operation, place);
    let answer = async {
        // What agents keep counts towards what their namespace may hold.
        if let (false, Some(agents)) = (operation.reads(), &api.agents) {
            agents.weigh(namespace).await?;
        }
        api.memory.call(namespace, writer, operation, args).await
    };
    let answer = answer.instrument(span.clone()).await;
    match &answer {
        Ok(answer) => {
            trace::outcome(&span, place, Ok(answer));
            count(api, answer);
        }
        Err(error) => trace::outcome(&span, place, Err(error.code())),
    }
    answer
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

fn respond(answer: Answer) -> Response {
    let coverage = answer.coverage;
    let mut response = json(answer.json.into(), Some(answer.revision));
    let headers = response.headers_mut();
    cover(headers, &coverage);
    // The body is a bare list, as the contract has it.
    if let Some(next) = answer
        .next
        .and_then(|next| HeaderValue::try_from(next).ok())
    {
        headers.insert(NEXT_CURSOR.clone(), next);
    }
    response
}

fn written(kept: Kept, again: bool) -> Response {
    let mut response = json(kept.body, kept.revision);
    if let Some(time) = kept.retry_after {
        let seconds = HeaderValue::from(whole_seconds(time));
        response.headers_mut().insert(header::RETRY_AFTER, seconds);
    }
    if again {
        let yes = HeaderValue::from_static("true");
        response.headers_mut().insert(REPLAYED.clone(), yes);
    }
    response
}

fn json(body: Bytes, revision: Option<Revision>) -> Response {
    let mut response = body.into_response();
    let headers = response.headers_mut();
    // What tells of the answer and of the request comes to them: to grow once is enough.
    headers.reserve(HEADERS);
    let kind = HeaderValue::from_static("application/json");
    headers.insert(header::CONTENT_TYPE, kind);
    if let Some(revision) = revision {
        headers.insert(REVISION.clone(), HeaderValue::from(revision.0));
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
    let (indexes, empty) = (coverage.indexes, coverage.empty);
    let words = [
        (&INDEXES, words(indexes.used())),
        (&DEGRADED, words(indexes.degraded())),
        (&BECAUSE, words(indexes.why())),
        (&EMPTY, words(empty.map(EmptyReason::as_str))),
        (&UNKNOWN, words(empty.and_then(EmptyReason::unknown))),
    ];
    for (name, words) in words {
        if let Some(words) = words {
            headers.insert(name.clone(), words);
        }
    }
}

/// What a header lists; nothing where that is nothing. One word, as most lists are, is copied nowhere.
fn words(all: impl IntoIterator<Item = &'static str>) -> Option<HeaderValue> {
    let mut all = all.into_iter();
    let first = all.next()?;
    let rest: Vec<_> = all.collect();
    if rest.is_empty() {
        return HeaderValue::from_maybe_shared(Bytes::from_static(first.as_bytes())).ok();
    }
    HeaderValue::try_from([vec![first], rest].concat().join(", ")).ok()
}

fn unknown() -> ApiError {
    let names: Vec<_> = OPERATIONS.iter().map(|(name, _)| *name).collect();
    let names = [names, vec![BATCH]].concat();
    ApiError::not_found(format!(
        "unknown operation; the operations are {}",
        names.join(", ")
    ))
}
