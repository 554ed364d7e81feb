//! What is measured about unfinished actions: of which agents, how many, and since when.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::agents::{Agents, Inner, Seat};
use crate::error::Error;
use crate::head::Head;

/// Agents with unfinished actions that are followed; those beyond are not measured.
const MAX_FOLLOWED: usize = 10_000;
/// Agents with a label of their own: those whose unfinished action is the oldest. The others share
/// one.
const MAX_NAMED: usize = 50;
/// No agent's name: it holds a blank.
const OTHERS: &str = "all others";

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    namespace: String,
    agent: String,
}

/// Gauges of unfinished actions. Cheap to clone; all clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    open: Family<Labels, Gauge>,
    oldest: Family<Labels, Gauge>,
}

impl Metrics {
    /// Metrics registered under `recall_agent_…`.
    #[must_use]
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register(
            "recall_agent_open_actions",
            "Actions begun and not ended, by agent; as of the last look, every 15 s",
            metrics.open.clone(),
        );
        registry.register(
            "recall_agent_oldest_open_action_timestamp_seconds",
            "When the oldest unfinished action of an agent began, in seconds since 1970",
            metrics.oldest.clone(),
        );
        metrics
    }

    fn show(&self, found: &BTreeMap<Seat, Open>) {
        let mut by_age: Vec<_> = found.iter().collect();
        by_age.sort_by_key(|(seat, open)| (open.since, *seat));
        self.open.clear();
        self.oldest.clear();
        for (at, (seat, open)) in by_age.into_iter().enumerate() {
            let labels = match at < MAX_NAMED {
                true => Labels {
                    namespace: seat.ns.to_string(),
                    agent: seat.agent.to_string(),
                },
                false => Labels {
                    namespace: OTHERS.to_owned(),
                    agent: OTHERS.to_owned(),
                },
            };
            self.open.get_or_create(&labels).inc_by(open.count);
            let oldest = self.oldest.get_or_create(&labels);
            if oldest.get() == 0 {
                oldest.set(open.since.as_second());
            }
        }
    }
}

/// Unfinished actions of one agent.
#[derive(Debug, Clone, Copy)]
struct Open {
    count: i64,
    since: Timestamp,
}

/// The agents that had unfinished actions when this server last saw them.
#[derive(Debug, Default)]
pub(crate) struct Ledger(Mutex<BTreeSet<Seat>>);

impl Ledger {
    /// Follows the agent if anything of it is unfinished.
    pub(crate) fn note(&self, seat: &Seat, head: &Head) {
        if head.open.is_empty() {
            return;
        }
        let mut followed = self.0.lock();
        if followed.len() < MAX_FOLLOWED && !followed.contains(seat) {
            followed.insert(seat.clone());
        }
    }

    fn followed(&self) -> Vec<Seat> {
        self.0.lock().iter().cloned().collect()
    }

    fn forget(&self, seat: &Seat) {
        self.0.lock().remove(seat);
    }
}

impl Agents {
    /// Looks at what is unfinished once, and shows it. An agent that ended everything, on whatever
    /// server, is followed no longer.
    pub async fn measure(&self, metrics: &Metrics) {
        let inner = &self.inner;
        let mut found = BTreeMap::new();
        for seat in inner.ledger.followed() {
            match inner.unfinished(&seat).await {
                Ok(Some(open)) => drop(found.insert(seat, open)),
                Ok(None) => inner.ledger.forget(&seat),
                Err(error) => {
                    tracing::debug!(%error, "unfinished actions could not be looked at");
                    return;
                }
            }
        }
        metrics.show(&found);
    }
}

impl Inner {
    async fn unfinished(&self, seat: &Seat) -> Result<Option<Open>, Error> {
        let (head, _) = self.head(seat).await?;
        let open = self.pending(seat, &head).await?;
        let since = open.iter().map(|action| action.started_at).min();
        Ok(since.map(|since| Open {
            count: i64::try_from(open.len()).unwrap_or(i64::MAX),
            since,
        }))
    }
}
