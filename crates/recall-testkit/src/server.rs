//! The fake API server on loopback.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, LOCATION, RETRY_AFTER};
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch as signal;
use tokio::task::{AbortHandle, JoinSet};

use crate::cluster::FakeCluster;
use crate::recorded::Recorded;
use crate::reply::Reply;
use crate::respond;
use crate::route::{Route, Target};
use crate::watch::{self, Selection};

type Body = UnsyncBoxBody<Bytes, io::Error>;

const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;
const CHUNK_BYTES: usize = 64 * 1024;

/// An API server on loopback; it ends when it is dropped.
pub struct FakeApiServer {
    url: String,
    shared: Arc<Shared>,
    task: AbortHandle,
}

struct Shared {
    cluster: FakeCluster,
    scripts: Mutex<BTreeMap<Route, Script>>,
    bearers: Mutex<Option<Vec<String>>>,
    recorded: Mutex<Vec<Recorded>>,
    records: AtomicBool,
    cut: signal::Sender<u64>,
    open: AtomicUsize,
    most_open: AtomicUsize,
}

#[derive(Debug, Default)]
struct Script {
    next: VecDeque<Reply>,
    always: Option<Reply>,
}

impl FakeApiServer {
    /// Listens on a free port of loopback and answers for `cluster`.
    ///
    /// # Errors
    ///
    /// If there is no free port.
    pub async fn start(cluster: FakeCluster) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let shared = Arc::new(Shared {
            cluster,
            scripts: Mutex::default(),
            bearers: Mutex::default(),
            recorded: Mutex::default(),
            records: AtomicBool::new(true),
            cut: signal::channel(0).0,
            open: AtomicUsize::new(0),
            most_open: AtomicUsize::new(0),
        });
        let task = tokio::spawn(accept(listener, Arc::clone(&shared))).abort_handle();
        Ok(Self { url, shared, task })
    }

    /// Where it listens, for example `http://127.0.0.1:40001`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The cluster that it answers for.
    #[must_use]
    pub fn cluster(&self) -> &FakeCluster {
        &self.shared.cluster
    }

    /// From now on answers all requests for `route` like this.
    pub fn script(&self, route: Route, reply: Reply) {
        self.shared.scripts.lock().entry(route).or_default().always = Some(reply);
    }

    /// Answers the next request for `route` like this; several are taken in turn.
    pub fn script_once(&self, route: Route, reply: Reply) {
        self.shared
            .scripts
            .lock()
            .entry(route)
            .or_default()
            .next
            .push_back(reply);
    }

    /// From now on answers as the cluster says.
    pub fn clear_scripts(&self) {
        self.shared.scripts.lock().clear();
    }

    /// From now on answers 401 to everybody who does not show one of these tokens.
    pub fn require_bearer(&self, tokens: &[&str]) {
        let tokens = tokens
            .iter()
            .map(|token| format!("Bearer {token}"))
            .collect();
        *self.shared.bearers.lock() = Some(tokens);
    }

    /// Ends all watches that are open.
    pub fn cut_watches(&self) {
        self.shared.cut.send_modify(|cut| *cut += 1);
    }

    /// Keeps no requests from now on: under a load they would fill the memory.
    pub fn stop_recording(&self) {
        self.shared.records.store(false, Ordering::Relaxed);
    }

    /// All requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.recorded.lock().clone()
    }

    /// How many requests for `route` there were so far.
    #[must_use]
    pub fn count(&self, route: Route) -> usize {
        self.shared
            .recorded
            .lock()
            .iter()
            .filter(|request| request.route == route)
            .count()
    }

    /// How many requests were under way at once, at most. A watch does not count.
    #[must_use]
    pub fn most_at_once(&self) -> usize {
        self.shared.most_open.load(Ordering::SeqCst)
    }
}

