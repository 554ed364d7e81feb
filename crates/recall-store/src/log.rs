//! The event log of a namespace.

use std::fmt;

use bytes::Bytes;

/// How far a namespace's log has come: the number of events in it. 0 is the empty log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Revision(pub u64);

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An event to append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// Chosen by the caller from the content. An id already in the log makes the append of this
    /// event a no-op, so a retry after a lost answer is harmless, unless the batch
    /// [expects](crate::Batch::expect) a revision. At most 256 bytes.
    pub id: String,
    /// One flat JSON object whose values are strings, finite numbers or booleans. Remote adapters
    /// turn its members into metadata; the others keep it as it is. At most 8 MiB.
    pub body: Bytes,
}

/// An event as the log holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// Its place: the revision that the log reached by it. Starts at 1, without gaps.
    pub revision: Revision,
    /// The caller's id.
    pub id: String,
    /// The caller's body, byte for byte on local stores and equal as JSON on remote ones.
    pub body: Bytes,
}

/// A piece of the log, oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPage {
    /// The entries after the one asked for, at most as many as asked for.
    pub entries: Vec<LogEntry>,
    /// The log's revision when the page was read; the last page ends with it.
    pub revision: Revision,
}
