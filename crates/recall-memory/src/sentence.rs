//! How a statement reads.

use std::fmt::Display;
use std::ops::Range;

use crate::event::{Event, Placed};
use crate::registry::NOTE;
use crate::value::Value;

/// A statement as a reader sees it: `user prefers editor: vim`; a note is its text.
pub(crate) fn spoken(subject: &str, predicate: &str, value: &Value) -> String {
    match predicate == NOTE {
        true => value.to_string(),
        false => format!("{}: {value}", about(subject, predicate)),
    }
}

/// What a pair is about: `user prefers editor`.
pub(crate) fn about(subject: &str, predicate: &str) -> String {
    format!("{subject} {}", words(predicate))
}

/// The words of a withdrawal; without a value it is a withdrawal of everything.
pub(crate) fn withdrawal(subject: &str, predicate: &str, value: Option<&Value>) -> String {
    match value {
        Some(value) => format!("withdrew {}", spoken(subject, predicate, value)),
        None => format!("withdrew everything for {}", about(subject, predicate)),
    }
}

/// What an event says, as a reader sees it.
pub(crate) fn event(subject: &str, predicate: &str, event: &Event) -> String {
    match (&event.value, event.retraction) {
        (Some(value), false) => spoken(subject, predicate, value),
        (value, _) => withdrawal(subject, predicate, value.as_ref()),
    }
}

/// The text of an event in the log, which word search in the store reads.
pub(crate) fn logged(placed: &Placed) -> String {
    let (subject, words) = (&placed.subject, words(&placed.predicate));
    let event = &placed.event;
    match (&event.value, event.retraction) {
        (None, _) => format!("{subject} no longer has any {words}"),
        (Some(value), true) => format!("not: {subject} {words} {value}"),
        (Some(value), false) => with_evidence(format!("{subject} {words} {value}"), event),
    }
}

/// The text that word search here ranks: a note is its own words.
pub(crate) fn indexed(subject: &str, predicate: &str, event: &Event) -> String {
    let Some(value) = &event.value else {
        return String::new();
    };
    match predicate == NOTE {
        true => value.to_string(),
        false => with_evidence(format!("{subject} {} {value}", words(predicate)), event),
    }
}

/// How the lines of remembered messages begin; alone they say nothing.
const ROLES: [&str; 2] = ["User:", "Assistant:"];

/// Where the whole sentence of `text` stands that holds `evidence`; `None` where none does.
pub(crate) fn around(evidence: &str, text: &str) -> Option<Range<usize>> {
    let at = text.find(evidence)?;
    let end = at + evidence.len();
    let holds = bounds(text).filter(|(from, to)| *from < end && at < *to);
    let (start, stop) = holds.fold((at, end), |(start, stop), (from, to)| {
        (start.min(from), stop.max(to))
    });
    Some(start..stop)
}

/// The sentences of `text` that hold any part of `evidence`, wherever it stands.
pub(crate) fn holding<'t>(text: &'t str, evidence: &str) -> impl Iterator<Item = &'t str> {
    let places = text
        .match_indices(evidence)
        .map(|(at, it)| at..at + it.len());
    let mut places = places.filter(|at| !at.is_empty()).peekable();
    bounds(text).filter_map(move |(from, to)| {
        while places.next_if(|at| at.end <= from).is_some() {}
        let holds = places.peek().is_some_and(|at| at.start < to);
        holds.then(|| text.get(from..to))?
    })
}

/// A line of a conversation without the role that it begins with.
pub(crate) fn without_role(sentence: &str) -> &str {
    let sentence = sentence.trim();
    let role = ROLES.iter().find_map(|role| sentence.strip_prefix(role));
    role.unwrap_or(sentence)
}

/// Whether a name is that of a role.
pub(crate) fn is_role(name: &str) -> bool {
    let roles = ROLES.iter().filter_map(|role| role.strip_suffix(':'));
    roles
        .into_iter()
        .any(|role| role.eq_ignore_ascii_case(name))
}

/// Where each sentence of a text begins and ends; together they are the whole text.
pub(crate) fn bounds(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let ends = text
        .char_indices()
        .filter(|(place, letter)| ends_sentence(text, *place, *letter))
        .map(|(place, letter)| place + letter.len_utf8());
    let mut start = 0;
    ends.chain([text.len()])
        .map(move |end| (std::mem::replace(&mut start, end), end))
        .filter(|(start, end)| start < end)
}

/// A point ends a sentence only before a space, so that `3.5` and `example.com` stay whole.
fn ends_sentence(text: &str, place: usize, letter: char) -> bool {
    let next = text
        .get(place + letter.len_utf8()..)
        .and_then(|rest| rest.chars().next());
    match letter {
        '\n' | '。' | '！' | '？' | '।' | '؟' => true,
        '.' | '!' | '?' => next.is_none_or(char::is_whitespace),
        _ => false,
    }
}

fn words(predicate: &str) -> String {
    predicate.replace('_', " ")
}

fn with_evidence(sentence: impl Display, event: &Event) -> String {
    match event.evidence() {
        Some(evidence) => format!("{sentence}\n{evidence}"),
        None => sentence.to_string(),
    }
}

#[cfg(test)]
mod tests;
