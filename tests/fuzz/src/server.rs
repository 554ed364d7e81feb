//! The whole Memory API in this process, over a store in memory.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use jiff::Timestamp;
use prometheus_client::registry::Registry as Exposition;
use recall_agent::{Agents, Life, Liveness, Session};
use recall_api::{Answers, Api, Bounds, Hosts, Metrics, Services, router};
use recall_keys::{Keys, Reach, Spec};
use recall_memory::{Config, Memory, Quota, Registry, Surface};
use recall_store::{BoxFuture, ManualClock, MemoryStore, Namespace};
use secrecy::ExposeSecret;
use tower::ServiceExt;

use crate::request::{Request, requests};

/// Requests that fill a memory and an agent with something of every kind.
pub struct Story(pub &'static str);

/// A server with a key of its own.
#[derive(Debug)]
pub struct Server {
    router: Router,
    /// Reaches one namespace.
    pub key: String,
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    /// The status of HTTP.
    pub status: u16,
    /// Whether it says that its body is JSON.
    pub says_json: bool,
    /// All of it.
    pub body: Vec<u8>,
}

impl Server {
    /// Over `store`, for `namespace`, at a time that stands still.
    pub async fn new(store: &Arc<MemoryStore>, surface: Surface, namespace: &str) -> Self {
        let store = Arc::clone(store);
        let clock = Arc::new(ManualClock::new(now()));
        let metrics = recall_keys::Metrics::register(&mut Exposition::default());
        let limits = recall_keys::Config::default();
        let keys = Keys::new(store.clone(), clock.clone(), limits, Vec::new(), metrics);
        let spec = Spec {
            reach: Reach::Namespace(namespace.parse().expect("a namespace")),
            agent: None,
            session: None,
            note: None,
            ttl: None,
        };
        let key = keys.mint(spec).await.expect("a key").key;
        let memory = Memory::new(store.clone(), clock.clone(), config(surface));
        let agents = Agents::new(store, memory.clone(), clock, Arc::new(Alive));
        let api = Api::from(Services {
            traces: None,
            names_namespaces: false,
            keys,
            memory,
            agents: Some(agents),
            exchange: None,
            answers: Answers::default(),
            bounds: Bounds::new(None, None),
            hosts: Hosts::default(),
            backend: "memory",
            version: "0",
            metrics: Metrics::default(),
        });
        Self {
            router: router(api),
            key: key.expose_secret().to_owned(),
        }
    }

    /// What `request` is answered, unless it is none.
    pub async fn call(&self, request: Request) -> Option<Answer> {
        let request = request.into_http(&self.key)?;
        let response = self
            .router
            .clone()
            .oneshot(request)
            .await
            .expect("an answer");
        let kind = response.headers().get("content-type");
        let says_json = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
        let status = response.status().as_u16();
        let body = axum::body::to_bytes(response.into_body(), usize::MAX).await;
        Some(Answer {
            status,
            says_json,
            body: body.expect("a body").to_vec(),
        })
    }

    /// Tells `story`, of which every request must be taken.
    pub async fn tell(&self, story: &Story) {
        for request in requests(story.0.as_bytes()) {
            let told = format!("{request:?}");
            let answer = self.call(request).await.expect("a request");
            let said = String::from_utf8_lossy(&answer.body);
            let taken = answer.status == 200 && !said.contains("\"isError\":true");
            assert!(taken, "{told}: {said}");
        }
    }
}

/// The settings of a server on `surface`.
#[must_use]
pub fn config(surface: Surface) -> Config {
    Config {
        surface,
        registry: Registry::open(),
        view_memory: 64 * 1024 * 1024,
        freshness: Duration::ZERO,
        quota: Quota::default(),
    }
}

/// A Sunday.
fn now() -> Timestamp {
    "2026-11-29T12:00:00Z".parse().expect("a time")
}

/// Every session is there.
#[derive(Debug)]
struct Alive;

impl Liveness for Alive {
    fn of<'a>(&'a self, _: &'a Namespace, _: &'a Session) -> BoxFuture<'a, Life> {
        Box::pin(async { Life::Alive })
    }
}
