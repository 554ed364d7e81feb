//! What is counted about the API server.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};
use recall_identity::{Call, Observer, TroubleKind};

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabel {
    verb: &'static str,
    resource: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    verb: &'static str,
    resource: &'static str,
    outcome: &'static str,
}

/// Counters of the work with the API server. Cheap to clone; all clones count together.
#[derive(Debug, Clone)]
pub(crate) struct ApiMetrics {
    calls: Family<OutcomeLabels, Counter>,
    durations: Family<CallLabel, Histogram>,
    audience_unaware: Counter,
    watching: Gauge,
    breaks: Counter,
    gone: Counter,
}

impl ApiMetrics {
    /// Registered under `recall_kubernetes_…`.
    pub(crate) fn register(registry: &mut Registry) -> Self {
        let metrics = Self {
            calls: Family::default(),
            // 1 ms to 4 s: a call has three seconds.
            durations: Family::new_with_constructor(|| {
                Histogram::new(exponential_buckets(0.001, 2.0, 13))
            }),
            audience_unaware: Counter::default(),
            watching: Gauge::default(),
            breaks: Counter::default(),
            gone: Counter::default(),
        };
        registry.register(
            "recall_kubernetes_calls",
            "Calls to the API server, by verb, resource and outcome",
            metrics.calls.clone(),
        );
        registry.register_with_unit(
            "recall_kubernetes_call_duration",
            "Time that the API server took for a call; create tokenreviews is a review",
            Unit::Seconds,
            metrics.durations.clone(),
        );
        registry.register(
            "recall_kubernetes_audience_unaware",
            "Tokens refused because an authenticator of the cluster ignores audiences",
            metrics.audience_unaware.clone(),
        );
        registry.register(
            "recall_kubernetes_watching",
            "1 while the watch of pods stands, 0 while it does not",
            metrics.watching.clone(),
        );
        registry.register(
            "recall_kubernetes_watch_breaks",
            "How often the watch of pods broke",
            metrics.breaks.clone(),
        );
        registry.register(
            "recall_kubernetes_pods_gone",
            "Pods that went and had keys",
            metrics.gone.clone(),
        );
        metrics
    }

    pub(crate) fn watching(&self, stands: bool) {
        self.watching.set(i64::from(stands));
    }

    pub(crate) fn watch_broke(&self) {
        self.breaks.inc();
    }

    pub(crate) fn pod_gone(&self) {
        self.gone.inc();
    }
}

impl Observer for ApiMetrics {
    fn asked(&self, call: Call, took: Duration, trouble: Option<TroubleKind>) {
        let (verb, resource) = (call.verb(), call.resource());
        let outcome = trouble.map_or("ok", TroubleKind::code);
        let labels = OutcomeLabels {
            verb,
            resource,
            outcome,
        };
        self.calls.get_or_create(&labels).inc();
        let labels = CallLabel { verb, resource };
        let duration = self.durations.get_or_create(&labels);
        duration.observe(took.as_secs_f64());
    }

    fn audience_unaware(&self) {
        self.audience_unaware.inc();
    }
}
