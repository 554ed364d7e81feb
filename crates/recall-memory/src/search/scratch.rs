//! Working memory of a query, one per thread, as long as the largest index it has searched.

use std::cell::Cell;

use super::ItemNo;

thread_local! {
    static SCRATCH: Cell<Scratch> = const { Cell::new(Scratch::new()) };
}

/// Scores of a query in progress; all zero between queries.
pub(super) struct Scratch {
    /// Score of each item.
    pub(super) total: Vec<f32>,
    /// Best weight of each item for the term at hand.
    best: Vec<f32>,
    /// Items whose `best` is set.
    noted: Vec<ItemNo>,
    /// Items whose `total` is set, unless `dense`.
    pub(super) candidates: Vec<ItemNo>,
    /// Whether so many items are touched that it is cheaper to look at all than to note which.
    pub(super) dense: bool,
}

impl Scratch {
    const fn new() -> Self {
        Self {
            total: Vec::new(),
            best: Vec::new(),
            noted: Vec::new(),
            candidates: Vec::new(),
            dense: false,
        }
    }

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

    /// Adds a weight to the score of an item.
    pub(super) fn add(&mut self, item: ItemNo, weight: f32) {
        let total = &mut self.total[item as usize];
        if !self.dense && *total == 0.0 {
            self.candidates.push(item);
        }
        *total += weight;
    }

    /// How many items have a score and are counted.
    pub(super) fn touched(&self, counted: Option<&dyn Fn(ItemNo) -> bool>) -> u32 {
        let counts = |item: ItemNo| counted.is_none_or(|counted| counted(item));
        let touched = match (self.dense, counted.is_some()) {
            (false, false) => self.candidates.len(),
            (false, true) => {
                let items = self.candidates.iter();
                items.filter(|item| counts(**item)).count()
            }
            (true, _) => {
                let items = (0..).zip(&self.total);
                items
                    .filter(|(item, score)| **score > 0.0 && counts(*item))
                    .count()
            }
        };
        u32::try_from(touched).unwrap_or(u32::MAX)
    }

    /// Adds the best weights of the term at hand to the scores.
    pub(super) fn end_term(&mut self) {
        let mut noted = std::mem::take(&mut self.noted);
        for item in noted.drain(..) {
            let best = std::mem::take(&mut self.best[item as usize]);
            self.add(item, best);
        }
        self.noted = noted;
    }
}

/// Runs a query with the thread's working memory, grown to `items`.
///
/// The memory leaves its place meanwhile: a query inside the query, or after one that panicked,
/// finds an empty one.
pub(super) fn with<R>(items: usize, query: impl FnOnce(&mut Scratch) -> R) -> R {
    let mut scratch = SCRATCH.replace(Scratch::new());
    if scratch.total.len() < items {
        scratch.total.resize(items, 0.0);
        scratch.best.resize(items, 0.0);
    }
    let result = query(&mut scratch);
    SCRATCH.set(scratch);
    result
}
