//! What a text repeats: what was answered from here, and what was read here before.
//!
//! An agent that writes down what it has read must not make it true again. Texts are compared by their
//! words alone, so that no change of letters, blanks, signs and markup hides a repeat.

use std::collections::HashSet;
use std::ops::Range;

use super::served::Reading;
use super::spoken::Values;
use super::{Pair, View};
use crate::event_id::EventId;
use crate::search::plain::Plain;
use crate::value::Value;

/// Repeats that are looked for in one text; an answer of a full page has fewer sentences.
const MAX_REPEATS: usize = 4_096;

/// What a text repeats.
#[derive(Debug)]
pub(crate) struct Repeats<'t, 'v> {
    text: &'t str,
    list: Vec<Repeat<'v>>,
}

/// Words of a text that were answered or read before.
#[derive(Debug)]
pub(super) struct Repeat<'v> {
    /// Where they stand, in bytes.
    pub(super) at: Range<usize>,
    pub(super) how: How,
    /// The statements that they say.
    pub(super) of: Vec<Said<'v>>,
}

/// How words are repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// As answers word a statement, `user prefers editor: vim`; people do not write like that.
    Answer,
    /// The same, with other signs between its parts.
    Marked,
    /// The same words without signs, as people write them too.
    Words,
    /// As they stand in the text that the statement was drawn from.
    Quote,
}

/// A statement that was ever made.
#[derive(Debug)]
pub(super) struct Said<'v> {
    pub(super) no: u32,
    pub(super) pair: &'v Pair,
    pub(super) value: &'v Value,
    /// The text that it was drawn from, where that text is repeated.
    pub(super) note: Option<&'v EventId>,
}

/// Texts that repeat nothing, by their place in the log: most, and they need not be read again for each
/// question until another statement is made.
#[derive(Debug, Default)]
pub(super) struct Silent {
    /// How many statements there were.
    statements: usize,
    texts: HashSet<u32>,
}

impl Silent {
    pub(super) fn bytes(&self) -> usize {
        self.texts.capacity() * 5
    }
}

/// Why words of a text are no evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// They are an answer's.
    Answered,
    /// They were read before, and what they say is no longer so.
    ReadBefore,
}

impl Said<'_> {
    /// Whether it is believed now.
    pub(super) fn is_held(&self) -> bool {
        self.pair.holds(self.value).is_some()
    }
}

impl View {
    /// What a text repeats.
    pub(crate) fn repeats<'t>(&self, text: &'t str) -> Repeats<'t, '_> {
        let list = self.repeats_in(text, &Plain::of(text), &Values::default());
        Repeats { text, list }
    }

    /// Whether it is known that a kept text, by its place in the log, repeats nothing.
    pub(super) fn is_silent(&self, arrival: u32) -> bool {
        let silent = self.silent.lock();
        silent.statements == self.statements && silent.texts.contains(&arrival)
    }

    pub(super) fn note_silent(&self, arrival: u32) {
        let mut silent = self.silent.lock();
        if silent.statements != self.statements {
            silent.texts.clear();
            silent.statements = self.statements;
        }
        silent.texts.insert(arrival);
    }

    /// What a text of these words repeats, in the order in which it stands there.
    pub(super) fn repeats_in<'v>(
        &'v self,
        text: &str,
        plain: &Plain,
        values: &Values<'v>,
    ) -> Vec<Repeat<'v>> {
        let reading = Reading {
            view: self,
            text,
            plain,
            values,
        };
        let mut list = reading.served(MAX_REPEATS);
        // Words without a sign between them are an answer's only where the sentence ends with them.
        list.retain(|it| it.how != How::Words || ends_at(plain, it.at.end));
        list.extend(reading.quoted(MAX_REPEATS));
        list.sort_by_key(|it| (it.at.start, it.at.end));
        list
    }
}

/// Whether a sentence may end at a byte of a text where a word ends.
fn ends_at(plain: &Plain, byte: usize) -> bool {
    plain.gap(plain.words_until(byte)).parts()
}

impl Repeats<'_, '_> {
    pub(super) fn list(&self) -> &[Repeat<'_>] {
        &self.list
    }

    /// Why words of the text that are quoted as evidence for a value are none. What was drawn from
    /// `note`, the text itself, does not count as read before.
    pub(crate) fn refusal(&self, evidence: &str, value: &Value, note: &EventId) -> Option<Refusal> {
        let value = Wanted::of(value);
        let answered = self
            .list
            .iter()
            .filter(|it| matches!(it.how, How::Answer | How::Marked));
        let answered = joined(answered.map(|it| it.at.clone()));
        let gone = self.list.iter().filter(|it| {
            let mut of = it.of.iter();
            of.any(|it| it.note != Some(note) && !it.is_held() && value.is(it.value))
        });
        let gone = joined(gone.map(|it| it.at.clone()));
        if answered.is_empty() && gone.is_empty() {
            return None;
        }
        for (at, _) in self.text.match_indices(evidence) {
            let place = at..at + evidence.len();
            let answers = overlap(&answered, &place);
            if answers && !value.is_said_beside(&answered, place.clone(), self.text) {
                return Some(Refusal::Answered);
            }
            // What stands beside an old statement and does not say its value itself points at it.
            if !gone.is_empty() && !value.is_said_beside(&gone, place, self.text) {
                return Some(Refusal::ReadBefore);
            }
        }
        None
    }
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
        let mut rest = String::new();
        let mut from = part.start;
        let first = repeated.partition_point(|it| it.end <= part.start);
        for it in repeated
            .iter()
            .skip(first)
            .take_while(|it| it.start < part.end)
        {
            rest.push_str(text.get(from..it.start.max(from)).unwrap_or_default());
            rest.push('\n');
            from = from.max(it.end);
        }
        rest.push_str(text.get(from..part.end.max(from)).unwrap_or_default());
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
