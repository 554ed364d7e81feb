//! What can go wrong in a store.

use std::time::Duration;

use crate::lease::Epoch;
use crate::log::Revision;

/// A store refused or could not do something. Each variant is one that a caller answers differently.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A record's [`Precondition`](crate::Precondition) or the batch's expected revision did not
    /// hold. Nothing of the batch was written; load again and decide again.
    #[error("the store changed since it was read")]
    Conflict {
        /// The log's revision that stood in the way, where the store knows it.
        revision: Revision,
    },
    /// The batch carried a fence older than the lease's epoch. Nothing was written.
    #[error("lease was lost: epoch {held} is past, {current} is current")]
    Fenced {
        /// The epoch the writer believed to hold.
        held: Epoch,
        /// The epoch that stands now.
        current: Epoch,
    },
    /// The store cannot be asked right now. Nothing is known about the outcome of a write.
    #[error("the store is unavailable: {reason}")]
    Unavailable {
        /// For the log; may name addresses.
        reason: String,
        /// When another try makes sense, if the store said so.
        retry_after: Option<Duration>,
    },
    /// The request is over one of the store's stated limits. Nothing was written.
    #[error("{what} is over the limit of {limit}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// The limit, in the unit of `what`.
        limit: u64,
    },
    /// What is stored cannot be read as what it should be. Never treated as empty.
    #[error("damaged store: {0}")]
    Damaged(String),
    /// The store has no such capability; see [`Capabilities`](crate::Capabilities).
    #[error("this store has no {0}")]
    Unsupported(&'static str),
}

impl Error {
    /// An [`Error::Unavailable`] with no word on when to retry.
    pub fn unavailable(reason: impl Into<String>) -> Self {
        Self::Unavailable {
            reason: reason.into(),
            retry_after: None,
        }
    }

    /// The stable code of this error: metric label and log field.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Conflict { .. } => "conflict",
            Self::Fenced { .. } => "lease_lost",
            Self::Unavailable { .. } => "store_unavailable",
            Self::TooLarge { .. } => "too_large",
            Self::Damaged(_) => "store_damaged",
            Self::Unsupported(_) => "unsupported",
        }
    }
}
