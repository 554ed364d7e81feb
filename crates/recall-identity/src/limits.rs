//! How much may be asked of the API server, and for how long an answer is good.

use std::time::Duration;

/// The bounds of a [`Resolver`](crate::Resolver).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many tokens are looked at side by side.
    pub concurrent_reviews: usize,
    /// How many more may wait for their turn; the next one is told
    /// [`Error::Overloaded`](crate::Error::Overloaded).
    pub queue: usize,
    /// How long one question to the API server may take, its retry included, and how long one may
    /// wait for a turn.
    pub call_timeout: Duration,
    /// How long a good review is taken for the same token; at most ten seconds.
    pub positive_reuse: Duration,
    /// How long a refusal is taken for the same token; at most two seconds.
    pub negative_reuse: Duration,
    /// How many reviews are kept, good ones and refusals each.
    pub cache_entries: u64,
}

impl Limits {
    // An API server keeps a success for ten seconds itself, so together a deleted account is seen
    // after twenty.
    const MAX_POSITIVE_REUSE: Duration = Duration::from_secs(10);
    // Long enough against a client in a loop, short enough that a token which becomes valid is
    // not refused for long.
    const MAX_NEGATIVE_REUSE: Duration = Duration::from_secs(2);

    /// These limits with both kinds of reuse cut to what is safe, and with room for one at least.
    pub(crate) fn clamped(self) -> Self {
        Self {
            concurrent_reviews: self.concurrent_reviews.max(1),
            positive_reuse: self.positive_reuse.min(Self::MAX_POSITIVE_REUSE),
            negative_reuse: self.negative_reuse.min(Self::MAX_NEGATIVE_REUSE),
            ..self
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            concurrent_reviews: 16,
            queue: 256,
            call_timeout: Duration::from_secs(3),
            positive_reuse: Self::MAX_POSITIVE_REUSE,
            negative_reuse: Self::MAX_NEGATIVE_REUSE,
            cache_entries: 10_000,
        }
    }
}
