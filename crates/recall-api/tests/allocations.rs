//! How often the hot routes ask for memory: a bound each, so that a copy that slips in is seen where a timed
//! test would not tell.

use std::sync::Arc;
use std::time::Duration;

use allocation_counter::AllocationInfo;
use axum::Router;
use axum::body::Body;
use http::{Request, StatusCode};
use prometheus_client::registry::Registry as Exposition;
use recall_api::{Answers, Api, Bounds, Hosts, Metrics, Services, router};
use recall_keys::{Keys, Reach, Spec};
use recall_memory::{Config, Memory, Quota, Registry, Surface};
use recall_store::{MemoryStore, SystemClock};
use secrecy::ExposeSecret;
use serde_json::json;
use tower::ServiceExt;

/// A server that keeps everything in memory, with one thread that does all.
struct Server {
    runtime: tokio::runtime::Runtime,
    router: Router,
    key: String,
}

impl Server {
    fn with_facts(facts: usize) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let (router, key) = runtime.block_on(start());
        let server = Self {
            runtime,
            router,
            key,
        };
        for number in 0..facts {
            let fact = json!({
                "subject": format!("u{number}"), "predicate": "prefers_editor", "value": format!("e{number}"),
            });
            server.call("/v1/remember", &fact.to_string());
        }
        server
    }

    fn call(&self, path: &str, body: &str) {
        let request = Request::post(path)
            .header("host", "recall")
            .header("authorization", format!("Bearer {}", self.key))
            .header("content-type", "application/json")
            .body(Body::from(body.to_owned()))
            .expect("a request");
        let router = self.router.clone();
        let status = self.runtime.block_on(async {
            let answer = router.oneshot(request).await.expect("an answer");
            let status = answer.status();
            axum::body::to_bytes(answer.into_body(), usize::MAX)
                .await
                .expect("a body");
            status
        });
        assert_eq!(status, StatusCode::OK, "{path} {body}");
    }

    /// What one call takes once it has been made before.
    fn measure(&self, path: &str, body: &str) -> AllocationInfo {
        self.call(path, body);
        allocation_counter::measure(|| self.call(path, body))
    }
}

async fn start() -> (Router, String) {
    let (store, clock) = (Arc::new(MemoryStore::new()), Arc::new(SystemClock));
    let metrics = recall_keys::Metrics::register(&mut Exposition::default());
    let config = recall_keys::Config::default();
    let keys = Keys::new(store.clone(), clock.clone(), config, Vec::new(), metrics);
    let spec = Spec {
        reach: Reach::Namespace("team:a".parse().expect("a namespace")),
        agent: None,
        session: None,
        note: None,
        ttl: None,
    };
    let key = keys.mint(spec).await.expect("a key").key;
    let config = Config {
        surface: Surface::Typed,
        registry: Registry::closed(),
        view_memory: 64 * 1024 * 1024,
        freshness: Duration::ZERO,
        quota: Quota::default(),
    };
    let api = Api::from(Services {
        traces: None,
        names_namespaces: false,
        keys,
        memory: Memory::new(store, clock, config),
        agents: None,
        exchange: None,
        answers: Answers::default(),
        bounds: Bounds::new(None, None),
        hosts: Hosts::default(),
        backend: "memory",
        version: "0",
        metrics: Metrics::default(),
    });
    (router(api), key.expose_secret().to_owned())
}

/// A path, a body, and the most that a call may ask of the allocator, the client's part included: times and bytes, a
/// tenth above what was found. Who needs less lowers them.
const HOT: [(&str, &str, u64, u64); 4] = [
    (
        "/v1/recall",
        r#"{"subject":"u7","predicate":"prefers_editor"}"#,
        84,
        22_000,
    ),
    (
        "/v1/history",
        r#"{"subject":"u7","predicate":"prefers_editor"}"#,
        84,
        22_000,
    ),
    (
        "/v1/recall",
        r#"{"query":"u7 editor","limit":10}"#,
        190,
        38_000,
    ),
    (
        "/v1/remember",
        r#"{"subject":"u7","predicate":"prefers_editor","value":"e7"}"#,
        121,
        35_500,
    ),
];

#[test]
fn the_hot_routes_ask_for_little_memory() {
    let server = Server::with_facts(2_000);
    let mut beyond = Vec::new();
    for (path, body, most_times, most_bytes) in HOT {
        let AllocationInfo {
            count_total: times,
            bytes_total: bytes,
            ..
        } = server.measure(path, body);
        if times > most_times || bytes > most_bytes {
            beyond.push(format!(
                "{path} {body}: {times} times, {bytes} bytes; at most {most_times} and {most_bytes}"
            ));
        }
    }
    assert!(beyond.is_empty(), "{}", beyond.join("\n"));
}

#[test]
fn an_exact_recall_asks_for_no_more_in_a_larger_memory() {
    let (path, body, ..) = HOT[0];
    let times = |facts| Server::with_facts(facts).measure(path, body).count_total;
    assert_eq!(times(20), times(2_000));
}
