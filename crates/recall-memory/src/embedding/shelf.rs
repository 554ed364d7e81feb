//! The vectors of one namespace: those in memory, those in the store, and how far the job is.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use recall_store::{Batch, Precondition, RecordKind, RecordWrite};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{numbers, record};
use crate::event_id::EventId;
use crate::space::Space;
use crate::vectors::{At, VectorTable};
use crate::view::Unembedded;

/// The record that says whose vectors a namespace has.
const MARK: &str = "model";
/// Records that are read or erased at a time.
const PAGE: u32 = 256;
/// Items that are counted at a time.
const COUNTED: usize = 4_096;

/// What the record says.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
struct Mark {
    model: String,
    dimension: usize,
}

/// Whose vectors the store has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// This model's, or none yet.
    Ours,
    Others,
}

/// The vectors of a namespace.
#[derive(Debug, Default)]
pub(crate) struct Shelf {
    table: RwLock<VectorTable>,
    state: Mutex<State>,
    loading: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    loaded: Option<Kept>,
    /// What the store's mark says.
    mark: Option<Mark>,
    /// Another model's vectors are still in the store.
    untidy: bool,
    /// How many items of the index have been looked at.
    reached: usize,
    working: bool,
    /// Something came while the job was at work.
    again: bool,
}

/// Statements to embed, and how far that brings the job.
#[derive(Debug)]
pub(super) struct Next {
    pub(super) wanted: Vec<Unembedded>,
    pub(super) end: usize,
}

impl Shelf {
    pub(super) fn look<T>(&self, look: impl FnOnce(&VectorTable) -> T) -> T {
        look(&self.table.read())
    }

    pub(crate) fn bytes(&self) -> usize {
        self.table.read().bytes()
    }

    /// Reads what the store has, once. With `again`, another model's vectors do not count.
    pub(super) async fn load(
        &self,
        space: &Space,
        model: &str,
        again: bool,
    ) -> Result<Kept, recall_store::Error> {
        let known = self.state.lock().loaded;
        if let Some(kept) = known {
            return Ok(kept);
        }
        let _turn = self.loading.lock().await;
        let known = self.state.lock().loaded;
        if let Some(kept) = known {
            return Ok(kept);
        }
        let record = space.store.get(&space.ns, RecordKind::Vector, MARK).await?;
        let mark: Option<Mark> =
            record.and_then(|record| serde_json::from_slice(&record.body).ok());
        let others = mark.as_ref().filter(|mark| mark.model != model);
        if let Some(mark) = others {
            tracing::warn!(
                namespace = space.ns.as_str(),
                kept = mark.model,
                set = model,
                again,
                "the vectors of this namespace were made by another model and do not compare: words \
                 are searched alone unless they are made anew (embed-again)"
            );
        }
        let kept = match others {
            Some(_) if !again => Kept::Others,
            Some(_) | None => Kept::Ours,
        };
        if kept == Kept::Ours {
            self.read(space, model).await?;
        }
        let mut state = self.state.lock();
        state.untidy = others.is_some();
        state.mark = mark.filter(|mark| mark.model == model);
        state.loaded = Some(kept);
        Ok(kept)
    }

    async fn read(&self, space: &Space, model: &str) -> Result<(), recall_store::Error> {
        let places: HashMap<String, At> = space.read(|view| view.event_places())?;
        let prefix = prefix(model);
        let mut after: Option<String> = None;
        loop {
            let list = space.store.list(
                &space.ns,
                RecordKind::Vector,
                &prefix,
                after.as_deref(),
                PAGE,
            );
            let page = list.await?;
            let mut table = self.table.write();
            for record in &page.records {
                let id = record.key.strip_prefix(&prefix).unwrap_or_default();
                if let Some(at) = places.get(id) {
                    table.put(*at, &numbers(&record.body));
                }
            }
            drop(table);
            after = page.next;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    /// Whether a job must be started now; one at work is told to look again.
    pub(super) fn begin(&self) -> bool {
        let mut state = self.state.lock();
        state.again |= state.working;
        !std::mem::replace(&mut state.working, true)
    }

    /// Whether statements still wait for their vector.
    pub(super) fn is_behind(&self, space: &Space) -> bool {
        let from = self.state.lock().reached;
        let table = self.table.read();
        let (waiting, end) = space.glance(|view| match view {
            Some(view) if view.items_given() != from => {
                view.unembedded(from, 1, |at| table.has(at))
            }
            Some(_) | None => (Vec::new(), from),
        });
        if waiting.is_empty() {
            self.reached(end);
        }
        !waiting.is_empty()
    }

    /// How many statements have no vector; none of a namespace that is not in memory.
    pub(crate) fn waiting(&self, space: &Space) -> usize {
        let mut from = {
            let state = self.state.lock();
            state.loaded.is_some().then_some(state.reached)
        };
        let mut count = 0;
        while let Some(at) = from {
            // Writes come in between.
            let table = self.table.read();
            let found =
                space.glance(|view| view.map(|view| view.waiting(at, COUNTED, |at| table.has(at))));
            let (some, next) = found.unwrap_or_default();
            (count, from) = (count + some, next);
        }
        count
    }

    pub(super) fn reached(&self, end: usize) {
        self.state.lock().reached = end;
    }

    /// Takes vectors in; `false` if one does not compare with those that are there.
    pub(super) fn take<'v>(&self, vectors: impl Iterator<Item = (At, &'v Vec<f32>)>) -> bool {
        let mut table = self.table.write();
        let mut all = true;
        for (at, vector) in vectors {
            all &= table.put(at, vector);
        }
        all
    }

