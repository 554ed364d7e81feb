//! Whether a write fits into what its namespace may hold.

use std::collections::HashSet;

use super::Draft;
use crate::error::Error;
use crate::registry::REGISTRY_PREDICATE;
use crate::value::name_key;
use crate::view::View;

/// What one namespace may hold; `None` is as much as it likes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quota {
    /// Statements that are believed now.
    pub facts: Option<u32>,
    /// Bytes of everything that was ever stated, as it takes place in memory, and of what is kept
    /// beside it.
    pub bytes: Option<u64>,
}

impl Quota {
    /// The bytes that a write may come to. What only changes what is there has an eighth more: a full
    /// namespace can be put right.
    #[must_use]
    pub fn room(self, adds: bool) -> Option<u64> {
        let most = self.bytes?;
        Some(match adds {
            true => most,
            false => most.saturating_add(most / RESERVE),
        })
    }
}

/// Which part of the bytes is kept for corrections, beyond what a namespace may hold.
const RESERVE: u64 = 8;

/// What an event takes beside its text: itself, its pair and subject, and where it is found by.
const EVENT_BYTES: u64 = 1_024;
/// What each byte of an event in the log comes to: the text, its words, and the lists of these. It is an
/// estimate: tables of words grow by doubling, and not with the write that fills them.
const BYTES_A_BYTE: u64 = 6;

/// What is left of a namespace while the writes of one commit are decided. They are decided on the
/// same view, so each has to fit beside those before it.
#[derive(Debug)]
pub(crate) struct Room {
    quota: Quota,
    facts: u64,
    bytes: u64,
}

impl Room {
    /// `beside` are the bytes of what is kept in the namespace beside its memory.
    pub(crate) fn new(quota: Quota, view: &View, beside: u64) -> Self {
        let bytes = quota.bytes.map_or(0, |_| view.bytes() as u64 + beside);
        Self {
            quota,
            facts: view.held().into(),
            bytes,
        }
    }

    /// Lets a decided write pass, unless it adds to what is full already. One that writes nothing,
    /// and one that only withdraws, always passes.
    pub(super) fn admit(&mut self, draft: &Draft<'_>) -> Result<(), Error> {
        let states = draft.added.iter().any(|placed| !placed.event.retraction);
        if !states {
            return Ok(());
        }
        let (facts, bytes) = (self.facts_after(draft)?, self.bytes_after(draft)?);
        (self.facts, self.bytes) = (facts, bytes);
        Ok(())
    }

    fn facts_after(&self, draft: &Draft<'_>) -> Result<u64, Error> {
        let Some(most) = self.quota.facts.map(u64::from) else {
            return Ok(self.facts);
        };
        // What a write can add at most is quick to tell; what it adds is looked at where that matters.
        let stated = draft.added.iter().filter(|placed| !placed.event.retraction);
        let highest = self.facts + stated.count() as u64;
        if highest <= most {
            return Ok(highest);
        }
        let growth = growth(draft);
        let after = self.facts.saturating_add_signed(growth);
        match growth > 0 && after > most {
            false => Ok(after),
            true => Err(full(&format!(
                "it holds {} of {most} facts; forget some, or ask the operator for more",
                self.facts
            ))),
        }
    }

    fn bytes_after(&self, draft: &Draft<'_>) -> Result<u64, Error> {
        let Some(most) = self.quota.bytes else {
            return Ok(self.bytes);
        };
        let text = |length: usize| EVENT_BYTES + BYTES_A_BYTE * length as u64;
        let cost: u64 = draft.added.iter().map(|it| text(it.body().len())).sum();
        let after = self.bytes + cost;
        let corrects = || growth(draft) <= 0;
        let reserve = self.quota.room(false).unwrap_or(most);
        match after <= most || after <= reserve && corrects() {
            true => Ok(after),
            false => Err(full(&format!(
                "it holds {} of {most} bytes, and this may take {cost} more; history is kept, so that \
                 forgetting frees little: ask the operator for more",
                self.bytes
            ))),
        }
    }
}

/// How many more statements are believed once a write is done.
fn growth(draft: &Draft<'_>) -> i64 {
    let mut seen = HashSet::new();
    let mut growth = 0;
    for placed in &draft.added {
        if *placed.predicate == *REGISTRY_PREDICATE {
            continue;
        }
        let scope = draft.scope(&placed.subject, &placed.predicate, None, None);
        for (predicate, before, after) in scope.counts(draft.view) {
            if seen.insert((name_key(&placed.subject), predicate)) {
                growth += after as i64 - before as i64;
            }
        }
    }
    growth
}

fn full(what: &str) -> Error {
    Error::Full(format!("the namespace is full: {what}"))
}
