//! Which requests a collector of traces is told of.
//!
//! It is decided once, when a request begins, by the trace's id: the one that its sender names, or one that
//! the server draws. Other services that look at ids decide alike. A call of MCP without a header may
//! name its trace in its body, so it is followed until that was read.

use std::borrow::Cow;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use tracing::Level;
use tracing::level_filters::LevelFilter;

use super::Parent;

/// The target of the spans that a collector is told of. A request that it is not told of has another
/// one, so that it costs nothing of what traces cost.
pub const TRACED: &str = "recall_api::trace::traced";

/// Which part of all traces is told of.
#[derive(Debug)]
pub struct Sampling {
    /// Traces whose last eight bytes are no more than this.
    bound: u64,
    random: RandomState,
    next: AtomicU64,
}

/// A request that a collector is told of.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Traced<'a> {
    pub(crate) trace_id: Cow<'a, str>,
    /// Whether this was decided; else it is told of only if its body names a trace that is.
    pub(crate) decided: bool,
}

impl Sampling {
    /// Keeps `ratio` of all traces, from 0 for none to 1 for all.
    #[must_use]
    pub fn new(ratio: f64) -> Self {
        Self {
            bound: (ratio.clamp(0.0, 1.0) * u64::MAX as f64) as u64,
            random: RandomState::new(),
            next: AtomicU64::new(0),
        }
    }

    /// Whether a collector is told of a trace. `trace_id` is 32 hexadecimal digits.
    pub(crate) fn tells_of(&self, trace_id: &str) -> bool {
        let low = trace_id.get(16..).unwrap_or_default();
        u64::from_str_radix(low, 16).is_ok_and(|low| low <= self.bound)
    }

    /// Decides on a request. `may_say_later`: its body may name a trace.
    pub(crate) fn begin<'a>(
        &self,
        parent: Option<Parent<'a>>,
        may_say_later: bool,
    ) -> Option<Traced<'a>> {
        if let Some(parent) = parent {
            return self.tells_of(parent.trace_id).then_some(Traced {
                trace_id: parent.trace_id.into(),
                decided: true,
            });
        }
        let low = self.number();
        let decided = low <= self.bound;
        (decided || may_say_later).then(|| Traced {
            trace_id: format!("{:016x}{low:016x}", self.number()).into(),
            decided,
        })
    }

    /// Never 0, which stands for no trace.
    fn number(&self) -> u64 {
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        self.random.hash_one(next) | 1
    }
}

/// Whether a collector is told of the current request.
pub(crate) fn is_traced() -> bool {
    // Without a collector and a debugging log nothing is looked up.
    LevelFilter::current() >= Level::DEBUG
        && tracing::dispatcher::get_default(|dispatch| {
            let current = dispatch.current_span();
            current.metadata().is_some_and(|it| it.target() == TRACED)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Its last eight bytes are the least, and the most, that there are.
    const ALWAYS: &str = "aaaaaaaaaaaaaaaa0000000000000000";
    const SELDOM: &str = "aaaaaaaaaaaaaaaaffffffffffffffff";

    #[test]
    fn a_named_trace_is_decided_by_its_id() {
        for (ratio, trace_id, told) in [
            (0.5, ALWAYS, true),
            (0.5, SELDOM, false),
            (1.0, SELDOM, true),
            (0.0, SELDOM, false),
        ] {
            let parent = Parent {
                trace_id,
                span_id: "00f067aa0ba902b7",
            };
            for later in [false, true] {
                let traced = Sampling::new(ratio).begin(Some(parent), later);
                let expected = Traced {
                    trace_id: trace_id.into(),
                    decided: true,
                };
                assert_eq!(traced, told.then_some(expected), "{ratio} {trace_id}");
            }
        }
    }

    #[test]
    fn a_request_that_may_name_its_trace_later_is_followed() {
        let none = Sampling::new(0.0);
        assert_eq!(none.begin(None, false), None);
        let traced = none.begin(None, true).expect("it is followed");
        assert!(!traced.decided && !none.tells_of(&traced.trace_id));
        assert!(
            Sampling::new(1.0)
                .begin(None, true)
                .is_some_and(|it| it.decided)
        );
    }

    #[test]
    fn about_as_many_traces_are_told_of_as_were_asked_for() {
        let tenth = Sampling::new(0.1);
        let told: Vec<_> = (0..4_000)
            .filter_map(|_| tenth.begin(None, false))
            .collect();
        assert!((300..=500).contains(&told.len()), "{}", told.len());
        let good = |id: &str| id.len() == 32 && tenth.tells_of(id);
        assert!(told.iter().all(|it| it.decided && good(&it.trace_id)));
    }
}
