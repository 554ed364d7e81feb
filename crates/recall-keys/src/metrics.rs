//! What is counted about keys.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

/// The outcome of checking a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Accepted,
    Refused,
    Unknown,
}

impl Verdict {
    fn label(self) -> VerdictLabel {
        let verdict = match self {
            Self::Accepted => "accepted",
            Self::Refused => "refused",
            Self::Unknown => "unknown",
        };
        VerdictLabel { verdict }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct VerdictLabel {
    verdict: &'static str,
}

/// Counters of this crate. Cheap to clone; all clones count together.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    verified: Family<VerdictLabel, Counter>,
    minted: Counter,
    revoked: Counter,
    purged: Counter,
}

impl Metrics {
    /// Counters registered under `recall_keys_…`.
    #[must_use]
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register(
            "recall_keys_verified",
            "Keys checked, by verdict",
            metrics.verified.clone(),
        );
        registry.register("recall_keys_minted", "Keys minted", metrics.minted.clone());
        registry.register(
            "recall_keys_displaced",
            "Keys revoked because their pod had too many",
            metrics.revoked.clone(),
        );
        registry.register(
            "recall_keys_purged",
            "Dead keys erased from the store",
            metrics.purged.clone(),
        );
        metrics
    }

    pub(crate) fn verified(&self, verdict: Verdict) {
        self.verified.get_or_create(&verdict.label()).inc();
    }

    pub(crate) fn minted(&self) {
        self.minted.inc();
    }

    pub(crate) fn displaced(&self, count: usize) {
        self.revoked.inc_by(count as u64);
    }

    pub(crate) fn purged(&self, count: usize) {
        self.purged.inc_by(count as u64);
    }
}
