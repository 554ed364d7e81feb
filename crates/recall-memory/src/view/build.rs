//! Building a view from the whole log: first every event to its place, then one fold of each pair,
//! then one index item for each belief. Nothing is indexed only to be forgotten again.

use std::collections::HashSet;
use std::sync::Arc;

use recall_store::{LogEntry, Revision};

use super::View;
use crate::event::Placed;
use crate::registry::Registry;

/// A view in the making.
#[derive(Debug)]
pub(crate) struct Builder {
    view: View,
    /// Every event in the order of the log.
    arrived: Vec<(u32, u32)>,
}

impl Builder {
    pub(crate) fn new(registry: Arc<Registry>) -> Self {
        Self {
            view: View::new(registry),
            arrived: Vec::new(),
        }
    }

    pub(crate) fn revision(&self) -> Revision {
        self.view.revision()
    }

    /// Takes a page of the log in.
    ///
    /// # Errors
    ///
    /// [`recall_store::Error::Damaged`] naming the revision that does not decode.
    pub(crate) fn page(&mut self, entries: &[LogEntry]) -> Result<(), recall_store::Error> {
        for entry in entries {
            let placed = decode(entry)?;
            self.arrived.extend(self.view.place(placed));
            self.view.set_revision(entry.revision);
        }
        Ok(())
    }

    /// Folds and indexes everything.
    pub(crate) fn finish(mut self) -> View {
        let mut folded = HashSet::new();
        for no in 0..self.view.pair_count() {
            if !folded.contains(&no) {
                folded.extend(self.fold(no));
            }
        }
        for (no, slot) in self.arrived {
            let pair = self.view.pair(no);
            let event = pair.and_then(|pair| Some((pair, pair.events.get(slot as usize)?)));
            let Some((pair, event)) = event else { continue };
            match &event.value {
                Some(value) if !event.retraction => match pair.holds(value) == Some(slot) {
                    true => self.view.learn(no, slot),
                    false => self.view.superseded.push((no, slot)),
                },
                Some(_) | None => {}
            }
        }
        self.view.follow_past();
        self.view
    }

    fn fold(&mut self, no: u32) -> Vec<u32> {
        let Some(pair) = self.view.pair(no) else {
            return Vec::new();
        };
        let pairs = self.view.cluster_pairs(pair);
        let state = self.view.cluster(&pairs).fold(None);
        for (no, believed) in pairs.iter().zip(state) {
            if let Some(pair) = self.view.pairs.get_mut(*no as usize) {
                pair.believed = believed;
            }
        }
        pairs
    }
}

/// Reads one entry of the log.
///
/// # Errors
///
/// [`recall_store::Error::Damaged`] naming the revision.
pub(crate) fn decode(entry: &LogEntry) -> Result<Placed, recall_store::Error> {
    Placed::decode(&entry.id, &entry.body).map_err(|reason| {
        recall_store::Error::Damaged(format!(
            "the event at revision {}: {reason}",
            entry.revision
        ))
    })
}
