//! What the ranker knows of each item besides its postings.

use std::collections::{BTreeMap, HashMap};

use super::blocks::ITEMS;
use super::dictionary::TermNo;
use super::{ItemNo, NewItem, Place};

/// No item, no session.
pub(super) const NONE: u32 = u32::MAX;

/// Length norm of an item: a floor plus a share for each of its words.
const FLOOR: f32 = 0.30;
const SLOPE: f32 = 0.045;

const LIVE: u8 = 1;
const ASSISTANT: u8 = 2;
/// The postings hold the item, be it live or not.
const POSTED: u8 = 4;
/// Its writer named the session.
const NAMED: u8 = 8;

/// What is looked at of an item that may take a place, all in one look at memory.
struct Weighed {
    norm: f32,
    order: u32,
    /// Where its terms end among those of all items.
    end: usize,
}

/// Items as columns, in the order they were written.
#[derive(Default)]
pub(super) struct Items {
    flags: Vec<u8>,
    /// A bit an item, set while it lives.
    alive: Vec<u64>,
    weighed: Vec<Weighed>,
    day: Vec<i32>,
    session: Vec<u32>,
    previous: Vec<ItemNo>,
    next: Vec<ItemNo>,
    /// The least order in each block of items.
    earliest: Vec<u32>,
    terms: Vec<TermNo>,
    sessions: HashMap<Box<str>, u32>,
    session_text: usize,
    /// The newest live item of each session.
    newest: Vec<ItemNo>,
    live: u32,
    /// Live items with a live one before them in their session.
    followers: u32,
    /// Live items a day.
    days: BTreeMap<i32, u32>,
}

impl Items {
    /// Adds a live item with the terms in order, of which the first `words` count in its length.
    ///
    /// # Panics
    /// At 2³² − 1 items, far beyond what memory holds.
    pub(super) fn push(
        &mut self,
        item: &NewItem<'_>,
        place: Place,
        terms: &[TermNo],
        words: usize,
    ) -> ItemNo {
        let no = u32::try_from(self.flags.len())
            .ok()
            .filter(|&no| no != NONE);
        let no = no.expect("an index holds fewer than 2^32 - 1 items");
        let author = if item.assistant { ASSISTANT } else { 0 };
        let named = if place.named { NAMED } else { 0 };
        self.alive.resize(no as usize / 64 + 1, 0);
        self.flags.push(POSTED | author | named);
        self.earliest.resize(no as usize / ITEMS + 1, u32::MAX);
        if let Some(earliest) = self.earliest.last_mut() {
            *earliest = place.order.min(*earliest);
        }
        self.day.push(super::time::day_of(item.observed_at));
        self.terms.extend_from_slice(terms);
        self.weighed.push(Weighed {
            norm: FLOOR + SLOPE * words as f32,
            order: place.order,
            end: self.terms.len(),
        });
        let session = self.session_no(item.session);
        self.session.push(session);
        self.previous.push(NONE);
        self.next.push(NONE);
        self.revive(no);
        no
    }

    /// Makes an item live: counted, and linked into its session in order.
    pub(super) fn revive(&mut self, item: ItemNo) {
        let at = item as usize;
        self.flags[at] |= LIVE;
        self.alive[at / 64] |= 1 << (at % 64);
        self.live += 1;
        *self.days.entry(self.day[at]).or_default() += 1;
        let session = self.session[at] as usize;
        if session == NONE as usize {
            return;
        }
        let (mut before, mut after) = (self.newest[session], NONE);
        while before != NONE && self.place(before) > self.place(item) {
            (before, after) = (self.previous[before as usize], before);
        }
        self.previous[at] = before;
        self.next[at] = after;
        self.followers += u32::from(before != NONE || after != NONE);
        if before != NONE {
            self.next[before as usize] = item;
        }
        if after == NONE {
            self.newest[session] = item;
        } else {
            self.previous[after as usize] = item;
        }
    }

    /// Makes an item dead: not counted, and its session closes over it.
    pub(super) fn bury(&mut self, item: ItemNo) {
        let at = item as usize;
        self.flags[at] &= !LIVE;
        self.alive[at / 64] &= !(1 << (at % 64));
        self.live -= 1;
        if let Some(count) = self.days.get_mut(&self.day[at]) {
            *count -= 1;
            if *count == 0 {
                self.days.remove(&self.day[at]);
            }
        }
        let session = self.session[at] as usize;
        if session == NONE as usize {
            return;
        }
        let (before, after) = (self.previous[at], self.next[at]);
        self.followers -= u32::from(before != NONE || after != NONE);
        if before != NONE {
            self.next[before as usize] = after;
        }
        if after == NONE {
            self.newest[session] = before;
        } else {
            self.previous[after as usize] = before;
        }
    }

