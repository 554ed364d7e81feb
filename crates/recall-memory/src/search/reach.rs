//! Which items of a block may be worth more than something, found for all of them at once.

use super::blocks::{TIMES, WORDS};
use super::frequent::{Bits, Frequent};
use super::weight::ROUNDING;

/// Terms by which items are told apart: with each more there are several times as many combinations.
/// Where a question has more, the others count as if every item held them.
pub(super) const SPLIT: usize = 4;

/// The terms of a question at one block.
pub(super) struct Reach<'a, 'b> {
    terms: &'a [Frequent<'b>],
    /// Places of the terms by which items are told apart: all in the order of the question, or those that
    /// are worth most.
    order: [usize; SPLIT],
    split: usize,
    /// What the terms from each of these on, and those behind them, are worth at most.
    rest: [f32; SPLIT + 1],
}

impl<'a, 'b> Reach<'a, 'b> {
    pub(super) fn new(terms: &'a [Frequent<'b>]) -> Self {
        let mut order = [0, 1, 2, 3];
        let mut others = 0.0;
        if terms.len() > SPLIT {
            let most = |at: &usize| terms.get(*at).map_or(0.0, most_of);
            let mut all: Vec<usize> = (0..terms.len()).collect();
            all.sort_by(|one, other| most(other).total_cmp(&most(one)));
            let (first, behind) = all.split_at(SPLIT);
            order.copy_from_slice(first);
            others = behind.iter().map(most).sum();
        }
        let split = terms.len().min(SPLIT);
        let mut rest = [others; SPLIT + 1];
        for depth in (0..split).rev() {
            rest[depth] = rest[depth + 1] + most_of(&terms[order[depth]]);
        }
        Self {
            terms,
            order,
            split,
            rest,
        }
    }

    /// What an item of the block is worth at most, about.
    pub(super) fn most(&self) -> f32 {
        self.rest[0]
    }

    /// Those among some items of the block that may be worth more than this. With at most [`SPLIT`] terms
    /// an item is left out as well if its words come to exactly this.
    pub(super) fn beyond(&self, bar: f32, among: &Bits, ways: &mut Ways) -> Bits {
        let of = self.of(bar);
        if ways.of.as_ref() != Some(&of) {
            ways.list.clear();
            if self.may_exceed(bar, 0.0, 0) {
                self.split_by(0, 0.0, Way::default(), bar, &mut ways.list);
            }
            ways.of = Some(of);
        }
        let mut found = [0; WORDS];
        for &way in &ways.list {
            self.add(way, among, &mut found);
        }
        found
    }

    /// What the ways beyond a bar depend on.
    fn of(&self, bar: f32) -> Of {
        let mut most = [[0.0; TIMES + 1]; SPLIT];
        for (most, at) in most.iter_mut().zip(self.order).take(self.split) {
            *most = *self.terms[at].most();
        }
        Of {
            bar,
            order: self.order,
            split: self.split,
            others: self.rest[self.split],
            most,
        }
    }

    /// Whether what the first terms are worth, with all that the terms from `depth` on may be, is more.
    fn may_exceed(&self, bar: f32, words: f32, depth: usize) -> bool {
        match self.rest[depth] {
            // Summed up in the order in which scores are: this is no estimate.
            0.0 => words > bar,
            rest => (words + rest) * ROUNDING > bar,
        }
    }

    /// Adds the ways beyond the bar that begin with `way`: with its terms before `depth` held so often, which
    /// is worth `words` at most.
    fn split_by(&self, depth: usize, words: f32, way: Way, bar: f32, ways: &mut Vec<Way>) {
        if depth == self.split || words > bar {
            // Those who hold each term as often are among those who hold it less often.
            if !ways.iter().any(|other| way.holds(*other)) {
                ways.push(way);
            }
            return;
        }
        let most = self.terms[self.order[depth]].most();
        let with = |times: usize| words + most[times];
        let enough = |times: &usize| self.may_exceed(bar, with(*times), depth + 1);
        let Some(least) = (0..=TIMES).find(enough) else {
            return;
        };
        // Where no other term follows, those who hold this one more often get in with these.
        let last = depth + 1 == self.split;
        for times in least..=if last { least } else { TIMES } {
            self.split_by(depth + 1, with(times), way.with(depth, times), bar, ways);
            if with(times) > bar {
                // So are they who get beyond the bar by this term.
                break;
            }
        }
    }

    /// Adds the items that hold each term at least as often as this.
    fn add(&self, way: Way, among: &Bits, found: &mut Bits) {
        let mut held = [&ALL; SPLIT];
        for ((held, times), at) in held.iter_mut().zip(way.times()).zip(self.order) {
            if times > 0 {
                *held = self.terms[at].held(times.into());
            }
        }
        let [one, two, three, four] = held;
        for (no, bits) in found.iter_mut().enumerate() {
            *bits |= among[no] & one[no] & two[no] & three[no] & four[no];
        }
    }
}