impl Drop for FakeApiServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl fmt::Debug for FakeApiServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeApiServer")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    // Dropped with this task, and every connection with it.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                let shared = Arc::clone(&shared);
                connections.spawn(async move {
                    let service = service_fn(|request| answer(&shared, request));
                    // A connection that breaks is the client's to notice.
                    let _ = http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn answer(shared: &Shared, request: Request<Incoming>) -> Result<Response<Body>, io::Error> {
    let _counted = Counted::new(shared);
    let (head, body) = request.into_parts();
    let body = Limited::new(body, MAX_BODY_BYTES)
        .collect()
        .await
        .map_err(io::Error::other)?;
    let body: Value = serde_json::from_slice(&body.to_bytes()).unwrap_or_default();
    let query = head.uri.query().unwrap_or_default();
    let target = Target::of(&head.method, head.uri.path(), query);
    let text = |name| {
        let value = head.headers.get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default().to_owned()
    };
    let asked = Recorded {
        route: target.route,
        path: head.uri.to_string(),
        authorization: text(AUTHORIZATION),
        accept: text(ACCEPT),
        body,
    };
    if shared.records.load(Ordering::Relaxed) {
        shared.recorded.lock().push(asked.clone());
    }
    if !shared.knows(&asked.authorization) {
        return Ok(refusal(401));
    }
    let honest = || shared.honest(target, query, &asked);
    match shared.scripted(target.route) {
        Reply::Honest => Ok(honest()),
        Reply::Late(pause) => {
            tokio::time::sleep(pause).await;
            Ok(honest())
        }
        Reply::Hang => std::future::pending().await,
        Reply::Hangup => Err(io::Error::other("scripted")),
        Reply::Broken => Ok(cut_off(honest(), true).await),
        Reply::Truncated => Ok(cut_off(honest(), false).await),
        scripted => Ok(spoken(scripted)),
    }
}

impl Shared {
    fn knows(&self, authorization: &str) -> bool {
        let bearers = self.bearers.lock();
        bearers
            .as_ref()
            .is_none_or(|known| known.iter().any(|bearer| bearer == authorization))
    }

    fn scripted(&self, route: Route) -> Reply {
        let mut scripts = self.scripts.lock();
        let Some(script) = scripts.get_mut(&route) else {
            return Reply::Honest;
        };
        let next = script.next.pop_front().or_else(|| script.always.clone());
        next.unwrap_or(Reply::Honest)
    }

    fn honest(&self, target: Target<'_>, query: &str, asked: &Recorded) -> Response<Body> {
        if target.route != Route::PodWatch {
            let said = respond::respond(&self.cluster, target, query, &asked.accept, &asked.body);
            return object(said.0, &said.1);
        }
        let selection = Selection::new(target.namespace, query);
        let refused = self.cluster.with_state(|state| {
            let forbidden = respond::forbidden(state, target);
            forbidden.or_else(|| watch::is_forgotten(state, &selection).then(|| gone(410)))
        });
        match refused {
            Some((status, body)) => object(status, &body),
            None => {
                let lines = watch::lines(&self.cluster, selection, self.cut.subscribe());
                streamed(lines.map(Ok))
            }
        }
    }
}

fn gone(status: u16) -> (u16, Value) {
    (
        status,
        respond::status(status, respond::reason(status), "too old resource version"),
    )
}

fn spoken(reply: Reply) -> Response<Body> {
    match reply {
        Reply::Json(status, body) => object(status, &body),
        Reply::Text(status, kind, text) => full(status, kind, Bytes::from(text)),
        Reply::RetryAfter(status, seconds) => {
            let mut response = refusal(status);
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
            response
        }
        Reply::Huge(bytes) => {
            let chunk = Bytes::from(vec![b' '; CHUNK_BYTES]);
            streamed(stream::iter(
                (0..bytes / CHUNK_BYTES).map(move |_| Ok(chunk.clone())),
            ))
        }
        Reply::Redirect(url) => {
            let mut response = full(302, "text/plain", Bytes::new());
            if let Ok(url) = url.parse() {
                response.headers_mut().insert(LOCATION, url);
            }
            response
        }
        Reply::Honest
        | Reply::Late(_)
        | Reply::Hang
        | Reply::Hangup
        | Reply::Broken
        | Reply::Truncated => refusal(500),
    }
}

async fn cut_off(response: Response<Body>, broken: bool) -> Response<Body> {
    let (head, body) = response.into_parts();
    let whole = body
        .collect()
        .await
        .map(|body| body.to_bytes())
        .unwrap_or_default();
    let half = whole.slice(..whole.len() / 2);
    let end = broken.then(|| Err(io::Error::other("scripted")));
    let mut cut = streamed(stream::iter([Ok(half)].into_iter().chain(end)));
    *cut.status_mut() = head.status;
    cut
}

fn refusal(status: u16) -> Response<Body> {
    let reason = respond::reason(status);
    object(status, &respond::status(status, reason, reason))
}

fn object(status: u16, body: &Value) -> Response<Body> {
    full(status, "application/json", Bytes::from(body.to_string()))
}

fn full(status: u16, kind: &'static str, body: Bytes) -> Response<Body> {
    let never = |never: Infallible| match never {};
    response(status, kind, Full::new(body).map_err(never).boxed_unsync())
}

fn streamed(
    chunks: impl stream::Stream<Item = io::Result<Bytes>> + Send + 'static,
) -> Response<Body> {
    let frames = chunks.map(|chunk| chunk.map(Frame::data));
    response(
        200,
        "application/json",
        StreamBody::new(frames).boxed_unsync(),
    )
}

fn response(status: u16, kind: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = http::StatusCode::from_u16(status).unwrap_or_default();
    response
        .headers_mut()
        .insert(CONTENT_TYPE, http::HeaderValue::from_static(kind));
    response
}

/// One request under way.
struct Counted<'a>(&'a Shared);

impl<'a> Counted<'a> {
    fn new(shared: &'a Shared) -> Self {
        let open = shared.open.fetch_add(1, Ordering::SeqCst) + 1;
        shared.most_open.fetch_max(open, Ordering::SeqCst);
        Self(shared)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
    }
}
