//! Terms and their numbers.

use std::hash::{BuildHasher, RandomState};

/// Number of a term, given in order of first appearance.
pub(super) type TermNo = u32;

const EMPTY: u32 = u32::MAX;

/// Terms in one text, numbered, found by an open-addressing table of numbers.
///
/// The hash is seeded: what a namespace is told cannot be chosen to collide.
#[derive(Default)]
pub(super) struct Dictionary {
    text: String,
    ends: Vec<u32>,
    slots: Vec<u32>,
    hasher: RandomState,
}

impl Dictionary {
    /// The number of a term, if the namespace has ever held it.
    pub(super) fn find(&self, term: &str) -> Option<TermNo> {
        let slot = self.slot_of(term)?;
        self.slots.get(slot).copied().filter(|&no| no != EMPTY)
    }

    /// The number of a term, a new one at first sight; `None` when the table is full.
    pub(super) fn intern(&mut self, term: &str) -> Option<TermNo> {
        if (self.ends.len() + 1) * 4 > self.slots.len() * 3 {
            self.grow();
        }
        let slot = self.slot_of(term)?;
        let held = *self.slots.get(slot)?;
        if held != EMPTY {
            return Some(held);
        }
        let no = u32::try_from(self.ends.len())
            .ok()
            .filter(|&no| no != EMPTY)?;
        let end = u32::try_from(self.text.len() + term.len()).ok()?;
        self.text.push_str(term);
        self.ends.push(end);
        self.slots[slot] = no;
        Some(no)
    }

    /// The term with this number, empty for a number not given.
    pub(super) fn term(&self, no: TermNo) -> &str {
        let end_of = |no: usize| self.ends.get(no).map_or(0, |&end| end as usize);
        let start = if no == 0 { 0 } else { end_of(no as usize - 1) };
        self.text
            .get(start..end_of(no as usize))
            .unwrap_or_default()
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.text.capacity() + 4 * (self.ends.capacity() + self.slots.capacity())
    }

    /// The slot that holds the term or would hold it; `None` before the first growth.
    fn slot_of(&self, term: &str) -> Option<usize> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut slot = self.hasher.hash_one(term) as usize & mask;
        while self.slots[slot] != EMPTY && self.term(self.slots[slot]) != term {
            slot = (slot + 1) & mask;
        }
        Some(slot)
    }

    fn grow(&mut self) {
        // A power of two, so that a mask finds the slot.
        let size = (self.slots.len() * 2).max(16);
        self.slots = vec![EMPTY; size];
        for no in 0..self.ends.len() as u32 {
            if let Some(slot) = self.slot_of(self.term(no)) {
                self.slots[slot] = no;
            }
        }
    }
}
