//! Finding beliefs: at any time, by words, and within a scope.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::Deref;
use std::rc::Rc;

use jiff::Timestamp;

use super::{Pair, View};
use crate::event::Event;
use crate::fold::{Belief, Believed};
use crate::search::{self, Index, Query};

/// What was believed at a time; what is believed now where no time is named.
#[derive(Debug)]
pub(crate) struct Find<'v> {
    pub(crate) view: &'v View,
    pub(crate) at: Option<Timestamp>,
    then: RefCell<HashMap<u32, Rc<Believed>>>,
}

/// What is or was believed of a pair.
#[derive(Debug)]
pub(crate) enum Found<'v> {
    Now(&'v Believed),
    Then(Rc<Believed>),
}

/// The index of statements that are no longer believed, made when someone first asks about a past
/// time and brought up to date whenever someone asks again.
#[derive(Debug, Default)]
pub(super) struct Past {
    index: Index,
    items: Vec<(u32, u32)>,
}

impl Past {
    pub(super) fn bytes(&self) -> usize {
        self.index.bytes() + self.items.capacity() * 8
    }

    fn follow(&mut self, view: &View) {
        for (no, slot) in view.superseded.iter().skip(self.items.len()) {
            let text = view.pair(*no).and_then(|pair| view.index_text(pair, *slot));
            if let Some(text) = text {
                self.index.insert(&text.borrow());
                self.items.push((*no, *slot));
            }
        }
    }
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

/// Whether an item's pair and event, where it has them, may be found.
type Kept<'k> = dyn Fn(Option<&(u32, u32)>) -> bool + 'k;

/// A belief that was found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) pair: u32,
    pub(crate) slot: u32,
    /// Whether it was stated in the time that the words name.
    pub(crate) in_time: bool,
}

fn places(found: Vec<(u32, u32)>, in_time: bool) -> Vec<Place> {
    let place = |(pair, slot)| Place {
        pair,
        slot,
        in_time,
    };
    found.into_iter().map(place).collect()
}

impl<'v> Find<'v> {
    pub(crate) fn new(view: &'v View, at: Option<Timestamp>) -> Self {
        Self {
            view,
            at,
            then: RefCell::default(),
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

    /// The belief that an event stands for, if it was believed.
    pub(crate) fn belief(&self, no: u32, slot: u32) -> Option<(&'v Pair, Belief)> {
        let pair = self.view.pair(no)?;
        let believed = self.believed(no, pair);
        let belief = believed.find(pair.value(slot)?, |slot| pair.event(slot))?;
        (belief.slot == slot).then(|| (pair, belief.clone()))
    }

    /// Ranks by words, best first, at most `limit`. A time that the words name is searched first.
    pub(crate) fn rank(
        &self,
        text: &str,
        now: Timestamp,
        limit: usize,
        keep: &dyn Fn(&Pair, &Event) -> bool,
    ) -> Vec<Place> {
        let spans = search::time::spans(text, now);
        if spans.is_empty() {
            return places(self.rank_once(text, now, limit, keep), false);
        }
        let within = |event: &Event| {
            let at = event.observed;
            spans.iter().any(|span| span.from <= at && at < span.to)
        };
        let inside = |pair: &Pair, event: &Event| within(event) && keep(pair, event);
        let outside = |pair: &Pair, event: &Event| !within(event) && keep(pair, event);
        let mut found = places(self.rank_once(text, now, limit, &inside), true);
        if found.len() < limit {
            let rest = limit - found.len();
            found.extend(places(self.rank_once(text, now, rest, &outside), false));
        }
        found
    }

    fn rank_once(
        &self,
        text: &str,
        now: Timestamp,
        limit: usize,
        keep: &dyn Fn(&Pair, &Event) -> bool,
    ) -> Vec<(u32, u32)> {
        let query = Query { text, limit, now };
        let kept = |place: Option<&(u32, u32)>| {
            let Some((no, slot)) = place else {
                return false;
            };
            let pair = self.view.pair(*no);
            let event = pair.and_then(|pair| Some((pair, pair.events.get(*slot as usize)?)));
            event.is_some_and(|(pair, event)| {
                keep(pair, event) && (self.at.is_none() || self.belief(*no, *slot).is_some())
            })
        };
        let items = &self.view.items;
        let place = |item: u32| items.get(item as usize);
        let hits = self.view.index.search(&query, &|item| kept(place(item)));
        let found = hits
            .iter()
            .filter_map(|hit| Some((hit.score, *place(hit.item)?)));
        if self.at.is_none() {
            return found.map(|(_, place)| place).collect();
        }
        let mut found: Vec<_> = found.collect();
        found.extend(self.rank_past(&query, &kept));
        found.sort_by(|(one, _), (two, _)| two.partial_cmp(one).unwrap_or(Ordering::Equal));
        let mut places: Vec<_> = found.into_iter().map(|(_, place)| place).collect();
        let mut seen = std::collections::HashSet::new();
        places.retain(|place| seen.insert(*place));
        places.truncate(limit);
        places
    }

    fn rank_past(&self, query: &Query<'_>, kept: &Kept<'_>) -> Vec<(f32, (u32, u32))> {
        let mut past = self.view.past.lock();
        past.follow(self.view);
        let place = |item: u32| past.items.get(item as usize);
        let hits = past.index.search(query, &|item| kept(place(item)));
        let found = hits
            .iter()
            .filter_map(|hit| Some((hit.score, *place(hit.item)?)));
        found.collect()
    }

    /// Ranks statements that were ever made, believed or not, by their words.
    pub(crate) fn rank_ever(
        &self,
        text: &str,
        now: Timestamp,
        limit: usize,
        keep: &dyn Fn(&Pair) -> bool,
    ) -> Vec<u32> {
        let query = Query { text, limit, now };
        let kept = |place: Option<&(u32, u32)>| {
            let pair = place.and_then(|(no, _)| self.view.pair(*no));
            pair.is_some_and(keep)
        };
        let items = &self.view.items;
        let now_hits = self
            .view
            .index
            .search(&query, &|item| kept(items.get(item as usize)));
        let mut found: Vec<(f32, u32)> = now_hits
            .iter()
            .filter_map(|hit| Some((hit.score, items.get(hit.item as usize)?.0)))
            .collect();
        let past = self.rank_past(&query, &kept).into_iter();
        found.extend(past.map(|(score, (no, _))| (score, no)));
        found.sort_by(|(one, _), (two, _)| two.partial_cmp(one).unwrap_or(Ordering::Equal));
        let mut pairs = Vec::new();
        for (_, no) in found {
            if !pairs.contains(&no) && pairs.len() < limit {
                pairs.push(no);
            }
        }
        pairs
    }
}
