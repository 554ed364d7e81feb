//! Which items hold a term.

use super::ItemNo;
use super::dictionary::TermNo;

/// One item in the list of a term; packed, as most of the memory is postings.
#[derive(Clone, Copy)]
#[repr(C, packed(2))]
pub(super) struct Posting {
    pub(super) item: ItemNo,
    /// How often the item holds the term, at most 65,535.
    pub(super) times: u16,
}

/// Items of one term in ascending order, and how many of them live.
#[derive(Default)]
struct List {
    postings: Vec<Posting>,
    live: u32,
}

/// The lists of all terms.
#[derive(Default)]
pub(super) struct Postings {
    lists: Vec<List>,
    total: usize,
    dead: usize,
    capacity: usize,
}

impl Postings {
    /// The items that hold the term; some of them may have been removed.
    pub(super) fn of(&self, term: TermNo) -> &[Posting] {
        self.lists
            .get(term as usize)
            .map_or(&[], |list| &list.postings)
    }

    /// Number of live items that hold the term.
    pub(super) fn live(&self, term: TermNo) -> u32 {
        self.lists.get(term as usize).map_or(0, |list| list.live)
    }

    /// Adds an item to the list of a term; cheapest for the newest item.
    pub(super) fn add(&mut self, term: TermNo, item: ItemNo, times: u16) {
        let term = term as usize;
        if self.lists.len() <= term {
            self.lists.resize_with(term + 1, List::default);
        }
        let list = &mut self.lists[term];
        let before = list.postings.capacity();
        if list.postings.len() == before {
            // Most terms are rare: room grows by half, from one.
            list.postings.reserve_exact((before / 2).max(1));
        }
        let at = match list.postings.last() {
            Some(last) if last.item > item => list.postings.partition_point(|p| p.item < item),
            _ => list.postings.len(),
        };
        list.postings.insert(at, Posting { item, times });
        list.live += 1;
        self.total += 1;
        self.capacity += list.postings.capacity() - before;
    }

    /// Takes a removed item out of the term's count; its posting stays until the next rewrite.
    pub(super) fn bury(&mut self, term: TermNo) {
        self.lists[term as usize].live -= 1;
        self.dead += 1;
    }

    /// Counts an item again whose posting is still there.
    pub(super) fn unbury(&mut self, term: TermNo) {
        self.lists[term as usize].live += 1;
        self.dead -= 1;
    }

    /// Whether a quarter of the postings belong to removed items.
    pub(super) fn want_rewrite(&self) -> bool {
        self.dead * 4 > self.total
    }

    /// Drops the postings of all items that do not live.
    pub(super) fn rewrite(&mut self, is_live: impl Fn(ItemNo) -> bool) {
        (self.total, self.dead, self.capacity) = (0, 0, 0);
        for list in &mut self.lists {
            list.postings.retain(|posting| is_live(posting.item));
            list.postings.shrink_to_fit();
            self.total += list.postings.len();
            self.capacity += list.postings.capacity();
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.lists.capacity() * size_of::<List>() + self.capacity * size_of::<Posting>()
    }
}
