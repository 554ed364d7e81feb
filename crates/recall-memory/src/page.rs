//! Where a listing goes on.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::event::Event;
use crate::fold::{Belief, Believed};
use crate::view::Pair;

/// Which listing a page is of: what a request asks for, but for how much of it at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listing(u32);

impl Listing {
    /// The listing of a request, by all that it says.
    #[must_use]
    pub fn of(operation: &str, said: &[Option<&str>]) -> Self {
        let mut digest = Sha256::new();
        digest.update(operation);
        for text in said {
            // No text holds these signs.
            digest.update(if text.is_some() { "\0=" } else { "\0-" });
            digest.update(text.unwrap_or_default());
        }
        let digest: [u8; 32] = digest.finalize().into();
        let [a, b, c, d, ..] = digest;
        Self(u32::from_be_bytes([a, b, c, d]))
    }
}

/// Eight hexadecimal digits: the mark of the listing in a cursor.
impl fmt::Display for Listing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

/// The last row of a page: a belief by its pair and the event since which it is believed, or an event
/// by its pair and its own place, as the view numbers them. The log numbers them alike on every server
/// and after every start, so that a page may be asked of any of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub(crate) pair: u32,
    pub(crate) slot: u32,
    pub(crate) listing: Listing,
}

impl Cursor {
    /// Reads what [`Display`](fmt::Display) writes.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let number = |text: &str| {
            let plain = text.bytes().all(|byte| byte.is_ascii_hexdigit());
            u32::from_str_radix(text, 16).ok().filter(|_| plain)
        };
        let mut parts = text.strip_prefix('p')?.split('-').map(number);
        let (pair, slot, listing) = (parts.next()??, parts.next()??, parts.next()??);
        parts.next().is_none().then_some(Self {
            pair,
            slot,
            listing: Listing(listing),
        })
    }

    /// Whether a row of its pair was on this page or an earlier one: the order of rows is that of
    /// their events, and an event stays.
    pub(crate) fn covers(self, pair: &Pair, event: Option<&Event>) -> bool {
        event.map(Event::order) <= pair.event(self.slot).map(Event::order)
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
        let shown = |belief: &&Belief| cursor.covers(pair, pair.event(belief.since));
        believed.iter().filter(shown).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        for (pair, slot) in [(0, 0), (7, 300), (u32::MAX, u32::MAX)] {
            let listing = Listing::of("recall", &[Some("u"), None]);
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
            "p123456789-1-1",
            "p1-1-1 ",
        ] {
            assert_eq!(Cursor::parse(odd), None, "{odd:?}");
        }
    }

    #[test]
    fn listings_are_told_apart_by_all_that_is_said() {
        let one = Listing::of("recall", &[Some("u"), None]);
        assert_eq!(one, Listing::of("recall", &[Some("u"), None]));
        for other in [
            Listing::of("history", &[Some("u"), None]),
            Listing::of("recall", &[None, Some("u")]),
            Listing::of("recall", &[Some("u"), Some("")]),
            Listing::of("recall", &[Some("v"), None]),
        ] {
            assert_ne!(one, other);
        }
    }
}
