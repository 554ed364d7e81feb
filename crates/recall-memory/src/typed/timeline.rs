//! `timeline`: a pair's history as changes.

use std::sync::Arc;

use jiff::Timestamp;

use super::history::PairArgs;
use crate::answer::{Answer, Coverage, count};
use crate::event::{Event, Source};
use crate::event_id::EventId;
use crate::fold::{Believed, Effect};
use crate::json::Json;
use crate::sentence;
use crate::view::{Pair, View};

/// One change of what is believed of a pair.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) at: Timestamp,
    pub(crate) id: EventId,
    pub(crate) statement: String,
    pub(crate) predicate: Arc<str>,
    pub(crate) source: Source,
    pub(crate) evidence: Option<Arc<str>>,
    pub(crate) kind: ChangeKind,
    pub(crate) added: Vec<String>,
    pub(crate) removed: Vec<String>,
}

/// What a change is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    Stated,
    Replaced,
    Withdrawn,
    NoChange,
}

impl ChangeKind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Stated => "stated",
            Self::Replaced => "replaced",
            Self::Withdrawn => "withdrawn",
            Self::NoChange => "no change",
        }
    }
}

/// How what is believed of a pair came about, oldest first.
pub(crate) fn changes(view: &View, no: u32) -> Vec<Change> {
    let Some(pair) = view.pair(no) else {
        return Vec::new();
    };
    let pairs = view.cluster_pairs(pair);
    let cluster = view.cluster(&pairs);
    let own = (0..)
        .zip(&pairs)
        .find(|(_, other)| **other == no)
        .map_or(0, |(own, _)| own);
    let mut state = vec![Believed::default(); pairs.len()];
    let mut changes = Vec::new();
    for step in cluster.steps(None) {
        let effect = cluster.step(&mut state, step);
        let Some((member, event)) = cluster.member(step.member).zip(cluster.event(step)) else {
            continue;
        };
        let ours = step.member == own;
        let (added, removed) = moved(view, pair, own, ours.then_some(event), &effect);
        let nothing = added.is_empty() && removed.is_empty();
        // Another predicate's event that ended nothing here, or a withdrawal that an exclusion had
        // already brought about, is no part of this history.
        if nothing && (!ours || event.replaced_by().is_some()) {
            continue;
        }
        changes.push(Change {
            at: event.observed,
            id: event.id.clone(),
            statement: sentence::event(&view.subject_name(pair), member.predicate, event),
            predicate: Arc::clone(member.predicate),
            source: event.source,
            evidence: event.evidence().cloned(),
            kind: match (added.is_empty(), removed.is_empty()) {
                (true, true) => ChangeKind::NoChange,
                (false, true) => ChangeKind::Stated,
                (false, false) => ChangeKind::Replaced,
                (true, false) => ChangeKind::Withdrawn,
            },
            added,
            removed,
        });
    }
    changes
}

/// The sentences that a step made true and untrue of the pair.
fn moved(
    view: &View,
    pair: &Pair,
    own: u32,
    event: Option<&Event>,
    effect: &Effect,
) -> (Vec<String>, Vec<String>) {
    if effect.restated && event.is_some() {
        return (Vec::new(), Vec::new());
    }
    let (subject, predicate) = (view.subject_name(pair), view.predicate_name(pair));
    let began = event
        .filter(|_| effect.began)
        .and_then(|event| event.value.as_ref());
    let added = began.map(|value| sentence::spoken(&subject, &predicate, value));
    let ended = effect.ended.iter().filter(|(member, _)| *member == own);
    let mut removed: Vec<String> = ended
        .filter_map(|(_, belief)| pair.value(belief.slot))
        .map(|value| sentence::spoken(&subject, &predicate, value))
        .collect();
    removed.sort_unstable();
    (added.into_iter().collect(), removed)
}

/// What is believed of a pair now, as sentences in alphabetical order.
pub(crate) fn now(view: &View, pair: &Pair) -> Vec<String> {
    let (subject, predicate) = (view.subject_name(pair), view.predicate_name(pair));
    let values = pair
        .believed
        .iter()
        .filter_map(|belief| pair.value(belief.slot));
    let mut now: Vec<String> = values
        .map(|value| sentence::spoken(&subject, &predicate, value))
        .collect();
    now.sort_unstable();
    now
}

pub(crate) fn answer(view: &View, named: &PairArgs) -> Answer {
    let no = named.find(view);
    let pair = no.and_then(|no| view.pair(no));
    let changes = no.map(|no| changes(view, no)).unwrap_or_default();
    let mut json = Json::default();
    json.object(|json| {
        match pair {
            Some(pair) => {
                json.key("subject").string(&view.subject_name(pair));
                json.key("predicate").string(&view.predicate_name(pair));
            }
            None => {
                json.key("subject")
                    .string(&crate::value::name_key(&named.subject));
                json.key("predicate")
                    .string(&view.spelling(&named.predicate));
            }
        }
        let now = pair.map(|pair| now(view, pair)).unwrap_or_default();
        json.key("now").strings(&now);
        json.key("steps").array(&changes, |json, change| {
            json.object(|json| change.write(json))
        });
    });
    let coverage = match changes.is_empty() {
        true => named.nothing(view),
        false => Coverage::of(
            count(changes.len()),
            count(changes.len()),
            count(changes.len()),
        ),
    };
    Answer::new(json, view.revision(), changes.len(), coverage)
}

impl Change {
    fn write(&self, json: &mut Json) {
        json.key("at").time(self.at);
        json.key("event_id").display(&self.id);
        json.key("statement").string(&self.statement);
        json.key("predicate").string(&self.predicate);
        json.key("source").string(self.source.as_str());
        if let Some(evidence) = &self.evidence {
            json.key("evidence").string(evidence);
        }
        json.key("change").string(self.kind.as_str());
        if !self.added.is_empty() {
            json.key("added").strings(&self.added);
        }
        if !self.removed.is_empty() {
            json.key("removed").strings(&self.removed);
        }
    }
}
