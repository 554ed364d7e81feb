//! Collecting spans as they close.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::SystemTime;

use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::send::Parcel;
use super::span::Span;

/// The fields that say where a span belongs; they are no attributes.
const TRACE: &str = "trace_id";
const PARENT: &str = "parent_id";
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

/// Collects the spans of this product's own crates.
pub(crate) struct Collector {
    queue: SyncSender<Parcel>,
    /// Traces whose last eight bytes are below are sent.
    bound: u64,
    random: RandomState,
    next: AtomicU64,
}

impl Collector {
    pub(super) fn new(queue: SyncSender<Parcel>, ratio: f64) -> Self {
        Self {
            queue,
            bound: (ratio.clamp(0.0, 1.0) * u64::MAX as f64) as u64,
            random: RandomState::new(),
            next: AtomicU64::new(1),
        }
    }

    /// Whether spans of this origin are collected at all.
    pub(crate) fn wants(metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && metadata.target().starts_with("recall")
    }

    fn id(&self) -> String {
        // Never 0, which stands for no id.
        let random = self
            .random
            .hash_one(self.next.fetch_add(1, Ordering::Relaxed))
            | 1;
        format!("{random:016x}")
    }

    fn sampled(&self, trace_id: &str) -> bool {
        let low = trace_id.get(16..).unwrap_or_default();
        u64::from_str_radix(low, 16).is_ok_and(|low| low <= self.bound)
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
            Some((span.trace_id.clone(), span.span_id.clone()))
        });
        let serves = parent.is_none();
        let (trace_id, parent_id) = match parent {
            Some((trace, parent)) => (trace, Some(parent)),
            None => (self.id() + &self.id(), None),
        };
        let began = now();
        let mut span = Span {
            trace_id,
            span_id: self.id(),
            parent_id,
            name: opened.name(),
            serves,
            began,
            ended: began,
            attributes: Vec::new(),
            failed: false,
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
        let Some(mut span) = closed.extensions_mut().remove::<Span>() else {
            return;
        };
        if self.sampled(&span.trace_id) {
            span.ended = now();
            // A full queue means that the collector is behind: a span is less than a request.
            let _ = self.queue.try_send(Parcel::Span(Box::new(span)));
        }
    }
}

impl Visit for Span {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, Value::String(format!("{value:?}")));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            TRACE => value.clone_into(&mut self.trace_id),
            PARENT => self.parent_id = Some(value.to_owned()),
            _ => self.put(field, value.into()),
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value.into());
    }
}

impl Span {
    fn put(&mut self, field: &Field, value: Value) {
        self.failed |= field.name() == ERROR;
        self.attributes.push((field.name(), value));
    }
}
