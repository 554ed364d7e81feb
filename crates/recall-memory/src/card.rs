//! A belief as answers show it.

use std::sync::Arc;

use jiff::Timestamp;

use crate::event::{Event, Kind, Source};
use crate::event_id::EventId;
use crate::fold::Former;
use crate::json::Json;
use crate::sentence;
use crate::value::Value;

/// A belief with what it replaced.
#[derive(Clone, Debug)]
pub(crate) struct Card {
    pub(crate) subject: Arc<str>,
    pub(crate) predicate: Arc<str>,
    pub(crate) value: Value,
    pub(crate) confidence: f64,
    pub(crate) source: Source,
    pub(crate) kind: Kind,
    pub(crate) observed: Timestamp,
    pub(crate) id: EventId,
    pub(crate) replaced: Vec<FormerCard>,
    pub(crate) elsewhere: Vec<FormerCard>,
    pub(crate) evidence: Option<Arc<str>>,
}

/// A belief named beside another one.
#[derive(Clone, Debug)]
pub(crate) struct FormerCard {
    /// Present when it is another predicate than that of the belief it stands beside.
    pub(crate) predicate: Option<Arc<str>>,
    pub(crate) value: Value,
    pub(crate) source: Source,
    pub(crate) observed: Timestamp,
    pub(crate) id: EventId,
}

impl Card {
    /// The card of a statement; `None` for a withdrawal of everything, which states nothing.
    pub(crate) fn new(subject: Arc<str>, predicate: Arc<str>, event: &Event) -> Option<Self> {
        Some(Self {
            subject,
            predicate,
            value: event.value.clone()?,
            confidence: event.confidence,
            source: event.source,
            kind: event.kind,
            observed: event.observed,
            id: event.id.clone(),
            replaced: Vec::new(),
            elsewhere: Vec::new(),
            evidence: event.evidence().cloned(),
        })
    }

    pub(crate) fn sentence(&self) -> String {
        sentence::spoken(&self.subject, &self.predicate, &self.value)
    }

    /// Writes the members that every answer shows; the caller adds its own.
    pub(crate) fn write(&self, json: &mut Json) {
        let row = Row {
            subject: &self.subject,
            predicate: &self.predicate,
            value: &self.value,
            confidence: self.confidence,
            source: self.source,
            kind: self.kind,
            observed: self.observed,
            id: &self.id,
        };
        row.write(json);
        FormerCard::list(&self.replaced, "replaced", json);
        FormerCard::list(&self.elsewhere, "elsewhere", json);
    }
}

/// What every answer shows of a statement, where it lies: many rows are written at once, and to copy
/// the names that they share makes threads wait for each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'a> {
    subject: &'a str,
    predicate: &'a str,
    value: &'a Value,
    confidence: f64,
    source: Source,
    kind: Kind,
    observed: Timestamp,
    id: &'a EventId,
}

impl<'a> Row<'a> {
    /// The row of a statement of a value.
    pub(crate) fn new(
        subject: &'a str,
        predicate: &'a str,
        event: &'a Event,
        value: &'a Value,
    ) -> Self {
        Self {
            subject,
            predicate,
            value,
            confidence: event.confidence,
            source: event.source,
            kind: event.kind,
            observed: event.observed,
            id: &event.id,
        }
    }

    pub(crate) fn write(self, json: &mut Json) {
        json.key("subject").string(self.subject);
        json.key("predicate").string(self.predicate);
        json.key("value").value(self.value);
        json.key("confidence").number(self.confidence);
        json.key("kind").string(self.kind.as_str());
        json.key("source").string(self.source.as_str());
        json.key("observed_at").time(self.observed);
        json.key("event_id").display(self.id);
    }
}

impl FormerCard {
    /// What a belief replaced, shown beside a belief of the predicate `beside`.
    pub(crate) fn new(
        former: Former,
        predicate: &Arc<str>,
        event: &Event,
        beside: &Arc<str>,
    ) -> Option<Self> {
        let other = |name: &Arc<str>| (name != beside).then(|| Arc::clone(name));
        match former.told {
            Former::HERE => Some(Self {
                predicate: other(predicate),
                value: event.value.clone()?,
                source: event.source,
                observed: event.observed,
                id: event.id.clone(),
            }),
            told => event.replaces().get(told as usize).map(|told| Self {
                predicate: other(&told.predicate),
                value: told.value.clone(),
                source: told.source,
                observed: told.observed,
                id: told.id.clone(),
            }),
        }
    }

    /// A belief named beside one of the predicate `beside`.
    pub(crate) fn beside(card: &Card, beside: &Arc<str>) -> Self {
        Self {
            predicate: (card.predicate != *beside).then(|| Arc::clone(&card.predicate)),
            value: card.value.clone(),
            source: card.source,
            observed: card.observed,
            id: card.id.clone(),
        }
    }

    pub(crate) fn list(cards: &[Self], name: &str, json: &mut Json) {
        if cards.is_empty() {
            return;
        }
        json.key(name)
            .array(cards, |json, card| json.object(|json| card.write(json)));
    }

    fn write(&self, json: &mut Json) {
        if let Some(predicate) = &self.predicate {
            json.key("predicate").string(predicate);
        }
        json.key("value").value(&self.value);
        json.key("source").string(self.source.as_str());
        json.key("observed_at").time(self.observed);
        json.key("event_id").display(&self.id);
    }
}
