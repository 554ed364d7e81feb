//! How many statements a question finds, be they on the page or not.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;

use super::Find;
use super::rank::{Part, Texts, Wanted};
use crate::answer::count;
use crate::event::Event;
use crate::event_id::EventId;
use crate::search::ItemNo;
use crate::vectors::{At, VectorTable};

/// How many statements may answer.
#[derive(Default)]
pub(super) struct Tally<'v> {
    pub(super) considered: u32,
    /// Texts among them that statements were drawn from.
    sources: HashSet<At>,
    /// The texts that statements among them were drawn from.
    answered: HashSet<&'v EventId>,
}

impl<'v> Tally<'v> {
    pub(super) fn add(&mut self, counting: Counting<'_, 'v>) {
        let missing = counting.missing.len() - counting.met.borrow().len();
        self.considered += counting.touched.get() + count(missing);
        self.sources.extend(counting.sources.into_inner());
        self.answered.extend(counting.answered.into_inner());
    }

    /// Adds statements that were found otherwise than by words, each once.
    pub(super) fn add_all(
        &mut self,
        find: &Find<'v>,
        wanted: &Wanted<'_>,
        part: Part<'_>,
        places: impl Iterator<Item = At>,
    ) {
        let held = places.filter(|at| find.belief(at.0, at.1).is_some());
        for at in held.filter(|at| find.passes(*at, wanted, part)) {
            self.considered += 1;
            if find.view.has_drawn() {
                self.sources.extend(find.is_source(at).then_some(at));
                self.answered
                    .extend(find.event(at).and_then(Event::evidence_id));
            }
        }
    }

    /// How many may answer when texts give their places up to their statements: those on the page, of
    /// which the texts are `shown`, and those behind it.
    pub(super) fn folded(&self, find: &Find<'v>, shown: &HashSet<&EventId>) -> u32 {
        let given_up = self.sources.iter().filter(|at| {
            let id = find.event(**at).map(|event| &event.id);
            id.is_some_and(|id| shown.contains(id) || self.answered.contains(id))
        });
        self.considered.saturating_sub(count(given_up.count()))
    }
}

/// Counts each statement that may answer once, while its items are looked through.
pub(super) struct Counting<'a, 'v> {
    find: &'a Find<'v>,
    wanted: &'a Wanted<'a>,
    part: Part<'a>,
    /// How many items the search counted.
    pub(super) touched: Cell<u32>,
    /// Statements of several items that were counted.
    seen: RefCell<HashSet<At>>,
    sources: RefCell<HashSet<At>>,
    answered: RefCell<HashSet<&'v EventId>>,
    /// Statements found otherwise, and those of them that were counted here.
    missing: HashSet<At>,
    met: RefCell<HashSet<At>>,
    /// What has a vector here is counted by that.
    compared: Option<&'v VectorTable>,
}

impl<'a, 'v> Counting<'a, 'v> {
    pub(super) fn new(
        find: &'a Find<'v>,
        wanted: &'a Wanted<'a>,
        part: Part<'a>,
        missing: HashSet<At>,
        compared: Option<&'v VectorTable>,
    ) -> Self {
        Self {
            find,
            wanted,
            part,
            touched: Cell::new(0),
            seen: RefCell::default(),
            sources: RefCell::default(),
            answered: RefCell::default(),
            missing,
            met: RefCell::default(),
            compared,
        }
    }

    /// Whether not every item that the question touches is one statement that may answer.
    pub(super) fn needed(&self) -> bool {
        !self.missing.is_empty() || self.compared.is_some() || !self.is_plain()
    }

    fn is_plain(&self) -> bool {
        let texts = self.wanted.texts == Texts::All || !self.find.view.has_drawn();
        let several = self.find.view.several;
        texts && !several && self.wanted.all && self.part.is_none() && self.find.at.is_none()
    }

    /// Forgets an earlier look: the same question may be searched again for more.
    pub(super) fn begin(&self) {
        self.seen.borrow_mut().clear();
        self.sources.borrow_mut().clear();
        self.answered.borrow_mut().clear();
        self.met.borrow_mut().clear();
    }

    pub(super) fn count(&self, item: ItemNo) -> bool {
        let Some(at) = self.find.place_of(item) else {
            return false;
        };
        if self.compared.is_some_and(|table| table.has(at)) {
            return false;
        }
        if self.missing.contains(&at) {
            self.met.borrow_mut().insert(at);
        }
        if self.is_plain() {
            return true;
        }
        let held = self.find.at.is_none() || self.find.belief(at.0, at.1).is_some();
        if !held || !self.find.passes(at, self.wanted, self.part) {
            return false;
        }
        let beside =
            |other: Option<ItemNo>| other.and_then(|other| self.find.place_of(other)) == Some(at);
        let several =
            self.find.view.several && (beside(item.checked_sub(1)) || beside(item.checked_add(1)));
        if several && !self.seen.borrow_mut().insert(at) {
            return false;
        }
        if !self.find.view.has_drawn() {
            return true;
        }
        if self.find.is_source(at) {
            self.sources.borrow_mut().insert(at);
        }
        if let Some(source) = self.find.event(at).and_then(Event::evidence_id) {
            self.answered.borrow_mut().insert(source);
        }
        true
    }
}
