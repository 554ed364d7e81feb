//! Spans that wait to be sent.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::span::Batch;

/// Spans of one batch.
const BATCH: usize = 512;
/// How long a span waits for others.
const PERIOD: Duration = Duration::from_secs(2);
/// Spans that may wait; more are dropped. A collector that is behind costs a span, not a request.
const MOST: usize = 4096;

/// Spans are written where they wait, so that none is handed from thread to thread; the one that sends is
/// woken for a batch and not for each.
#[derive(Debug)]
pub(super) struct Outbox {
    waiting: Mutex<Waiting>,
    due: Condvar,
}

#[derive(Debug)]
struct Waiting {
    batch: Batch,
    /// Since when the first of the batch waits.
    since: Option<Instant>,
    /// Spans for which there was no room.
    lost: u64,
    /// Who wants to know that everything was sent.
    flushes: Vec<SyncSender<()>>,
}

impl Waiting {
    /// How long until it has to be sent; `None` if there is nothing to wait for.
    fn patience(&self) -> Option<Duration> {
        if self.batch.count() >= BATCH || !self.flushes.is_empty() {
            return Some(Duration::ZERO);
        }
        let since = self.since?;
        Some(PERIOD.saturating_sub(since.elapsed()))
    }
}

/// What is to be sent.
#[derive(Debug)]
pub(super) struct Due {
    pub(super) batch: Batch,
    pub(super) lost: u64,
    pub(super) flushes: Vec<SyncSender<()>>,
}

impl Outbox {
    /// An empty one. `version` is the service's own.
    pub(super) fn new(version: &str) -> Self {
        Self {
            waiting: Mutex::new(Waiting {
                batch: Batch::new(version),
                since: None,
                lost: 0,
                flushes: Vec::new(),
            }),
            due: Condvar::new(),
        }
    }

    /// Adds a span, which `write` appends as JSON.
    pub(super) fn push(&self, write: impl FnOnce(&mut String)) {
        let mut waiting = self.lock();
        if waiting.batch.count() >= MOST {
            waiting.lost += 1;
            return;
        }
        waiting.batch.push(write);
        let first = waiting.since.is_none();
        if first {
            waiting.since = Some(Instant::now());
        }
        if first || waiting.batch.count() == BATCH {
            self.due.notify_one();
        }
    }

    /// Asks for everything to be sent now. The answer comes once it was.
    pub(super) fn flush(&self) -> Receiver<()> {
        let (done, sent) = sync_channel(1);
        self.lock().flushes.push(done);
        self.due.notify_one();
        sent
    }

    /// Waits until something has to be sent, and takes it out. `empty` is where the next spans go.
    pub(super) fn wait(&self, empty: Batch) -> Due {
        let mut waiting = self.lock();
        loop {
            let unlocked = match waiting.patience() {
                Some(Duration::ZERO) => break,
                Some(patience) => {
                    let waited = self.due.wait_timeout(waiting, patience);
                    waited
                        .map(|(waiting, _)| waiting)
                        .map_err(|poisoned| poisoned.into_inner().0)
                }
                None => self.due.wait(waiting).map_err(PoisonError::into_inner),
            };
            waiting = unlocked.unwrap_or_else(|waiting| waiting);
        }
        waiting.since = None;
        Due {
            batch: std::mem::replace(&mut waiting.batch, empty),
            lost: std::mem::take(&mut waiting.lost),
            flushes: std::mem::take(&mut waiting.flushes),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(outbox: &Outbox, count: usize) {
        for _ in 0..count {
            outbox.push(|out| out.push_str("{}"));
        }
    }

    fn taken(outbox: &Outbox) -> (usize, u64) {
        let due = outbox.wait(Batch::new("1"));
        (due.batch.count(), due.lost)
    }

    #[test]
    fn a_full_batch_and_a_flush_are_due_at_once() {
        let outbox = Outbox::new("1");
        fill(&outbox, BATCH);
        assert_eq!(taken(&outbox), (BATCH, 0));
        fill(&outbox, 1);
        let sent = outbox.flush();
        let due = outbox.wait(Batch::new("1"));
        assert_eq!((due.batch.count(), due.flushes.len()), (1, 1));
        drop(due);
        assert!(sent.recv().is_err(), "nobody said that it was sent");
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let outbox = Outbox::new("1");
        fill(&outbox, MOST + 3);
        assert_eq!(taken(&outbox), (MOST, 3));
        fill(&outbox, BATCH);
        assert_eq!(taken(&outbox), (BATCH, 0));
    }

    #[test]
    fn a_single_span_waits_no_longer_than_it_may() {
        let outbox = Outbox::new("1");
        assert_eq!(outbox.lock().patience(), None);
        fill(&outbox, 1);
        assert!(outbox.lock().patience().is_some_and(|it| it <= PERIOD));
        outbox.lock().since = Instant::now().checked_sub(PERIOD);
        assert_eq!(taken(&outbox), (1, 0));
    }
}
