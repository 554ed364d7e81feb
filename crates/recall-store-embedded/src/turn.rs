//! Whose turn it is to write, and whether writes come one by one.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Mutex, MutexGuard};

/// The right to write. redb lets one transaction write at a time; this tells without waiting whether one
/// is under way.
#[derive(Debug)]
pub(crate) struct Turn {
    writing: Mutex<()>,
    /// Whether the last transaction had a single write. Where several meet, they are done together.
    alone: AtomicBool,
}

impl Default for Turn {
    fn default() -> Self {
        Self {
            writing: Mutex::new(()),
            alone: AtomicBool::new(true),
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
}
