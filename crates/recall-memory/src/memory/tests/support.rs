//! A memory over the in-memory store, on a clock that the test moves.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use recall_store::{ManualClock, MemoryStore, Namespace, Store};
use serde_json::{Value, json};

use crate::{Answer, Args, Config, Error, Memory, Operation, Registry, Surface, Writer};

/// Everything a test needs.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) memory: Memory,
    pub(crate) store: MemoryStore,
    pub(crate) clock: ManualClock,
    pub(crate) ns: Namespace,
}

/// Runs a case of a property test, with timers, which gathering writers wait by.
pub(crate) fn run<T>(case: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    runtime.expect("a runtime").block_on(case)
}

pub(crate) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

pub(crate) fn config(surface: Surface, open: bool) -> Config {
    Config {
        surface,
        registry: if open {
            Registry::open()
        } else {
            Registry::closed()
        },
        view_memory: 64 << 20,
        freshness: Duration::ZERO,
        quota: crate::Quota::default(),
    }
}

impl World {
    pub(crate) fn new(surface: Surface, open: bool) -> Self {
        Self::over(MemoryStore::new(), config(surface, open))
    }

    pub(crate) fn typed() -> Self {
        Self::new(Surface::Typed, false)
    }

    pub(crate) fn open() -> Self {
        Self::new(Surface::Typed, true)
    }

    pub(crate) fn text() -> Self {
        Self::new(Surface::Text, true)
    }

    pub(crate) fn over(store: MemoryStore, config: Config) -> Self {
        let clock = ManualClock::new(at("2026-06-01T12:00:00Z"));
        Self {
            memory: Memory::new(Arc::new(store.clone()), Arc::new(clock.clone()), config),
            store,
            clock,
            ns: "test".parse().unwrap(),
        }
    }

    /// The same store seen by a memory that knows nothing yet.
    pub(crate) fn again(&self, config: Config) -> Self {
        let memory = Memory::new(
            Arc::new(self.store.clone()),
            Arc::new(self.clock.clone()),
            config,
        );
        Self {
            memory,
            ..self.clone()
        }
    }

    pub(crate) fn seconds(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    pub(crate) async fn answer(&self, operation: Operation, args: Value) -> Result<Answer, Error> {
        let Value::Object(args) = args else {
            panic!("arguments are an object")
        };
        let writer = Writer {
            key_id: "k1".to_owned(),
            session: None,
        };
        self.memory
            .call(&self.ns, &writer, operation, Args::from(args))
            .await
    }

    pub(crate) async fn ask(&self, operation: Operation, args: Value) -> Value {
        let answer = self.answer(operation, args.clone()).await;
        let answer = answer.unwrap_or_else(|error| panic!("{operation:?} {args}: {error}"));
        serde_json::from_slice(&answer.json).unwrap()
    }

    pub(crate) async fn fails(&self, operation: Operation, args: Value) -> Error {
        match self.answer(operation, args.clone()).await {
            Err(error) => error,
            Ok(answer) => panic!(
                "{operation:?} {args} answered {}",
                String::from_utf8_lossy(&answer.json)
            ),
        }
    }

    pub(crate) async fn say(&self, subject: &str, predicate: &str, value: Value) -> Value {
        let args = json!({"subject": subject, "predicate": predicate, "value": value});
        self.ask(Operation::Remember, args).await
    }

    pub(crate) async fn said(
        &self,
        subject: &str,
        predicate: &str,
        value: Value,
        at: &str,
    ) -> Value {
        let args =
            json!({"subject": subject, "predicate": predicate, "value": value, "observed_at": at});
        self.ask(Operation::Remember, args).await
    }

    pub(crate) async fn forget(&self, subject: &str, predicate: &str, value: Option<Value>) -> i64 {
        let mut args = json!({"subject": subject, "predicate": predicate});
        if let Some(value) = value {
            args["value"] = value;
        }
        self.ask(Operation::Forget, args).await["withdrawn"]
            .as_i64()
            .unwrap()
    }

    /// The values that a recall answers with.
    pub(crate) async fn values(&self, args: Value) -> Vec<Value> {
        let list = self.ask(Operation::Recall, args).await;
        let list = list.as_array().unwrap();
        list.iter().map(|belief| belief["value"].clone()).collect()
    }

    pub(crate) async fn now(&self, subject: &str, predicate: &str) -> Vec<Value> {
        self.values(json!({"subject": subject, "predicate": predicate, "limit": 1000}))
            .await
    }

    pub(crate) async fn as_of(&self, subject: &str, predicate: &str, at: &str) -> Vec<Value> {
        self.values(json!({"subject": subject, "predicate": predicate, "as_of": at}))
            .await
    }

    pub(crate) async fn revision(&self) -> u64 {
        self.store.revision(&self.ns).await.unwrap().0
    }
}

pub(crate) mod shared;
