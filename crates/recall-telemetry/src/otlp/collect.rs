//! Writing spans down as they open, are told of, and close.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, Filter};
use tracing_subscriber::registry::LookupSpan;

use super::outbox::Outbox;
use super::span::{Span, SpanId, TraceId, Typed};

/// The fields that say where a span belongs; they are no attributes.
const TRACE: &str = "trace_id";
const PARENT: &str = "parent_id";
/// The field that takes back that a trace is sent; no attribute either.
const TRACED: &str = "traced";
/// The field by which an operation tells that it failed.
const ERROR: &str = "error.type";

/// A collector compares times of many machines, and knows no clock of ours.
#[expect(
    clippy::disallowed_methods,
    reason = "spans are told in the time of the machine"
)]
fn now() -> SystemTime {
    SystemTime::now()
}

/// Collects the spans that [`Wanted`] lets through.
pub(crate) struct Collector {
    outbox: Arc<Outbox>,
    random: RandomState,
    next: AtomicU64,
}

impl Collector {
    pub(super) fn new(outbox: Arc<Outbox>) -> Self {
        Self {
            outbox,
            random: RandomState::new(),
            next: AtomicU64::new(1),
        }
    }

    /// Never 0, which stands for no id.
    fn number(&self) -> u64 {
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        self.random.hash_one(next) | 1
    }
}

/// Lets the spans of one target through.
pub(crate) struct Wanted(pub(super) &'static str);

impl Wanted {
    fn has(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && metadata.target() == self.0
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Filter<S> for Wanted {
    fn enabled(&self, metadata: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        self.has(metadata)
    }

    fn callsite_enabled(&self, metadata: &'static Metadata<'static>) -> Interest {
        match self.has(metadata) {
            true => Interest::always(),
            false => Interest::never(),
        }
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::DEBUG)
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Collector {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(opened) = context.span(id) else {
            return;
        };
        let span_id = SpanId::of(self.number());
        let mut span = match opened.parent() {
            Some(parent) => {
                let extensions = parent.extensions();
                let Some(parent) = extensions.get::<Span>().filter(|span| span.sent) else {
                    return;
                };
                let mut span = Span::new(opened.name(), parent.trace_id, span_id, now());
                span.parent_id = Some(parent.span_id);
                span
            }
            None => {
                let trace_id = TraceId::of(self.number(), self.number());
                Span::new(opened.name(), trace_id, span_id, now()).serves()
            }
        };
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
        if let Some(span) = closed.extensions_mut().remove::<Span>()
            && span.sent
        {
            let ended = now();
            self.outbox.push(|out| span.finish(out, ended));
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
        if field.name() == TRACED {
            self.sent = value;
            return;
        }
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
    use serde_json::{Value, json};
    use tracing::field::Empty;
    use tracing::subscriber::with_default;
    use tracing_subscriber::layer::SubscriberExt;

    use super::super::span::Batch;
    use super::*;

    const TARGET: &str = "test::traced";
    const ID: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const CALLER: &str = "00f067aa0ba902b7";

    fn sent(act: impl FnOnce()) -> Vec<Value> {
        let outbox = Arc::new(Outbox::new("1"));
        let collector = Collector::new(Arc::clone(&outbox)).with_filter(Wanted(TARGET));
        with_default(tracing_subscriber::registry().with(collector), act);
        let flush = outbox.flush();
        let mut due = outbox.wait(Batch::new("1"));
        drop(flush);
        let body: Value = serde_json::from_str(due.batch.end()).expect("JSON");
        let spans = &body["resourceSpans"][0]["scopeSpans"][0]["spans"];
        spans.as_array().expect("spans").clone()
    }

    /// A request and what is done for it.
    fn request(trace: Option<&str>, traced: Option<bool>, told_later: Option<(&str, bool)>) {
        let span = tracing::info_span!(
            target: TARGET, "request", trace_id = trace, parent_id = Empty, traced, n = Empty,
        );
        if let Some((trace, traced)) = told_later {
            span.record("trace_id", trace);
            span.record("parent_id", CALLER);
            span.record("traced", traced);
        }
        span.record("n", 7);
        span.in_scope(|| {
            let below = tracing::debug_span!(target: TARGET, "below", part = 0.5);
            below.in_scope(|| {
                tracing::debug_span!("of another target").in_scope(|| ());
                tracing::debug_span!(target: TARGET, "further below").in_scope(|| ());
            });
        });
    }

    #[test]
    fn a_trace_is_sent_whole() {
        for (named, later) in [
            (None, None),
            (Some(ID), None),
            (None, Some((ID, true))),
            (Some("no id"), Some((ID, true))),
        ] {
            let case = format!("{named:?} {later:?}");
            let spans = sent(|| request(named, later.map(|_| false), later));
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
            if named == Some(ID) || later.is_some() {
                assert_eq!(request["traceId"], ID, "{case}");
            }
            assert_eq!(request["parentSpanId"] == CALLER, later.is_some(), "{case}");
            let n = json!([{ "key": "n", "value": { "intValue": "7" } }]);
            assert_eq!(request["attributes"], n);
            let part = json!([{ "key": "part", "value": { "doubleValue": 0.5 } }]);
            assert_eq!(below["attributes"], part);
            let kinds: Vec<_> = spans.iter().map(|span| &span["kind"]).collect();
            assert_eq!(kinds, [1, 1, 2], "only a request is served");
        }
    }

    #[test]
    fn a_trace_that_is_not_sent_after_all_leaves_nothing() {
        let at_once = sent(|| request(Some(ID), Some(false), None));
        assert!(at_once.is_empty(), "{at_once:?}");
        let later = sent(|| request(None, Some(false), Some((ID, false))));
        assert!(later.is_empty(), "{later:?}");
    }

    #[test]
    fn spans_of_other_targets_are_not_looked_at() {
        let spans = sent(|| {
            let other = tracing::info_span!("request");
            other.in_scope(|| tracing::debug_span!(target: TARGET, "below").in_scope(|| ()));
        });
        let names: Vec<_> = spans.iter().map(|span| &span["name"]).collect();
        assert_eq!(names, ["below"]);
        assert_eq!(spans[0]["parentSpanId"], Value::Null);
    }
}