/// How often an item holds each of the terms by which items are told apart, at least: a byte for each, so
/// that two are compared at once.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Way(u32);

impl Way {
    fn with(self, term: usize, times: usize) -> Self {
        Self(self.0 | (times as u32) << (term * 8))
    }

    fn times(self) -> [u8; SPLIT] {
        self.0.to_le_bytes()
    }

    /// Whether each term is held as often as in another way.
    fn holds(self, other: Self) -> bool {
        const TOP: u32 = 0x8080_8080;
        // A byte that is less borrows its top bit; none reaches that far.
        const { assert!(TIMES < 0x80) };
        ((self.0 | TOP) - other.0) & TOP == TOP
    }
}

/// The ways to get beyond a bar. Most blocks are alike: what was found for one serves the next.
#[derive(Default)]
pub(super) struct Ways {
    of: Option<Of>,
    list: Vec<Way>,
}

#[derive(PartialEq)]
struct Of {
    bar: f32,
    order: [usize; SPLIT],
    split: usize,
    /// What the terms by which items are not told apart are worth at most.
    others: f32,
    most: [[f32; TIMES + 1]; SPLIT],
}

/// Every item of a block.
static ALL: Bits = [u64::MAX; WORDS];

/// What a term is worth at most in the block.
fn most_of(term: &Frequent<'_>) -> f32 {
    term.most()[TIMES]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::search::ItemNo;
    use crate::search::blocks::{Blocks, ITEMS};
    use crate::search::frequent::ones;
    use crate::search::items::{Items, of_lengths};
    use crate::search::postings::Posting;
    use crate::search::question::Wanted;

    /// How much the terms are worth in an item, as scores sum it up.
    fn words(terms: &[Frequent<'_>], at: usize, items: &Items) -> f32 {
        let norm = items.norm(at as ItemNo);
        let held = terms.iter().filter_map(|term| term.at(at, norm));
        held.fold(0.0, |words, own| words + own)
    }

    proptest! {
        /// Of questions with one term to more than items are told apart by.
        #[test]
        fn no_item_beyond_the_bar_is_left_out(
            held in proptest::collection::vec(
                (1e-3..9_f32, proptest::collection::vec(0..7_u16, ITEMS)),
                1..=SPLIT + 3,
            ),
            lengths in prop_oneof![
                proptest::collection::vec(1..30_usize, ITEMS),
                proptest::collection::vec(Just(12_usize), ITEMS),
            ],
            among in any::<[u64; WORDS]>(),
            model in any::<proptest::sample::Index>(),
        ) {
            let items = of_lengths(&lengths);
            let lists: Vec<Vec<Posting>> = held.iter().map(|(_, times)| {
                let all = (0..).zip(times).filter(|(_, times)| **times > 0);
                all.map(|(item, times)| Posting { item, times: *times }).collect()
            }).collect();
            let blocks: Vec<Blocks> = lists.iter().map(|list| Blocks::of(list, &items)).collect();
            let mut terms: Vec<Frequent<'_>> = Vec::new();
            for (((weight, _), list), blocks) in held.iter().zip(&lists).zip(&blocks) {
                let wanted = Wanted { term: 0, holders: 0, weight: *weight };
                let mut term = Frequent::new(&wanted, list, blocks);
                term.enter(0);
                terms.push(term);
            }
            let reach = Reach::new(&terms);
            let mut ways = Ways::default();
            // What some item is worth is the hardest bar; those beside it are as close.
            let own = words(&terms, model.index(ITEMS), &items);
            for bar in [0.0, own.next_down(), own, own.next_up(), own / 2.0, reach.most()] {
                let bar = bar.max(0.0);
                let found: Vec<usize> = ones(&reach.beyond(bar, &among, &mut ways)).collect();
                for at in ones(&among) {
                    let is_found = found.binary_search(&at).is_ok();
                    prop_assert!(is_found || words(&terms, at, &items) <= bar, "{}: {}", at, bar);
                    let most: f32 = terms.iter().map(|term| term.most_at(at)).sum();
                    let told_apart = terms.len() <= SPLIT;
                    prop_assert!(!told_apart || is_found == (most > bar), "{}: {}", at, bar);
                }
                prop_assert!(found.iter().all(|at| among[at / 64] >> (at % 64) & 1 != 0));
            }
        }
    }
}
