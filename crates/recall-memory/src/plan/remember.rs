//! Deciding one statement.

use std::sync::Arc;

use jiff::Timestamp;

use super::{Draft, Remembered, Replace, Statement};
use crate::card::{Card, FormerCard};
use crate::error::Error;
use crate::event::{Event, Extra, Kind, Source, Told};
use crate::event_id::EventId;
use crate::limits::{MAX_AHEAD, MAX_DEFINED};
use crate::registry::{
    Cardinality, Definition, REGISTRY_PREDICATE, REGISTRY_SUBJECT, is_name, short,
};
use crate::time;
use crate::value::Value;
use crate::view::Predicate;

/// What stands when a statement comes, and what the statement ends.
struct Before {
    /// The instant at which the statement is placed.
    at: Timestamp,
    /// The belief that the statement repeats.
    known: Option<Card>,
    /// The old value of a single-valued predicate.
    replaced: Vec<Card>,
    /// The same value under excluded predicates.
    excluded: Vec<Card>,
    /// Beliefs that the statement names as replaced and that it withdraws for that reason.
    withdrawn: Vec<Card>,
    /// Beliefs that it names as replaced and that are believed, however they end.
    named: Vec<Card>,
    unreplaced: Vec<Replace>,
}

impl Draft<'_> {
    /// Decides one statement.
    pub(super) fn remember(&mut self, statement: &Statement) -> Result<Remembered, Error> {
        self.not_ahead(statement.observed)?;
        let statement = self.spelt(statement);
        self.admit(&statement)?;
        self.state(&statement, None)
    }

    /// The statement with its predicates by the names that they are kept under.
    pub(super) fn spelt(&self, statement: &Statement) -> Statement {
        let mut statement = statement.clone();
        statement.predicate = self.view.spelling(&statement.predicate);
        for replace in &mut statement.replaces {
            replace.predicate = self.view.spelling(&replace.predicate);
        }
        statement
    }

    /// Checks that the predicate takes the statement, and defines it where that is how it begins.
    pub(super) fn admit(&mut self, statement: &Statement) -> Result<(), Error> {
        let name = &statement.predicate;
        if name == REGISTRY_PREDICATE {
            return Err(Error::refused(format!(
                "predicate {name:?} is reserved for the history of the registry"
            )));
        }
        if !is_name(name) {
            return Err(Error::refused(format!(
                "predicate must be snake_case, such as prefers_editor, and at most 64 bytes, got {}",
                short(name)
            )));
        }
        let known =
            self.view.takes(name) || self.defined.iter().any(|(other, _)| **other == **name);
        match self.definition(name).filter(|_| known) {
            Some(definition) => check_rules(name, &definition, statement),
            None if self.view.is_open() => self.define(statement),
            None => Err(self.unregistered(name)),
        }
    }

    pub(super) fn unregistered(&self, name: &str) -> Error {
        let names: Vec<&str> = self
            .view
            .predicates()
            .filter(|predicate| predicate.known)
            .map(|predicate| &*predicate.name)
            .collect();
        Error::refused(format!(
            "predicate {} is not in the registry; registered are {}",
            short(name),
            names.join(", ")
        ))
    }

    /// Writes an admitted statement down.
    pub(super) fn state(
        &mut self,
        statement: &Statement,
        episode: Option<&EventId>,
    ) -> Result<Remembered, Error> {
        let subject = self.subject(&statement.subject);
        let predicate: Arc<str> = Arc::from(statement.predicate.as_str());
        let recorded = self.stamp.next();
        let before = self.before(&subject, &predicate, statement, recorded);
        let already_known = before.known.is_some();
        let ends = !before.withdrawn.is_empty() || !before.excluded.is_empty();
        let stored = match before.known {
            Some(card) if !ends => {
                self.confirm(statement, &card, before.at, recorded, episode);
                card
            }
            Some(_) | None => {
                let event = assertion(
                    statement,
                    &subject,
                    before.at,
                    recorded,
                    &before.withdrawn,
                    episode,
                );
                let card = Card::new(Arc::clone(&subject), Arc::clone(&predicate), &event)
                    .ok_or_else(|| Error::refused("a statement needs a value"))?;
                let id = event.id.clone();
                self.push(&subject, &predicate, event);
                self.withdraw(&subject, &before.withdrawn, before.at, &id);
                let replaced = before
                    .named
                    .iter()
                    .map(|old| FormerCard::beside(old, &predicate));
                Card {
                    replaced: replaced.collect(),
                    ..card
                }
            }
        };
        let superseded = [before.replaced, before.excluded, before.withdrawn];
        Ok(Remembered {
            stored,
            already_known,
            superseded: superseded.into_iter().flatten().collect(),
            unreplaced: before.unreplaced,
        })
    }

    /// Writes down that one more text says what is believed already, so that it is known what of the
    /// text is no longer so when that changes. The belief keeps its standing.
    fn confirm(
        &mut self,
        statement: &Statement,
        known: &Card,
        at: Timestamp,
        recorded: Timestamp,
        episode: Option<&EventId>,
    ) {
        let Some(note) = episode.filter(|note| self.confirms && !self.is_drawn(note, known)) else {
            return;
        };
        let statement = Statement {
            value: known.value.clone(),
            kind: Some(known.kind),
            confidence: known.confidence,
            source: known.source,
            ..statement.clone()
        };
        let subject = &known.subject;
        let event = assertion(&statement, subject, at, recorded, &[], Some(note));
        self.push(subject, &known.predicate, event);
    }

    /// Whether a belief was drawn from a text, by this write or before it.
    fn is_drawn(&self, note: &EventId, known: &Card) -> bool {
        let here = self.added.iter().any(|placed| {
            let value = placed.event.value.as_ref();
            placed.event.evidence_id() == Some(note)
                && placed.subject == known.subject
                && placed.predicate == known.predicate
                && value.is_some_and(|value| value.same(&known.value))
        });
        let pair = self
            .view
            .subject_no(&known.subject)
            .zip(self.view.predicate_no(&known.predicate))
            .and_then(|(subject, predicate)| self.view.pair_no(subject, predicate));
        here || pair.is_some_and(|pair| self.view.is_drawn(note, pair, &known.value))
    }

    fn before(
        &self,
        subject: &Arc<str>,
        predicate: &Arc<str>,
        statement: &Statement,
        recorded: Timestamp,
    ) -> Before {
        // What stands is asked at the instant at which the statement will stand, not at the one it
        // names: that one may be taken.
        let placed = statement
            .observed
            .map(|at| self.free(subject, predicate, at));
        let scope = self.scope(subject, predicate, placed, Some(&statement.value));
        let known = scope
            .find(&statement.value)
            .and_then(|belief| scope.card(subject, belief));
        let single = scope.own().is_some_and(|own| own.single);
        let old = scope
            .beliefs()
            .filter(|_| single && known.is_none())
            .filter_map(|belief| scope.card(subject, belief));
        let at = match placed {
            Some(at) => at,
            None => self.latest(subject, statement, recorded.max(scope.after())),
        };
        let mut before = Before {
            at,
            replaced: old.collect(),
            excluded: scope.excluded(subject, &statement.value),
            known,
            withdrawn: Vec::new(),
            named: Vec::new(),
            unreplaced: Vec::new(),
        };
        for replace in &statement.replaces {
            self.name_replaced(subject, statement, replace, at, &mut before);
        }
        before
    }

    /// A statement that names no time is the latest, whatever other clocks wrote before.
    fn latest(&self, subject: &Arc<str>, statement: &Statement, at: Timestamp) -> Timestamp {
        let others = statement.replaces.iter().filter_map(|replace| {
            let rules = self.rules(&replace.predicate)?;
            Some(
                self.scope(subject, &rules.name, None, Some(&replace.value))
                    .after(),
            )
        });
        others.fold(at, Ord::max)
    }

    /// Finds out what becomes of a belief that a statement names as replaced.
    fn name_replaced(
        &self,
        subject: &Arc<str>,
        statement: &Statement,
        replace: &Replace,
        at: Timestamp,
        before: &mut Before,
    ) {
        let this =
            |card: &&Card| *card.predicate == *replace.predicate && card.value.same(&replace.value);
        let itself =
            replace.predicate == statement.predicate && replace.value.same(&statement.value);
        if itself
            || before
                .replaced
                .iter()
                .chain(&before.named)
                .any(|card| this(&card))
        {
            return;
        }
        if let Some(card) = before.excluded.iter().find(this) {
            before.named.push(card.clone());
            return;
        }
        let rules = self.rules(&replace.predicate);
        let held = rules
            .filter(|rules| !rules.definition.historical)
            .and_then(|rules| {
                let scope = self.scope(subject, &rules.name, Some(at), Some(&replace.value));
                let belief = scope.find(&replace.value)?;
                scope.card(subject, belief)
            });
        match held {
            Some(card) => {
                before.named.push(card.clone());
                before.withdrawn.push(card);
            }
            None if before.unreplaced.iter().any(|other| other.same(replace)) => {}
            None => before.unreplaced.push(replace.clone()),
        }
    }

    fn rules(&self, predicate: &str) -> Option<&Predicate> {
        self.view.predicate(self.view.spelt(predicate)?)
    }

    /// Adds the withdrawals that a statement brings with it.
    fn withdraw(&mut self, subject: &Arc<str>, ended: &[Card], at: Timestamp, by: &EventId) {
        for card in ended {
            let recorded = self.stamp.next();
            let event = withdrawal(subject, &card.predicate, Some(&card.value), at, recorded);
            let extra = Extra {
                replaced_by: Some(by.clone()),
                ..Extra::default()
            };
            let extra = Some(Box::new(extra));
            self.push(subject, &card.predicate, Event { extra, ..event });
        }
    }

    fn define(&mut self, statement: &Statement) -> Result<(), Error> {
        if self.view.defined() + self.defined.len() >= MAX_DEFINED {
            return Err(Error::refused(format!(
                "this memory has defined {MAX_DEFINED} predicates, which is the most; use one of those or `note`"
            )));
        }
        let name: Arc<str> = Arc::from(statement.predicate.as_str());
        let definition = Definition::from_use(
            &statement.value,
            statement.cardinality,
            statement.description.as_deref(),
        );
        let subject: Arc<str> = Arc::from(REGISTRY_SUBJECT);
        let predicate: Arc<str> = Arc::from(REGISTRY_PREDICATE);
        let at = self.stamp.next();
        let value = Value::text(&definition.logged(&name));
        let event = Event {
            id: EventId::of(&subject, &predicate, &value.wire_key(), false, at),
            value: Some(value),
            retraction: false,
            source: Source::ToolResult,
            ..withdrawal(&subject, &predicate, None, at, at)
        };
        self.push(&subject, &predicate, event);
        self.defined.push((name, Arc::new(definition)));
        Ok(())
    }

    /// A statement may be stamped a little ahead of this clock, not further.
    pub(super) fn not_ahead(&self, observed: Option<Timestamp>) -> Result<(), Error> {
        let latest = self
            .stamp
            .now()
            .checked_add(MAX_AHEAD)
            .unwrap_or(Timestamp::MAX);
        match observed.is_some_and(|at| at > latest) {
            true => Err(Error::refused(format!(
                "observed_at is in the future, by this server's clock it is {}; a statement is \
                 recorded as made now or earlier",
                time::seconds(self.stamp.now())
            ))),
            false => Ok(()),
        }
    }
}

