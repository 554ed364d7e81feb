//! Where a listing goes on.

use std::fmt;

use sha2::{Digest as _, Sha256};

use crate::event::Event;
use crate::fold::Believed;
use crate::view::Pair;

/// The last row of a page: a belief by its pair and the event since which it is believed, as the view
/// numbers them. The log numbers
/// them alike on every server and after every start, so that a page may be asked of any of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub(crate) pair: u32,
    pub(crate) slot: u32,
    pub(crate) listing: Listing,
}

/// What a listing is of, as a number: in another one the same row has another place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Listing(u32);

impl Listing {
    /// By the kind of a listing and what it was asked for, each as a text.
    pub(crate) fn of(asked: &[&str]) -> Self {
        let mut hash = Sha256::new();
        for part in asked {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part.as_bytes());
        }
        let digest = hash.finalize();
        let bytes = digest.iter().take(4);
        Self(bytes.fold(0, |number, byte| number << 8 | u32::from(*byte)))
    }
}

impl Cursor {
    /// Reads what [`Display`](fmt::Display) writes.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let number = |text: &str| {
            let plain = text.bytes().all(|byte| byte.is_ascii_hexdigit());
            u32::from_str_radix(text, 16).ok().filter(|_| plain)
        };
        let (pair, rest) = text.strip_prefix('p')?.split_once('-')?;
        let (slot, listing) = rest.split_once('-')?;
        Some(Self {
            pair: number(pair)?,
            slot: number(slot)?,
            listing: Listing(number(listing)?),
        })
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{:x}-{:x}-{:x}", self.pair, self.slot, self.listing.0)
    }
}

/// How far a walk over pairs has come with what earlier pages showed.
#[derive(Debug)]
pub(crate) struct Skip(Option<Cursor>);

impl Skip {
    pub(crate) fn to(cursor: Option<Cursor>) -> Self {
        Self(cursor)
    }

    /// How many of a pair's beliefs, from the first on, earlier pages had. What was withdrawn, restated or
    /// written meanwhile moves none of the others to another page: their places are those of the events
    /// since which they are believed, and an event stays.
    pub(crate) fn of(&mut self, no: u32, pair: &Pair, believed: &Believed) -> usize {
        let Some(cursor) = self.0 else { return 0 };
        if cursor.pair != no {
            return believed.len();
        }
        self.0 = None;
        let order = |slot| pair.event(slot).map(Event::order);
        let last = order(cursor.slot);
        let shown = believed.iter().filter(|belief| order(belief.since) <= last);
        shown.count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        for (pair, slot) in [(0, 0), (7, 300), (u32::MAX, u32::MAX)] {
            let listing = Listing::of(&["recall", "user", ""]);
            let cursor = Cursor {
                pair,
                slot,
                listing,
            };
            assert_eq!(Cursor::parse(&cursor.to_string()), Some(cursor));
        }
        for odd in [
            "",
            "p",
            "p1",
            "p-",
            "p1-",
            "p-1",
            "p+1-1",
            "x1-1",
            "p1-1",
            "p1-1-1-1",
            "p1-1-",
            "p123456789-1-1",
            "p1-1-1 ",
        ] {
            assert_eq!(Cursor::parse(odd), None, "{odd:?}");
        }
        // What is asked for is told apart part by part.
        assert_ne!(Listing::of(&["ab", ""]), Listing::of(&["a", "b"]));
    }
}
