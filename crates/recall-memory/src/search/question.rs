//! A question made ready for the index: weighted terms, pairs of terms, days.

use std::collections::{HashMap, HashSet};

use super::dictionary::TermNo;
use super::english::{is_first_person, is_function_word};
use super::terms::{Kind, terms};
use super::trigrams::{is_comparable, is_lone};
use super::words::{head, split};
use super::{Index, Query, dates};

/// Bytes of a question that are read.
const MAX_BYTES: usize = 64 * 1024;
/// Distinct terms of a question that are searched: the rarest.
const MAX_TERMS: usize = 256;
/// Pairs of terms whose distance is looked at: the first.
const MAX_PAIRS: usize = 64;
/// Unknown words that are looked for among similar ones: the first.
const MAX_UNKNOWN: usize = 8;
/// What a similar word counts against the word itself.
const SIMILAR: f32 = 0.5;

/// A term to search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Wanted {
    pub(super) term: TermNo,
    pub(super) holders: u32,
    /// Times in the question by inverse document frequency.
    pub(super) weight: f32,
}

/// Two terms that follow one another in the question.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pair {
    pub(super) terms: [TermNo; 2],
    /// The lesser of their inverse document frequencies.
    pub(super) weight: f32,
}

/// A question made ready.
pub(super) struct Question {
    pub(super) wanted: Vec<Wanted>,
    pub(super) pairs: Vec<Pair>,
    /// What an item of a day gains, by day.
    pub(super) days: Vec<(i32, f32)>,
    /// Whether the asker speaks of themself.
    pub(super) personal: bool,
}

impl Question {
    pub(super) fn new(index: &Index, query: &Query<'_>, beside: Option<&Index>) -> Self {
        let text = head(query.text, MAX_BYTES);
        let asked = Asked::read(index, text);
        let mut wanted = asked.wanted(index, beside);
        keep_rarest(&mut wanted);
        let days = if wanted.is_empty() {
            Vec::new()
        } else {
            dates::gains(&index.items, text, query.now)
        };
        Self {
            pairs: asked.pairs(index, &wanted, beside),
            wanted,
            days,
            personal: is_personal(text),
        }
    }
}

/// The terms of a question in order.
#[derive(Default)]
struct Asked {
    /// `None` for a word that no live item holds.
    sequence: Vec<Option<TermNo>>,
    unknown: Vec<String>,
}

impl Asked {
    fn read(index: &Index, text: &str) -> Self {
        let mut asked = Self::default();
        let mut pieces = Vec::new();
        terms(text, &mut |term, kind| {
            let no = index
                .dictionary
                .find(term)
                .filter(|&no| index.postings.live(no) > 0);
            match kind {
                Kind::Piece => pieces.extend(no.map(Some)),
                Kind::Word => {
                    asked.sequence.push(no);
                    let known = no.is_some() || is_function_word(term);
                    if known || asked.unknown.len() >= MAX_UNKNOWN {
                        return;
                    }
                    if is_comparable(term) || is_lone(term) {
                        asked.unknown.push(term.to_owned());
                    }
                }
            }
        });
        asked.sequence.append(&mut pieces);
        asked
    }

    /// The terms to search, in order of appearance, then those like unknown words.
    fn wanted(&self, index: &Index, beside: Option<&Index>) -> Vec<Wanted> {
        let mut wanted = Sum {
            index,
            beside,
            wanted: Vec::new(),
            at: HashMap::new(),
        };
        for &term in self.sequence.iter().flatten() {
            wanted.add(term, 1.0);
        }
        let asked: HashSet<TermNo> = wanted.at.keys().copied().collect();
        for word in &self.unknown {
            for (term, similarity) in index.similar(word) {
                if !asked.contains(&term) {
                    wanted.add(term, SIMILAR * similarity);
                }
            }
        }
        wanted.wanted
    }

    /// Distinct pairs of searched terms that follow one another.
    fn pairs(&self, index: &Index, wanted: &[Wanted], beside: Option<&Index>) -> Vec<Pair> {
        let worth: HashMap<TermNo, f32> = wanted
            .iter()
            .map(|w| (w.term, index.worth(w.term, beside)))
            .collect();
        let mut seen = HashSet::new();
        self.sequence
            .windows(2)
            .filter_map(|pair| match *pair {
                [Some(a), Some(b)] if a != b && seen.insert((a, b)) => {
                    let weight = worth.get(&a)?.min(*worth.get(&b)?);
                    Some(Pair {
                        terms: [a, b],
                        weight,
                    })
                }
                _ => None,
            })
            .take(MAX_PAIRS)
            .collect()
    }
}

/// Terms with their weights added up.
struct Sum<'a> {
    index: &'a Index,
    beside: Option<&'a Index>,
    wanted: Vec<Wanted>,
    at: HashMap<TermNo, usize>,
}

impl Sum<'_> {
    fn add(&mut self, term: TermNo, times: f32) {
        let holders = self.index.postings.live(term);
        let weight = times * self.index.worth(term, self.beside);
        let at = *self.at.entry(term).or_insert(self.wanted.len());
        match self.wanted.get_mut(at) {
            Some(wanted) => wanted.weight += weight,
            None => self.wanted.push(Wanted {
                term,
                holders,
                weight,
            }),
        }
    }
}

fn keep_rarest(wanted: &mut Vec<Wanted>) {
    if wanted.len() <= MAX_TERMS {
        return;
    }
    let mut rarest: Vec<u32> = wanted.iter().map(|w| w.holders).collect();
    rarest.sort_unstable();
    let most = rarest[MAX_TERMS - 1];
    // Among those as frequent as the last one that fits, the first ones fit.
    let mut room = rarest[..MAX_TERMS]
        .iter()
        .filter(|&&holders| holders == most)
        .count();
    wanted.retain(|w| {
        let fits = w.holders < most || (w.holders == most && room > 0);
        room -= usize::from(fits && w.holders == most);
        fits
    });
}

fn is_personal(text: &str) -> bool {
    let mut personal = false;
    split(text, &mut |word| personal |= is_first_person(word.text));
    personal
}
