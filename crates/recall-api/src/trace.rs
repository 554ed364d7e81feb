//! The trace that a request belongs to, as its sender names it (W3C Trace Context).

mod sampling;

use std::fmt;

use http::HeaderMap;
use recall_agent::Tool;
use recall_memory::{Answer, Operation, Surface};
use recall_store::{AgentId, Namespace};
use sha2::{Digest, Sha256};
use tracing::Span;
use tracing::field::Empty;

pub(crate) use sampling::is_traced;
pub use sampling::{Sampling, TRACED};

/// A request's sender, as far as a trace knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parent<'a> {
    /// The trace.
    pub(crate) trace_id: &'a str,
    /// The sender's span.
    pub(crate) span_id: &'a str,
}

impl Parent<'_> {
    /// Puts the current request under its sender's span.
    pub(crate) fn note(self, span: &Span, sampling: Option<&Sampling>) {
        span.record("trace_id", self.trace_id);
        span.record("parent_id", self.span_id);
        if let Some(sampling) = sampling {
            span.record("traced", sampling.tells_of(self.trace_id));
        }
    }
}

/// The sender that the request's header names, if it names a good one.
pub(crate) fn of(headers: &HeaderMap) -> Option<Parent<'_>> {
    let mut sent = headers.get_all("traceparent").iter();
    match (sent.next(), sent.next()) {
        (Some(parent), None) => read(parent.to_str().ok()?),
        _ => None,
    }
}

/// The sender that a `traceparent` names, if it is well formed: `00-<32 digits>-<16 digits>-<2 digits>`.
pub(crate) fn read(parent: &str) -> Option<Parent<'_>> {
    let mut parts = parent.split('-');
    let (version, trace) = (parts.next()?, parts.next()?);
    let (span, flags) = (parts.next()?, parts.next()?);
    let hex = |text: &str, length: usize| {
        text.len() == length
            && text
                .bytes()
                .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    };
    let known = hex(version, 2) && version != "ff" && (version != "00" || parts.next().is_none());
    let says = |text: &str| text.bytes().any(|byte| byte != b'0');
    let good =
        known && hex(trace, 32) && says(trace) && hex(span, 16) && says(span) && hex(flags, 2);
    good.then_some(Parent {
        trace_id: trace,
        span_id: span,
    })
}

/// Where an operation is done: what each of its spans says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) surface: Surface,
    pub(crate) backend: &'static str,
    pub(crate) namespace: &'a Namespace,
    /// Whether its name may be told.
    pub(crate) named: bool,
}

impl Place<'_> {
    fn note(&self, span: &Span) {
        if span.is_disabled() {
            return;
        }
        // Worked out only where it is kept.
        span.record(
            "gen_ai.memory.store.id",
            tracing::field::display(StoreId(self)),
        );
        span.record("recall.backend", self.backend);
        let surface = match self.surface {
            Surface::Typed => "typed",
            Surface::Text => "text",
        };
        span.record("recall.surface", surface);
    }
}

/// What stands for the namespace: its name may say whose memory it is, so that it is told only where an
/// operator wants it.
struct StoreId<'a>(&'a Place<'a>);

impl fmt::Display for StoreId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let namespace = self.0.namespace;
        if self.0.named {
            return namespace.fmt(f);
        }
        let mut digest = hex::encode(Sha256::digest(namespace.as_str()));
        digest.truncate(16);
        f.write_str(&digest)
    }
}

/// The span of a memory operation, by the names of OpenTelemetry's conventions for generative AI. It
/// is made only where a collector is told of it: it says nothing that a log needs.
pub(crate) fn operation(operation: Operation, place: Place<'_>) -> Span {
    use Operation as O;
    if !is_traced() {
        return Span::none();
    }
    macro_rules! span {
        ($name:literal) => {
            tracing::debug_span!(
                target: TRACED,
                $name,
                gen_ai.operation.name = $name,
                gen_ai.memory.store.id = Empty,
                gen_ai.memory.record.count = Empty,
                gen_ai.memory.record.id = Empty,
                recall.backend = Empty,
                recall.surface = Empty,
                error.type = Empty,
            )
        };
    }
    let span = match operation {
        O::Remember => span!("upsert_memory"),
        O::Forget => span!("delete_memory"),
        O::Recall | O::History | O::Timeline | O::Diff | O::Predicates | O::Explain => {
            span!("search_memory")
        }
    };
    place.note(&span);
    span
}

/// The span of an agent's tool. `agent` is the name that the call gives, if it is one.
pub(crate) fn agent(tool: Tool, agent: Option<&AgentId>, place: Place<'_>) -> Span {
    if !is_traced() {
        return Span::none();
    }
    let span = tracing::debug_span!(
        target: TRACED,
        "agent_operation",
        recall.agent.operation = tool.name(),
        gen_ai.agent.id = agent.map(AgentId::as_str),
        gen_ai.memory.store.id = Empty,
        recall.lease.epoch = Empty,
        recall.backend = Empty,
        recall.surface = Empty,
        error.type = Empty,
    );
    place.note(&span);
    span
}

/// Tells the current request's span which method of MCP it calls, and which tool. Both are names that
/// the server knows: a client's own words are not repeated.
pub(crate) fn mcp(method: &'static str, tool: Option<&'static str>) {
    let span = Span::current();
    span.record("mcp.method.name", method);
    if let Some(tool) = tool {
        span.record("gen_ai.tool.name", tool);
    }
}

/// Tells how an operation went.
pub(crate) fn outcome(span: &Span, place: Place<'_>, outcome: Result<&Answer, &'static str>) {
    if span.is_none() {
        return;
    }
    let answer = match outcome {
        Ok(answer) => answer,
        Err(code) => {
            span.record("error.type", code);
            return;
        }
    };
    span.record("gen_ai.memory.record.count", answer.items);
    if let Some(record) = &answer.record {
        span.record("gen_ai.memory.record.id", record.as_str());
    }
    if answer.began {
        let began = tracing::debug_span!(
            target: TRACED,
            parent: span,
            "create_memory_store",
            gen_ai.operation.name = "create_memory_store",
            gen_ai.memory.store.id = Empty,
            recall.backend = Empty,
            recall.surface = Empty,
        );
        place.note(&began);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

    #[track_caller]
    fn check(parent: &str, expected: Option<&str>) {
        let found = read(parent).map(|parent| parent.trace_id);
        assert_eq!(found, expected, "{parent}");
    }

    #[test]
    fn only_a_well_formed_parent_names_a_trace() {
        check(&format!("00-{TRACE}-00f067aa0ba902b7-01"), Some(TRACE));
        check(&format!("01-{TRACE}-00f067aa0ba902b7-01-more"), Some(TRACE));
        check(&format!("00-{TRACE}-00f067aa0ba902b7-01-more"), None);
        check(&format!("ff-{TRACE}-00f067aa0ba902b7-01"), None);
        check(&format!("00-{TRACE}-0000000000000000-01"), None);
        check(
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            None,
        );
        check(
            &format!("00-{}-00f067aa0ba902b7-01", TRACE.to_uppercase()),
            None,
        );
        check(&format!("00-{TRACE}"), None);
        check("forged\nline", None);
        check("", None);
    }
}
