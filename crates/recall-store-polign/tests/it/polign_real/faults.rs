//! A store that is slow, busy, full, or whose answers get lost.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use parking_lot::Mutex;
use recall_store::{Acquired, Error, Revision, Store, SystemClock};
use recall_store_polign::Config;
use recall_store_rows::RowStore;
use tokio::net::TcpListener;

use super::Real;
use recall_store_rows::conformance::{append, ids, ns};

/// What becomes of the next call whose path holds a word.
#[derive(Debug, Clone, Copy)]
enum Fault {
    /// This status, and a header.
    Answer(u16, (&'static str, &'static str)),
    /// It is carried out, and the connection breaks before the answer.
    LoseAnswer,
}

/// Stands between a store and the database.
#[derive(Debug)]
struct Proxy {
    target: String,
    client: Client<HttpConnector, Full<Bytes>>,
    faults: Mutex<VecDeque<(&'static str, Fault)>>,
    seen: Mutex<Vec<String>>,
    delay: Mutex<Duration>,
}

impl Proxy {
    /// Starts it; answers it with its own address.
    async fn start(real: &Real) -> (Arc<Self>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let proxy = Arc::new(Self {
            target: real.db.url(),
            client: Client::builder(TokioExecutor::new()).build_http(),
            faults: Mutex::default(),
            seen: Mutex::default(),
            delay: Mutex::default(),
        });
        let serving = Arc::clone(&proxy);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let proxy = Arc::clone(&serving);
                let service = service_fn(move |request| {
                    let proxy = Arc::clone(&proxy);
                    async move { proxy.answer(request).await }
                });
                tokio::spawn(async move {
                    let connection = hyper::server::conn::http1::Builder::new();
                    // It ends in an error where an answer is lost on purpose.
                    let _ = connection
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
        });
        (proxy, url)
    }

