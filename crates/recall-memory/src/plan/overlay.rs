//! The view as it will be once the events decided so far are written.

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;

use super::Stamp;
use crate::card::{Card, FormerCard};
use crate::event::{Event, Placed};
use crate::fold::{Belief, Believed, Cluster, Member};
use crate::registry::Definition;
use crate::time;
use crate::value::{Value, name_key};
use crate::view::View;

/// A write being decided.
#[derive(Debug)]
pub(crate) struct Draft<'v> {
    pub(super) view: &'v View,
    pub(super) stamp: &'v mut Stamp,
    pub(super) added: Vec<Placed>,
    /// Definitions that this write makes.
    pub(super) defined: Vec<(Arc<str>, Arc<Definition>)>,
    /// Whether a text that says what is believed already is written down as one more source of it.
    pub(super) confirms: bool,
}

/// A pair and those it is folded with, at an instant.
#[derive(Debug)]
pub(super) struct Scope<'a> {
    cluster: Cluster<'a>,
    /// The member that was asked for.
    own: usize,
    believed: Vec<Cow<'a, Believed>>,
}

impl<'v> Draft<'v> {
    pub(super) fn new(view: &'v View, stamp: &'v mut Stamp) -> Self {
        Self {
            view,
            stamp,
            added: Vec::new(),
            defined: Vec::new(),
            confirms: false,
        }
    }

    pub(super) fn into_events(self) -> Vec<Placed> {
        self.added
    }

    /// Adds an event, unless the log or this write has it: a batch vouches that its ids are new.
    pub(super) fn push(&mut self, subject: &Arc<str>, predicate: &Arc<str>, event: Event) {
        if self.has(subject, predicate, &event) {
            return;
        }
        self.added.push(Placed {
            subject: Arc::clone(subject),
            predicate: Arc::clone(predicate),
            written_by: Some(Arc::clone(&self.stamp.author.key)),
            session: self.stamp.author.session.clone(),
            event,
        });
    }

    /// Whether an event's id is there already. Ids are made of the pair and the instant, among the rest,
    /// so the events of the pair at that instant are all that can have it.
    fn has(&self, subject: &str, predicate: &str, event: &Event) -> bool {
        if self.added.iter().any(|placed| placed.event.id == event.id) {
            return true;
        }
        let pair = self
            .view
            .subject_no(subject)
            .zip(self.view.predicate_no(predicate))
            .and_then(|(subject, predicate)| self.view.pair_no(subject, predicate))
            .and_then(|no| self.view.pair(no));
        pair.is_some_and(|pair| {
            let last = pair.last().map(|(_, last)| last.observed);
            let reaches = last >= Some(event.observed);
            reaches && pair.events.iter().any(|other| other.id == event.id)
        })
    }

    /// The subject as it is spelt in the log already, or as it is sent.
    pub(super) fn subject(&self, name: &Arc<str>) -> Arc<str> {
        let known = self
            .view
            .subject_no(name)
            .and_then(|no| self.view.subject(no));
        known.map_or_else(|| Arc::clone(name), |subject| Arc::clone(&subject.name))
    }

    pub(super) fn definition(&self, name: &str) -> Option<Arc<Definition>> {
        let new = self.defined.iter().find(|(other, _)| **other == *name);
        match new {
            Some((_, definition)) => Some(Arc::clone(definition)),
            None => self.view.definition(name).cloned(),
        }
    }

