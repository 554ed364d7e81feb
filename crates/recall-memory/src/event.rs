//! Events: what the log holds, decoded once and written once.

mod members;

use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Value as Json, json};

use crate::event_id::EventId;
use crate::sentence;
use crate::time;
use crate::value::{Value, json_number};
use members::Members;

/// What kind of statement an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Fact,
    Preference,
}

/// Who a statement comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    UserStated,
    AgentInferred,
    ToolResult,
}

/// One statement or withdrawal, without the pair it belongs to.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) id: EventId,
    /// When it was stated.
    pub(crate) observed: Timestamp,
    /// When it was written; the observation where an older log does not say.
    pub(crate) recorded: Timestamp,
    /// Absent on a withdrawal of everything.
    pub(crate) value: Option<Value>,
    pub(crate) confidence: f64,
    pub(crate) kind: Kind,
    pub(crate) source: Source,
    pub(crate) retraction: bool,
    /// Whether the words are those of an assistant.
    pub(crate) assistant: bool,
    /// What it was written in one go with, as a number of the view that holds it; 0 is nothing.
    pub(crate) session: u32,
    /// The place of the event in the log, as a number of the view that holds it.
    pub(crate) arrival: u32,
    pub(crate) extra: Option<Box<Extra>>,
}

/// What few events have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extra {
    pub(crate) evidence: Option<Arc<str>>,
    pub(crate) evidence_id: Option<EventId>,
    /// What the statement ended under other predicates, as its writer saw it.
    pub(crate) replaces: Vec<Told>,
    pub(crate) replaced_by: Option<EventId>,
}

/// A belief that a statement says it replaces.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) predicate: Arc<str>,
    pub(crate) value: Value,
    pub(crate) source: Source,
    pub(crate) observed: Timestamp,
    pub(crate) id: EventId,
}

/// An event and the pair it belongs to.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    pub(crate) subject: Arc<str>,
    pub(crate) predicate: Arc<str>,
    /// The key that wrote it.
    pub(crate) written_by: Option<Arc<str>>,
    /// The session that its writer named.
    pub(crate) session: Option<Arc<str>>,
    pub(crate) event: Event,
}

/// The place of an event in the fold: a total order that no two events share.
pub(crate) type OrderKey<'a> = (Timestamp, bool, Timestamp, &'a EventId);

impl Kind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Fact => "fact",
            Self::Preference => "preference",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        [Self::Fact, Self::Preference]
            .into_iter()
            .find(|kind| kind.as_str() == text)
    }
}

impl Source {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::UserStated => "user_stated",
            Self::AgentInferred => "agent_inferred",
            Self::ToolResult => "tool_result",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        [Self::UserStated, Self::AgentInferred, Self::ToolResult]
            .into_iter()
            .find(|source| source.as_str() == text)
    }
}

impl Event {
    /// By observation; at one instant statements before withdrawals, then by writing.
    pub(crate) fn order(&self) -> OrderKey<'_> {
        (self.observed, self.retraction, self.recorded, &self.id)
    }

    pub(crate) fn evidence(&self) -> Option<&Arc<str>> {
        self.extra.as_ref()?.evidence.as_ref()
    }

    pub(crate) fn evidence_id(&self) -> Option<&EventId> {
        self.extra.as_ref()?.evidence_id.as_ref()
    }

    pub(crate) fn replaced_by(&self) -> Option<&EventId> {
        self.extra.as_ref()?.replaced_by.as_ref()
    }

    pub(crate) fn replaces(&self) -> &[Told] {
        self.extra.as_ref().map_or(&[], |extra| &extra.replaces)
    }

    /// The bytes that the event holds beyond its own size.
    pub(crate) fn heap(&self) -> usize {
        let value = self.value.as_ref().map_or(0, Value::heap);
        let extra = self.extra.as_ref().map_or(0, |extra| {
            size_of::<Extra>()
                + extra.evidence.as_ref().map_or(0, |text| text.len() + 16)
                + extra.replaces.capacity() * size_of::<Told>()
        });
        value + extra
    }
}

impl Placed {
    /// The body that the log keeps: one flat JSON object.
    pub(crate) fn body(&self) -> Bytes {
        let event = &self.event;
        let mut body = Members::default();
        let mut put = |key, value: Json| body.put(key, value);
        put("kind", event.kind.as_str().into());
        put("subject", (*self.subject).into());
        put("predicate", (*self.predicate).into());
        put("source", event.source.as_str().into());
        put("confidence", json_number(event.confidence));
        put("retraction", event.retraction.into());
        put("observed_at", time::full(event.observed).into());
        put("observed_ms", event.observed.as_millisecond().into());
        put("recorded_at", time::text(event.recorded).into());
        if let Some(value) = &event.value {
            put("value", value.to_json());
            put("value_key", value.wire_key().into());
        }
        put("text", sentence::logged(self).into());
        if event.assistant {
            put("role", "assistant".into());
        }
        if let Some(extra) = &event.extra {
            if let Some(evidence) = &extra.evidence {
                put("evidence", (**evidence).into());
            }
            if let Some(id) = &extra.evidence_id {
                put("evidence_id", id.to_string().into());
            }
            if !extra.replaces.is_empty() {
                let told = extra.replaces.iter().map(Told::to_json).collect();
                put("replaces", Json::Array(told).to_string().into());
            }
            if let Some(id) = &extra.replaced_by {
                put("replaced_by", id.to_string().into());
            }
        }
        if let Some(writer) = &self.written_by {
            put("written_by", (**writer).into());
        }
        if let Some(session) = &self.session {
            put("session", (**session).into());
        }
        Bytes::from(body.write())
    }

