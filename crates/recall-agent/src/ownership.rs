//! Who may write, and who may take over: decided on what is recorded.

use recall_store::{AgentId, Grant, LeaseState};

use crate::error::Error;
use crate::head::{Head, Hold};
use crate::session::{Session, mark};

/// Whether a session may write, and under which hold.
pub(crate) fn may_write<'h>(
    head: &'h Head,
    session: &Session,
    deferred: bool,
    agent: &AgentId,
) -> Result<&'h Hold, Error> {
    if let Some(hold) = head.hold_of(session) {
        return Ok(hold);
    }
    let agent = agent.to_string();
    match (deferred, head.past.contains(&session.id())) {
        (true, _) => Err(Error::NotAcquired { agent }),
        (false, true) => Err(Error::Lost { agent }),
        (false, false) => Err(Error::refused(format!(
            "agent {agent:?} is not resumed in this session; call agent_resume first"
        ))),
    }
}

/// What stands between a session and an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nothing: the lease can be had.
    Free,
    /// The session owns the agent already.
    Ours,
    /// A lease of the session whose taking was never recorded: a server ended in between.
    OurRemnant(Grant),
    /// Another session owns it and is to be asked about.
    Theirs {
        /// Its hold.
        hold: Hold,
        /// Its lease.
        grant: Grant,
    },
    /// A lease that no record explains.
    Unexplained(Grant),
}

/// Judges by the record of the agent and the state of its lease.
pub(crate) fn standing(head: &Head, lease: Option<LeaseState>, session: &Session) -> Standing {
    let Some(LeaseState { grant, live: true }) = lease else {
        return Standing::Free;
    };
    let is_of = |id: &str| grant.holder.starts_with(&mark(id));
    match &head.hold {
        Some(hold) if is_of(&hold.session) && hold.session == session.id() => Standing::Ours,
        Some(hold) if is_of(&hold.session) => Standing::Theirs {
            hold: hold.clone(),
            grant,
        },
        _ if is_of(&session.id()) => Standing::OurRemnant(grant),
        _ => Standing::Unexplained(grant),
    }
}

/// The refusal of a lease that another holds.
pub(crate) fn held(grant: &Grant) -> Error {
    Error::Held {
        holder: holder_words(grant).to_owned(),
        until: grant.expires_at,
    }
}

/// How the holder of a lease calls itself: what stands after the mark of its session.
pub(crate) fn holder_words(grant: &Grant) -> &str {
    let words = grant.holder.split_once(' ');
    words.map_or(grant.holder.as_str(), |(_, words)| words)
}
