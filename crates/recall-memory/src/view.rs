//! The resident view of one namespace: every pair folded, every current statement indexed.
//!
//! A view is built from the log once and then follows it event by event. It knows nothing of how
//! the log is reached, so every answer that it gives is a pure function of the events it has seen.

mod build;
mod drawn;
mod echo;
mod embed;
mod escapes;
mod find;
mod items;
mod names;
mod past;
mod quotes;
mod rank;
mod repeats;
mod rows;
mod runs;
mod served;
mod sessions;
mod settle;
mod spoken;
mod tally;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;
use recall_store::Revision;

use crate::card::{Card, FormerCard};
use crate::event::{Event, Placed};
use crate::event_id::EventId;
use crate::fold::{Belief, Believed, Cluster, Former, Member};
use crate::registry::{Definition, Registry, is_name, nearest_name};
use crate::search::Index;
use crate::value::Value;

pub(crate) use build::{Builder, decode};
pub(crate) use drawn::Outdated;
pub(crate) use echo::Echo;
pub(crate) use embed::Unembedded;
pub(crate) use find::Find;
pub(crate) use names::{Predicate, Subject};
pub(crate) use rank::{Texts, Wanted};

use names::Names;
use past::Past;
use quotes::Quotes;
use repeats::Read;
use sessions::Sessions;

/// Everything known of one namespace.
#[derive(Debug)]
pub(crate) struct View {
    registry: Arc<Registry>,
    revision: Revision,
    subjects: Names<Subject>,
    predicates: Names<Predicate>,
    /// Numbered in the order in which the log first spoke of them.
    pairs: Vec<Pair>,
    pair_of: HashMap<(u32, u32), u32>,
    index: Index,
    /// The pair and event of each item of the index.
    items: Vec<(u32, u32)>,
    /// Whether any statement ever had more than one item.
    several: bool,
    /// How many statements ever gave a subject a value, by hash: 1 means that no other pair can
    /// hold it.
    stated: HashMap<u64, u32>,
    /// Where the notes are, because statements drawn from a text name its note.
    notes: HashMap<EventId, (u32, u32)>,
    sessions: Sessions,
    /// Statements that are no longer believed, in the order in which that became so.
    superseded: Vec<(u32, u32)>,
    past: Past,
    /// What ended a statement under another predicate, by the event that it ended.
    ended_by: HashMap<EventId, (u32, u32)>,
    /// What was drawn from a text, by its note.
    drawn: HashMap<EventId, Vec<(u32, u32)>>,
    /// The words that statements were drawn from.
    quotes: Quotes,
    /// What kept texts repeat, as far as they were looked through.
    read: Mutex<Read>,
    /// Predicates that writes defined.
    defined: usize,
    last_recorded: Timestamp,
    /// What is believed now.
    held: u32,
    events: usize,
    heap: usize,
}

/// A subject and a predicate: their events and what is believed of them.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) subject: u32,
    pub(crate) predicate: u32,
    /// In the order in which the log gave them, so that their places never change.
    pub(crate) events: Vec<Event>,
    /// Fold order of `events`, once it differs from the log's.
    pub(crate) order: Option<Vec<u32>>,
    pub(crate) believed: Believed,
}

impl View {
    pub(crate) fn new(registry: Arc<Registry>) -> Self {
        Self {
            predicates: Names::of_registry(&registry),
            registry,
            revision: Revision(0),
            subjects: Names::default(),
            pairs: Vec::new(),
            pair_of: HashMap::new(),
            index: Index::default(),
            items: Vec::new(),
            several: false,
            stated: HashMap::new(),
            notes: HashMap::new(),
            sessions: Sessions::default(),
            superseded: Vec::new(),
            past: Past::default(),
            ended_by: HashMap::new(),
            drawn: HashMap::new(),
            quotes: Quotes::default(),
            read: Mutex::default(),
            defined: 0,
            last_recorded: Timestamp::MIN,
            held: 0,
            events: 0,
            heap: 0,
        }
    }

    pub(crate) fn revision(&self) -> Revision {
        self.revision
    }

    pub(crate) fn set_revision(&mut self, revision: Revision) {
        self.revision = revision;
    }

    pub(crate) fn is_open(&self) -> bool {
        self.registry.open
    }

    pub(crate) fn last_recorded(&self) -> Timestamp {
        self.last_recorded
    }

    /// What is believed now, of everything.
    pub(crate) fn held(&self) -> u32 {
        self.held
    }

    pub(crate) fn defined(&self) -> usize {
        self.defined
    }