    pub(super) fn is_known(&self, item: ItemNo) -> bool {
        (item as usize) < self.flags.len()
    }

    pub(super) fn is_live(&self, item: ItemNo) -> bool {
        self.flags[item as usize] & LIVE != 0
    }

    /// The bits of those that live, from a word of 64 items on.
    pub(super) fn alive_from(&self, word: usize) -> &[u64] {
        self.alive.get(word..).unwrap_or_default()
    }

    /// Whether any item has a neighbour in its session.
    pub(super) fn has_neighbours(&self) -> bool {
        self.followers > 0
    }

    pub(super) fn by_assistant(&self, item: ItemNo) -> bool {
        self.flags[item as usize] & ASSISTANT != 0
    }

    pub(super) fn is_posted(&self, item: ItemNo) -> bool {
        self.flags[item as usize] & POSTED != 0
    }

    pub(super) fn set_posted(&mut self, item: ItemNo) {
        self.flags[item as usize] |= POSTED;
    }

    /// Notes that the postings hold live items only.
    pub(super) fn dead_are_unposted(&mut self) {
        for flags in self.flags.iter_mut().filter(|flags| **flags & LIVE == 0) {
            *flags &= !POSTED;
        }
    }

    pub(super) fn norm(&self, item: ItemNo) -> f32 {
        self.weighed[item as usize].norm
    }

    pub(super) fn day(&self, item: ItemNo) -> i32 {
        self.day[item as usize]
    }

    /// What orders an item among others, in a session and among equals.
    pub(super) fn place(&self, item: ItemNo) -> (u32, ItemNo) {
        (self.weighed[item as usize].order, item)
    }

    /// The least order in a block of [`ITEMS`] items.
    pub(super) fn earliest(&self, block: usize) -> u32 {
        self.earliest.get(block).copied().unwrap_or(u32::MAX)
    }

    /// Whether two neighbours in a session are known to belong together.
    pub(super) fn belong_together(&self, one: ItemNo, other: ItemNo) -> bool {
        self.flags[one as usize] & NAMED != 0
            || self.weighed[one as usize].order == self.weighed[other as usize].order
    }

    pub(super) fn is_in_session(&self, item: ItemNo) -> bool {
        self.session[item as usize] != NONE
    }

    /// The live item before this one in its session, or `NONE`.
    pub(super) fn previous(&self, item: ItemNo) -> ItemNo {
        self.previous[item as usize]
    }

    /// The live item behind this one in its session, or `NONE`.
    pub(super) fn next(&self, item: ItemNo) -> ItemNo {
        self.next[item as usize]
    }

    /// The terms of an item in text order.
    pub(super) fn terms(&self, item: ItemNo) -> &[TermNo] {
        let at = item as usize;
        let start = if at == 0 { 0 } else { self.weighed[at - 1].end };
        &self.terms[start..self.weighed[at].end]
    }

    /// Live items a day, by day.
    pub(super) fn days(&self) -> &BTreeMap<i32, u32> {
        &self.days
    }

    pub(super) fn live(&self) -> u32 {
        self.live
    }

    /// Items ever written.
    pub(super) fn written(&self) -> usize {
        self.flags.len()
    }

    pub(super) fn bytes(&self) -> usize {
        const COLUMNS: usize = 1 + size_of::<Weighed>() + 4 * size_of::<u32>();
        const DAY: usize = 16;
        const SESSION: usize = size_of::<(Box<str>, u32)>() + 8;
        self.flags.capacity() * COLUMNS
            + self.alive.capacity() * size_of::<u64>()
            + self.earliest.capacity() * size_of::<u32>()
            + self.terms.capacity() * size_of::<TermNo>()
            + self.days.len() * DAY
            + self.sessions.capacity() * SESSION
            + self.session_text
    }

    fn session_no(&mut self, name: Option<&str>) -> u32 {
        let Some(name) = name.filter(|name| !name.is_empty()) else {
            return NONE;
        };
        if let Some(&no) = self.sessions.get(name) {
            return no;
        }
        // There are never more sessions than items, so the number fits.
        let no = self.newest.len() as u32;
        self.sessions.insert(name.into(), no);
        self.session_text += name.len();
        self.newest.push(NONE);
        no
    }
}

/// Items of so many words, for tests of what is worked out from their norms.
#[cfg(test)]
pub(super) fn of_lengths(lengths: &[usize]) -> Items {
    let mut items = Items::default();
    for (order, words) in (0..).zip(lengths) {
        let item = NewItem {
            text: "",
            speaker: None,
            assistant: false,
            session: None,
            observed_at: jiff::Timestamp::UNIX_EPOCH,
        };
        let named = false;
        items.push(&item, Place { order, named }, &[], *words);
    }
    items
}
