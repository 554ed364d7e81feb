//! Where answers are kept: within a bound for all, and so that nobody's answers give way to those of
//! somebody who keeps more.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use recall_store::Namespace;
use tokio::sync::OnceCell;

use super::{Kept, Name};
use crate::error::ApiError;

/// How long an answer is kept.
const KEPT: Duration = Duration::from_secs(24 * 3600);
/// How many bytes of answers are kept.
const MAX_KEPT_BYTES: usize = 32 * 1024 * 1024;
/// What an entry takes beside its name and its answer, about.
const ENTRY_BYTES: usize = 256;

/// The outcome of a write, shared by those who sent it at the same time.
pub(super) type Outcome = Arc<OnceCell<Result<Kept, ApiError>>>;

/// What is known of a name.
#[derive(Debug)]
pub(super) enum Slot {
    /// The write is under way.
    UnderWay { request: [u8; 32], outcome: Outcome },
    /// It was done.
    Done {
        request: [u8; 32],
        kept: Kept,
        until: Instant,
    },
}

/// What one namespace keeps.
#[derive(Debug, Default)]
struct Share {
    bytes: usize,
    /// The oldest first.
    names: VecDeque<Name>,
}

/// Answers by name, and writes that are under way.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    slots: HashMap<Name, Slot>,
    shares: HashMap<Namespace, Share>,
    /// Namespaces by how much they keep.
    by_weight: BTreeSet<(usize, Namespace)>,
    bytes: usize,
}

/// Another write goes by this name.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Taken;

/// What to do with a write.
#[derive(Debug)]
pub(super) enum Entered {
    /// It was done: answer this.
    Done(Kept),
    /// Do it, or wait for whoever does.
    UnderWay(Outcome),
}

impl Shelf {
    /// Looks a write up, and notes that it is under way if nothing is known of it.
    pub(super) fn enter(
        &mut self,
        name: &Name,
        request: [u8; 32],
        now: Instant,
    ) -> Result<Entered, Taken> {
        match self.slots.get(name) {
            Some(Slot::Done { until, .. }) if *until <= now => self.remove(name),
            Some(Slot::Done {
                request: of, kept, ..
            }) if *of == request => {
                return Ok(Entered::Done(kept.clone()));
            }
            Some(Slot::UnderWay {
                request: of,
                outcome,
            }) if *of == request => {
                return Ok(Entered::UnderWay(Arc::clone(outcome)));
            }
            Some(_) => return Err(Taken),
            None => {}
        }
        let outcome = Outcome::default();
        let slot = Slot::UnderWay {
            request,
            outcome: Arc::clone(&outcome),
        };
        self.slots.insert(name.clone(), slot);
        Ok(Entered::UnderWay(outcome))
    }

    /// Ends what is under way under this name: keeps the answer, if there is one to keep.
    pub(super) fn settle(&mut self, name: &Name, outcome: &Outcome, now: Instant) {
        let Some(Slot::UnderWay {
            request,
            outcome: known,
        }) = self.slots.get(name)
        else {
            return;
        };
        if !Arc::ptr_eq(known, outcome) {
            return;
        }
        let request = *request;
        self.slots.remove(name);
        let Some(Ok(kept)) = outcome.get() else {
            return;
        };
        if kept.passes {
            return;
        }
        let slot = Slot::Done {
            request,
            kept: kept.clone(),
            until: now + KEPT,
        };
        self.keep(name.clone(), slot);
    }

    fn keep(&mut self, name: Name, slot: Slot) {
        let weight = weight(&name, &slot);
        let space = name.space.clone();
        self.slots.insert(name.clone(), slot);
        self.weigh(&space, |share| {
            share.bytes += weight;
            share.names.push_back(name);
        });
        while self.bytes > MAX_KEPT_BYTES {
            let Some(oldest) = self.heaviest() else {
                return;
            };
            self.remove(&oldest);
        }
    }

    /// The oldest answer of whoever keeps most.
    fn heaviest(&self) -> Option<Name> {
        let (_, space) = self.by_weight.last()?;
        self.shares.get(space)?.names.front().cloned()
    }

    fn remove(&mut self, name: &Name) {
        let Some(slot) = self.slots.remove(name) else {
            return;
        };
        if let Slot::Done { .. } = slot {
            let weight = weight(name, &slot);
            self.weigh(&name.space, |share| {
                share.bytes -= weight;
                // It is the first but for one that is asked for again after its time.
                if let Some(at) = share.names.iter().position(|known| known == name) {
                    share.names.remove(at);
                }
            });
        }
    }

