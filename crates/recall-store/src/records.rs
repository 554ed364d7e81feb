//! Versioned records beside the log: agent state and keys.

use bytes::Bytes;

/// The shelf a record stands on. Each kind is a key space of its own within a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RecordKind {
    /// A key of the server, by key id.
    Key,
    /// Which agent a pod first became, by pod UID.
    Pin,
    /// A fact about the server itself, such as a revocation cursor.
    Server,
    /// The newest working state of an agent.
    WorkingStateHead,
    /// One version of an agent's working state.
    WorkingState,
    /// One turn of an agent.
    Turn,
    /// One stored output of an agent.
    Output,
    /// One pointer of an agent.
    Pointer,
    /// One action of an agent.
    Action,
    /// The session that holds an agent's lease.
    Session,
    /// The vector of one statement, by model and event, and which model made them.
    Vector,
    /// That a text was read by a model, by the event that keeps it.
    Reading,
}

impl RecordKind {
    /// Every kind, in the order of its number.
    pub const ALL: [Self; 12] = [
        Self::Key,
        Self::Pin,
        Self::Server,
        Self::WorkingStateHead,
        Self::WorkingState,
        Self::Turn,
        Self::Output,
        Self::Pointer,
        Self::Action,
        Self::Session,
        Self::Vector,
        Self::Reading,
    ];

    /// The number that stands for the kind on disk. Never reused.
    #[must_use]
    pub fn number(self) -> u8 {
        match self {
            Self::Key => 1,
            Self::Pin => 2,
            Self::Server => 3,
            Self::WorkingStateHead => 4,
            Self::WorkingState => 5,
            Self::Turn => 6,
            Self::Output => 7,
            Self::Pointer => 8,
            Self::Action => 9,
            Self::Session => 10,
            Self::Vector => 11,
            Self::Reading => 12,
        }
    }
}

/// Grows with every write of a record and never repeats for it, also across an erasure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version(pub u64);

/// A record as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its name among its kind.
    pub key: String,
    /// Which write of it this is.
    pub version: Version,
    /// Its content.
    pub body: Bytes,
}

/// What must be true of a record for a write to happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precondition {
    /// Nothing: overwrite whatever is there.
    None,
    /// No such record may exist.
    Absent,
    /// The record must be at exactly this version.
    Version(Version),
}

/// One record write of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordWrite {
    /// The shelf.
    pub kind: RecordKind,
    /// The name, at most 1 KiB.
    pub key: String,
    /// The new content, at most 8 MiB; `None` erases the record.
    pub body: Option<Bytes>,
    /// What must hold, or the whole batch is refused with
    /// [`Error::Conflict`](crate::Error::Conflict).
    pub precondition: Precondition,
}

/// A piece of a listing, by key in ascending byte order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordPage {
    /// The records, at most as many as asked for.
    pub records: Vec<Record>,
    /// Where the next page starts: pass it as `after`. `None` on the last page.
    pub next: Option<String>,
}
