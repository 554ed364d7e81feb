//! `explain`: what answers a question, and why it is believed.

use jiff::Timestamp;

use super::history;
use super::recall::source_text;
use crate::answer::{Answer, Coverage, count};
use crate::args::Args;
use crate::error::Error;
use crate::event::Event;
use crate::fold::Belief;
use crate::json::Json;
use crate::limits::{MAX_EXPLAINED_EVENTS, MAX_QUERY_BYTES, QUESTION_ROWS};
use crate::view::{Find, Pair, Texts, View, Wanted};

pub(crate) fn parse(args: Args) -> Result<String, Error> {
    let mut fields = args.read(&["question"])?;
    fields.need_string("question", MAX_QUERY_BYTES)
}

pub(crate) fn answer(find: &Find<'_>, question: &str, now: Timestamp) -> Answer {
    let view = find.view;
    let wanted = Wanted {
        limit: QUESTION_ROWS,
        all: true,
        keep: &|_, _| true,
        texts: Texts::Standing,
    };
    let ranked = find.rank(question, now, &wanted);
    let mut places = ranked.places;
    places.sort_by_key(|place| {
        let note = view.pair(place.pair).is_some_and(|pair| view.is_note(pair));
        (!place.in_time, note)
    });
    let found: Vec<_> = places
        .iter()
        .filter_map(|place| find.belief(place.pair, place.slot))
        .collect();
    let held = view.held();
    let coverage = Coverage::of(held, ranked.considered, count(found.len()));
    let coverage = coverage.by(ranked.indexes);
    let mut json = Json::default();
    json.array((1..).zip(&found), |json, (rank, (pair, belief))| {
        json.object(|json| {
            write(json, find, pair, belief);
            if let Some(outdated) = find.outdated(pair, belief.slot) {
                outdated.write(json);
            }
            json.key("rank").int(rank);
            json.key("coverage")
                .object(|json| coverage.write(json, view.revision()));
        });
    });
    Answer::new(json, view.revision(), found.len(), coverage)
}

fn write(json: &mut Json, find: &Find<'_>, pair: &Pair, belief: &Belief) {
    let view = find.view;
    let Some(card) = view.card(pair, belief) else {
        return;
    };
    let event = pair.events.get(belief.slot as usize);
    json.key("memory").string(&card.sentence());
    json.key("subject").string(&card.subject);
    json.key("predicate").string(&card.predicate);
    json.key("value").value(&card.value);
    json.key("stated_at").time(card.observed);
    json.key("source").string(card.source.as_str());
    if let Some(evidence) = &card.evidence {
        json.key("evidence").string(evidence);
    }
    if let Some(event) = event {
        source_text(json, find, event);
    }
    json.key("rules")
        .array([pair], |json, pair| rules(json, view, pair));
    let events = history_of(pair, belief);
    json.key("history").array(events, |json, event| {
        history::write(json, view, pair, event)
    });
}

fn rules(json: &mut Json, view: &View, pair: &Pair) {
    let Some(predicate) = view.predicate(pair.predicate) else {
        return;
    };
    let origin = match (view.is_configured(&predicate.name), predicate.known) {
        (true, _) => "configured on this server",
        (false, true) => "defined by its first statement",
        (false, false) => "not defined on this server",
    };
    json.object(|json| {
        json.key("name").string(&predicate.name);
        json.key("change").string(origin);
        json.key("cardinality")
            .string(predicate.definition.cardinality.as_str());
        json.key("value_type")
            .string(predicate.definition.value_type.as_str());
        json.key("description")
            .string(&predicate.definition.description);
    });
}

/// The pair's events; of a long history only those that bear on this value.
fn history_of<'p>(pair: &'p Pair, belief: &Belief) -> Vec<&'p Event> {
    let value = pair.value(belief.slot);
    let short = pair.events.len() <= MAX_EXPLAINED_EVENTS;
    let bears = |event: &&Event| match (&event.value, value) {
        (Some(one), Some(two)) => one.same(two),
        (None, _) | (_, None) => true,
    };
    pair.in_order()
        .map(|(_, event)| event)
        .filter(|event| short || bears(event))
        .collect()
}
