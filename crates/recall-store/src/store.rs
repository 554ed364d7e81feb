//! The port itself.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use crate::error::Error;
use crate::lease::{Acquired, Epoch, Fence, Grant, LeaseState};
use crate::log::{LogPage, NewEvent, Revision};
use crate::names::Namespace;
use crate::records::{Record, RecordKind, RecordPage, RecordWrite, Version};

/// The future that every port method returns. Boxed, so that the port is object-safe: a call to a
/// store costs a lock, a disk or a network, beside which one allocation does not show.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What a store can promise. The API offers only what follows from these and says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// [`Store::acquire`] and its relatives work; without them agents cannot be resumed.
    pub leases: bool,
    /// A [`Fence`] is checked in the same step as the write. Else it is checked right before, and a
    /// lease that ran out admits nobody.
    pub fenced_writes: bool,
    /// [`Batch::expect`] is checked in the same step as the append.
    pub conditional_append: bool,
    /// No other process can write this store while it is open, so a revision held in memory is
    /// current without asking.
    pub exclusive: bool,
}

/// Everything that one commit writes: all of it or nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    /// Events to append, in order. At most 4,096.
    pub events: Vec<NewEvent>,
    /// Records to write. At most 4,096; no record twice.
    pub records: Vec<RecordWrite>,
    /// Refuse the batch unless the log stands at this revision. Whoever expects one has read the log up
    /// to there, and vouches that each event's id is new, to the log and within the batch: a store need
    /// not look. A repetition after a lost answer is a conflict, so it appends nothing twice.
    pub expect: Option<Revision>,
    /// Refuse the batch once a newer epoch of this lease exists.
    pub fence: Option<Fence>,
}

/// The most events, and the most records, of one batch.
pub const MAX_BATCH: usize = 4096;
/// The longest event id, in bytes.
pub const MAX_EVENT_ID_BYTES: usize = 256;
/// The longest record key, in bytes.
pub const MAX_RECORD_KEY_BYTES: usize = 1024;
/// The largest body of an event or a record, in bytes.
pub const MAX_BODY_BYTES: usize = 8 * 1024 * 1024;

impl Batch {
    /// Checks the stated limits. Adapters call it before anything else, so that all refuse alike.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`] naming the limit.
    pub fn within_limits(&self) -> Result<(), Error> {
        let check = |what, got: usize, limit: usize| match got <= limit {
            true => Ok(()),
            false => Err(Error::TooLarge {
                what,
                limit: limit as u64,
            }),
        };
        check(
            "the number of events in a batch",
            self.events.len(),
            MAX_BATCH,
        )?;
        check(
            "the number of records in a batch",
            self.records.len(),
            MAX_BATCH,
        )?;
        for event in &self.events {
            check("an event id", event.id.len(), MAX_EVENT_ID_BYTES)?;
            check("an event", event.body.len(), MAX_BODY_BYTES)?;
        }
        for record in &self.records {
            check("a record key", record.key.len(), MAX_RECORD_KEY_BYTES)?;
            check(
                "a record",
                record.body.as_ref().map_or(0, bytes::Bytes::len),
                MAX_BODY_BYTES,
            )?;
        }
        Ok(())
    }
}

/// What a commit did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    /// The log's revision after the commit.
    pub revision: Revision,
    /// For each event of the batch, its revision: a new one, or that of the event that already had
    /// its id.
    pub events: Vec<Revision>,
    /// For each record of the batch, its version after the commit.
    pub records: Vec<Version>,
}

/// A place that keeps memory.
///
/// Every method that touches data takes a [`Namespace`] first, and no method reaches two. A write
/// that was answered with `Ok` survives the process (and, where the adapter says so, the machine),
/// and every later read through any handle of the same process sees it.
///
/// # Errors
///
/// All methods fail with [`Error::Unavailable`] when the store cannot be asked; a write that failed
/// so may or may not have happened, and repeating it is safe. [`Error::Damaged`] means that what is
/// stored cannot be understood; it is never reported as absence.
pub trait Store: Send + Sync + fmt::Debug + 'static {
    /// What this store can promise.
    fn capabilities(&self) -> Capabilities;

    /// Writes a batch: every event and record, or none.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] when an expectation or precondition does not hold, [`Error::Fenced`] when
    /// the lease is lost, [`Error::TooLarge`] over a stated limit.
    fn commit<'a>(
        &'a self,
        ns: &'a Namespace,
        batch: Batch,
    ) -> BoxFuture<'a, Result<Committed, Error>>;

    /// The log after `after`, oldest first, at most `limit` entries (and fewer where entries are
    /// large, but at least one if there is one).
    fn events<'a>(
        &'a self,
        ns: &'a Namespace,
        after: Revision,
        limit: u32,
    ) -> BoxFuture<'a, Result<LogPage, Error>>;

    /// The log's revision.
    fn revision<'a>(&'a self, ns: &'a Namespace) -> BoxFuture<'a, Result<Revision, Error>>;

    /// What [`Store::revision`] would answer, if that can be told at once, without asking anybody and
    /// without waiting for those who do; `None` tells nothing.
    fn revision_at_hand(&self, ns: &Namespace) -> Option<Revision> {
        let _ = ns;
        None
    }

    /// One record, or `None`.
    fn get<'a>(
        &'a self,
        ns: &'a Namespace,
        kind: RecordKind,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<Record>, Error>>;

    /// The records of a kind whose key starts with `prefix`, after the key `after`, at most `limit`.
    fn list<'a>(
        &'a self,
        ns: &'a Namespace,
        kind: RecordKind,
        prefix: &'a str,
        after: Option<&'a str>,
        limit: u32,
    ) -> BoxFuture<'a, Result<RecordPage, Error>>;

    /// Takes a lease that nobody holds, with a larger epoch than any before.
    ///
    /// A live lease is [`Acquired::Held`], also for the holder itself.
    fn acquire<'a>(
        &'a self,
        ns: &'a Namespace,
        name: &'a str,
        holder: &'a str,
        ttl: Duration,
    ) -> BoxFuture<'a, Result<Acquired, Error>>;

    /// Extends a lease that is still ours. The epoch of the answer is the one to use from then on.
    ///
    /// # Errors
    ///
    /// [`Error::Fenced`] when the lease has expired, was released or passed on.
    fn renew<'a>(
        &'a self,
        ns: &'a Namespace,
        grant: &'a Grant,
        ttl: Duration,
    ) -> BoxFuture<'a, Result<Grant, Error>>;

    /// Gives a lease back if `epoch` is still the one that stands; answers whether it was. Also the
    /// way to pass on the lease of a holder that is proved gone.
    fn release<'a>(
        &'a self,
        ns: &'a Namespace,
        name: &'a str,
        epoch: Epoch,
    ) -> BoxFuture<'a, Result<bool, Error>>;

    /// What is known of a lease; `None` if it was never held.
    fn inspect<'a>(
        &'a self,
        ns: &'a Namespace,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<LeaseState>, Error>>;

    /// The namespaces that hold any event or record, after `after`, in ascending order.
    fn namespaces<'a>(
        &'a self,
        after: Option<&'a Namespace>,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<Namespace>, Error>>;

    /// Nobody follows this namespace's log any more: what is kept in memory to number it may go. The
    /// next revision asked for may number the same events anew.
    fn forget(&self, ns: &Namespace) {
        let _ = ns;
    }

    /// Whether the store can be used right now. For readiness.
    fn ping(&self) -> BoxFuture<'_, Result<(), Error>>;
}
