//! How long pods wait in their pools until an agent claims them.

use std::time::{Duration, Instant};

use moka::sync::Cache;
use recall_identity::TokenHash;

/// Tokens that are remembered as waiting; beyond it the longest unheard are forgotten, which costs a
/// measurement and nothing else.
const MAX_WAITING: u64 = 10_000;
/// A pod that does not ask again for this long waits no more.
const SILENT: Duration = Duration::from_secs(3600);

/// Since when which tokens have been refused as unclaimed.
#[derive(Debug)]
pub(super) struct Waits(Cache<TokenHash, Instant>);

impl Default for Waits {
    fn default() -> Self {
        let cache = Cache::builder()
            .max_capacity(MAX_WAITING)
            .time_to_idle(SILENT);
        Self(cache.build())
    }
}

impl Waits {
    /// Notes that the holder of this token is not claimed yet.
    pub(super) fn began(&self, token: TokenHash, now: Instant) {
        self.0.get_with(token, || now);
    }

    /// How long its holder waited, if it did; it waits no more.
    pub(super) fn ended(&self, token: TokenHash, now: Instant) -> Option<Duration> {
        let since = self.0.remove(&token)?;
        Some(now.saturating_duration_since(since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_lasts_from_the_first_refusal_to_the_key_and_counts_once() {
        let (waits, now) = (Waits::default(), Instant::now());
        let (token, other) = (TokenHash::of("a"), TokenHash::of("b"));
        let after = |seconds| now + Duration::from_secs(seconds);
        assert_eq!(waits.ended(token, now), None, "it never waited");
        waits.began(token, now);
        waits.began(token, after(1));
        assert_eq!(waits.ended(other, after(2)), None);
        assert_eq!(waits.ended(token, after(3)), Some(Duration::from_secs(3)));
        assert_eq!(waits.ended(token, after(4)), None);
    }
}