    async fn answer(&self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, String> {
        let path = request
            .uri()
            .path_and_query()
            .map_or("/", |path| path.as_str())
            .to_owned();
        self.seen
            .lock()
            .push(format!("{} {path}", request.method()));
        let delay = *self.delay.lock();
        tokio::time::sleep(delay).await;
        let fault = {
            let mut faults = self.faults.lock();
            match faults.front() {
                Some((word, _)) if path.contains(word) => faults.pop_front(),
                _ => None,
            }
        };
        if let Some((_, Fault::Answer(status, (name, value)))) = fault {
            let answer = Response::builder().status(status).header(name, value);
            return Ok(answer
                .body(Full::from("{\"error\":\"busy\"}"))
                .expect("an answer"));
        }
        let answer = self.forward(request, &path).await;
        match fault {
            Some((_, Fault::LoseAnswer)) => Err("lost on purpose".to_owned()),
            _ => Ok(answer.unwrap_or_else(|never| match never {})),
        }
    }

    async fn forward(
        &self,
        request: Request<Incoming>,
        path: &str,
    ) -> Result<Response<Full<Bytes>>, Infallible> {
        let (mut head, body) = request.into_parts();
        head.uri = format!("{}{path}", self.target)
            .parse()
            .expect("an address");
        let body = body.collect().await.expect("a body").to_bytes();
        let answer = self
            .client
            .request(Request::from_parts(head, Full::from(body)))
            .await;
        let (head, body) = answer.expect("an answer").into_parts();
        let body = body.collect().await.expect("a body").to_bytes();
        Ok(Response::from_parts(head, Full::from(body)))
    }

    fn fail(&self, faults: &[(&'static str, Fault)]) {
        self.faults.lock().extend(faults.iter().copied());
    }

    fn count(&self, word: &str) -> usize {
        self.seen
            .lock()
            .iter()
            .filter(|call| call.contains(word))
            .count()
    }
}

async fn through(real: &Real) -> (Arc<Proxy>, RowStore) {
    let (proxy, url) = Proxy::start(real).await;
    let config = Config {
        url,
        ..real.config()
    };
    let store = recall_store_polign::open(&config, Arc::new(SystemClock)).expect("a store");
    store.revision(&ns()).await.expect("it answers");
    (proxy, store)
}

const BUSY: Fault = Fault::Answer(503, ("retry-after", "7"));

#[tokio::test(flavor = "multi_thread")]
async fn a_moment_of_trouble_is_not_noticed_and_a_long_one_is_told_with_its_wait() {
    let Some(real) = Real::start(&[]) else { return };
    let (proxy, store) = through(&real).await;
    proxy.fail(&[
        ("m-1", BUSY),
        ("m-1", Fault::Answer(429, ("retry-after", "1"))),
    ]);
    assert_eq!(
        append(&store, &["m-1".to_owned()])
            .await
            .expect("the third try"),
        Revision(1)
    );
    proxy.fail(&[("m-2", BUSY), ("m-2", BUSY), ("m-2", BUSY)]);
    let error = append(&store, &["m-2".to_owned()])
        .await
        .expect_err("three times busy");
    let Error::Unavailable { retry_after, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(*retry_after, Some(Duration::from_secs(7)));
    assert_eq!(
        append(&store, &["m-2".to_owned()])
            .await
            .expect("it is well again"),
        Revision(2)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_whose_answer_was_lost_is_one_event() {
    let Some(real) = Real::start(&[]) else { return };
    let (proxy, store) = through(&real).await;
    proxy.fail(&[("m-1", Fault::LoseAnswer)]);
    assert_eq!(
        append(&store, &["m-1".to_owned()])
            .await
            .expect("the second try"),
        Revision(1)
    );
    assert_eq!(proxy.count("m-1"), 2);
    proxy.fail(&[
        ("m-2", Fault::LoseAnswer),
        ("m-2", Fault::LoseAnswer),
        ("m-2", Fault::LoseAnswer),
    ]);
    append(&store, &["m-2".to_owned()])
        .await
        .expect_err("never an answer");
    append(&store, &["m-2".to_owned()])
        .await
        .expect("sent again");
    let mut seen = ids(&store).await;
    seen.sort();
    assert_eq!(seen, ["m-1", "m-2"]);
}

/// Taking a lease twice is not taking it once.
#[tokio::test(flavor = "multi_thread")]
async fn a_lease_is_asked_for_once_whatever_comes_of_it() {
    let Some(real) = Real::start(&[]) else { return };
    let (proxy, store) = through(&real).await;
    let acquire = async || {
        store
            .acquire(&ns(), "coder", "me", Duration::from_secs(60))
            .await
    };
    proxy.fail(&[("/acquire", BUSY)]);
    acquire().await.expect_err("busy");
    assert_eq!(proxy.count("/acquire"), 1);
    assert!(matches!(acquire().await, Ok(Acquired::Granted(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_store_or_a_redirect_is_told_and_not_tried_again() {
    let Some(real) = Real::start(&[]) else { return };
    let (proxy, store) = through(&real).await;
    let elsewhere = Fault::Answer(307, ("location", "http://127.0.0.1:1/"));
    for (fault, word) in [
        (Fault::Answer(500, ("x", "y")), "HTTP 500"),
        (elsewhere, "redirects"),
    ] {
        let before = proxy.count("m-1");
        proxy.fail(&[("m-1", fault)]);
        let error = append(&store, &["m-1".to_owned()])
            .await
            .expect_err("refused");
        assert!(error.to_string().contains(word), "{error}");
        assert_eq!(error.code(), "store_unavailable");
        assert_eq!(proxy.count("m-1"), before + 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_store_is_waited_for() {
    let Some(real) = Real::start(&[]) else { return };
    let (proxy, store) = through(&real).await;
    *proxy.delay.lock() = Duration::from_secs(2);
    let began = Instant::now();
    append(&store, &["m-1".to_owned()])
        .await
        .expect("slow, but well");
    assert!(began.elapsed() >= Duration::from_secs(2));
    assert_eq!(ids(&store).await, ["m-1"]);
}
