//! Leases: one holder at a time, told apart by an epoch that only grows.

use std::fmt;

use jiff::Timestamp;

/// The fencing number of a lease. Each change of holder makes it larger; it never repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Epoch(pub u64);

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A lease that was granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The lease's name within its namespace.
    pub name: String,
    /// Who holds it, in the holder's own words.
    pub holder: String,
    /// The fencing number to write under.
    pub epoch: Epoch,
    /// When it ends unless renewed, by the store's clock.
    pub expires_at: Timestamp,
}

/// The answer to an attempt to take a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acquired {
    /// It is ours now.
    Granted(Grant),
    /// Somebody holds it, possibly the caller itself under an earlier grant.
    Held(Grant),
}

/// What is known of a lease without touching it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseState {
    /// The last grant, live or not.
    pub grant: Grant,
    /// Whether it is held now: neither released nor expired.
    pub live: bool,
}

/// Makes a batch conditional on a lease: it is refused with [`Error::Fenced`](crate::Error::Fenced)
/// once a newer epoch exists or this epoch was released, whoever asks and however late. A lease that
/// merely ran out, with nobody after it, still admits its last holder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence {
    /// The lease's name.
    pub lease: String,
    /// The epoch the writer holds.
    pub epoch: Epoch,
}
