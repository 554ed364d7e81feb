//! Where a listing goes on.

use std::fmt;

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
}

impl Cursor {
    /// Reads what [`Display`](fmt::Display) writes.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let number = |text: &str| {
            let plain = text.bytes().all(|byte| byte.is_ascii_hexdigit());
            u32::from_str_radix(text, 16).ok().filter(|_| plain)
        };
        let (pair, slot) = text.strip_prefix('p')?.split_once('-')?;
        Some(Self {
            pair: number(pair)?,
            slot: number(slot)?,
        })
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{:x}-{:x}", self.pair, self.slot)
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
            let cursor = Cursor { pair, slot };
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
            "p1-1-1",
            "p123456789-1",
            "p1-1 ",
        ] {
            assert_eq!(Cursor::parse(odd), None, "{odd:?}");
        }
    }
}
