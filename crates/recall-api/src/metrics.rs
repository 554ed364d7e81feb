//! What is counted about requests.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::StatusCode;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

/// Where a request went: a closed set, whatever the path says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    Health,
    Exchange,
    Keys,
    Agents,
    Mcp,
    Memory,
    Other,
}

impl Route {
    /// How many there are.
    const COUNT: usize = Self::Other as usize + 1;

    pub(crate) fn of(path: &str) -> Self {
        match path {
            "/healthz" => Self::Health,
            "/mcp" => Self::Mcp,
            "/v1/auth/kubernetes" => Self::Exchange,
            _ if path == "/v1/agents" || path.starts_with("/v1/agents/") => Self::Agents,
            _ if path == "/v1/keys" || path.starts_with("/v1/keys/") => Self::Keys,
            _ if path.starts_with("/v1/") => Self::Memory,
            _ => Self::Other,
        }
    }

    /// Whether a request's body may name its trace: a client of MCP may be unable to set headers.
    pub(crate) fn may_name_a_trace(self) -> bool {
        self == Self::Mcp
    }

    /// The route as the conventions of HTTP spans name it, with holes for what varies.
    pub(crate) fn template(self) -> Option<&'static str> {
        match self {
            Self::Health => Some("/healthz"),
            Self::Exchange => Some("/v1/auth/kubernetes"),
            Self::Keys => Some("/v1/keys/{id}"),
            Self::Agents => Some("/v1/agents/{id}"),
            Self::Mcp => Some("/mcp"),
            Self::Memory => Some("/v1/{operation}"),
            Self::Other => None,
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Health => "health",
            Self::Exchange => "exchange",
            Self::Keys => "keys",
            Self::Agents => "agents",
            Self::Mcp => "mcp",
            Self::Memory => "memory",
            Self::Other => "other",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    route: &'static str,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabel {
    route: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CodeLabel {
    code: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct IndexLabel {
    index: &'static str,
}

/// Counters and timings of the API. Cheap to clone; all clones count together.
#[derive(Debug, Clone)]
pub struct Metrics {
    unclaimed: Histogram,
    requests: Family<RequestLabels, Counter>,
    durations: Family<RouteLabel, Histogram>,
    exchanges: Family<CodeLabel, Counter>,
    degraded: Family<IndexLabel, Counter>,
    /// What most requests are counted by, found once: looking for it costs more than counting.
    served: Arc<[OnceLock<Served>; Route::COUNT]>,
}

/// Where an answer of 200 is counted.
#[derive(Debug)]
struct Served {
    requests: Counter,
    duration: Histogram,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            // 50 ms to 7 hours.
            unclaimed: Histogram::new(exponential_buckets(0.05, 3.0, 13)),
            requests: Family::default(),
            // 50 µs to 26 s.
            durations: Family::new_with_constructor(|| {
                Histogram::new(exponential_buckets(0.000_05, 3.0, 13))
            }),
            exchanges: Family::default(),
            degraded: Family::default(),
            served: Arc::default(),
        }
    }
}

impl Metrics {
    /// Metrics registered under `recall_http_…` and `recall_exchanges…`.
    #[must_use]
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register(
            "recall_http_requests",
            "Requests answered, by route and status",
            metrics.requests.clone(),
        );
        registry.register_with_unit(
            "recall_http_request_duration",
            "Time to answer a request, by route",
            Unit::Seconds,
            metrics.durations.clone(),
        );
        registry.register(
            "recall_exchanges",
            "Token exchanges and pod-key renewals, by outcome",
            metrics.exchanges.clone(),
        );
        registry.register_with_unit(
            "recall_unclaimed_wait",
            "Time from a pod's first refusal as unclaimed to its key",
            Unit::Seconds,
            metrics.unclaimed.clone(),
        );
        registry.register(
            "recall_degraded_answers",
            "Answers that an index should have taken part in and did not, by index",
            metrics.degraded.clone(),
        );
        metrics
    }

    /// Counts a request to `path` that was answered after `elapsed`.
    pub fn answered(&self, path: &str, status: StatusCode, elapsed: Duration) {
        self.request(Route::of(path), status, elapsed);
    }

    pub(crate) fn request(&self, route: Route, status: StatusCode, elapsed: Duration) {
        let seconds = elapsed.as_secs_f64();
        let served = self.served.get(route as usize);
        if let (StatusCode::OK, Some(served)) = (status, served) {
            let served = served.get_or_init(|| Served {
                requests: self.requests(route, status),
                duration: self.duration(route),
            });
            served.requests.inc();
            served.duration.observe(seconds);
            return;
        }
        self.requests(route, status).inc();
        self.duration(route).observe(seconds);
    }

    fn requests(&self, route: Route, status: StatusCode) -> Counter {
        let labels = RequestLabels {
            route: route.as_str(),
            status: status.as_u16(),
        };
        self.requests.get_or_create_owned(&labels)
    }

    fn duration(&self, route: Route) -> Histogram {
        let label = RouteLabel {
            route: route.as_str(),
        };
        self.durations.get_or_create_owned(&label)
    }

    pub(crate) fn unclaimed_wait(&self, waited: Duration) {
        self.unclaimed.observe(waited.as_secs_f64());
    }

    pub(crate) fn degraded(&self, index: &'static str) {
        self.degraded.get_or_create(&IndexLabel { index }).inc();
    }

    pub(crate) fn exchange(&self, code: &'static str) {
        self.exchanges.get_or_create(&CodeLabel { code }).inc();
    }
}
