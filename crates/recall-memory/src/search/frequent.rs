//! Looks through the items that hold none of the rare terms of a question, block by block.
//!
//! What a term can be worth in a block is known, so that a search which has as many items as it wants
//! passes over those that cannot take a place: over whole blocks, over items that lack a term without
//! which nothing gets so far, and over each that holds too little of the others. All are counted.

use super::best::Best;
use super::blocks::{Block, Blocks, ITEMS, Most, WORDS};
use super::items::Items;
use super::postings::Posting;
use super::question::Wanted;
use super::scratch::Marked;
use super::weight::{in_item, of_share};
use super::{Filter, ItemNo};

/// A frequent term of a question, at one block after another.
pub(super) struct Frequent<'a> {
    weight: f32,
    postings: &'a [Posting],
    blocks: &'a Blocks,
    block: &'a Block,
    /// What the term is worth at most in the block.
    most: Most,
    /// The same in an item, by what its bits say.
    most_by_bits: [f32; 4],
}

#[cfg(test)]
thread_local! {
    /// Items that were weighed, for tests to see that others were not.
    pub(super) static WEIGHED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

static EMPTY: Block = Block::behind(0);

impl<'a> Frequent<'a> {
    pub(super) fn new(wanted: &Wanted, postings: &'a [Posting], blocks: &'a Blocks) -> Self {
        Self {
            weight: wanted.weight,
            postings,
            blocks,
            block: &EMPTY,
            most: Most::default(),
            most_by_bits: [0.0; 4],
        }
    }

    /// What the term is worth in an item, if that holds it.
    pub(super) fn in_item(&self, item: ItemNo, items: &Items) -> Option<f32> {
        let times = self.postings.get(self.blocks.find(item)?)?.times;
        Some(in_item(self.weight, times, items.norm(item)))
    }

    fn enter(&mut self, no: usize) {
        self.block = self.blocks.get(no).unwrap_or(&EMPTY);
        let Most { once, all } = self.block.most();
        self.most = Most {
            once: of_share(self.weight, once),
            all: of_share(self.weight, all),
        };
        self.most_by_bits = [0.0, self.most.once, 0.0, self.most.all];
    }

    /// What the term is worth at most in an item of the block. No two items are alike, so that a branch
    /// for each would be guessed wrong.
    fn most_at(&self, at: usize) -> f32 {
        self.most_by_bits[self.block.bits(at)]
    }

    /// What the term is worth in an item of the block, if that holds it.
    fn at(&self, at: usize, norm: f32) -> Option<f32> {
        if !self.block.holds(at) {
            return None;
        }
        let times = match self.block.holds_again(at) {
            // No need to look.
            false => 1,
            true => self.postings.get(self.block.posting(at))?.times,
        };
        Some(in_item(self.weight, times, norm))
    }
}

/// Offers the items that hold any of the terms and are not marked, as far as they may take a place.
/// Answers with how many are counted.
pub(super) fn offer(
    terms: &mut [Frequent<'_>],
    items: &Items,
    marked: &Marked,
    filter: &Filter<'_>,
    best: &mut Best<'_>,
) -> u32 {
    let mut touched = 0;
    for no in 0..items.written().div_ceil(ITEMS) {
        terms.iter_mut().for_each(|term| term.enter(no));
        let mut holders = [0; WORDS];
        for term in &*terms {
            join(&mut holders, term.block.held(), |all, own| all | own);
        }
        let word = no * WORDS;
        join(&mut holders, items.alive_from(word), |all, live| all & live);
        join(&mut holders, marked.from(word), |all, mark| all & !mark);
        let item = |at: usize| (no * ITEMS + at) as ItemNo;
        let counted: u32 = match filter.counted {
            None => holders.iter().map(|word| word.count_ones()).sum(),
            Some(counted) => {
                let counted = ones(&holders).filter(|at| counted(item(*at)));
                counted.count() as u32
            }
        };
        touched += counted;
        narrow(terms, best, &mut holders);
        for at in ones(&holders) {
            let most: f32 = terms.iter().map(|term| term.most_at(at)).sum();
            if best.is_beyond(most) {
                continue;
            }
            #[cfg(test)]
            WEIGHED.set(WEIGHED.get() + 1);
            let item = item(at);
            let norm = items.norm(item);
            let held = terms.iter().filter_map(|term| term.at(at, norm));
            best.offer(item, held.fold(0.0, |words, own| words + own));
        }
    }
    touched
}

/// Leaves those of the holders that hold all without which no item of the block takes a place.
fn narrow(terms: &[Frequent<'_>], best: &Best<'_>, holders: &mut [u64; WORDS]) {
    let most: f32 = terms.iter().map(|term| term.most.all).sum();
    if best.is_beyond(most) {
        holders.fill(0);
    }
    for term in terms {
        let Most { once, all } = term.most;
        if best.is_beyond(most - all + once) {
            join(holders, term.block.again(), |all, own| all & own);
        } else if best.is_beyond(most - all) {
            join(holders, term.block.held(), |all, own| all & own);
        }
    }
}

/// Joins words with others, of which those that are not there are empty.
fn join(words: &mut [u64; WORDS], others: &[u64], by: impl Fn(u64, u64) -> u64) {
    match others.first_chunk::<WORDS>() {
        Some(others) => {
            let both = words.iter_mut().zip(others);
            both.for_each(|(word, other)| *word = by(*word, *other));
        }
        None => {
            let others = others.iter().chain(std::iter::repeat(&0));
            let both = words.iter_mut().zip(others);
            both.for_each(|(word, other)| *word = by(*word, *other));
        }
    }
}

/// The places of the bits that are set, ascending.
fn ones(words: &[u64; WORDS]) -> impl Iterator<Item = usize> {
    (0..).zip(words).flat_map(|(no, word)| {
        let mut left = *word;
        std::iter::from_fn(move || {
            let at = left.trailing_zeros();
            left &= left.checked_sub(1)?;
            Some(no * 64 + at as usize)
        })
    })
}
