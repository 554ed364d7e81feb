//! Why a key operation was refused.

use recall_store::NameError;

/// A key operation was refused or could not be done. Each variant is one that callers answer
/// differently; none carries a secret.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The key is unknown, expired, revoked, or not a key at all: from outside they look alike.
    #[error("unknown, expired or revoked key")]
    Unauthenticated,
    /// What was asked for makes no valid key.
    #[error("{0}")]
    Invalid(String),
    /// No key has this id.
    #[error("no key has this id")]
    NotFound,
    /// The key never expires, so there is nothing to renew.
    #[error("this key never expires: nothing to renew")]
    NeverExpires,
    /// The key was minted for a pod; only the pod's token renews it.
    #[error("this key was minted for a pod: renew it with the pod's current token")]
    RenewWithToken,
    /// The pod was another agent before. Its earlier keys are revoked.
    #[error("the pod now claims another identity than at its first key")]
    IdentityChanged,
    /// The token belongs to another pod than the key.
    #[error("the token is not of the pod this key was minted for")]
    OtherPod,
    /// The key's pod was replaced by one of the same name.
    #[error("the pod of this key is gone")]
    PodGone,
    /// The store cannot be asked, so nothing is known about the key.
    #[error(transparent)]
    Store(#[from] recall_store::Error),
}

impl Error {
    /// The stable code: wire field and metric label.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unauthenticated => "unauthenticated",
            Self::Invalid(_) | Self::NeverExpires => "invalid_argument",
            Self::NotFound => "not_found",
            Self::RenewWithToken => "renew_with_token",
            Self::IdentityChanged => "identity_changed",
            Self::OtherPod => "forbidden",
            Self::PodGone => "pod_gone",
            Self::Store(_) => "store_unavailable",
        }
    }
}

impl From<NameError> for Error {
    fn from(error: NameError) -> Self {
        Self::Invalid(error.to_string())
    }
}
