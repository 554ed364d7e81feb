//! The engine in this process, on a store that keeps nothing.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use recall_memory::{Args, Config, Memory, Operation, Registry, Surface, Writer};
use recall_store::{MemoryStore, Namespace, SystemClock};
use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;

use crate::rankers::Loaded;
use crate::set::{Item, Talk};

/// Longest text that a memory takes, with some room.
const MAX_TEXT: usize = 32_000;

/// An engine with a conversation in it.
pub(crate) struct Engine {
    runtime: Runtime,
    memory: Memory,
    ns: Namespace,
    texts: Texts,
}

impl Engine {
    pub(crate) fn new(talk: &Talk, unnamed: bool) -> Result<Self, String> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .map_err(|error| error.to_string())?;
        let config = Config {
            surface: Surface::Text,
            registry: Registry::open(),
            view_memory: 1 << 30,
            freshness: Duration::ZERO,
            quota: recall_memory::Quota::default(),
        };
        let memory = Memory::new(Arc::new(MemoryStore::new()), Arc::new(SystemClock), config);
        let engine = Self {
            runtime,
            memory,
            ns: "bench".parse().map_err(|_| "a namespace")?,
            texts: Texts::new(talk),
        };
        for (item, text) in engine.texts.parts(talk) {
            let session = (!unnamed).then(|| item.session.clone());
            engine.call(Operation::Remember, session, remember(item, &text))?;
        }
        Ok(engine)
    }

    fn call(
        &self,
        operation: Operation,
        session: Option<String>,
        arguments: Map<String, Value>,
    ) -> Result<Value, String> {
        let writer = Writer {
            key_id: "bench".to_owned(),
            session,
        };
        let call = self
            .memory
            .call(&self.ns, &writer, operation, Args::from(arguments));
        let answer = self
            .runtime
            .block_on(call)
            .map_err(|error| error.to_string())?;
        serde_json::from_slice(&answer.json).map_err(|error| error.to_string())
    }
}

impl Loaded for Engine {
    fn ask(&mut self, question: &str) -> Result<Vec<String>, String> {
        let mut arguments = Map::new();
        arguments.insert("question".to_owned(), question.into());
        let answer = self.call(Operation::Recall, None, arguments)?;
        self.texts.ids(&answer)
    }
}

/// The arguments that remember a part of an item.
pub(crate) fn remember(item: &Item, text: &str) -> Map<String, Value> {
    let mut arguments = Map::new();
    arguments.insert("text".to_owned(), text.into());
    if let Some(at) = item.instant() {
        arguments.insert("observed_at".to_owned(), json!(at));
    }
    arguments
}

/// The texts of a conversation by which rows of an answer are known again.
#[derive(Debug)]
pub(crate) struct Texts(HashMap<String, String>);

impl Texts {
    pub(crate) fn new(talk: &Talk) -> Self {
        let mut ids = HashMap::new();
        for item in &talk.items {
            for part in parts(&item.said()) {
                ids.entry(key(&part)).or_insert_with(|| item.id.clone());
            }
        }
        Self(ids)
    }

    /// The items in parts that a memory takes.
    pub(crate) fn parts<'t>(&self, talk: &'t Talk) -> Vec<(&'t Item, String)> {
        let of = |item: &'t Item| {
            parts(&item.said())
                .into_iter()
                .map(move |part| (item, part))
        };
        talk.items.iter().flat_map(of).collect()
    }

    /// The ids of the rows of an answer, each once. A row that is no item fails the run.
    pub(crate) fn ids(&self, answer: &Value) -> Result<Vec<String>, String> {
        let rows = answer["memories"]
            .as_array()
            .ok_or("an answer without memories")?;
        let mut ids: Vec<String> = Vec::new();
        for row in rows {
            let text = row["text"].as_str().unwrap_or_default();
            let id = self
                .0
                .get(&key(text))
                .ok_or_else(|| format!("a row that nobody wrote: {text}"))?;
            if !ids.contains(id) {
                ids.push(id.clone());
            }
        }
        Ok(ids)
    }
}

fn key(text: &str) -> String {
    text.trim().to_lowercase()
}

fn parts(text: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = text.trim();
    while rest.len() > MAX_TEXT {
        let mut end = MAX_TEXT;
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let (part, more) = rest.split_at(end);
        parts.push(part.trim().to_owned());
        rest = more.trim();
    }
    if !rest.is_empty() {
        parts.push(rest.to_owned());
    }
    parts
}
