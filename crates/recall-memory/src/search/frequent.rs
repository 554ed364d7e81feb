//! Looks through the items that hold none of the rare terms of a question, block by block.
//!
//! What a term can be worth in a block is known, so that a search which has as many items as it wants
//! passes over those that cannot take a place, whole words of 64 items at once. All are counted.

use super::best::Best;
use super::blocks::{Block, Blocks, ITEMS, TIMES, WORDS};
use super::items::Items;
use super::postings::Posting;
use super::question::Wanted;
use super::reach::{Reach, SPLIT, Ways};
use super::scratch::Marked;
use super::weight::in_item;
use super::{Filter, ItemNo};

/// How many times as many items as have a place a search looks at first, about: an item may be worth less
/// than it seems, or not be wanted.
const AT_FIRST: f32 = 1.2;
/// How many times as many it looks at next, when these were too few.
const MORE: f32 = 4.0;
/// How many times as many are not too many.
const ENOUGH: f32 = 2.0;
/// How often the range is halved in which the worth of so many items is looked for.
const HALVINGS: usize = 6;

/// Items of a block, as bits.
pub(super) type Bits = [u64; WORDS];

/// A frequent term of a question, at one block after another.
pub(super) struct Frequent<'a> {
    weight: f32,
    postings: &'a [Posting],
    blocks: &'a Blocks,
    block: &'a Block,
    /// What the term is worth at most in an item of the block, by how often that holds it.
    most: [f32; TIMES + 1],
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
            most: [0.0; TIMES + 1],
        }
    }

    /// What the term is worth in an item, if that holds it.
    pub(super) fn in_item(&self, item: ItemNo, items: &Items) -> Option<f32> {
        let times = self.postings.get(self.blocks.find(item)?)?.times;
        Some(in_item(self.weight, times, items.norm(item)))
    }

    /// Goes to a block to see who holds the term there.
    fn go(&mut self, no: usize) {
        self.block = self.blocks.get(no).unwrap_or(&EMPTY);
    }

    /// Goes to a block, whose items are to be weighed.
    pub(super) fn enter(&mut self, no: usize) {
        self.go(no);
        self.most = self.block.most(self.weight);
    }

    /// What the term is worth at most in an item of the block, by how often that holds it.
    pub(super) fn most(&self) -> &[f32; TIMES + 1] {
        &self.most
    }

    /// Those of the block that hold the term at least so often, counted from 1.
    pub(super) fn held(&self, times: usize) -> &Bits {
        self.block.held(times)
    }

    /// What the term is worth at most in one item of the block. No two items are alike, so that a branch
    /// for each would be guessed wrong.
    pub(super) fn most_at(&self, at: usize) -> f32 {
        self.most[self.block.times(at)]
    }

    /// What the term is worth in an item of the block, if that holds it.
    pub(super) fn at(&self, at: usize, norm: f32) -> Option<f32> {
        let times = match self.block.times(at) {
            0 => return None,
            // No need to look.
            times @ 1..TIMES => times as u16,
            _ => self.postings.get(self.block.posting(at))?.times,
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
    left: &mut Vec<Bits>,
    best: &mut Best<'_>,
) -> u32 {
    let mut touched = 0;
    let mut spread = Spread::default();
    left.clear();
    for no in 0..items.written().div_ceil(ITEMS) {
        terms.iter_mut().for_each(|term| term.go(no));
        let holders = holders(terms, items, marked, no);
        let held = ones_of(&holders);
        spread.add(no, held);
        touched += match filter.counted {
            None => held,
            Some(counted) => {
                let item = |at: usize| (no * ITEMS + at) as ItemNo;
                ones(&holders).filter(|at| counted(item(*at))).count() as u32
            }
        };
        left.push(holders);
    }
    offer_best(terms, items, &spread, left, best);
    touched
}

/// How the holders of a question's terms lie in the blocks.
#[derive(Default)]
struct Spread {
    all: u32,
    /// The block with the most of them, and how many these are.
    fullest: (usize, u32),
}

impl Spread {
    fn add(&mut self, block: usize, held: u32) {
        self.all += held;
        if held > self.fullest.1 {
            self.fullest = (block, held);
        }
    }
}

/// Offers those of the items that may take a place. The best of all blocks come first, as far as one block
/// tells what these are worth: the others are measured against them.
fn offer_best(
    terms: &mut [Frequent<'_>],
    items: &Items,
    spread: &Spread,
    left: &mut [Bits],
    best: &mut Best<'_>,
) {
    let mut wanted = best.room() as f32 * AT_FIRST;
    let mut ways = Ways::default();
    loop {
        let least = match best.is_full() {
            true => 0.0,
            false => worth_of_the_first(wanted, terms, spread, left, &mut ways),
        };
        for (no, left) in left.iter_mut().enumerate() {
            terms.iter_mut().for_each(|term| term.enter(no));
            offer_of_block(terms, items, no, least, left, &mut ways, best);
        }
        best.settle();
        if least == 0.0 || best.bar(0) >= least {
            // The others are worth less.
            return;
        }
        wanted *= MORE;
    }
}

/// What so many of the items are worth more than, about, by the block that has most of them.
fn worth_of_the_first(
    wanted: f32,
    terms: &mut [Frequent<'_>],
    spread: &Spread,
    left: &[Bits],
    ways: &mut Ways,
) -> f32 {
    let (no, own) = spread.fullest;
    let wanted = wanted * own as f32 / spread.all.max(1) as f32;
    let Some(among) = left.get(no).filter(|_| wanted < own as f32) else {
        return 0.0;
    };
    terms.iter_mut().for_each(|term| term.enter(no));
    let reach = Reach::new(terms);
    let (mut least, mut most) = (0.0, reach.most());
    for _ in 0..HALVINGS {
        let middle = (least + most) / 2.0;
        let found = ones_of(&reach.beyond(middle, among, ways)) as f32;
        match found >= wanted {
            true => least = middle,
            false => most = middle,
        }
        if (wanted..wanted * ENOUGH).contains(&found) {
            break;
        }
    }
    least
}

/// The live items of a block that hold any of the terms and are not marked.
fn holders(terms: &[Frequent<'_>], items: &Items, marked: &Marked, no: usize) -> Bits {
    let mut holders = [0; WORDS];
    for term in terms {
        join(&mut holders, term.held(1), |all, own| all | own);
    }
    let word = no * WORDS;
    join(&mut holders, items.alive_from(word), |all, live| all & live);
    if !marked.list.is_empty() {
        join(&mut holders, marked.from(word), |all, mark| all & !mark);
    }
    holders
}

/// Offers those of a block's items that may take a place and be worth more than `least`, and takes them out
/// of what is left.
fn offer_of_block(
    terms: &[Frequent<'_>],
    items: &Items,
    no: usize,
    least: f32,
    left: &mut Bits,
    ways: &mut Ways,
    best: &mut Best<'_>,
) {
    let earliest = items.earliest(no);
    let bar = best.bar(earliest).max(least);
    let within = Reach::new(terms).beyond(bar, left, ways);
    for at in ones(&within) {
        offer_one(terms, items, no * ITEMS + at, at, earliest, best);
    }
    join(left, &within, |all, done| all & !done);
    if best.is_over() {
        best.settle();
    }
}

/// Offers the item at a place of the block.
fn offer_one(
    terms: &[Frequent<'_>],
    items: &Items,
    item: usize,
    at: usize,
    earliest: u32,
    best: &mut Best<'_>,
) {
    // With few terms that was seen already.
    if terms.len() > SPLIT {
        let most: f32 = terms.iter().map(|term| term.most_at(at)).sum();
        if most <= best.bar(earliest) {
            return;
        }
    }
    #[cfg(test)]
    WEIGHED.set(WEIGHED.get() + 1);
    let item = item as ItemNo;
    let norm = items.norm(item);
    let held = terms.iter().filter_map(|term| term.at(at, norm));
    best.offer(item, held.fold(0.0, |words, own| words + own));
}

/// Joins words with others, of which those that are not there are empty.
fn join(words: &mut Bits, others: &[u64], by: impl Fn(u64, u64) -> u64) {
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

/// How many bits are set.
fn ones_of(words: &Bits) -> u32 {
    words.iter().map(|word| word.count_ones()).sum()
}

/// The places of the bits that are set, ascending.
pub(super) fn ones(words: &Bits) -> impl Iterator<Item = usize> {
    let words = (0..).zip(words);
    words.flat_map(|(no, word)| ones_in(*word).map(move |at| no * 64 + at))
}

/// The same of one word.
pub(super) fn ones_in(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let at = word.trailing_zeros();
        word &= word.checked_sub(1)?;
        Some(at as usize)
    })
}