    pub(crate) fn subject_no(&self, name: &str) -> Option<u32> {
        self.subjects.find(name)
    }

    pub(crate) fn predicate_no(&self, name: &str) -> Option<u32> {
        self.predicates.find(name)
    }

    /// The name that a caller's spelling of a predicate stands for. A closed server takes names as they
    /// are; an open one takes the nearest name, because its callers make them up.
    pub(crate) fn spelling(&self, sent: &str) -> String {
        let name = sent.trim();
        match self.registry.open && self.exact(name).is_none() {
            true => nearest_name(name).unwrap_or_else(|| name.to_owned()),
            false => name.to_owned(),
        }
    }

    /// The predicate that a caller's spelling stands for.
    pub(crate) fn spelt(&self, sent: &str) -> Option<u32> {
        self.exact(&self.spelling(sent))
    }

    /// The predicate of exactly this name.
    fn exact(&self, name: &str) -> Option<u32> {
        // A log may hold a name that is no name; then its plain spelling finds it too.
        let same = |predicate: &Predicate| is_name(name) || *predicate.name == *name;
        let no = self.predicate_no(name)?;
        self.predicate(no).is_some_and(same).then_some(no)
    }

    pub(crate) fn subject(&self, no: u32) -> Option<&Subject> {
        self.subjects.get(no)
    }

    pub(crate) fn predicate(&self, no: u32) -> Option<&Predicate> {
        self.predicates.get(no)
    }

    pub(crate) fn predicates(&self) -> impl Iterator<Item = &Predicate> {
        self.predicates.iter()
    }

    /// The rules of a predicate that the registry or a write defines.
    pub(crate) fn definition(&self, name: &str) -> Option<&Arc<Definition>> {
        let predicate = self.predicate(self.predicate_no(name)?)?;
        predicate.known.then_some(&predicate.definition)
    }

    /// Whether the server's own registry has a predicate.
    pub(crate) fn is_configured(&self, name: &str) -> bool {
        self.registry.get(name).is_some()
    }

    /// Whether new statements may use a predicate: a closed registry takes only its own.
    pub(crate) fn takes(&self, name: &str) -> bool {
        match self.registry.open {
            true => self.definition(name).is_some(),
            false => self.registry.get(name).is_some(),
        }
    }

    pub(crate) fn pair_no(&self, subject: u32, predicate: u32) -> Option<u32> {
        self.pair_of.get(&(subject, predicate)).copied()
    }

    pub(crate) fn pair(&self, no: u32) -> Option<&Pair> {
        self.pairs.get(no as usize)
    }

    pub(crate) fn pair_count(&self) -> u32 {
        u32::try_from(self.pairs.len()).unwrap_or(u32::MAX)
    }

    pub(crate) fn subject_name(&self, pair: &Pair) -> Arc<str> {
        let subject = self.subject(pair.subject);
        subject.map_or_else(|| Arc::from(""), |subject| Arc::clone(&subject.name))
    }

    pub(crate) fn predicate_name(&self, pair: &Pair) -> Arc<str> {
        let predicate = self.predicate(pair.predicate);
        predicate.map_or_else(|| Arc::from(""), |predicate| Arc::clone(&predicate.name))
    }

    pub(crate) fn is_note(&self, pair: &Pair) -> bool {
        self.predicate(pair.predicate)
            .is_some_and(|predicate| predicate.note)
    }

    /// The pairs that are folded with this one, itself among them.
    pub(crate) fn cluster_pairs(&self, pair: &Pair) -> Vec<u32> {
        let group = self
            .predicate(pair.predicate)
            .map_or(&[][..], |predicate| &predicate.group);
        group
            .iter()
            .filter_map(|predicate| self.pair_no(pair.subject, *predicate))
            .collect()
    }

