//! Every tool over the in-memory store, with a clock that the tests move.

mod model;
mod operator;
mod ownership;
mod processes;
mod tools;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use recall_memory::{Config, Registry, Surface};
use recall_store::{BoxFuture, ManualClock, MemoryStore};
use serde_json::json;

use super::*;
use crate::session::{Life, SessionKind};

/// Says of sessions what the test says.
#[derive(Debug, Default)]
pub(super) struct Said(Mutex<std::collections::HashMap<String, Life>>);

impl Said {
    pub(super) fn say(&self, session: &Session, life: Life) {
        self.0.lock().insert(session.id(), life);
    }
}

impl Liveness for Said {
    fn of<'a>(&'a self, _: &'a Namespace, session: &'a Session) -> BoxFuture<'a, Life> {
        let life = self.0.lock().get(&session.id()).copied();
        Box::pin(async move { life.unwrap_or(Life::Ending) })
    }
}

#[derive(Debug, Clone)]
pub(super) struct Bench {
    pub(super) store: MemoryStore,
    pub(super) clock: ManualClock,
    pub(super) life: Arc<Said>,
    pub(super) agents: Agents,
    pub(super) memory: Memory,
    pub(super) ns: Namespace,
}

impl Bench {
    pub(super) fn new() -> Self {
        let clock = ManualClock::new("2026-11-29T12:00:00Z".parse().expect("an instant"));
        let store = MemoryStore::with_clock(Arc::new(clock.clone()));
        let life = Arc::new(Said::default());
        let (agents, memory) = replica(&store, &clock, &life);
        Self {
            store,
            clock,
            life,
            agents,
            memory,
            ns: "team:a".parse().expect("a namespace"),
        }
    }

    /// Another server over the same store.
    pub(super) fn replica(&self) -> Self {
        let (agents, memory) = replica(&self.store, &self.clock, &self.life);
        Self {
            agents,
            memory,
            ..self.clone()
        }
    }

    pub(super) fn advance(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    /// Uses a tool on agent `a`.
    pub(super) async fn call(
        &self,
        who: &Session,
        tool: &str,
        arguments: Value,
    ) -> Result<Value, Error> {
        let Value::Object(mut arguments) = arguments else {
            panic!("an object")
        };
        arguments.entry("agent_id").or_insert_with(|| "a".into());
        let tool = Tool::find(tool).expect("a tool");
        self.agents.call(&self.ns, who, tool, arguments).await
    }

    #[track_caller]
    pub(super) fn ok(
        &self,
        who: &Session,
        tool: &'static str,
        arguments: Value,
    ) -> impl Future<Output = Value> {
        let (bench, who, place) = (self.clone(), who.clone(), std::panic::Location::caller());
        async move {
            let answer = bench.call(&who, tool, arguments).await;
            answer.unwrap_or_else(|error| panic!("{tool} at {place}: {error}"))
        }
    }

    /// The code and the text of a refusal.
    #[track_caller]
    pub(super) fn refused(
        &self,
        who: &Session,
        tool: &'static str,
        arguments: Value,
    ) -> impl Future<Output = (&'static str, String)> {
        let (bench, who, place) = (self.clone(), who.clone(), std::panic::Location::caller());
        async move {
            match bench.call(&who, tool, arguments).await {
                Ok(answer) => panic!("{tool} at {place} was not refused: {answer}"),
                Err(error) => (error.code(), error.to_string()),
            }
        }
    }
}

fn replica(store: &MemoryStore, clock: &ManualClock, life: &Arc<Said>) -> (Agents, Memory) {
    let (store, clock): (Arc<dyn Store>, Arc<dyn Clock>) =
        (Arc::new(store.clone()), Arc::new(clock.clone()));
    let config = Config {
        surface: Surface::Text,
        registry: Registry::open(),
        view_memory: 1 << 20,
        freshness: Duration::ZERO,
        quota: recall_memory::Quota::default(),
    };
    let memory = Memory::new(Arc::clone(&store), Arc::clone(&clock), config);
    let life: Arc<dyn Liveness> = life.clone();
    (Agents::new(store, memory.clone(), clock, life), memory)
}

fn session(kind: SessionKind, label: &str) -> Session {
    Session {
        kind,
        key: Some(format!("key-of-{label}")),
        label: label.to_owned(),
        process: None,
    }
}

pub(super) fn pod(uid: &str) -> Session {
    session(SessionKind::Pod(uid.to_owned()), uid)
}

pub(super) fn named(name: &str) -> Session {
    session(SessionKind::Named(name.to_owned()), name)
}

pub(super) fn key(id: &str) -> Session {
    session(SessionKind::Key(id.to_owned()), id)
}

#[track_caller]
pub(super) fn has(subject: &Value, expected: &Value) {
    for (name, wanted) in expected.as_object().expect("an object") {
        assert_eq!(&subject[name], wanted, "{name} of {subject}");
    }
}

pub(super) fn none() -> Value {
    json!({})
}
