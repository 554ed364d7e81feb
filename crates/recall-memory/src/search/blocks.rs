//! The items of a frequent term as bits: what lets a search count them, and pass over those that
//! cannot reach the page, without looking at each.

use super::ItemNo;
use super::items::Items;
use super::postings::Posting;
use super::weight::{at_most, in_item, share};

/// Words of 64 items in a block.
pub(super) const WORDS: usize = if cfg!(test) { 2 } else { 32 };
/// Items that a block is about, whether they hold the term or not.
pub(super) const ITEMS: usize = WORDS * 64;
/// Bits tell how often an item holds a term up to so many times.
pub(super) const TIMES: usize = 3;

/// The blocks of one term, from the first item of the index to the last that holds the term.
///
/// A posting of a removed item stays in here as it stays in the list, so that the place of an item's
/// bit among the bits is the place of its posting in the list.
#[derive(Default)]
pub(super) struct Blocks(Vec<Block>);

/// Which items of one block hold a term, and at most how much of it. In the order in which a search reads
/// it: of a large index each part waits for memory.
#[derive(Clone)]
#[repr(C)]
pub(super) struct Block {
    /// The least norm of those that hold the term exactly once, twice and so on.
    norms: [f32; TIMES - 1],
    /// What part of the most that the term may weigh it weighs at most in the others.
    share: f32,
    /// Those that hold the term at least once, twice and so on.
    held: [[u64; WORDS]; TIMES],
    /// How many stand in earlier blocks.
    start: u32,
    /// How many of the block stand before each word.
    before: [u16; WORDS],
}

impl Blocks {
    pub(super) fn of(postings: &[Posting], items: &Items) -> Self {
        let mut blocks = Self::default();
        for (at, posting) in (0..).zip(postings) {
            blocks.insert(*posting, at, items);
        }
        blocks.0.shrink_to_fit();
        blocks
    }

    /// Notes a posting that was put into a list of `others`.
    pub(super) fn insert(&mut self, posting: Posting, others: u32, items: &Items) {
        let (no, at) = place(posting.item);
        if self.0.len() <= no {
            // Doubling would leave half of the room empty.
            let wanted = no + 1 - self.0.len();
            self.0.reserve_exact(wanted.max(self.0.len() / 8));
            self.0.resize(no + 1, Block::behind(others));
        }
        let Some([block, later @ ..]) = self.0.get_mut(no..) else {
            return;
        };
        block.insert(posting, at, items);
        later.iter_mut().for_each(|block| block.start += 1);
    }

    pub(super) fn get(&self, no: usize) -> Option<&Block> {
        self.0.get(no)
    }

    /// Where the posting of an item stands in the list, if it holds the term.
    pub(super) fn find(&self, item: ItemNo) -> Option<usize> {
        let (no, at) = place(item);
        let block = self.0.get(no)?;
        block.holds(at).then(|| block.posting(at))
    }

    pub(super) fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<Block>()
    }
}

impl Block {
    /// An empty one behind so many postings.
    pub(super) const fn behind(start: u32) -> Self {
        Self {
            held: [[0; WORDS]; TIMES],
            before: [0; WORDS],
            start,
            norms: [f32::INFINITY; TIMES - 1],
            share: 0.0,
        }
    }

    fn insert(&mut self, posting: Posting, at: usize, items: &Items) {
        let (word, bit) = (at / 64, 1 << (at % 64));
        let (times, norm) = (usize::from(posting.times), items.norm(posting.item));
        for held in self.held.iter_mut().take(times) {
            held[word] |= bit;
        }
        match self.norms.get_mut(times.saturating_sub(1)) {
            Some(least) => *least = least.min(norm),
            None => self.share = self.share.max(share(posting.times, norm)),
        }
        self.before[word + 1..].iter_mut().for_each(|it| *it += 1);
    }

    /// Those that hold the term at least so often, counted from 1.
    pub(super) fn held(&self, times: usize) -> &[u64; WORDS] {
        &self.held[times - 1]
    }

    /// What a term of this weight is worth at most in an item, by [`Block::times`] of that item. More
    /// times are never worth less here.
    ///
    /// For all but the last these are what [`in_item`] gives, and not a little more: each of its steps
    /// rounds so that a lesser norm never comes to less.
    pub(super) fn most(&self, weight: f32) -> [f32; TIMES + 1] {
        let mut most = [0.0; TIMES + 1];
        for (times, norm) in (1..).zip(self.norms) {
            let own = in_item(weight, times, norm);
            most[usize::from(times)] = own.max(most[usize::from(times) - 1]);
        }
        most[TIMES] = at_most(weight, self.share).max(most[TIMES - 1]);
        most
    }

    /// How often an item holds the term, [`TIMES`] standing for more as well.
    pub(super) fn times(&self, at: usize) -> usize {
        let (word, bit) = (at / 64, at % 64);
        let times = self.held.iter().map(|held| held[word] >> bit & 1);
        times.sum::<u64>() as usize
    }

    pub(super) fn holds(&self, at: usize) -> bool {
        self.held[0][at / 64] >> (at % 64) & 1 != 0
    }

    /// The place in the list of the posting of an item that holds the term.
    pub(super) fn posting(&self, at: usize) -> usize {
        let (word, bit) = (at / 64, 1_u64 << (at % 64));
        let beside = (self.held[0][word] & (bit - 1)).count_ones();
        self.start as usize + usize::from(self.before[word]) + beside as usize
    }
}

/// The block of an item and its place in there.
pub(super) fn place(item: ItemNo) -> (usize, usize) {
    let item = item as usize;
    (item / ITEMS, item % ITEMS)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::search::items::of_lengths;

    proptest! {
        #[test]
        fn blocks_follow_a_list_whatever_the_order_of_its_making(
            held in proptest::collection::btree_map(0..4 * ITEMS as u32, 1..8_u16, 0..200),
            lengths in proptest::collection::vec(1..30_usize, 4 * ITEMS),
            shuffled in any::<proptest::sample::Index>(),
            weight in 1e-6..20_f32,
        ) {
            let items = of_lengths(&lengths);
            let postings: Vec<Posting> = held
                .iter()
                .map(|(item, times)| Posting { item: *item, times: *times })
                .collect();
            let whole = Blocks::of(&postings, &items);
            // The same, with a part of the list put in later.
            let mut grown = Blocks::default();
            let at = if postings.is_empty() { 0 } else { shuffled.index(postings.len()) };
            for (others, posting) in (0..).zip(postings.iter().skip(at).chain(&postings[..at])) {
                grown.insert(*posting, others, &items);
            }
            for blocks in [&whole, &grown] {
                for item in 0..4 * ITEMS as u32 {
                    let expected = postings.iter().position(|posting| { posting.item } == item);
                    prop_assert_eq!(blocks.find(item), expected);
                    let (no, at) = place(item);
                    let Some(block) = blocks.get(no) else { continue };
                    let times = held.get(&item).copied().unwrap_or(0);
                    prop_assert_eq!(block.holds(at), times > 0);
                    prop_assert_eq!(block.times(at), usize::from(times).min(TIMES));
                    let most = block.most(weight);
                    prop_assert!(most.is_sorted());
                    prop_assert!(in_item(weight, times, items.norm(item)) <= most[block.times(at)]);
                }
            }
        }
    }
}
