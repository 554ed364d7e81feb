//! What can go wrong in a memory operation.

/// A memory operation was not done. The texts of the first three are meant for the caller.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The arguments are malformed: a wrong type, an unknown field, a missing or too long value.
    #[error("{0}")]
    Invalid(String),
    /// The arguments are well formed and the operation refuses them.
    #[error("{0}")]
    Refused(String),
    /// The namespace holds as much as it may.
    #[error("{0}")]
    Full(String),
    /// The store could not do its part.
    #[error(transparent)]
    Store(#[from] recall_store::Error),
}

impl Error {
    /// The stable code of this error: metric label and wire field.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Invalid(_) => "invalid_argument",
            Self::Refused(_) => "tool_error",
            Self::Full(_) => "quota_exceeded",
            Self::Store(error) => error.code(),
        }
    }

    pub(crate) fn invalid(text: impl Into<String>) -> Self {
        Self::Invalid(text.into())
    }

    pub(crate) fn refused(text: impl Into<String>) -> Self {
        Self::Refused(text.into())
    }
}

/// The same store error once more: one failed commit is answered to every write that shared it.
pub(crate) fn repeat(error: &recall_store::Error) -> recall_store::Error {
    use recall_store::Error as E;
    match error {
        E::Conflict { revision } => E::Conflict {
            revision: *revision,
        },
        E::Fenced { held, current } => E::Fenced {
            held: *held,
            current: *current,
        },
        E::Unavailable {
            reason,
            retry_after,
        } => E::Unavailable {
            reason: reason.clone(),
            retry_after: *retry_after,
        },
        E::TooLarge { what, limit } => E::TooLarge {
            what,
            limit: *limit,
        },
        E::Damaged(text) => E::Damaged(text.clone()),
        E::Unsupported(what) => E::Unsupported(what),
    }
}
