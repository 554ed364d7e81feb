//! Why a token did not become a caller.

use std::time::Duration;

/// A token was refused, or nothing could be found out about it. The variants follow what the holder
/// of the token should do next; texts name no UID and nothing that the API server said.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Not a token at all; nobody was asked.
    #[error("token: {0}")]
    Malformed(&'static str),
    /// Longer than any token may be; nobody was asked.
    #[error("token: over the limit of {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// The API server, or a check of its answer, says that the token is not valid here.
    #[error("the token was rejected: it must be current and issued for exactly this audience")]
    Rejected,
    /// The token's pod is deleted, being deleted, or replaced by one of the same name.
    #[error("the pod of this token is gone")]
    PodGone,
    /// The token is valid but not bound to exactly one pod.
    #[error("the token is not bound to a pod: use a projected service-account token")]
    NotPodBound,
    /// The pod is valid but may not do this.
    #[error("{0}")]
    Forbidden(&'static str),
    /// The pod lacks the label that names its agent.
    #[error("the pod has no label that names its agent")]
    AgentLabelMissing,
    /// The label that names the tenant is absent or empty.
    #[error("there is no label that names the tenant")]
    TenantLabelMissing,
    /// A label's value cannot be part of a memory's name.
    #[error("the label that names the {0} has a value that is not allowed")]
    BadLabel(&'static str),
    /// The pod waits in a warm pool, or its labels are still being written.
    #[error("the sandbox is not claimed yet: ask again")]
    SandboxUnclaimed,
    /// The API server could not be asked or gave no usable answer.
    #[error("the Kubernetes API server could not be asked")]
    Upstream {
        /// When another try makes sense, if the API server said so.
        retry_after: Option<Duration>,
    },
    /// Too many tokens are being looked at already.
    #[error("too many exchanges are under way: ask again")]
    Overloaded,
}

impl Error {
    /// Where nothing better is known: soon enough for a waiting agent, slow enough for a server in
    /// trouble.
    const ASK_AGAIN: Duration = Duration::from_secs(1);

    /// When to ask again, if the same token may fare better then.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Upstream { retry_after } => Some(retry_after.unwrap_or(Self::ASK_AGAIN)),
            Self::Overloaded | Self::SandboxUnclaimed => Some(Self::ASK_AGAIN),
            Self::Malformed(_)
            | Self::TooLarge { .. }
            | Self::Rejected
            | Self::PodGone
            | Self::NotPodBound
            | Self::Forbidden(_)
            | Self::AgentLabelMissing
            | Self::TenantLabelMissing
            | Self::BadLabel(_) => None,
        }
    }

    /// The stable code of this error: wire field and metric label.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Malformed(_) | Self::TooLarge { .. } => "invalid_argument",
            Self::Rejected => "token_rejected",
            Self::PodGone => "pod_gone",
            Self::NotPodBound => "not_pod_bound",
            Self::Forbidden(_) => "forbidden",
            Self::AgentLabelMissing => "agent_label_missing",
            Self::TenantLabelMissing => "tenant_label_missing",
            Self::BadLabel(_) => "bad_label",
            Self::SandboxUnclaimed => "sandbox_unclaimed",
            Self::Upstream { .. } => "upstream",
            Self::Overloaded => "overloaded",
        }
    }
}
