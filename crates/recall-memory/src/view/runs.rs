//! Finding known runs of words in a text by looking at each place once.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use crate::search::plain::Plain;

/// The end of a chain.
const NONE: u32 = u32::MAX;

/// Things by runs of words. A text is searched for all of them with one look-up for each place and
/// each length that any of them has.
#[derive(Debug)]
pub(super) struct Runs<T> {
    /// The latest entry of each run.
    heads: HashMap<u64, u32>,
    /// Each with the one before it of the same run.
    entries: Vec<(T, u32)>,
    lengths: BTreeSet<usize>,
}

impl<T> Default for Runs<T> {
    fn default() -> Self {
        Self {
            heads: HashMap::new(),
            entries: Vec::new(),
            lengths: BTreeSet::new(),
        }
    }
}

impl<T: Copy> Runs<T> {
    /// Adds a thing by all words of a text; nothing is known by no words.
    pub(super) fn add(&mut self, words: &Plain, thing: T) {
        let Ok(no) = u32::try_from(self.entries.len()) else {
            return;
        };
        if words.is_empty() {
            return;
        }
        let before = self.heads.insert(words.sum(0..words.len()), no);
        self.entries.push((thing, before.unwrap_or(NONE)));
        self.lengths.insert(words.len());
    }

    /// The lengths in words, the longest first, that fit into so many.
    pub(super) fn lengths(&self, most: usize) -> impl Iterator<Item = usize> {
        self.lengths.range(..=most).rev().copied()
    }

    /// What is known by some words of a text, the latest first. Another run may, hardly ever, have the
    /// same sum, so that the words are to be compared.
    pub(super) fn find(&self, text: &Plain, at: Range<usize>) -> impl Iterator<Item = T> {
        let mut next = self.heads.get(&text.sum(at)).copied();
        std::iter::from_fn(move || {
            let (thing, before) = self.entries.get(next? as usize)?;
            next = Some(*before);
            Some(*thing)
        })
    }

    pub(super) fn bytes(&self) -> usize {
        const MAP_SLACK: usize = 2;
        self.heads.len() * MAP_SLACK * 12 + self.entries.capacity() * size_of::<(T, u32)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_found_wherever_they_stand() {
        let mut runs = Runs::default();
        for (no, words) in [
            (0, "Ann"),
            (1, "Ann Marie"),
            (2, "ann-marie"),
            (3, "@@"),
            (4, "Rome"),
        ] {
            runs.add(&Plain::of(words), no);
        }
        let text = Plain::of("so **Ann** MARIE went to Rome");
        let found: Vec<_> = (0..text.len())
            .flat_map(|at| {
                runs.lengths(text.len() - at)
                    .map(move |length| at..at + length)
            })
            .flat_map(|at| runs.find(&text, at).collect::<Vec<_>>())
            .collect();
        assert_eq!(found, [2, 1, 0, 4]);
        assert_eq!(runs.lengths(1).collect::<Vec<_>>(), [1]);
    }
}
