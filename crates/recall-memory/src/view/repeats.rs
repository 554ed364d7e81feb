//! What a text repeats: what was answered from here, and what was read here before.
//!
//! An agent that writes down an answer must not make it true again. Only what nobody writes but this
//! server, and who copies it, counts as an answer: a sentence that a person may write is news whenever it
//! is said. Texts are compared by their words alone, so that no change of letters, blanks, escapes and
//! markup hides a repeat.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::escapes::undone;
use super::served::Reading;
use super::spoken::Values;
use super::{Pair, View};
use crate::event::Event;
use crate::plan::Statement;
use crate::search::plain::Plain;
use crate::sentence;
use crate::value::Value;

/// Repeats that are looked for in one text; an answer of a full page has fewer sentences.
const MAX_REPEATS: usize = 4_096;

/// What a text repeats.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    /// In the order in which it stands there.
    pub(super) list: Vec<Repeat>,
    /// Everything of the text that is an answer's: sentences, and what stands beside them in rows.
    pub(super) served: Vec<Range<usize>>,
}

/// Words of a text that were answered or read before.
#[derive(Debug)]
pub(super) struct Repeat {
    /// Where they stand, in bytes.
    pub(super) at: Range<usize>,
    pub(super) how: How,
    /// The statements that they say.
    pub(super) of: Vec<Said>,
}

/// How words are repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// As answers word a statement, `user prefers editor: vim`; people do not write like that.
    Answer,
    /// The same, with other signs between its parts, as in a table.
    Marked,
    /// As they stand in the text that the statement was drawn from. Anybody may say them again.
    Quote,
}

/// A statement that was ever made, by its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Said {
    pub(super) no: u32,
    pub(super) slot: u32,
}

/// What kept texts repeat, by their place in the log; nothing for most. Only what was stated before a text
/// can be repeated in it, so that this never changes.
#[derive(Debug, Default)]
pub(super) struct Read(HashMap<u32, Option<Arc<Repeats>>>);

impl Read {
    pub(super) fn bytes(&self) -> usize {
        const REPEAT: usize = size_of::<Repeats>() + 2 * size_of::<Repeat>();
        let found = self.0.values().flatten().count();
        self.0.capacity() * 24 + found * REPEAT
    }
}

impl How {
    pub(super) fn is_served(self) -> bool {
        self != Self::Quote
    }
}

impl Said {
    pub(super) fn pair(self, view: &View) -> Option<&Pair> {
        view.pair(self.no)
    }

    pub(super) fn event(self, view: &View) -> Option<&Event> {
        self.pair(view)?.event(self.slot)
    }

    pub(super) fn value(self, view: &View) -> Option<&Value> {
        self.event(view)?.value.as_ref()
    }

    /// Whether it is believed now.
    pub(super) fn is_held(self, view: &View) -> bool {
        let pair = self.pair(view).zip(self.value(view));
        pair.is_some_and(|(pair, value)| pair.holds(value).is_some())
    }
}

impl View {
    /// What a text repeats of what was stated before it came, if anything.
    pub(super) fn repeats_of(
        &self,
        event: &Event,
        text: &str,
        values: &Values,
    ) -> Option<Arc<Repeats>> {
        if let Some(known) = self.read.lock().0.get(&event.arrival) {
            return known.clone();
        }
        let mut repeats = self.repeats(text, values);
        for repeat in &mut repeats.list {
            let earlier = |said: &Said| {
                let stated = said.event(self).filter(|it| it.arrival < event.arrival);
                stated.is_some_and(|it| it.evidence_id() != Some(&event.id))
            };
            repeat.of.retain(earlier);
        }
        repeats.list.retain(|it| !it.of.is_empty());
        let found = (!repeats.list.is_empty()).then(|| Arc::new(repeats));
        self.read.lock().0.insert(event.arrival, found.clone());
        found
    }

    /// What a text repeats of everything that was ever stated.
    pub(super) fn repeats(&self, text: &str, values: &Values) -> Repeats {
        let (raw, text) = (text, undone(text));
        let plain = Plain::of(&text);
        let reading = Reading {
            view: self,
            raw,
            text: &text,
            plain: &plain,
            values,
        };
        let mut list = reading.served(MAX_REPEATS);
        list.sort_by_key(|it| (it.at.start, it.at.end));
        let sentences = joined(list.iter().map(|it| it.at.clone()));
        let served = match sentences.is_empty() {
            true => Vec::new(),
            false => {
                let mut served = sentences;
                served.extend(reading.beside(&list));
                served.sort_by_key(|at| (at.start, at.end));
                joined(served.into_iter())
            }
        };
        let before = reading.before(&list);
        list.extend(before);
        list.extend(reading.quoted(MAX_REPEATS));
        list.sort_by_key(|it| (it.at.start, it.at.end));
        Repeats { list, served }
    }

