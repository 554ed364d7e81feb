//! Collecting spans as they close.
//!
//! Whether a trace is sent is decided when its first span opens: by the trace's id, which its sender names
//! or this server draws. Of a trace that is not sent nothing is kept. A call of MCP may name its trace in its body, so all of its spans are kept until they close.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::SystemTime;

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, Filter};
use tracing_subscriber::registry::LookupSpan;

use super::send::Parcel;
use super::span::{Span, SpanId, TraceId, Typed};

/// The fields that say where a span belongs; they are no attributes.
const TRACE: &str = "trace_id";
const PARENT: &str = "parent_id";
/// The field by which an operation tells that it failed.
const ERROR: &str = "error.type";

/// What serves a request that may name its trace in its body.
const LATER: (&str, &str) = ("http.route", "/mcp");

/// A collector compares times of many machines, and knows no clock of ours.
#[expect(
    clippy::disallowed_methods,
    reason = "spans are told in the time of the machine"
)]
fn now() -> SystemTime {
    SystemTime::now()
}

/// Collects the spans of this product's own crates.
pub(crate) struct Collector {
    queue: SyncSender<Parcel>,
    /// Spans for which there was no room.
    lost: Arc<AtomicU64>,
    /// Traces whose last eight bytes are below are sent.
    bound: u64,
    random: RandomState,
    next: AtomicU64,
}

impl Collector {
    pub(super) fn new(queue: SyncSender<Parcel>, lost: Arc<AtomicU64>, ratio: f64) -> Self {
        Self {
            queue,
            lost,
            bound: (ratio.clamp(0.0, 1.0) * u64::MAX as f64) as u64,
            random: RandomState::new(),
            next: AtomicU64::new(1),
        }
    }

    /// Never 0, which stands for no id.
    fn number(&self) -> u64 {
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        self.random.hash_one(next) | 1
    }

    fn sampled(&self, trace_id: &TraceId) -> bool {
        trace_id.low() <= self.bound
    }

    /// The trace of a span that is under no other one: who named it, or a new one. `None` if it is not
    /// sent.
    fn begin(&self, attributes: &Attributes<'_>) -> Option<(TraceId, Option<SpanId>)> {
        let mut origin = Origin::default();
        attributes.record(&mut origin);
        let Some(trace_id) = origin.trace_id else {
            let low = self.number();
            let sent = low <= self.bound || origin.later;
            return sent.then(|| (TraceId::of(self.number(), low), None));
        };
        let sent = self.sampled(&trace_id) || origin.later;
        sent.then_some((trace_id, origin.parent_id))
    }
}

/// Lets the spans of this product's own crates through, but for those below a span whose trace is not
/// sent.
pub(crate) struct Wanted;

