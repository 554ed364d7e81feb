//! Whose turn it is to write, and whether writes come one by one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

/// A write that takes no longer may hold up the thread of a task: to have another one go on with that
/// thread's tasks costs two wake-ups, which is as much as such a write.
const QUICK: Duration = Duration::from_millis(1);

/// The right to write. redb lets one transaction write at a time; this tells without waiting whether one
/// is under way.
#[derive(Debug)]
pub(crate) struct Turn {
    writing: Mutex<()>,
    /// Whether the last transaction had a single write. Where several meet, they are done together.
    alone: AtomicBool,
    /// Whether the last write that was alone was quick.
    quick: AtomicBool,
}

impl Default for Turn {
    fn default() -> Self {
        Self {
            writing: Mutex::new(()),
            alone: AtomicBool::new(true),
            quick: AtomicBool::new(false),
        }
    }
}

impl Turn {
    /// The turn of a write by itself; `None` if somebody else has it or writes have been meeting.
    pub(crate) fn alone(&self) -> Option<MutexGuard<'_, ()>> {
        match self.alone.load(Ordering::Relaxed) {
            true => self.writing.try_lock(),
            false => None,
        }
    }

    /// The turn of writes that wait, whoever has it now.
    pub(crate) fn take(&self) -> MutexGuard<'_, ()> {
        self.writing.lock()
    }

    /// Whether the next write by itself will be quick, as far as the last one tells.
    pub(crate) fn is_quick(&self) -> bool {
        self.quick.load(Ordering::Relaxed)
    }

    /// A write by itself took so long.
    pub(crate) fn took(&self, time: Duration) {
        self.quick.store(time <= QUICK, Ordering::Relaxed);
    }

    /// So many writes had waited for it.
    pub(crate) fn met(&self, writes: usize) {
        self.alone.store(writes <= 1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_writes_that_come_one_by_one_have_a_turn_of_their_own() {
        let turn = Turn::default();
        let first = turn.alone().expect("nobody writes");
        assert!(turn.alone().is_none(), "somebody does");
        drop(first);
        turn.met(2);
        assert!(turn.alone().is_none(), "two have met");
        turn.met(1);
        assert!(turn.alone().is_some(), "one came by itself");
    }

    #[test]
    fn a_write_is_as_quick_as_the_one_before_it() {
        let turn = Turn::default();
        assert!(!turn.is_quick(), "nothing is known yet");
        for (time, quick) in [(QUICK / 4, true), (QUICK * 4, false), (QUICK / 4, true)] {
            turn.took(time);
            assert_eq!(turn.is_quick(), quick, "{time:?}");
        }
    }
}
