//! What can go wrong in an agent tool.

use jiff::Timestamp;

/// An agent tool did not do what was asked. Every text is fit for the caller.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The arguments are not acceptable, or the state of the agent does not allow it.
    #[error("{0}")]
    Refused(String),
    /// Another session owns the agent.
    #[error("lease is held by another process: held by {holder:?} until {until}")]
    Held {
        /// The owner in its own words.
        holder: String,
        /// When the lease ends unless renewed.
        until: Timestamp,
    },
    /// The caller owned the agent once and another session took it over, or an operator ended its
    /// lease.
    #[error(
        "lease was lost: agent {agent:?} was taken over by another session or taken back by an \
         operator; nothing was written, stop acting as it or call agent_resume"
    )]
    Lost {
        /// The agent.
        agent: String,
    },
    /// The caller reads the agent and has not taken it yet.
    #[error(
        "lease not acquired: agent {agent:?} was resumed without its lease; call agent_acquire"
    )]
    NotAcquired {
        /// The agent.
        agent: String,
    },
    /// The memory could not be searched for the briefing.
    #[error(transparent)]
    Memory(#[from] recall_memory::Error),
    /// The store could not do its part.
    #[error(transparent)]
    Store(#[from] recall_store::Error),
}

impl Error {
    /// The stable code of this error: metric label and log field.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Refused(_) => "tool_error",
            Self::Held { .. } => "lease_held",
            Self::Lost { .. } => "lease_lost",
            Self::NotAcquired { .. } => "lease_not_held",
            Self::Memory(error) => error.code(),
            Self::Store(error) => error.code(),
        }
    }

    pub(crate) fn refused(text: impl Into<String>) -> Self {
        Self::Refused(text.into())
    }
}

/// What is stored cannot be read.
pub(crate) fn damaged(what: impl Into<String>) -> Error {
    Error::Store(recall_store::Error::Damaged(what.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_clients_find_their_words() {
        let agent = || "a".to_owned();
        let held = Error::Held {
            holder: "host:1".to_owned(),
            until: Timestamp::UNIX_EPOCH,
        };
        assert_eq!(
            held.to_string(),
            "lease is held by another process: held by \"host:1\" until 1970-01-01T00:00:00Z"
        );
        assert!(
            Error::Lost { agent: agent() }
                .to_string()
                .starts_with("lease was lost")
        );
        let deferred = Error::NotAcquired { agent: agent() }.to_string();
        assert!(deferred.starts_with("lease not acquired"));
    }
}