    /// What a text repeats of answers, to judge evidence from it by.
    pub(crate) fn answers_in<'t>(&self, text: &'t str) -> Answers<'t> {
        let undone = undone(text);
        let plain = Plain::of(&undone);
        let reading = Reading {
            view: self,
            raw: text,
            text: &undone,
            plain: &plain,
            values: &Values::default(),
        };
        let sentences = reading.served(MAX_REPEATS);
        let members = reading.members(&sentences);
        Answers {
            raw: text,
            text: undone,
            sentences,
            members,
        }
    }

    /// Whether a pair ever had a value that reads so.
    fn ever_stated(&self, no: u32, value: &Wanted) -> bool {
        let events = self.pair(no).map_or(&[][..], |pair| &pair.events);
        let mut values = events.iter().filter_map(|it| it.value.as_ref());
        values.any(|other| value.is(other))
    }
}

/// What a text repeats of answers.
pub(crate) struct Answers<'t> {
    raw: &'t str,
    /// Without its escapes.
    text: Cow<'t, str>,
    sentences: Vec<Repeat>,
    /// The words of rows beside their sentences.
    members: Vec<Range<usize>>,
}

impl Answers<'_> {
    /// Whether words of the text that are quoted as evidence for a statement are only an answer's that says
    /// so: then they are no evidence of it. What the text says about others, or beside the answer, is.
    pub(crate) fn are_all_of(&self, view: &View, statement: &Statement) -> bool {
        let Some(subject) = view.subject_no(&statement.subject) else {
            return false;
        };
        let wanted = Wanted::of(&statement.value);
        let says = |said: &Said| {
            said.pair(view).is_some_and(|pair| pair.subject == subject)
                && said.value(view).is_some_and(|value| wanted.is(value))
        };
        let own = self.sentences.iter().filter(|it| it.of.iter().any(says));
        let mut own: Vec<Range<usize>> = own.map(|it| it.at.clone()).collect();
        let pair = view.spelt(&statement.predicate);
        let pair = pair.and_then(|predicate| view.pair_no(subject, predicate));
        if !self.members.is_empty() && pair.is_some_and(|no| view.ever_stated(no, &wanted)) {
            own.extend(self.members.iter().cloned());
        }
        own.sort_by_key(|at| (at.start, at.end));
        let own = joined(own.into_iter());
        let evidence = statement.evidence.as_deref().unwrap_or_default();
        let mut places = self.raw.match_indices(evidence);
        // What stands beside an answer and does not say the value itself points at it.
        !own.is_empty()
            && places.any(|(at, it)| !wanted.is_said_beside(&own, at..at + it.len(), &self.text))
    }
}

impl Repeats {
    /// Whether a part of a text says nothing but what was answered.
    pub(super) fn is_all_in(&self, text: &str, part: Range<usize>) -> bool {
        !says_beside(&self.served, part, &undone(text))
    }
}

/// Whether a part of a text says something outside of some places; a role that it begins with is nothing.
pub(super) fn says_beside(places: &[Range<usize>], part: Range<usize>, text: &str) -> bool {
    let rest = beside(places, part, text);
    let mut lines = rest.lines();
    lines.any(|line| sentence::without_role(line).contains(char::is_alphanumeric))
}

/// A part of a text without some places, with a line end for each.
pub(super) fn beside(places: &[Range<usize>], part: Range<usize>, text: &str) -> String {
    let mut rest = String::new();
    let mut from = part.start;
    let first = places.partition_point(|it| it.end <= part.start);
    let inside = places.iter().skip(first);
    for it in inside.take_while(|it| it.start < part.end) {
        rest.push_str(text.get(from..it.start.max(from)).unwrap_or_default());
        rest.push('\n');
        from = from.max(it.end);
    }
    rest.push_str(text.get(from..part.end.max(from)).unwrap_or_default());
    rest
}

/// A value that a statement is to have.
struct Wanted {
    written: String,
    words: Plain,
}

impl Wanted {
    fn of(value: &Value) -> Self {
        let written = value.to_string();
        let words = Plain::of(&written);
        Self { written, words }
    }

    /// Whether another value reads alike.
    fn is(&self, other: &Value) -> bool {
        let other = other.to_string();
        match self.words.is_empty() {
            true => self.written.trim() == other.trim(),
            false => Plain::of(&other).all() == self.words.all(),
        }
    }

    /// Whether a part of a text says the value outside of what it repeats.
    fn is_said_beside(&self, repeated: &[Range<usize>], part: Range<usize>, text: &str) -> bool {
        let rest = beside(repeated, part, text);
        match self.words.is_empty() {
            true => rest.contains(self.written.trim()),
            false => Plain::of(&rest).says(&self.words),
        }
    }
}

/// Ranges that come in order, those that meet joined into one.
pub(super) fn joined(ranges: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut all: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match all.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => all.push(range),
        }
    }
    all
}

/// Whether a range meets any of some that come in order and do not meet each other.
pub(super) fn overlap(ranges: &[Range<usize>], with: &Range<usize>) -> bool {
    let first = ranges.partition_point(|it| it.end <= with.start);
    ranges.get(first).is_some_and(|it| it.start < with.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_meet_are_one() {
        let all = joined([0..2, 1..4, 4..5, 7..9, 7..8].into_iter());
        assert_eq!(all, [0..4, 4..5, 7..9]);
        for (with, expected) in [
            (5..7, false),
            (0..1, true),
            (4..5, true),
            (6..8, true),
            (9..12, false),
        ] {
            assert_eq!(overlap(&all, &with), expected, "{with:?}");
        }
    }
}
