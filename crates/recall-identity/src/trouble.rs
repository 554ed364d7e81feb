//! The questions put to an API server, and what keeps it from answering.

use std::fmt;
use std::time::Duration;

/// One kind of request to the API server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Call {
    /// Have a token reviewed.
    ReviewToken,
    /// Read one pod.
    GetPod,
    /// List pods.
    ListPods,
    /// Watch pods.
    WatchPods,
    /// Read one service account.
    GetServiceAccount,
    /// Read one namespace.
    GetNamespace,
    /// Read one `Sandbox`.
    GetSandbox,
    /// Read one `SandboxClaim`.
    GetSandboxClaim,
}

impl Call {
    /// The verb in an RBAC rule.
    #[must_use]
    pub fn verb(self) -> &'static str {
        match self {
            Self::ReviewToken => "create",
            Self::ListPods => "list",
            Self::WatchPods => "watch",
            Self::GetPod
            | Self::GetServiceAccount
            | Self::GetNamespace
            | Self::GetSandbox
            | Self::GetSandboxClaim => "get",
        }
    }

    /// The resource in an RBAC rule.
    #[must_use]
    pub fn resource(self) -> &'static str {
        match self {
            Self::ReviewToken => "tokenreviews",
            Self::GetPod | Self::ListPods | Self::WatchPods => "pods",
            Self::GetServiceAccount => "serviceaccounts",
            Self::GetNamespace => "namespaces",
            Self::GetSandbox => "sandboxes",
            Self::GetSandboxClaim => "sandboxclaims",
        }
    }

    /// The API group in an RBAC rule; empty for the core group.
    #[must_use]
    pub fn group(self) -> &'static str {
        match self {
            Self::ReviewToken => "authentication.k8s.io",
            Self::GetSandbox => "agents.x-k8s.io",
            Self::GetSandboxClaim => "extensions.agents.x-k8s.io",
            Self::GetPod
            | Self::ListPods
            | Self::WatchPods
            | Self::GetServiceAccount
            | Self::GetNamespace => "",
        }
    }

    /// Whether the resource lives in namespaces, so that a rule may be bound in one of them.
    #[must_use]
    pub fn is_namespaced(self) -> bool {
        !matches!(self, Self::ReviewToken | Self::GetNamespace)
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb(), self.resource())?;
        match self.group() {
            "" => Ok(()),
            group => write!(f, ".{group}"),
        }
    }
}

/// The API server could not be asked, or did not give a usable answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct Trouble {
    /// What kind of trouble it is.
    pub kind: TroubleKind,
    /// What happened, for a log. It holds no token.
    pub detail: String,
    /// When to ask again, where the API server said so.
    pub retry_after: Option<Duration>,
}

/// The kinds of [`Trouble`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TroubleKind {
    /// No connection, or it broke.
    Unreachable,
    /// No answer in time.
    TimedOut,
    /// Our own token is missing or was refused (401).
    OwnToken,
    /// Our account may not do this (403).
    Forbidden,
    /// Too many requests (429).
    Throttled,
    /// The API server failed (5xx).
    Server,
    /// An answer that makes no sense: another status, another type, text that is cut off.
    Nonsense,
    /// An answer beyond the limit.
    TooLarge,
}

impl TroubleKind {
    /// The stable code of this kind: a metric label.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::TimedOut => "timed_out",
            Self::OwnToken => "own_token",
            Self::Forbidden => "forbidden",
            Self::Throttled => "throttled",
            Self::Server => "server",
            Self::Nonsense => "nonsense",
            Self::TooLarge => "too_large",
        }
    }

    /// Whether asking once more, a moment later, may help.
    pub(crate) fn may_pass(self) -> bool {
        matches!(self, Self::Unreachable | Self::Throttled | Self::Server)
    }
}

impl Trouble {
    /// Trouble of this kind.
    #[must_use]
    pub fn new(kind: TroubleKind, detail: impl Into<String>) -> Self {
        Self {
            kind,
            detail: detail.into(),
            retry_after: None,
        }
    }
}
