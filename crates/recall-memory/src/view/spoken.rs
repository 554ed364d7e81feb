//! The values of a pair as they stand in a text.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::{Bound, Range};
use std::rc::Rc;

use super::Pair;
use crate::search::plain::Plain;
use crate::value::Value;

/// Values, or names, of signs alone that are looked for in a text.
pub(super) const MAX_WORDLESS: usize = 64;

/// The values of pairs, sorted once for all texts that are looked through with them. A text may name a
/// pair thousands of times, and a pair may have had thousands of values.
#[derive(Debug, Default)]
pub(super) struct Values(RefCell<HashMap<u32, Rc<Spoken>>>);

/// The values that were ever stated of a pair.
#[derive(Debug, Default)]
pub(super) struct Spoken {
    /// The events that state them first, by their words with one blank between two.
    worded: BTreeMap<String, Vec<u32>>,
    /// Those of signs alone, as they are written.
    wordless: Vec<(String, u32)>,
}

/// A value that was found in a text.
pub(super) struct Found<'s> {
    /// How many words it has, from the place that was asked about on.
    pub(super) words: usize,
    /// For a value of signs alone, where it stands in the gap before that place.
    pub(super) sign: Option<Range<usize>>,
    /// Those that read so, by the events that state them first.
    pub(super) slots: &'s [u32],
}

impl Values {
    pub(super) fn of(&self, no: u32, pair: &Pair) -> Rc<Spoken> {
        let mut known = self.0.borrow_mut();
        let spoken = known.entry(no).or_insert_with(|| {
            let stated = (0..).zip(&pair.events);
            Rc::new(Spoken::of(
                stated.filter_map(|(slot, it)| Some((slot, it.value.as_ref()?))),
            ))
        });
        Rc::clone(spoken)
    }
}

impl Spoken {
    fn of<'v>(values: impl Iterator<Item = (u32, &'v Value)>) -> Self {
        let mut spoken = Self::default();
        let mut seen = HashSet::new();
        for (slot, value) in values.filter(|(_, value)| seen.insert(value.key())) {
            let written = value.to_string();
            let words = Plain::of(&written);
            if !words.is_empty() {
                spoken
                    .worded
                    .entry(words.all().to_owned())
                    .or_default()
                    .push(slot);
            } else if !written.is_empty() && spoken.wordless.len() < MAX_WORDLESS {
                spoken.wordless.push((written, slot));
            }
        }
        spoken
    }

    /// The value that a text names from a word on, the longest if there are several.
    pub(super) fn at(&self, plain: &Plain, text: &str, from: usize) -> Option<Found<'_>> {
        if let Some((words, slots)) = self.longest_at_start_of(plain.from(from)) {
            // `Rome-Nord` is not Rome.
            let goes_on = plain.gap(from + words).joins;
            return (!goes_on).then_some(Found {
                words,
                sign: None,
                slots,
            });
        }
        let gap = text.get(plain.raw_gap(from, text))?;
        let mut signs = self.wordless.iter();
        signs.find_map(|(written, slot)| {
            let at = gap.find(written.as_str())?;
            Some(Found {
                words: 0,
                sign: Some(at..at + written.len()),
                slots: std::slice::from_ref(slot),
            })
        })
    }

    /// The longest value that some words begin with, and how many words it has.
    fn longest_at_start_of(&self, words: &str) -> Option<(usize, &[u32])> {
        let mut below = Bound::Included(words);
        loop {
            let range = (Bound::Unbounded, below);
            let (said, slots) = self.worded.range::<str, _>(range).next_back()?;
            let common = common_start(said, words);
            let ends = common == said.len()
                && words
                    .get(common..)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
            if ends {
                return Some((said.split(' ').count(), slots));
            }
            // What the words begin with is no greater than what they share with this one.
            below = match common == said.len() {
                true => Bound::Excluded(said.as_str()),
                false => Bound::Included(words.get(..common)?),
            };
        }
    }
}

/// How many bytes two texts share at their start, in whole characters.
fn common_start(one: &str, other: &str) -> usize {
    let pairs = one.char_indices().zip(other.chars());
    let mut same = pairs.skip_while(|((_, one), other)| one == other);
    match same.next() {
        Some(((at, _), _)) => at,
        None => one.len().min(other.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_value_that_words_begin_with_is_found() {
        let values = [
            "ro",
            "Rome",
            "rome by night",
            "rome, by nigh",
            "oslo",
            "r",
            "é",
            "\u{2026}",
            "9:30",
            "C++",
            "C",
        ]
        .map(Value::text);
        let spoken = Spoken::of((0..).zip(&values));
        for (text, expected) in [
            ("rome", "Rome"),
            ("**ROME** by: night.", "rome by night"),
            ("rome by nightfall", "Rome"),
            ("rome by day", "Rome"),
            ("romeo", ""),
            ("rome-nord", ""),
            ("ro, and more", "ro"),
            ("r", "r"),
            ("", ""),
            ("zürich", ""),
            ("éa", ""),
            ("É", "é"),
            ("a", ""),
            ("9:30", "9:30"),
            ("9", ""),
            ("\u{201c}\u{2026}\u{201d} so", "\u{2026}"),
            ("c", "C++ C"),
        ] {
            let plain = Plain::of(text);
            let found = spoken.at(&plain, text, 0);
            let found = found.map(|found| {
                let values = found
                    .slots
                    .iter()
                    .map(|slot| values[*slot as usize].to_string());
                values.collect::<Vec<_>>().join(" ")
            });
            assert_eq!(found.unwrap_or_default(), expected, "{text}");
        }
    }
}
