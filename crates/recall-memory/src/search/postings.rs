//! Which items hold a term.

use super::ItemNo;
use super::blocks::Blocks;
use super::dictionary::TermNo;
use super::items::Items;

/// A term that one in so many items holds has blocks beside its list; one that fewer than half as many
/// hold has them no more.
const FREQUENT: usize = 8;
/// Items of an index from which on terms have blocks: of fewer all postings are looked at.
const MANY: ItemNo = if cfg!(test) { 1 } else { 1_024 };

/// A list without blocks.
const NONE: u32 = u32::MAX;

/// One item in the list of a term; packed, as most of the memory is postings.
#[derive(Clone, Copy)]
#[repr(C, packed(2))]
pub(super) struct Posting {
    pub(super) item: ItemNo,
    /// How often the item holds the term, at most 65,535.
    pub(super) times: u16,
}

/// Items of one term in ascending order, and how many of them live.
struct List {
    postings: Vec<Posting>,
    live: u32,
    /// Where its blocks are, if it has any: few lists do.
    blocks: u32,
}

/// The lists of all terms.
#[derive(Default)]
pub(super) struct Postings {
    lists: Vec<List>,
    /// Of frequent terms; some may be empty for good.
    blocks: Vec<Blocks>,
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

    /// The blocks of a frequent term.
    pub(super) fn blocks(&self, term: TermNo) -> Option<&Blocks> {
        let list = self.lists.get(term as usize)?;
        self.blocks.get(list.blocks as usize)
    }

    /// Number of live items that hold the term.
    pub(super) fn live(&self, term: TermNo) -> u32 {
        self.lists.get(term as usize).map_or(0, |list| list.live)
    }

    /// Adds an item to the list of a term; cheapest for the newest item.
    pub(super) fn add(&mut self, term: TermNo, posting: Posting, items: &Items) {
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
        let (item, others) = (posting.item, list.postings.len());
        let at = match list.postings.last() {
            Some(last) if last.item > item => list.postings.partition_point(|p| p.item < item),
            _ => others,
        };
        list.postings.insert(at, posting);
        list.live += 1;
        self.total += 1;
        self.capacity += list.postings.capacity() - before;
        if let Some(blocks) = self.blocks.get_mut(list.blocks as usize) {
            match list.is_frequent(FREQUENT * 2) {
                // There are fewer than 2^32 items, and so fewer postings of a term.
                true => blocks.insert(posting, others as u32, items),
                false => {
                    *blocks = Blocks::default();
                    list.blocks = NONE;
                }
            }
        } else if list.is_frequent(FREQUENT) {
            list.block(items, &mut self.blocks);
        }
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
    pub(super) fn rewrite(&mut self, items: &Items) {
        (self.total, self.dead, self.capacity) = (0, 0, 0);
        self.blocks.clear();
        for list in &mut self.lists {
            list.postings.retain(|posting| items.is_live(posting.item));
            list.postings.shrink_to_fit();
            self.total += list.postings.len();
            self.capacity += list.postings.capacity();
            list.blocks = NONE;
            if list.is_frequent(FREQUENT) {
                list.block(items, &mut self.blocks);
            }
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.lists.capacity() * size_of::<List>()
            + self.capacity * size_of::<Posting>()
            + self.blocks.capacity() * size_of::<Blocks>()
            + self.blocks.iter().map(Blocks::bytes).sum::<usize>()
    }
}

impl Default for List {
    fn default() -> Self {
        Self {
            postings: Vec::new(),
            live: 0,
            blocks: NONE,
        }
    }
}

impl List {
    /// Whether one in `among` items held the term when the last one that holds it was written, and there
    /// were many.
    fn is_frequent(&self, among: usize) -> bool {
        let last = self.postings.last().map_or(0, |last| last.item);
        last >= MANY && self.postings.len() * among > last as usize
    }

    fn block(&mut self, items: &Items, all: &mut Vec<Blocks>) {
        self.blocks = u32::try_from(all.len()).unwrap_or(NONE);
        all.push(Blocks::of(&self.postings, items));
    }
}
