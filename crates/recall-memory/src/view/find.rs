//! What is believed at any time.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Deref;
use std::rc::Rc;

use jiff::Timestamp;

use super::spoken::Values;
use super::{Pair, View};
use crate::answer::count;
use crate::embedding::Near;
use crate::fold::{Belief, Believed};
use crate::vectors::VectorTable;

/// What was believed at a time; what is believed now where no time is named.
#[derive(Debug)]
pub(crate) struct Find<'v> {
    pub(crate) view: &'v View,
    pub(crate) at: Option<Timestamp>,
    then: RefCell<HashMap<u32, Rc<Believed>>>,
    /// The values of pairs that texts were looked through for.
    pub(super) values: Values,
    /// The search by vectors, where there is one.
    pub(super) near: Option<(&'v VectorTable, &'v Near)>,
}

/// What is or was believed of a pair.
#[derive(Debug)]
pub(crate) enum Found<'v> {
    Now(&'v Believed),
    Then(Rc<Believed>),
}

impl Deref for Found<'_> {
    type Target = Believed;

    fn deref(&self) -> &Believed {
        match self {
            Self::Now(believed) => believed,
            Self::Then(believed) => believed,
        }
    }
}

impl<'v> Find<'v> {
    pub(crate) fn new(view: &'v View, at: Option<Timestamp>) -> Self {
        Self {
            view,
            at,
            then: RefCell::default(),
            values: Values::default(),
            near: None,
        }
    }

    /// The same at a time.
    pub(crate) fn at(self, at: Option<Timestamp>) -> Self {
        Self {
            at,
            then: RefCell::default(),
            ..self
        }
    }

    /// Searches by vectors too.
    pub(crate) fn beside(self, table: &'v VectorTable, near: &'v Near) -> Self {
        Self {
            near: Some((table, near)),
            ..self
        }
    }

    /// What was believed of a pair.
    pub(crate) fn believed(&self, no: u32, pair: &'v Pair) -> Found<'v> {
        let Some(at) = self.at else {
            return Found::Now(&pair.believed);
        };
        if let Some(then) = self.then.borrow().get(&no) {
            return Found::Then(Rc::clone(then));
        }
        let pairs = self.view.cluster_pairs(pair);
        let cluster = self.view.cluster(&pairs);
        if cluster.last().is_none_or(|last| last <= at) {
            return Found::Now(&pair.believed);
        }
        let mut state = cluster.fold(Some(at));
        let own = pairs.iter().position(|other| *other == no);
        let own = own.and_then(|own| state.get_mut(own)).map(std::mem::take);
        let then = Rc::new(own.unwrap_or_default());
        self.then.borrow_mut().insert(no, Rc::clone(&then));
        Found::Then(then)
    }

    /// How much was believed of everything.
    pub(crate) fn in_scope(&self) -> u32 {
        match self.at {
            None => self.view.held(),
            Some(_) => self.believed_of(0..self.view.pair_count()),
        }
    }

    /// How much was believed of some pairs.
    pub(crate) fn believed_of(&self, pairs: impl IntoIterator<Item = u32>) -> u32 {
        let pairs = pairs.into_iter();
        let believed = pairs.filter_map(|no| Some(self.believed(no, self.view.pair(no)?).len()));
        count(believed.sum())
    }

    /// The belief that an event stands for, if it was believed.
    pub(crate) fn belief(&self, no: u32, slot: u32) -> Option<(&'v Pair, Belief)> {
        let pair = self.view.pair(no)?;
        let believed = self.believed(no, pair);
        let belief = believed.stated_by(slot, |slot| pair.event(slot))?;
        Some((pair, belief.clone()))
    }
}
