//! `remember`: one statement, or a text with the statements drawn from it.

mod parse;

use crate::answer::{Answer, Coverage};
use crate::card::Card;
use crate::json::Json;
use crate::limits::MAX_RELATED;
use crate::plan::{Outcome, Remembered, Replace, Statement, TextRemembered};
use crate::view::{Find, View};
use crate::writer::Done;

pub(crate) use parse::{note, parse};

pub(crate) fn answer(view: &View, done: &Done) -> Answer {
    let mut json = Json::default();
    let mut items = 1;
    match &done.outcome {
        Outcome::Remembered(remembered) => {
            let related = related(view, &remembered.stored);
            json.object(|json| write(json, remembered, &related));
        }
        Outcome::Text(text) => {
            items = text.results.len();
            json.object(|json| write_text(json, text));
        }
        Outcome::Withdrawn(_) | Outcome::Forgotten(_) => {}
    }
    Answer::new(json, done.revision, items, Coverage::default())
}

/// The subject's beliefs under other predicates that share words with what was said, best first.
fn related(view: &View, stored: &Card) -> Vec<Card> {
    let Some(subject) = view.subject_no(&stored.subject) else {
        return Vec::new();
    };
    let own = view.predicate_no(&stored.predicate);
    let others = view
        .subject(subject)
        .is_some_and(|subject| subject.pairs.len() > 1);
    if !others {
        return Vec::new();
    }
    let words = format!("{} {}", stored.predicate.replace('_', " "), stored.value);
    let find = Find::new(view, None);
    let found = find.rank(&words, stored.observed, MAX_RELATED, &|pair, _| {
        pair.subject == subject && Some(pair.predicate) != own && !view.is_note(pair)
    });
    found
        .iter()
        .filter_map(|place| find.belief(place.pair, place.slot))
        .filter_map(|(pair, belief)| view.card(pair, &belief))
        .collect()
}

fn write(json: &mut Json, remembered: &Remembered, related: &[Card]) {
    json.key("stored")
        .object(|json| remembered.stored.write(json));
    if remembered.already_known {
        json.key("already_known").bool(true);
    }
    cards(json, "superseded", &remembered.superseded);
    cards(json, "related", related);
    if !remembered.unreplaced.is_empty() {
        json.key("unreplaced")
            .array(&remembered.unreplaced, replace);
    }
}

fn write_text(json: &mut Json, text: &TextRemembered) {
    json.key("episode")
        .object(|json| write(json, &text.episode, &[]));
    match text.proposals.is_empty() {
        true => json.key("proposals").raw("null"),
        false => json.key("proposals").array(&text.proposals, proposal),
    }
    json.key("results").array(&text.results, |json, result| {
        json.object(|json| write(json, result, &[]));
    });
    if !text.unfiled.is_empty() {
        let unfiled = text.unfiled.iter().filter_map(|at| text.proposals.get(*at));
        json.key("unfiled").array(unfiled, proposal);
    }
}

fn cards(json: &mut Json, name: &str, cards: &[Card]) {
    if !cards.is_empty() {
        json.key(name)
            .array(cards, |json, card| json.object(|json| card.write(json)));
    }
}

fn proposal(json: &mut Json, statement: &Statement) {
    json.object(|json| {
        json.key("subject").string(&statement.subject);
        json.key("predicate").string(&statement.predicate);
        json.key("value").value(&statement.value);
        if let Some(evidence) = &statement.evidence {
            json.key("evidence").string(evidence);
        }
        if let Some(cardinality) = statement.cardinality {
            json.key("cardinality").string(cardinality.as_str());
        }
        if let Some(description) = &statement.description {
            json.key("description").string(description);
        }
        if !statement.replaces.is_empty() {
            json.key("replaces").array(&statement.replaces, replace);
        }
    });
}

fn replace(json: &mut Json, replace: &Replace) {
    json.object(|json| {
        json.key("predicate").string(&replace.predicate);
        json.key("value").value(&replace.value);
    });
}
