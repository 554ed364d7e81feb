//! Working memory of a query, one per thread, as long as the largest index it has searched.

use std::cell::Cell;

use super::frequent::Bits;
use super::{Filter, ItemNo};

thread_local! {
    static SCRATCH: Cell<Scratch> = const { Cell::new(Scratch::new()) };
}

/// Scores of a query in progress; all zero between queries.
pub(super) struct Scratch {
    pub(super) around: Around,
    pub(super) totals: Totals,
    pub(super) marked: Marked,
    /// Weights of items, term by term, where they are looked at more than once.
    pub(super) weights: Vec<(ItemNo, f32)>,
    /// Items that are still to be looked at, block by block.
    pub(super) left: Vec<Bits>,
}

/// The best weight of each item for the term at hand.
pub(super) struct Around {
    best: Vec<f32>,
    /// Items whose `best` is set.
    noted: Vec<ItemNo>,
}

/// What the words of each item are worth.
pub(super) struct Totals {
    total: Vec<f32>,
    /// Items whose `total` is set, unless `dense`.
    noted: Vec<ItemNo>,
    /// Whether so many items are touched that it is cheaper to look at all than to note which.
    dense: bool,
    /// The items of the index at hand.
    items: usize,
}

/// Items as bits, and as a list.
pub(super) struct Marked {
    bits: Vec<u64>,
    pub(super) list: Vec<ItemNo>,
}

impl Scratch {
    const fn new() -> Self {
        Self {
            around: Around {
                best: Vec::new(),
                noted: Vec::new(),
            },
            totals: Totals {
                total: Vec::new(),
                noted: Vec::new(),
                dense: false,
                items: 0,
            },
            marked: Marked {
                bits: Vec::new(),
                list: Vec::new(),
            },
            weights: Vec::new(),
            left: Vec::new(),
        }
    }

    fn reach(&mut self, items: usize) {
        if self.totals.total.len() < items {
            self.totals.total.resize(items, 0.0);
            self.around.best.resize(items, 0.0);
            self.marked.bits.resize(items.div_ceil(64), 0);
        }
    }
}

impl Around {
    /// Offers a weight for the term at hand; an item keeps its best.
    pub(super) fn put(&mut self, item: ItemNo, weight: f32) {
        let best = &mut self.best[item as usize];
        if *best == 0.0 {
            self.noted.push(item);
        }
        if weight > *best {
            *best = weight;
        }
    }

    /// Gives the best weights of the term at hand away.
    pub(super) fn end_term(&mut self, add: &mut impl FnMut(ItemNo, f32)) {
        for item in self.noted.drain(..) {
            add(item, std::mem::take(&mut self.best[item as usize]));
        }
    }
}

impl Totals {
    /// Makes ready for a question to an index of so many items; `dense` where it touches a large part
    /// of them.
    pub(super) fn begin(&mut self, items: usize, dense: bool) {
        (self.items, self.dense) = (items, dense);
    }

    /// Adds a weight to the score of an item.
    pub(super) fn add(&mut self, item: ItemNo, weight: f32) {
        let total = &mut self.total[item as usize];
        if !self.dense && *total == 0.0 {
            self.noted.push(item);
        }
        *total += weight;
    }

    /// How many items have a score and are counted.
    pub(super) fn touched(&self, filter: &Filter<'_>) -> u32 {
        let touched = match (self.dense, filter.counted) {
            (false, None) => self.noted.len(),
            (false, Some(counted)) => {
                let items = self.noted.iter();
                items.filter(|item| counted(**item)).count()
            }
            (true, None) => self.all().iter().filter(|score| **score > 0.0).count(),
            (true, Some(counted)) => {
                let items = (0..).zip(self.all());
                items
                    .filter(|(item, score)| **score > 0.0 && counted(*item))
                    .count()
            }
        };
        u32::try_from(touched).unwrap_or(u32::MAX)
    }

    /// The scores of all items.
    fn all(&self) -> &[f32] {
        &self.total[..self.items]
    }

    /// Gives the scores away.
    pub(super) fn end(&mut self, mut take: impl FnMut(ItemNo, f32)) {
        if self.dense {
            for (item, words) in (0..).zip(self.all()) {
                take(item, *words);
            }
            self.total[..self.items].fill(0.0);
        } else {
            for item in self.noted.drain(..) {
                take(item, std::mem::take(&mut self.total[item as usize]));
            }
        }
    }
}

impl Marked {
    pub(super) fn mark(&mut self, item: ItemNo) {
        let word = &mut self.bits[item as usize / 64];
        let bit = 1 << (item % 64);
        if *word & bit == 0 {
            *word |= bit;
            self.list.push(item);
        }
    }

    /// Bits from a word on.
    pub(super) fn from(&self, word: usize) -> &[u64] {
        self.bits.get(word..).unwrap_or_default()
    }

    pub(super) fn clear(&mut self) {
        for item in self.list.drain(..) {
            self.bits[item as usize / 64] = 0;
        }
    }
}

/// Runs a query with the thread's working memory, grown to `items`.
///
/// The memory leaves its place meanwhile: a query inside the query, or after one that panicked,
/// finds an empty one.
pub(super) fn with<R>(items: usize, query: impl FnOnce(&mut Scratch) -> R) -> R {
    let mut scratch = SCRATCH.replace(Scratch::new());
    scratch.reach(items);
    let result = query(&mut scratch);
    SCRATCH.set(scratch);
    result
}
