//! What keys promise, over the in-memory store and a clock that the tests move.

mod admin;
mod gone;
mod pods;
mod sessions;
mod store_trouble;

use std::sync::Arc;
use std::time::Duration;

use recall_identity::{Caller, PodRef};
use recall_keys::{Config, Error, Grant, Keys, Metrics, Minted, Reach, Spec, StaticKey};
use recall_store::{ManualClock, MemoryStore, Store};
use secrecy::ExposeSecret;

const START: &str = "2026-11-29T12:00:00Z";

struct Bench {
    keys: Keys,
    clock: ManualClock,
    store: Arc<dyn Store>,
}

impl Bench {
    fn new() -> Self {
        Self::with(Arc::new(MemoryStore::new()), Vec::new())
    }

    fn with(store: Arc<dyn Store>, fixed: Vec<StaticKey>) -> Self {
        let clock = ManualClock::new(START.parse().expect("an instant"));
        let keys = Keys::new(
            Arc::clone(&store),
            Arc::new(clock.clone()),
            Config::default(),
            fixed,
            Metrics::default(),
        );
        Self { keys, clock, store }
    }

    /// Another server on the same store.
    fn replica(&self) -> Keys {
        self.replica_with(Config::default())
    }

    fn replica_with(&self, config: Config) -> Keys {
        Keys::new(
            Arc::clone(&self.store),
            Arc::new(self.clock.clone()),
            config,
            Vec::new(),
            Metrics::default(),
        )
    }

    async fn mint(&self, ttl: Option<u64>) -> Minted {
        let ttl = ttl.map(Duration::from_secs);
        let reach = Reach::Namespace("team:a".parse().expect("a namespace"));
        let spec = Spec {
            reach,
            agent: None,
            session: None,
            note: None,
            ttl,
        };
        self.keys.mint(spec).await.expect("a key")
    }

    async fn check(&self, minted: &Minted) -> Result<Arc<Grant>, Error> {
        self.keys.verify(minted.key.expose_secret()).await
    }
}

fn caller(agent: &str, pod: &str, uid: &str) -> Caller {
    Caller {
        tenant: "agents".to_owned(),
        agent: agent.to_owned(),
        pod: PodRef {
            namespace: "agents".to_owned(),
            name: pod.to_owned(),
            uid: uid.to_owned(),
        },
        service_account: "runner".to_owned(),
        node: None,
        token_id: None,
    }
}

#[track_caller]
fn refused<T: std::fmt::Debug>(outcome: Result<T, Error>, code: &str) {
    let error = outcome.expect_err("it must be refused");
    assert_eq!(error.code(), code, "{error}");
}
