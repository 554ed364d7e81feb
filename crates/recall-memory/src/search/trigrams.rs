//! Words that look like a word nobody has written: the answer to a typing error.

use std::collections::{HashMap, HashSet};

use super::dictionary::{Dictionary, TermNo};
use super::postings::Postings;

/// Letters a word has before it is compared; shorter ones resemble too much.
const MIN_LETTERS: usize = 4;
/// Words taken for one unknown word.
const TAKEN: usize = 3;
/// Share of trigrams that two words have in common at least.
const LEAST: f32 = 0.5;
/// Words compared with one unknown word at most.
const COMPARED: usize = 20_000;

/// The terms that hold each trigram, filled when first asked.
#[derive(Default)]
pub(super) struct Trigrams {
    holders: HashMap<u64, Vec<TermNo>>,
    /// Terms of the dictionary already entered.
    covered: usize,
    entries: usize,
}

/// Whether the term is a word that may be mistyped, rather than a number or a bigram.
pub(super) fn is_comparable(term: &str) -> bool {
    term.chars().all(char::is_alphabetic) && term.chars().nth(MIN_LETTERS - 1).is_some()
}

impl Trigrams {
    pub(super) fn covers(&self, dictionary: &Dictionary) -> bool {
        self.covered == dictionary.len()
    }

    /// Enters the terms that are new in the dictionary.
    pub(super) fn cover(&mut self, dictionary: &Dictionary) {
        for no in self.covered as TermNo..dictionary.len() as TermNo {
            let term = dictionary.term(no);
            if is_comparable(term) {
                for gram in grams(term) {
                    self.holders.entry(gram).or_default().push(no);
                    self.entries += 1;
                }
            }
        }
        self.covered = dictionary.len();
    }

    /// Up to three live terms like the word, with their similarity, best first.
    pub(super) fn similar(
        &self,
        word: &str,
        dictionary: &Dictionary,
        postings: &Postings,
    ) -> Vec<(TermNo, f32)> {
        let own = grams(word);
        let mut found: Vec<(TermNo, f32)> = self
            .worth_comparing(&own)
            .into_iter()
            .filter(|&no| postings.live(no) > 0)
            .map(|no| (no, similarity(&own, &grams(dictionary.term(no)))))
            .filter(|&(_, similarity)| similarity >= LEAST)
            .collect();
        found.sort_by(|a, b| {
            b.1.total_cmp(&a.1)
                .then_with(|| dictionary.term(a.0).cmp(dictionary.term(b.0)))
        });
        found.truncate(TAKEN);
        found
    }

    pub(super) fn bytes(&self) -> usize {
        // Lists double as they grow, so about half of their room is in use.
        const LIST: usize = size_of::<(u64, Vec<TermNo>)>() + 8;
        self.holders.capacity() * LIST + self.entries * size_of::<TermNo>() * 2
    }

    /// Terms that may share enough trigrams.
    ///
    /// A word that shares half of them holds one of any `n / 2 + 1`, so the rarest are enough.
    fn worth_comparing(&self, own: &[u64]) -> HashSet<TermNo> {
        let mut lists: Vec<&[TermNo]> = own
            .iter()
            .map(|gram| self.holders.get(gram).map_or(&[][..], Vec::as_slice))
            .collect();
        lists.sort_by_key(|list| list.len());
        lists.truncate(own.len() / 2 + 1);
        lists
            .into_iter()
            .flatten()
            .copied()
            .take(COMPARED)
            .collect()
    }
}

/// The distinct trigrams of a word, ascending, two blanks before it and one behind.
fn grams(word: &str) -> Vec<u64> {
    const BLANK: u64 = 0x20;
    let letters = word.chars().map(|c| u64::from(u32::from(c)));
    let mut window = (BLANK, BLANK);
    let mut grams: Vec<u64> = letters
        .chain([BLANK])
        .map(|c| {
            // A character has 21 bits, so three of them fit.
            let gram = window.0 << 42 | window.1 << 21 | c;
            window = (window.1, c);
            gram
        })
        .collect();
    grams.sort_unstable();
    grams.dedup();
    grams
}

/// Jaccard similarity of two ascending sets.
fn similarity(one: &[u64], other: &[u64]) -> f32 {
    let shared = one
        .iter()
        .filter(|gram| other.binary_search(gram).is_ok())
        .count();
    shared as f32 / (one.len() + other.len() - shared) as f32
}