    /// Reads a body back. Unknown members are skipped; members that older logs lack have defaults.
    ///
    /// # Errors
    ///
    /// What does not decode, in words.
    pub(crate) fn decode(id: &str, body: &[u8]) -> Result<Self, String> {
        let body = Members::read(body).map_err(|error| format!("no JSON object: {error}"))?;
        let text = |key: &str| body.get(key).and_then(Json::as_str);
        let need = |key: &str| text(key).ok_or_else(|| format!("no string {key:?}"));
        let observed = instant(need("observed_at")?, "observed_at")?;
        let recorded = match text("recorded_at") {
            Some(at) => instant(at, "recorded_at")?,
            None => observed,
        };
        let source = need("source")?;
        let kind = need("kind")?;
        let retraction = match body.get("retraction") {
            None => false,
            Some(flag) => flag.as_bool().ok_or("retraction is no boolean")?,
        };
        let value = body.get("value").map(read_value).transpose()?;
        if value.is_none() && !retraction {
            return Err("a statement without a value".to_owned());
        }
        Ok(Self {
            subject: Arc::from(need("subject")?),
            predicate: Arc::from(need("predicate")?),
            written_by: text("written_by").map(Arc::from),
            session: text("session").map(Arc::from),
            event: Event {
                id: EventId::parse(id),
                observed,
                recorded,
                value,
                confidence: body.get("confidence").and_then(Json::as_f64).unwrap_or(1.0),
                kind: Kind::parse(kind).ok_or_else(|| format!("unknown kind {kind:?}"))?,
                source: Source::parse(source)
                    .ok_or_else(|| format!("unknown source {source:?}"))?,
                retraction,
                assistant: text("role") == Some("assistant"),
                session: 0,
                arrival: 0,
                extra: read_extra(text)?,
            },
        })
    }
}

impl Told {
    fn to_json(&self) -> Json {
        json!({
            "predicate": &*self.predicate,
            "value": self.value.to_json(),
            "source": self.source.as_str(),
            "observed_at": time::full(self.observed),
            "event_id": self.id.to_string(),
        })
    }

    fn read(told: &Json) -> Option<Self> {
        let text = |key: &str| told.get(key).and_then(Json::as_str);
        Some(Self {
            predicate: Arc::from(text("predicate")?),
            value: read_value(told.get("value")?).ok()?,
            source: Source::parse(text("source")?)?,
            observed: time::parse(text("observed_at")?).ok()?,
            id: EventId::parse(text("event_id")?),
        })
    }
}

fn read_extra<'a>(text: impl Fn(&str) -> Option<&'a str>) -> Result<Option<Box<Extra>>, String> {
    let replaces = match text("replaces") {
        None => Vec::new(),
        Some(list) => serde_json::from_str::<Vec<Json>>(list)
            .ok()
            .and_then(|list| list.iter().map(Told::read).collect())
            .ok_or("replaces is no list of beliefs")?,
    };
    let extra = Extra {
        evidence: text("evidence").map(Arc::from),
        evidence_id: text("evidence_id").map(EventId::parse),
        replaces,
        replaced_by: text("replaced_by").map(EventId::parse),
    };
    let empty = extra.evidence.is_none()
        && extra.evidence_id.is_none()
        && extra.replaces.is_empty()
        && extra.replaced_by.is_none();
    Ok((!empty).then(|| Box::new(extra)))
}

fn read_value(value: &Json) -> Result<Value, String> {
    match value {
        Json::String(text) => Ok(Value::text(text)),
        Json::Bool(flag) => Ok(Value::Flag(*flag)),
        Json::Number(number) => number
            .as_f64()
            .filter(|number| number.is_finite())
            .map(Value::number)
            .ok_or_else(|| "a value that is no finite number".to_owned()),
        Json::Null | Json::Array(_) | Json::Object(_) => {
            Err("a value that is no string, number or boolean".to_owned())
        }
    }
}

fn instant(text: &str, key: &str) -> Result<Timestamp, String> {
    time::parse(text).map_err(|reason| format!("{key} {reason}"))
}

#[cfg(test)]
mod tests;