/// Checks a statement against a known predicate's rules.
fn check_rules(name: &str, definition: &Definition, statement: &Statement) -> Result<(), Error> {
    definition
        .check(name, &statement.value)
        .map_err(Error::Refused)?;
    let other = |asked: &Cardinality| *asked != definition.cardinality;
    match statement.cardinality.filter(other) {
        Some(asked) => Err(Error::refused(format!(
            "{name} is registered as {}, and a statement cannot make it {}; leave cardinality out",
            definition.cardinality.as_str(),
            asked.as_str()
        ))),
        None => Ok(()),
    }
}

fn assertion(
    statement: &Statement,
    subject: &Arc<str>,
    at: Timestamp,
    recorded: Timestamp,
    hits: &[Card],
    episode: Option<&EventId>,
) -> Event {
    let kind = statement.kind.unwrap_or(
        match (episode, statement.predicate.starts_with("prefers_")) {
            (Some(_), true) => Kind::Preference,
            _ => Kind::Fact,
        },
    );
    let replaces: Vec<Told> = hits.iter().map(told).collect();
    let extra = Extra {
        evidence: statement.evidence.clone(),
        evidence_id: episode.cloned(),
        replaces,
        replaced_by: None,
    };
    let plain =
        extra.evidence.is_none() && extra.evidence_id.is_none() && extra.replaces.is_empty();
    let value = statement.value.clone();
    Event {
        id: EventId::of(subject, &statement.predicate, &value.wire_key(), false, at),
        observed: at,
        recorded,
        value: Some(value),
        confidence: statement.confidence,
        kind,
        source: statement.source,
        retraction: false,
        assistant: statement.assistant,
        session: 0,
        arrival: 0,
        extra: (!plain).then(|| Box::new(extra)),
    }
}

fn told(card: &Card) -> Told {
    Told {
        predicate: Arc::clone(&card.predicate),
        value: card.value.clone(),
        source: card.source,
        observed: card.observed,
        id: card.id.clone(),
    }
}

/// The withdrawal of a value, or of everything.
pub(super) fn withdrawal(
    subject: &str,
    predicate: &str,
    value: Option<&Value>,
    at: Timestamp,
    recorded: Timestamp,
) -> Event {
    let key = value.map(Value::wire_key).unwrap_or_default();
    Event {
        id: EventId::of(subject, predicate, &key, true, at),
        observed: at,
        recorded,
        value: value.cloned(),
        confidence: 1.0,
        kind: Kind::Fact,
        source: Source::UserStated,
        retraction: true,
        assistant: false,
        session: 0,
        arrival: 0,
        extra: None,
    }
}
