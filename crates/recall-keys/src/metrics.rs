//! What is counted about keys.

use std::collections::BTreeMap;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Tenants with a label of their own, those with the most keys; the others share one.
const MAX_TENANTS: usize = 50;
/// No tenant's name: it holds a blank.
const OTHERS: &str = "all others";

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

/// Why a key was revoked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// An admin asked for it.
    Asked,
    /// Its pod had too many.
    Displaced,
    /// Its pod became another agent.
    IdentityChanged,
    /// Its pod is gone.
    PodGone,
}

impl Cause {
    fn label(self) -> CauseLabel {
        let cause = match self {
            Self::Asked => "asked",
            Self::Displaced => "displaced",
            Self::IdentityChanged => "identity_changed",
            Self::PodGone => "pod_gone",
        };
        CauseLabel { cause }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CauseLabel {
    cause: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TenantLabel {
    tenant: String,
}

/// Counters of this crate. Cheap to clone; all clones count together.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    verified: Family<VerdictLabel, Counter>,
    minted: Counter,
    revoked: Family<CauseLabel, Counter>,
    purged: Counter,
    live: Family<TenantLabel, Gauge>,
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
            "recall_keys_revoked",
            "Keys revoked, by cause",
            metrics.revoked.clone(),
        );
        registry.register(
            "recall_keys_purged",
            "Dead keys erased from the store",
            metrics.purged.clone(),
        );
        registry.register(
            "recall_keys_live",
            "Live keys in the store at the last sweep, by tenant; of many tenants the largest by \
             name and the rest together",
            metrics.live.clone(),
        );
        metrics
    }

    pub(crate) fn verified(&self, verdict: Verdict) {
        self.verified.get_or_create(&verdict.label()).inc();
    }

    pub(crate) fn minted(&self) {
        self.minted.inc();
    }

    pub(crate) fn revoked(&self, cause: Cause, count: usize) {
        self.revoked
            .get_or_create(&cause.label())
            .inc_by(count as u64);
    }

    /// Replaces the numbers of live keys. Tenants are as many as users make, labels are not.
    pub(crate) fn live(&self, by_tenant: &BTreeMap<String, i64>) {
        let mut sorted: Vec<_> = by_tenant.iter().collect();
        sorted.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let others: i64 = sorted
            .iter()
            .skip(MAX_TENANTS)
            .map(|(_, count)| **count)
            .sum();
        self.live.clear();
        for (tenant, count) in sorted.into_iter().take(MAX_TENANTS) {
            let tenant = tenant.clone();
            self.live.get_or_create(&TenantLabel { tenant }).set(*count);
        }
        if others > 0 {
            let tenant = OTHERS.to_owned();
            self.live.get_or_create(&TenantLabel { tenant }).set(others);
        }
    }

    pub(crate) fn purged(&self, count: usize) {
        self.purged.inc_by(count as u64);
    }
}
