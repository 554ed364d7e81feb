//! The log of a namespace as this process knows it.
//!
//! The store keeps events in no order. Each process numbers them in the order in which it learned of
//! them, and numbers what it learns later behind: the revision is how many it knows. Two processes
//! that know the same events agree on the revision, not on the order.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bytes::Bytes;
use parking_lot::Mutex;
use recall_store::{Namespace, Revision};

use crate::age::Moment;
use crate::replicas::Seen;

/// One namespace.
#[derive(Debug)]
pub(crate) struct Space {
    pub(crate) ns: Namespace,
    pub(crate) collection: String,
    /// Held by the one write of events that is under way.
    pub(crate) writing: tokio::sync::Mutex<()>,
    /// Held by whoever asks the store what others wrote, so that all others wait for one answer.
    pub(crate) following: tokio::sync::Mutex<()>,
    /// Whether somebody asks before it is needed.
    pub(crate) ahead: AtomicBool,
    pub(crate) log: Mutex<Log>,
}

impl Space {
    pub(crate) fn new(ns: Namespace, collection: String) -> Self {
        Self {
            ns,
            collection,
            writing: tokio::sync::Mutex::new(()),
            following: tokio::sync::Mutex::new(()),
            ahead: AtomicBool::new(false),
            log: Mutex::default(),
        }
    }
}

/// What is known.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) loaded: bool,
    /// What is not known of the store any more: the log must be read whole.
    pub(crate) doubtful: bool,
    entries: Vec<Entry>,
    places: HashMap<Arc<str>, u64>,
    /// How far each other replica was followed.
    pub(crate) seen: HashMap<String, Seen>,
    /// When writers that are not ours were last looked for, and when everything was counted.
    pub(crate) looked: Option<Moment>,
    pub(crate) counted: Option<Moment>,
    /// Events observed before this were looked at, in Unix milliseconds.
    pub(crate) looked_until: i64,
    /// Of how many departed replicas the last writes were followed.
    pub(crate) departed: usize,
    /// Entries below this hold no body any more.
    released: usize,
}

#[derive(Debug)]
struct Entry {
    id: Arc<str>,
    /// Kept from learning of the event until it was handed out.
    body: Option<Bytes>,
}

impl Log {
    pub(crate) fn revision(&self) -> Revision {
        Revision(self.entries.len() as u64)
    }

    pub(crate) fn place(&self, id: &str) -> Option<Revision> {
        self.places.get(id).copied().map(Revision)
    }

    /// Numbers an event, if it is new.
    pub(crate) fn learn(&mut self, id: &str, body: Option<Bytes>) -> Revision {
        if let Some(place) = self.place(id) {
            return place;
        }
        let id: Arc<str> = Arc::from(id);
        let place = self.entries.len() as u64 + 1;
        self.entries.push(Entry {
            id: Arc::clone(&id),
            body,
        });
        self.places.insert(id, place);
        Revision(place)
    }

    /// The ids and bodies after `after`, as far as they are at hand.
    pub(crate) fn after(
        &self,
        after: Revision,
        limit: u32,
    ) -> Vec<(Revision, Arc<str>, Option<Bytes>)> {
        let from = usize::try_from(after.0)
            .unwrap_or(usize::MAX)
            .min(self.entries.len());
        let rest = self.entries.get(from..).unwrap_or_default();
        rest.iter()
            .take(limit as usize)
            .zip(from as u64 + 1..)
            .map(|(entry, place)| (Revision(place), Arc::clone(&entry.id), entry.body.clone()))
            .collect()
    }

    /// Lets go of the bodies up to `until`: whoever asks for what follows has them.
    pub(crate) fn release(&mut self, until: Revision) {
        let until = usize::try_from(until.0)
            .unwrap_or(usize::MAX)
            .min(self.entries.len());
        if let Some(done) = self.entries.get_mut(self.released..until) {
            done.iter_mut().for_each(|entry| entry.body = None);
        }
        self.released = self.released.max(until);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_numbered_once_in_the_order_of_learning() {
        let mut log = Log::default();
        for (id, place) in [("b", 1), ("a", 2), ("b", 1), ("c", 3)] {
            assert_eq!(
                log.learn(id, Some(Bytes::from_static(b"{}"))),
                Revision(place),
                "{id}"
            );
        }
        assert_eq!(log.revision(), Revision(3));
        let ids = |after, limit| -> Vec<_> {
            log.after(Revision(after), limit)
                .into_iter()
                .map(|(at, id, _)| (at.0, id.to_string()))
                .collect()
        };
        assert_eq!(ids(1, 1), [(2, "a".to_owned())]);
        assert!(ids(u64::MAX, 5).is_empty());
    }

    #[test]
    fn bodies_go_once_they_were_handed_out() {
        let mut log = Log::default();
        for id in ["a", "b", "c"] {
            log.learn(id, Some(Bytes::from_static(b"{}")));
        }
        log.release(Revision(2));
        let held: Vec<_> = log
            .after(Revision(0), 9)
            .into_iter()
            .map(|(_, _, body)| body.is_some())
            .collect();
        assert_eq!(held, [false, false, true]);
    }
}
