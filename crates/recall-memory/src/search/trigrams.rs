//! Words that look like a word nobody has written: the answer to a typing error.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::HashMap;

use super::dictionary::{Dictionary, TermNo};
use super::postings::Postings;
use super::script::{Script, is_han, script_of};

/// Letters a word has before it is compared; shorter ones resemble too much.
const MIN_LETTERS: usize = 4;
/// Words taken for one unknown word.
const TAKEN: usize = 3;
/// Pairs that one character is looked for in.
const AROUND: usize = 64;
/// Share of trigrams that two words have in common at least.
const LEAST: f32 = 0.5;

thread_local! {
    /// Trigrams each term shares with the word at hand; all zero between words.
    static SHARED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The terms that hold each trigram, filled when first asked.
#[derive(Default)]
pub(super) struct Trigrams {
    holders: HashMap<u64, Vec<TermNo>>,
    /// Distinct trigrams of each term of the dictionary already entered, 0 where it has none here.
    sizes: Vec<u8>,
    entries: usize,
}

/// Whether the term is a word that may be mistyped, rather than a number or a bigram.
pub(super) fn is_comparable(term: &str) -> bool {
    term.chars().all(char::is_alphabetic) && term.chars().nth(MIN_LETTERS - 1).is_some()
}

/// Whether the term is one character of a script that is written in runs, where it is no word of its
/// own.
pub(super) fn is_lone(term: &str) -> bool {
    let mut letters = term.chars();
    match (letters.next().and_then(script_of), letters.next()) {
        (Some(Script::Spaceless | Script::Hangul), None) => !term.starts_with(is_han),
        _ => false,
    }
}

/// Live terms of two characters of which one is this, the most frequent first.
pub(super) fn around(lone: &str, dictionary: &Dictionary, postings: &Postings) -> Vec<TermNo> {
    let mut found: Vec<TermNo> = (0..dictionary.len() as TermNo)
        .filter(|no| {
            let term = dictionary.term(*no);
            term.contains(lone) && term.chars().count() == 2 && postings.live(*no) > 0
        })
        .collect();
    found.sort_by_key(|no| (Reverse(postings.live(*no)), dictionary.term(*no)));
    found.truncate(AROUND);
    found
}

impl Trigrams {
    pub(super) fn covers(&self, dictionary: &Dictionary) -> bool {
        self.sizes.len() == dictionary.len()
    }

    /// Enters the terms that are new in the dictionary.
    pub(super) fn cover(&mut self, dictionary: &Dictionary) {
        for no in self.sizes.len() as TermNo..dictionary.len() as TermNo {
            let term = dictionary.term(no);
            let grams = if is_comparable(term) {
                grams(term)
            } else {
                Vec::new()
            };
            self.sizes
                .push(u8::try_from(grams.len()).unwrap_or(u8::MAX));
            self.entries += grams.len();
            for gram in grams {
                self.holders.entry(gram).or_default().push(no);
            }
        }
    }

    /// Up to three live terms like the word, with their similarity, best first.
    pub(super) fn similar(
        &self,
        word: &str,
        dictionary: &Dictionary,
        postings: &Postings,
    ) -> Vec<(TermNo, f32)> {
        let own = grams(word);
        let mut found = self.sharing(&own);
        found.retain(|&(no, similarity)| similarity >= LEAST && postings.live(no) > 0);
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
        self.holders.capacity() * LIST
            + self.entries * size_of::<TermNo>() * 2
            + self.sizes.capacity()
    }

    /// Terms that share trigrams with the word, with their similarity: shared ones by all of both.
    fn sharing(&self, own: &[u64]) -> Vec<(TermNo, f32)> {
        let mut lists: Vec<&[TermNo]> = own
            .iter()
            .map(|gram| self.holders.get(gram).map_or(&[][..], Vec::as_slice))
            .collect();
        lists.sort_by_key(|list| list.len());
        // A term that shares half of the trigrams holds one of any `n / 2 + 1` of them. So the
        // longest lists bring no candidates of their own.
        let (rare, frequent) = lists.split_at((own.len() / 2 + 1).min(lists.len()));
        SHARED.with_borrow_mut(|shared| {
            shared.resize(shared.len().max(self.sizes.len()), 0);
            let mut candidates = Vec::new();
            for &no in rare.iter().copied().flatten() {
                if shared[no as usize] == 0 {
                    candidates.push(no);
                }
                shared[no as usize] += 1;
            }
            for &no in frequent.iter().copied().flatten() {
                let count = &mut shared[no as usize];
                *count += u8::from(*count > 0);
            }
            let similarity = |no: TermNo| {
                let count = usize::from(std::mem::take(&mut shared[no as usize]));
                let all = own.len() + usize::from(self.sizes[no as usize]) - count;
                (no, count as f32 / all as f32)
            };
            candidates.into_iter().map(similarity).collect()
        })
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn similarity(one: &str, other: &str) -> f32 {
        let (one, other) = (grams(one), grams(other));
        let shared = one.iter().filter(|gram| other.contains(gram)).count();
        shared as f32 / (one.len() + other.len() - shared) as f32
    }

    proptest! {
        /// What the page promises of words that repeat no three letters.
        #[test]
        fn a_stem_with_one_error_is_similar_from_its_length_on(
            word in prop::sample::subsequence(('a'..='z').collect::<Vec<_>>(), 5..16).prop_shuffle(),
            place in any::<prop::sample::Index>(),
        ) {
            let is_similar = |typed: &[char]| {
                let [word, typed] = [&word[..], typed].map(|word| word.iter().collect::<String>());
                similarity(&word, &typed) >= LEAST
            };
            let (length, at) = (word.len(), place.index(word.len()));
            let mut wrong = word.clone();
            wrong[at] = 'é';
            prop_assert!(is_similar(&wrong) || length < 8 && (length < 5 || at + 1 < length));
            let mut missing = word.clone();
            missing.remove(at);
            prop_assert!(is_similar(&missing) || length < 7);
            let mut more = word.clone();
            more.insert(at, 'é');
            prop_assert!(is_similar(&more) || length < 7);
            let mut swapped = word.clone();
            if at + 1 < length {
                swapped.swap(at, at + 1);
            }
            prop_assert!(is_similar(&swapped) || length < 11);
        }
    }
}