    /// The write that says whose vectors these are, if the store does not know yet.
    pub(super) fn mark(&self, model: &str) -> Option<RecordWrite> {
        let mark = Mark {
            model: model.to_owned(),
            dimension: self.table.read().dimension(),
        };
        let mut state = self.state.lock();
        if state.mark.as_ref() == Some(&mark) {
            return None;
        }
        let body = serde_json::to_vec(&mark).unwrap_or_default();
        state.mark = Some(mark);
        Some(record(MARK.to_owned(), body))
    }

    /// How many statements have a vector, of how many.
    pub(super) fn progress(&self, space: &Space) -> (usize, usize) {
        let of = space.glance(|view| view.map_or(0, |view| view.held()));
        (self.table.read().len(), of as usize)
    }

    /// Erases what other models made.
    pub(super) async fn tidy(&self, space: &Space, model: &str) -> Result<(), recall_store::Error> {
        if !self.state.lock().untidy {
            return Ok(());
        }
        let own = prefix(model);
        let mut after: Option<String> = None;
        loop {
            let list = space
                .store
                .list(&space.ns, RecordKind::Vector, "", after.as_deref(), PAGE);
            let page = list.await?;
            let foreign = page.records.iter().map(|record| &record.key);
            let foreign = foreign.filter(|key| **key != *MARK && !key.starts_with(&own));
            let records: Vec<_> = foreign
                .map(|key| RecordWrite {
                    kind: RecordKind::Vector,
                    key: key.clone(),
                    body: None,
                    precondition: Precondition::None,
                })
                .collect();
            if !records.is_empty() {
                let batch = Batch {
                    records,
                    ..Batch::default()
                };
                space.store.commit(&space.ns, batch).await?;
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        self.state.lock().untidy = false;
        tracing::info!(
            namespace = space.ns.as_str(),
            model,
            "all vectors are this model's now"
        );
        Ok(())
    }
}

/// A job at work. Torn down, it lets the next one start.
#[derive(Debug)]
pub(super) struct Job<'s> {
    space: &'s Arc<Space>,
    ended: bool,
}

impl<'s> Job<'s> {
    pub(super) fn of(space: &'s Arc<Space>) -> Self {
        Self {
            space,
            ended: false,
        }
    }

    /// The next statements without a vector; `None` when all have theirs.
    pub(super) fn next(&mut self, most: usize) -> Option<Next> {
        let shelf = &self.space.shelf;
        let from = {
            let mut state = shelf.state.lock();
            state.again = false;
            state.reached
        };
        let table = shelf.table.read();
        let found = self
            .space
            .glance(|view| view.map(|view| view.unembedded(from, most, |at| table.has(at))));
        drop(table);
        let (wanted, end) = found?;
        if wanted.is_empty() {
            shelf.reached(end);
            return None;
        }
        Some(Next { wanted, end })
    }

    /// Ends, unless something came meanwhile.
    pub(super) fn end(&mut self) -> bool {
        let mut state = self.space.shelf.state.lock();
        if state.again {
            return false;
        }
        state.working = false;
        self.ended = true;
        true
    }
}

impl Drop for Job<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.space.shelf.state.lock().working = false;
        }
    }
}

/// Keys of one model's vectors begin alike.
fn prefix(model: &str) -> String {
    let digest = Sha256::digest(model.as_bytes());
    let short = digest.get(..8).unwrap_or_default();
    format!("v/{}/", hex::encode(short))
}

pub(super) fn key_of(model: &str, id: &EventId) -> String {
    format!("{}{id}", prefix(model))
}