    /// Puts pairs together for folding.
    pub(crate) fn cluster(&self, pairs: &[u32]) -> Cluster<'_> {
        let found = pairs.iter().filter_map(|no| Some((*no, self.pair(*no)?)));
        let members = found.clone().filter_map(|(no, pair)| {
            let predicate = self.predicate(pair.predicate)?;
            let ends = (0..)
                .zip(found.clone())
                .filter(|(_, (_, other))| predicate.ends.contains(&other.predicate))
                .map(|(member, _)| member);
            Some(Member {
                pair: no,
                predicate: &predicate.name,
                single: predicate.definition.single(),
                ends: ends.collect(),
                events: &pair.events,
                order: pair.order.as_deref(),
                added: Vec::new(),
            })
        });
        Cluster {
            members: members.collect(),
        }
    }

    /// Where the text is that a statement was drawn from.
    pub(crate) fn source(&self, event: &Event) -> Option<(u32, u32)> {
        self.note_place(event.evidence_id()?)
    }

    /// The whole text that a statement was drawn from, be it withdrawn since or not.
    fn kept_text(&self, event: &Event) -> Option<&str> {
        let (pair, slot) = self.source(event)?;
        match self.pair(pair)?.value(slot)? {
            Value::Text(text) => Some(text.as_str()),
            Value::Number(_) | Value::Flag(_) => None,
        }
    }

    fn note_place(&self, note: &EventId) -> Option<(u32, u32)> {
        self.notes.get(note).copied()
    }

    /// Whether a text is kept and was not withdrawn.
    pub(crate) fn is_kept_text(&self, note: &EventId) -> bool {
        let place = self.note_place(note);
        let pair = place.and_then(|(no, slot)| Some((self.pair(no)?, slot)));
        pair.is_some_and(|(pair, slot)| {
            pair.value(slot)
                .is_some_and(|text| pair.holds(text).is_some())
        })
    }

    /// A belief as answers show it.
    pub(crate) fn card(&self, pair: &Pair, belief: &Belief) -> Option<Card> {
        let event = pair.events.get(belief.slot as usize)?;
        let mut card = Card::new(self.subject_name(pair), self.predicate_name(pair), event)?;
        card.replaced = self.replaced(pair, belief);
        Some(card)
    }

    /// What a belief replaced, as answers show it.
    pub(crate) fn replaced(&self, pair: &Pair, belief: &Belief) -> Vec<FormerCard> {
        let Some(replaced) = &belief.replaced else {
            return Vec::new();
        };
        let beside = self.predicate_name(pair);
        let former = replaced.iter();
        former
            .filter_map(|former| self.former(*former, &beside))
            .collect()
    }

    fn former(&self, former: Former, beside: &Arc<str>) -> Option<FormerCard> {
        let pair = self.pair(former.pair)?;
        let event = pair.events.get(former.slot as usize)?;
        FormerCard::new(former, &self.predicate_name(pair), event, beside)
    }

    /// The bytes that the view takes, as near as counting goes.
    pub(crate) fn bytes(&self) -> usize {
        const MAP_SLACK: usize = 2;
        let pairs = self.pairs.len() * (size_of::<Pair>() + MAP_SLACK * 16 + 8);
        let subjects = self.subjects.len() * (size_of::<Subject>() + MAP_SLACK * 24 + 48);
        let events = self.events * size_of::<Event>() * 5 / 4;
        let lists = (self.items.len() + self.superseded.len()) * 8
            + self.stated.len() * MAP_SLACK * 12
            + (self.notes.len() + self.ended_by.len() + 2 * self.drawn.len()) * MAP_SLACK * 32
            + self.held as usize * size_of::<Belief>();
        size_of::<Self>()
            + pairs
            + subjects
            + events
            + lists
            + self.heap
            + self.index.bytes()
            + self.sessions.bytes()
            + self.past.bytes()
            + self.quotes.bytes()
            + self.read.lock().bytes()
            + self.subjects.said.bytes()
    }

    /// How many statements the search index holds.
    pub(crate) fn indexed(&self) -> usize {
        self.index.len()
    }

    /// Takes events in, in the order of the log. A pair into whose past some of them go is folded
    /// again once.
    pub(crate) fn apply(&mut self, events: impl IntoIterator<Item = Placed>) {
        let mut late: Vec<(u32, u32)> = Vec::new();
        let mut unsettled = HashSet::new();
        for placed in events {
            let Some((no, slot)) = self.place(placed) else {
                continue;
            };
            let pairs = self
                .pair(no)
                .map(|pair| self.cluster_pairs(pair))
                .unwrap_or_default();
            let waits = pairs.iter().any(|pair| unsettled.contains(pair));
            if waits || !self.is_last(&pairs, no, slot) {
                unsettled.extend(pairs);
                late.push((no, slot));
            } else {
                self.settle(&pairs, no, slot);
            }
        }
        late.sort_by_key(|(no, _)| {
            self.pair(*no)
                .map(|pair| (pair.subject, self.group_of(pair)))
        });
        self.settle_late(&late);
        self.follow_past();
    }

    /// What stands for all predicates that are folded together.
    fn group_of(&self, pair: &Pair) -> Option<u32> {
        self.predicate(pair.predicate)?.group.first().copied()
    }
}

#[cfg(test)]
mod tests;