    /// The pair as it stands at `at`, or at its end. Of a pair with many values only `value` is
    /// sure to be seen, where one is given.
    pub(super) fn scope<'a>(
        &'a self,
        subject: &str,
        predicate: &'a Arc<str>,
        at: Option<Timestamp>,
        value: Option<&Value>,
    ) -> Scope<'a> {
        let (cluster, own) = self.cluster(subject, predicate);
        let added = cluster
            .members
            .iter()
            .any(|member| !member.added.is_empty());
        let covers = at.is_none_or(|at| cluster.last().is_none_or(|last| last <= at));
        let folded = |state: Vec<Believed>| state.into_iter().map(Cow::Owned).collect();
        let believed = match (added || !covers, value) {
            (true, Some(value)) => folded(cluster.fold_value(at, value)),
            (true, None) => folded(cluster.fold(at)),
            (false, _) => cluster
                .members
                .iter()
                .map(|member| match self.view.pair(member.pair) {
                    Some(pair) => Cow::Borrowed(&pair.believed),
                    None => Cow::Owned(Believed::default()),
                })
                .collect(),
        };
        Scope {
            cluster,
            own,
            believed,
        }
    }

    /// The first instant from `at` on at which the pair has no event yet.
    pub(super) fn free(&self, subject: &str, predicate: &Arc<str>, at: Timestamp) -> Timestamp {
        let (cluster, own) = self.cluster(subject, predicate);
        cluster.members.get(own).map_or(at, |own| free(own, at))
    }

    fn cluster<'a>(&'a self, subject: &str, predicate: &'a Arc<str>) -> (Cluster<'a>, usize) {
        let view = self.view;
        let subject_no = view.subject_no(subject);
        let own_no = view.predicate_no(predicate);
        let group = own_no
            .and_then(|no| view.predicate(no))
            .map(|own| &own.group);
        let key = name_key(subject);
        let added = |name: &str| -> Vec<&'a Event> {
            self.added
                .iter()
                .filter(|placed| *placed.predicate == *name && name_key(&placed.subject) == key)
                .map(|placed| &placed.event)
                .collect()
        };
        let Some(group) = group else {
            let single = self.definition(predicate).is_none_or(|it| it.single());
            let member = Member {
                pair: u32::MAX,
                predicate,
                single,
                ends: Vec::new(),
                events: &[],
                order: None,
                added: added(predicate),
            };
            return (
                Cluster {
                    members: vec![member],
                },
                0,
            );
        };
        let members = group.iter().filter_map(|no| {
            let rules = view.predicate(*no)?;
            let pair_no = subject_no.and_then(|subject| view.pair_no(subject, *no));
            let pair = pair_no.and_then(|no| view.pair(no));
            let ends = (0..)
                .zip(group)
                .filter(|(_, other)| rules.ends.contains(other));
            Some(Member {
                pair: pair_no.unwrap_or(u32::MAX - no),
                predicate: &rules.name,
                single: rules.definition.single(),
                ends: ends.map(|(member, _)| member).collect(),
                events: pair.map_or(&[], |pair| &pair.events),
                order: pair.and_then(|pair| pair.order.as_deref()),
                added: added(&rules.name),
            })
        });
        let own = group.iter().position(|no| Some(*no) == own_no).unwrap_or(0);
        (
            Cluster {
                members: members.collect(),
            },
            own,
        )
    }
}

impl<'a> Scope<'a> {
    pub(super) fn own(&self) -> Option<&Member<'a>> {
        self.cluster.members.get(self.own)
    }

    /// For each member its predicate, and how much of it is believed in the view and at the end.
    pub(super) fn counts(&self, view: &'a View) -> impl Iterator<Item = (Arc<str>, usize, usize)> {
        let members = self.cluster.members.iter().zip(&self.believed);
        members.map(|(member, believed)| {
            let before = view.pair(member.pair).map_or(0, |pair| pair.believed.len());
            (Arc::clone(member.predicate), before, believed.len())
        })
    }

    /// The instant after the cluster's last event.
    pub(super) fn after(&self) -> Timestamp {
        self.cluster.last().map_or(Timestamp::MIN, time::after)
    }

    /// What is believed of the pair.
    pub(super) fn beliefs(&self) -> impl Iterator<Item = &Belief> {
        self.believed
            .get(self.own)
            .into_iter()
            .flat_map(|own| own.iter())
    }

    pub(super) fn count(&self) -> usize {
        self.believed.get(self.own).map_or(0, |own| own.len())
    }

    pub(super) fn find(&self, value: &Value) -> Option<&Belief> {
        self.find_in(self.own, value)
    }

    fn find_in(&self, at: usize, value: &Value) -> Option<&Belief> {
        let (member, believed) = self.cluster.members.get(at).zip(self.believed.get(at))?;
        believed.find(value, |slot| member.event(slot))
    }

    /// The beliefs under other predicates that a statement of `value` ends.
    pub(super) fn excluded(&self, subject: &Arc<str>, value: &Value) -> Vec<Card> {
        let ends = self.own().map_or(&[][..], |own| &own.ends);
        ends.iter()
            .filter_map(|other| {
                let belief = self.find_in(*other as usize, value)?;
                self.card_in(*other as usize, subject, belief)
            })
            .collect()
    }

    pub(super) fn card(&self, subject: &Arc<str>, belief: &Belief) -> Option<Card> {
        self.card_in(self.own, subject, belief)
    }

    fn card_in(&self, at: usize, subject: &Arc<str>, belief: &Belief) -> Option<Card> {
        let member = self.cluster.members.get(at)?;
        let event = member.event(belief.slot)?;
        let mut card = Card::new(Arc::clone(subject), Arc::clone(member.predicate), event)?;
        card.replaced = belief
            .replaced
            .iter()
            .flatten()
            .filter_map(|former| {
                let (member, event) = self.cluster.former(*former)?;
                FormerCard::new(*former, member.predicate, event, &card.predicate)
            })
            .collect();
        Some(card)
    }
}

/// The first instant from `at` on at which a pair has no event yet.
fn free(own: &Member<'_>, at: Timestamp) -> Timestamp {
    if own.last().is_none_or(|last| last < at) {
        return at;
    }
    let events = own.events.iter().chain(own.added.iter().copied());
    let mut taken: Vec<_> = events
        .map(|event| event.observed)
        .filter(|taken| *taken >= at)
        .collect();
    taken.sort_unstable();
    taken
        .into_iter()
        .fold(at, |free, taken| match taken == free {
            true => time::after(free),
            false => free,
        })
}

#[cfg(test)]
mod tests;
