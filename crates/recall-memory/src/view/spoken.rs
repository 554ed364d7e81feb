//! The values of a pair as they stand in a text.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::rc::Rc;

use super::Pair;
use crate::search::plain::Plain;
use crate::value::Value;

/// Values, or names, of signs alone that are looked for in a text.
pub(super) const MAX_WORDLESS: usize = 64;

/// The values of pairs, sorted once for all texts that are looked through with them. A text may name a
/// pair thousands of times, and a pair may have had thousands of values.
#[derive(Debug, Default)]
pub(super) struct Values<'v>(RefCell<HashMap<u32, Rc<Spoken<'v>>>>);

/// The values that were ever stated of a pair.
#[derive(Debug, Default)]
pub(super) struct Spoken<'v> {
    /// By their words, one blank between two.
    worded: BTreeMap<String, Vec<&'v Value>>,
    /// Those of signs alone, as they are written.
    wordless: Vec<(String, &'v Value)>,
}

/// A value that was found in a text.
pub(super) struct Found<'s, 'v> {
    /// How many words it has, from the place that was asked about on.
    pub(super) words: usize,
    /// For a value of signs alone, where it ends in the gap before that place.
    pub(super) sign: Option<usize>,
    /// Those that read so.
    pub(super) values: &'s [&'v Value],
}

impl<'v> Values<'v> {
    pub(super) fn of(&self, no: u32, pair: &'v Pair) -> Rc<Spoken<'v>> {
        let mut known = self.0.borrow_mut();
        let spoken = known.entry(no).or_insert_with(|| {
            Rc::new(Spoken::of(
                pair.events.iter().filter_map(|it| it.value.as_ref()),
            ))
        });
        Rc::clone(spoken)
    }
}

impl<'v> Spoken<'v> {
    fn of(values: impl Iterator<Item = &'v Value>) -> Self {
        let mut spoken = Self::default();
        for value in values {
            let written = value.to_string();
            let words = Plain::of(&written);
            if !words.is_empty() {
                let alike = spoken.worded.entry(words.all().to_owned()).or_default();
                if !alike.iter().any(|other| other.same(value)) {
                    alike.push(value);
                }
            } else if !written.is_empty() && spoken.wordless.len() < MAX_WORDLESS {
                spoken.wordless.push((written, value));
            }
        }
        spoken
    }

    /// The value that a text names from a word on, the longest if there are several.
    pub(super) fn at(&self, plain: &Plain, text: &str, from: usize) -> Option<Found<'_, 'v>> {
        if let Some((words, values)) = self.longest_at_start_of(plain.from(from)) {
            // `Rome-Nord` is not Rome.
            let goes_on = plain.gap(from + words).joins;
            return (!goes_on).then_some(Found {
                words,
                sign: None,
                values,
            });
        }
        let gap = text.get(plain.raw_gap(from, text))?;
        let mut signs = self.wordless.iter();
        signs.find_map(|(written, value)| {
            let at = gap.find(written.as_str())?;
            Some(Found {
                words: 0,
                sign: Some(at + written.len()),
                values: std::slice::from_ref(value),
            })
        })
    }

    /// The longest value that some words begin with, and how many words it has.
    fn longest_at_start_of(&self, words: &str) -> Option<(usize, &[&'v Value])> {
        let mut below = Bound::Included(words);
        loop {
            let range = (Bound::Unbounded, below);
            let (said, values) = self.worded.range::<str, _>(range).next_back()?;
            let common = common_start(said, words);
            let ends = common == said.len()
                && words
                    .get(common..)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
            if ends {
                return Some((said.split(' ').count(), values));
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
        let spoken = Spoken::of(values.iter());
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
                let values = found.values.iter().map(ToString::to_string);
                values.collect::<Vec<_>>().join(" ")
            });
            assert_eq!(found.unwrap_or_default(), expected, "{text}");
        }
    }
}
