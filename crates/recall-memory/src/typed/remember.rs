//! `remember`: one statement, or a text with the statements drawn from it.

mod parse;

use std::collections::HashSet;

use crate::answer::{Answer, Coverage};
use crate::card::Card;
use crate::extraction::{Drawn, DrawnKind};
use crate::json::Json;
use crate::limits::{MAX_COMPARED, MAX_RELATED};
use crate::plan::{Outcome, Proposal, Remembered, Replace, TextRemembered};
use crate::text::remember::GONE;
use crate::value::{Value, lower};
use crate::view::{Find, Outdated, View};
use crate::writer::Done;

pub(crate) use parse::{DRAWN_CONFIDENCE, Parsed, note, parse};

pub(crate) fn answer(view: Option<&View>, done: &Done) -> Answer {
    let mut json = Json::default();
    let mut items = 1;
    match &done.outcome {
        Outcome::Remembered(remembered) => {
            let related = view.map(|view| related(view, &remembered.stored));
            json.object(|json| write(json, remembered, &related.unwrap_or_default()));
        }
        Outcome::Text(text) => {
            items = text.results.len();
            let outdated =
                view.and_then(|view| Find::new(view, None).outdated_text(&text.episode.stored.id));
            json.object(|json| write_text(json, text, outdated.as_ref()));
        }
        Outcome::Withdrawn(_) | Outcome::Forgotten(_) => {}
    }
    Answer::new(json, done.revision, items, Coverage::default())
}

/// Words the answer of a server with a model to a text that came without statements.
pub(crate) fn drawn(drawn: &Drawn) -> Answer {
    let mut json = Json::default();
    let mut items = 0;
    json.object(|json| match &drawn.kind {
        DrawnKind::Read(read) => {
            let refused = read.not_so();
            items = read.text.results.len();
            write_text(json, &read.text, None);
            if !refused.is_empty() {
                let refused = refused.iter();
                refused_list(
                    json,
                    refused.map(|(text, why)| (text.as_str(), why.as_str())),
                );
            }
        }
        DrawnKind::Known(_) | DrawnKind::Echo(_) => {
            let gone = match &drawn.kind {
                DrawnKind::Echo(echo) => &echo.gone[..],
                _ => &[],
            };
            json.key("proposals").raw("null");
            json.key("results").array([(); 0], |_, ()| {});
            if gone.is_empty() {
                json.key("already_known").bool(true);
            } else {
                refused_list(json, gone.iter().map(|text| (text.as_str(), GONE)));
            }
        }
        DrawnKind::Unread(kept) => {
            items = 1;
            json.key("episode").object(|json| write(json, kept, &[]));
            json.key("proposals").raw("null");
            json.key("results").array([kept], |json, kept| {
                json.object(|json| write(json, kept, &[]))
            });
            json.key("note").string(UNREAD);
        }
    });
    Answer::new(json, drawn.revision, items, Coverage::default())
}

/// What was not taken, as sentences with the reason.
fn refused_list<'r>(json: &mut Json, refused: impl IntoIterator<Item = (&'r str, &'r str)>) {
    json.key("refused").array(refused, |json, (text, reason)| {
        json.object(|json| {
            json.key("text").string(text);
            json.key("reason").string(reason);
        });
    });
}

const UNREAD: &str = "The text was kept, but the extraction model did not answer as it should, so \
                      nothing was drawn from it. Send the same text again to have it read.";

/// The subject's beliefs under other predicates that a statement may contradict: those that share
/// most words with it first, then the latest.
fn related(view: &View, stored: &Card) -> Vec<Card> {
    let subject = view
        .subject_no(&stored.subject)
        .and_then(|no| view.subject(no));
    let pairs = subject.map_or(&[][..], |subject| &subject.pairs);
    let words = words(&stored.predicate, &stored.value);
    let mut found: Vec<_> = pairs
        .iter()
        .rev()
        .filter_map(|no| view.pair(*no))
        .filter(|pair| !view.is_note(pair) && view.predicate_name(pair) != stored.predicate)
        .flat_map(|pair| pair.believed.iter().rev().map(move |belief| (pair, belief)))
        .take(MAX_COMPARED)
        .filter_map(|(pair, belief)| {
            let event = pair.events.get(belief.slot as usize)?;
            let other = self::words(&view.predicate_name(pair), event.value.as_ref()?);
            let shared = other.intersection(&words).count();
            Some(((shared, event.observed), (pair, belief)))
        })
        .collect();
    found.sort_by(|(one, _), (two, _)| two.cmp(one));
    found
        .into_iter()
        .take(MAX_RELATED)
        .filter_map(|(_, (pair, belief))| view.card(pair, belief))
        .collect()
}

fn words(predicate: &str, value: &Value) -> HashSet<String> {
    let value = lower(&value.to_string());
    let words = value
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty());
    words
        .chain(predicate.split('_'))
        .map(str::to_owned)
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

/// `outdated` is what the text says that is no longer so, where a caller brought its own statements.
fn write_text(json: &mut Json, text: &TextRemembered, outdated: Option<&Outdated>) {
    json.key("episode").object(|json| {
        write(json, &text.episode, &[]);
        if let Some(outdated) = outdated {
            outdated.write(json);
        }
    });
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

/// Repeats a statement as it was sent, so that callers recognise it; its predicate is the name that
/// it was looked up by.
fn proposal(json: &mut Json, proposal: &Proposal) {
    let statement = &proposal.statement;
    json.object(|json| {
        json.key("subject").json(&proposal.subject);
        json.key("predicate").string(&statement.predicate);
        json.key("value").json(&proposal.value);
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
    let (predicate, value) = &replace.sent;
    json.object(|json| {
        json.key("predicate").json(predicate);
        json.key("value").json(value);
    });
}