    /// Changes what a namespace keeps, and with it the order of namespaces.
    fn weigh(&mut self, space: &Namespace, change: impl FnOnce(&mut Share)) {
        let share = self.shares.entry(space.clone()).or_default();
        let before = share.bytes;
        change(share);
        let after = share.bytes;
        self.by_weight.remove(&(before, space.clone()));
        match share.names.is_empty() {
            true => drop(self.shares.remove(space)),
            false => drop(self.by_weight.insert((after, space.clone()))),
        }
        self.bytes = self.bytes - before + after;
    }
}

fn weight(name: &Name, slot: &Slot) -> usize {
    let answer = match slot {
        Slot::UnderWay { .. } => 0,
        Slot::Done { kept, .. } => kept.body.len(),
    };
    // The name stands in two places.
    2 * (name.space.as_str().len() + name.holder.len() + name.key.len()) + answer + ENTRY_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(space: &str, key: usize) -> Name {
        Name {
            space: space.parse().expect("a namespace"),
            holder: "k".to_owned(),
            key: key.to_string(),
        }
    }

    fn write(shelf: &mut Shelf, name: &Name, bytes: usize) {
        let now = Instant::now();
        let entered = shelf.enter(name, [1; 32], now).expect("a new name");
        let Entered::UnderWay(outcome) = entered else {
            panic!("it was done already")
        };
        let kept = Kept::new(vec![b'x'; bytes], None);
        outcome.set(Ok(kept)).expect("nobody else does it");
        shelf.settle(name, &outcome, now);
    }

    fn is_kept(shelf: &Shelf, name: &Name) -> bool {
        matches!(shelf.slots.get(name), Some(Slot::Done { .. }))
    }

    #[test]
    fn who_keeps_most_gives_way_and_nobody_else() {
        let mut shelf = Shelf::default();
        for key in 0..10 {
            write(&mut shelf, &name("small", key), 1000);
        }
        let (big, flood) = (MAX_KEPT_BYTES / 100, 1000);
        for key in 0..flood {
            write(&mut shelf, &name("big", key), big);
            assert!(shelf.bytes <= MAX_KEPT_BYTES);
        }
        assert!((0..10).all(|key| is_kept(&shelf, &name("small", key))));
        assert!(is_kept(&shelf, &name("big", flood - 1)));
        assert!(!is_kept(&shelf, &name("big", 0)), "its own oldest went");
        // What is counted is what is there.
        let counted: usize = shelf
            .slots
            .iter()
            .map(|(name, slot)| weight(name, slot))
            .sum();
        assert_eq!(counted, shelf.bytes);
        assert_eq!(shelf.by_weight.len(), shelf.shares.len());
    }

    #[test]
    fn an_answer_is_kept_for_its_time() {
        let mut shelf = Shelf::default();
        let one = name("a", 1);
        write(&mut shelf, &one, 10);
        let now = Instant::now();
        let known = shelf.enter(&one, [1; 32], now);
        assert!(matches!(known, Ok(Entered::Done(_))), "{known:?}");
        assert_eq!(shelf.enter(&one, [2; 32], now).err(), Some(Taken));
        let later = shelf.enter(&one, [2; 32], now + KEPT);
        assert!(matches!(later, Ok(Entered::UnderWay(_))), "{later:?}");
        assert_eq!((shelf.bytes, shelf.by_weight.len()), (0, 0));
    }

    #[test]
    fn another_write_under_a_name_in_use_is_told_so_before_the_first_is_done() {
        let mut shelf = Shelf::default();
        let (one, now) = (name("a", 1), Instant::now());
        let Ok(Entered::UnderWay(first)) = shelf.enter(&one, [1; 32], now) else {
            panic!("it is new")
        };
        assert_eq!(shelf.enter(&one, [2; 32], now).err(), Some(Taken));
        let same = shelf.enter(&one, [1; 32], now);
        assert!(matches!(same, Ok(Entered::UnderWay(same)) if Arc::ptr_eq(&same, &first)));
        // A refusal leaves the name free.
        first.set(Err(ApiError::invalid("no"))).expect("it is new");
        shelf.settle(&one, &first, now);
        assert!(shelf.enter(&one, [2; 32], now).is_ok());
    }
}
