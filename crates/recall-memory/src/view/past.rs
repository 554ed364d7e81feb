//! Statements that are no longer believed: how words find them, and what stands in their place.

use super::{Find, View};
use crate::search::{Index, ItemNo};

/// How often a statement that took the place of one may itself have been replaced.
const MAX_STEPS: usize = 16;

/// The index of statements that are no longer believed.
#[derive(Debug, Default)]
pub(super) struct Past {
    pub(super) index: Index,
    /// The pair and event of each item.
    items: Vec<(u32, u32)>,
    /// How many of the view's superseded statements are in.
    taken: usize,
}

impl Past {
    pub(super) fn bytes(&self) -> usize {
        self.index.bytes() + self.items.capacity() * 8
    }

    pub(super) fn place(&self, item: ItemNo) -> Option<(u32, u32)> {
        self.items.get(item as usize).copied()
    }

    fn follow(&mut self, view: &View) {
        for (no, slot) in view.superseded.iter().skip(self.taken) {
            self.taken += 1;
            let text = view.pair(*no).and_then(|pair| view.index_text(pair, *slot));
            if let Some(text) = text {
                for item in text.items() {
                    self.index.insert_at(&item, text.place(), text.name());
                    self.items.push((*no, *slot));
                }
            }
        }
    }
}

impl View {
    /// Takes what was superseded since the last time into the index of the past.
    pub(super) fn follow_past(&mut self) {
        let mut past = std::mem::take(&mut self.past);
        past.follow(self);
        self.past = past;
    }
}

impl Find<'_> {
    /// The belief that stands where a statement stood: itself while it is believed, else what
    /// replaced it, step by step. `None` for what was withdrawn, and before it was said.
    pub(super) fn successor(&self, no: u32, slot: u32) -> Option<(u32, u32)> {
        let mut place = (no, slot);
        for _ in 0..MAX_STEPS {
            let (no, slot) = place;
            if self.belief(no, slot).is_some() {
                return Some(place);
            }
            let pair = self.view.pair(no)?;
            let event = pair.event(slot)?;
            if self.at.is_some_and(|at| event.observed > at) {
                return None;
            }
            let single = self.view.predicate(pair.predicate)?.definition.single();
            if single && let Some(belief) = self.believed(no, pair).iter().next() {
                return Some((no, belief.slot));
            }
            place = match self.view.ended_by.get(&event.id) {
                Some(by) => *by,
                None => return self.same_value(no, slot),
            };
        }
        None
    }

    /// The belief of the same value under a predicate that excludes this one.
    fn same_value(&self, no: u32, slot: u32) -> Option<(u32, u32)> {
        let pair = self.view.pair(no)?;
        let value = pair.value(slot)?;
        let others = self.view.cluster_pairs(pair).into_iter();
        others.filter(|other| *other != no).find_map(|other| {
            let pair = self.view.pair(other)?;
            let believed = self.believed(other, pair);
            let belief = believed.find(value, |slot| pair.event(slot))?;
            Some((other, belief.slot))
        })
    }
}