impl Wanted {
    fn origin(metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && metadata.target().starts_with("recall")
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Filter<S> for Wanted {
    fn enabled(&self, metadata: &Metadata<'_>, context: &Context<'_, S>) -> bool {
        Self::origin(metadata)
            && context
                .lookup_current()
                .is_none_or(|current| current.extensions().get::<NotSent>().is_none())
    }

    fn callsite_enabled(&self, metadata: &'static Metadata<'static>) -> Interest {
        match Self::origin(metadata) {
            true => Interest::sometimes(),
            false => Interest::never(),
        }
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::DEBUG)
    }
}

/// Kept with the first span of a trace that is not sent.
struct NotSent;

/// What the first span of a trace says of where it belongs.
#[derive(Default)]
struct Origin {
    trace_id: Option<TraceId>,
    parent_id: Option<SpanId>,
    later: bool,
}

impl Visit for Origin {
    fn record_debug(&mut self, _: &Field, _: &dyn fmt::Debug) {}

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            TRACE => self.trace_id = TraceId::parse(value),
            PARENT => self.parent_id = SpanId::parse(value),
            name => self.later |= (name, value) == LATER,
        }
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Collector {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(opened) = context.span(id) else {
            return;
        };
        let parent = opened.parent().and_then(|parent| {
            let extensions = parent.extensions();
            let span = extensions.get::<Span>()?;
            Some((span.trace_id, Some(span.span_id)))
        });
        let serves = parent.is_none();
        let Some((trace_id, parent_id)) = parent.or_else(|| self.begin(attributes)) else {
            opened.extensions_mut().insert(NotSent);
            return;
        };
        let span = Span::new(opened.name(), trace_id, SpanId::of(self.number()), now());
        let mut span = if serves { span.serves() } else { span };
        span.parent_id = parent_id;
        attributes.record(&mut span);
        opened.extensions_mut().insert(span);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(opened) = context.span(id)
            && let Some(span) = opened.extensions_mut().get_mut::<Span>()
        {
            values.record(span);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(closed) = context.span(&id) else {
            return;
        };
        let Some(span) = closed.extensions_mut().remove::<Span>() else {
            return;
        };
        if self.sampled(&span.trace_id) {
            // A full queue means that the collector is behind: a span is less than a request.
            if self
                .queue
                .try_send(Parcel::Span(span.finish(now())))
                .is_err()
            {
                self.lost.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

impl Visit for Span {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.say(field, Typed::Shown(value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            TRACE => self.trace_id = TraceId::parse(value).unwrap_or(self.trace_id),
            PARENT => self.parent_id = SpanId::parse(value),
            _ => self.say(field, Typed::Text(value)),
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.say(field, Typed::Unsigned(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.say(field, Typed::Signed(value));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.say(field, Typed::Double(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.say(field, Typed::Bool(value));
    }
}

impl Span {
    fn say(&mut self, field: &Field, value: Typed<'_>) {
        if field.name() == ERROR {
            self.fail();
        }
        self.put(field.name(), value);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use serde_json::{Value, json};
    use tracing::field::Empty;
    use tracing::subscriber::with_default;
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    /// Its last eight bytes are the least, and the most, that there are.
    const ALWAYS: &str = "aaaaaaaaaaaaaaaa0000000000000000";
    const SELDOM: &str = "aaaaaaaaaaaaaaaaffffffffffffffff";

    fn sent(ratio: f64, act: impl FnOnce()) -> Vec<Value> {
        sent_and_lost(ratio, act).0
    }

    fn sent_and_lost(ratio: f64, act: impl FnOnce()) -> (Vec<Value>, u64) {
        let (queue, parcels) = sync_channel(100);
        let lost = Arc::new(AtomicU64::new(0));
        let collector = Collector::new(queue, Arc::clone(&lost), ratio).with_filter(Wanted);
        with_default(tracing_subscriber::registry().with(collector), act);
        let spans = parcels.try_iter().filter_map(|parcel| match parcel {
            Parcel::Span(span) => Some(serde_json::from_str(&span).expect("JSON")),
            Parcel::Flush(_) => None,
        });
        (spans.collect(), lost.load(Ordering::Relaxed))
    }

    /// A request and what is done for it.
    fn request(route: &str, trace: Option<&str>, told_later: Option<&str>) {
        let span = tracing::info_span!("request", trace_id = trace, http.route = route, n = Empty);
        if let Some(trace) = told_later {
            span.record("trace_id", trace);
        }
        span.record("n", 7);
        span.in_scope(|| {
            let below = tracing::debug_span!("below");
            below.in_scope(|| tracing::debug_span!("further below").in_scope(|| ()));
        });
    }

    #[track_caller]
    fn check(ratio: f64, route: &str, named: Option<&str>, later: Option<&str>, whole: bool) {
        let spans = sent(ratio, || request(route, named, later));
        let case = format!("{ratio} {route} {named:?} {later:?}");
        if !whole {
            assert_eq!(spans.len(), 0, "{case}");
            return;
        }
        // They close from the inside.
        let names: Vec<_> = spans.iter().map(|span| &span["name"]).collect();
        assert_eq!(names, ["further below", "below", "request"], "{case}");
        let [further, below, request] = spans.as_slice() else {
            panic!("{case}");
        };
        assert_eq!(further["parentSpanId"], below["spanId"]);
        assert_eq!(below["parentSpanId"], request["spanId"]);
        let trace = |span: &Value| span["traceId"].clone();
        assert!(spans.iter().all(|span| trace(span) == trace(request)));
        if let Some(named) = later.or(named) {
            assert_eq!(request["traceId"], named);
        }
        let attributes = json!([
            { "key": LATER.0, "value": { "stringValue": route } },
            { "key": "n", "value": { "intValue": "7" } },
        ]);
        assert_eq!(request["attributes"], attributes);
        let kinds: Vec<_> = spans.iter().map(|span| &span["kind"]).collect();
        assert_eq!(kinds, [1, 1, 2], "only a request is served");
    }

    #[test]
    fn a_trace_is_sent_whole_or_not_at_all() {
        let rest = "/v1/{operation}";
        check(1.0, rest, None, None, true);
        check(0.0, rest, None, None, false);
        check(0.5, rest, Some(ALWAYS), None, true);
        check(0.5, rest, Some(SELDOM), None, false);
        check(1.0, rest, Some(SELDOM), None, true);
    }

    #[test]
    fn a_call_of_mcp_may_name_its_trace_later() {
        let mcp = LATER.1;
        check(0.5, mcp, None, Some(ALWAYS), true);
        check(0.5, mcp, None, Some(SELDOM), false);
        check(0.5, mcp, Some(SELDOM), Some(ALWAYS), true);
        check(0.0, mcp, None, None, false);
    }

    #[test]
    fn about_as_many_traces_are_sent_as_were_asked_for() {
        let many = 4_000;
        let (spans, lost) = sent_and_lost(0.1, || {
            for _ in 0..many {
                // The queue holds a hundred; what is more is dropped and counted.
                request("/healthz", None, None);
            }
        });
        assert_eq!(spans.len(), 100);
        // Three spans a request.
        let sampled = (lost + 100) / 3;
        assert!((300..=500).contains(&sampled), "{sampled} of {many}");
        let few = sent(0.1, || {
            for _ in 0..100 {
                request("/healthz", None, None);
            }
        });
        assert!((3..=99).contains(&few.len()), "{}", few.len());
    }
}
