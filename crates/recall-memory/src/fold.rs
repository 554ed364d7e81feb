//! The fold: from events to what is believed. Pure, and the only place where the rules of belief
//! live: replacing, adding, withdrawing, and ending the same value under an excluded predicate.
//!
//! Predicates that exclude each other are folded together as a [`Cluster`], because each statement
//! under one may end a belief under another.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;

use crate::event::{Event, OrderKey};
use crate::value::{Value, ValueKey};

/// A belief that has no item in the search index.
pub(crate) const NO_ITEM: u32 = u32::MAX;
/// Beliefs of a pair up to which looking through them beats a table.
const LOOKUP_FROM: usize = 16;

/// How far from its place in the order of events a belief is looked for: as many as are written at once.
const BATCH: usize = 128;

/// A value that is believed.
#[derive(Clone, Debug)]
pub(crate) struct Belief {
    /// The event that states it: the latest one that does.
    pub(crate) slot: u32,
    /// The event since which it is believed, which gives its place among the others.
    pub(crate) since: u32,
    /// Its item in the search index.
    pub(crate) item: u32,
    /// What it replaced, one step back.
    pub(crate) replaced: Option<Box<[Former]>>,
}

/// What a belief replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Former {
    /// The pair it was believed under.
    pub(crate) pair: u32,
    /// The event that stated it, or the one that tells of it.
    pub(crate) slot: u32,
    /// Its place in the `replaces` of that event; [`Former::HERE`] when the event is itself meant.
    pub(crate) told: u32,
}

impl Former {
    pub(crate) const HERE: u32 = u32::MAX;
}

/// What is believed of one pair, in the order of first mention.
#[derive(Clone, Debug, Default)]
pub(crate) struct Believed {
    list: Vec<Belief>,
    /// From the value to the event since which it is believed; only where there are many.
    lookup: Option<Box<Lookup>>,
}

/// Apart, so that the many pairs without one stay small.
#[derive(Clone, Debug)]
struct Lookup(HashMap<ValueKey, u32>);

/// One pair of a cluster.
#[derive(Debug)]
pub(crate) struct Member<'a> {
    /// The pair's number in the view, or one that stands for it.
    pub(crate) pair: u32,
    pub(crate) predicate: &'a Arc<str>,
    pub(crate) single: bool,
    /// The members whose same value a statement here ends.
    pub(crate) ends: Vec<u32>,
    pub(crate) events: &'a [Event],
    /// Fold order of `events`; `None` when they lie in it.
    pub(crate) order: Option<&'a [u32]>,
    /// Events that are decided but not yet written; their slots follow those of `events`.
    pub(crate) added: Vec<&'a Event>,
}

/// Pairs of one subject that are folded together.
#[derive(Debug)]
pub(crate) struct Cluster<'a> {
    pub(crate) members: Vec<Member<'a>>,
}

/// One event's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) member: u32,
    pub(crate) slot: u32,
}

/// What a step changed.
#[derive(Debug, Default)]
pub(crate) struct Effect {
    /// Beliefs that ended, with the member they belonged to.
    pub(crate) ended: Vec<(u32, Belief)>,
    /// Whether the step's own event is believed now.
    pub(crate) began: bool,
    /// Whether it restates the value that was believed already.
    pub(crate) restated: bool,
}

impl Member<'_> {
    pub(crate) fn event(&self, slot: u32) -> Option<&Event> {
        let slot = slot as usize;
        match slot.checked_sub(self.events.len()) {
            None => self.events.get(slot),
            Some(rest) => self.added.get(rest).copied(),
        }
    }

    /// The slots in fold order.
    fn slots(&self) -> Vec<u32> {
        let count = u32::try_from(self.events.len()).unwrap_or(u32::MAX);
        let mut slots: Vec<u32> = match self.order {
            Some(order) => order.to_vec(),
            None => (0..count).collect(),
        };
        if !self.added.is_empty() {
            slots.extend((count..).take(self.added.len()));
            slots.sort_by(|one, two| self.order_of(*one).cmp(&self.order_of(*two)));
        }
        slots
    }

    fn order_of(&self, slot: u32) -> Option<OrderKey<'_>> {
        self.event(slot).map(Event::order)
    }

    /// The instant of the last event in fold order.
    pub(crate) fn last(&self) -> Option<Timestamp> {
        let stored = match self.order {
            Some(order) => order.last().and_then(|slot| self.event(*slot)),
            None => self.events.last(),
        };
        let stored = stored.map(|event| event.observed);
        stored.max(self.added.iter().map(|event| event.observed).max())
    }
}

impl Cluster<'_> {
    pub(crate) fn member(&self, member: u32) -> Option<&Member<'_>> {
        self.members.get(member as usize)
    }

    pub(crate) fn event(&self, step: Step) -> Option<&Event> {
        self.member(step.member)?.event(step.slot)
    }

    /// The instant of the cluster's last event.
    pub(crate) fn last(&self) -> Option<Timestamp> {
        self.members.iter().filter_map(Member::last).max()
    }

    /// Every event's turn, in fold order, up to and at `until`.
    pub(crate) fn steps(&self, until: Option<Timestamp>) -> Vec<Step> {
        self.steps_of(until, None)
    }

    /// As [`steps`](Self::steps), where pairs with many values show only what bears on `value`.
    fn steps_of(&self, until: Option<Timestamp>, value: Option<&Value>) -> Vec<Step> {
        let bears = |member: &Member<'_>, event: &Event| {
            let same = |value: &Value| event.value.as_ref().is_none_or(|other| other.same(value));
            member.single || value.is_none_or(same)
        };
        let mut steps: Vec<Step> = (0..)
            .zip(&self.members)
            .flat_map(|(member, pair)| {
                let slots = pair.slots().into_iter();
                slots.map(move |slot| Step { member, slot })
            })
            .filter(|step| {
                let found = self.member(step.member).zip(self.event(*step));
                found.is_some_and(|(member, event)| {
                    until.is_none_or(|until| event.observed <= until) && bears(member, event)
                })
            })
            .collect();
        if self.members.len() > 1 {
            steps.sort_by(|one, two| {
                let order = |step: &Step| self.event(*step).map(Event::order);
                order(one).cmp(&order(two))
            });
        }
        steps
    }

    /// What is believed of each member at `until`, from nothing.
    pub(crate) fn fold(&self, until: Option<Timestamp>) -> Vec<Believed> {
        self.fold_steps(self.steps(until))
    }

    /// As [`fold`](Self::fold), where pairs with many values show only whether `value` is believed.
    pub(crate) fn fold_value(&self, until: Option<Timestamp>, value: &Value) -> Vec<Believed> {
        self.fold_steps(self.steps_of(until, Some(value)))
    }

    fn fold_steps(&self, steps: Vec<Step>) -> Vec<Believed> {
        let mut state = vec![Believed::default(); self.members.len()];
        for step in steps {
            self.step(&mut state, step);
        }
        state
    }

    /// Gives one event its turn. Events must come in fold order.
    pub(crate) fn step(&self, state: &mut [Believed], step: Step) -> Effect {
        let mut effect = Effect::default();
        let Some((member, event)) = self.member(step.member).zip(self.event(step)) else {
            return effect;
        };
        match &event.value {
            Some(value) if !event.retraction => {
                self.assert(state, step, member, event, value, &mut effect);
            }
            Some(value) => self.end(state, step.member, value, &mut effect),
            None => {
                if let Some(own) = state.get_mut(step.member as usize) {
                    let ended = own.clear().into_iter();
                    effect
                        .ended
                        .extend(ended.map(|belief| (step.member, belief)));
                }
            }
        }
        effect
    }

    fn assert(
        &self,
        state: &mut [Believed],
        step: Step,
        member: &Member<'_>,
        event: &Event,
        value: &Value,
        effect: &mut Effect,
    ) {
        let mut replaced: Vec<Former> = Vec::new();
        let mut since = step.slot;
        match member.single {
            true => {
                let own = state.get_mut(step.member as usize);
                for old in own.map(Believed::clear).unwrap_or_default() {
                    let old_value = member.event(old.slot).and_then(|old| old.value.as_ref());
                    effect.restated = old_value.is_some_and(|old| old.same(value));
                    match effect.restated {
                        true => replaced.extend(old.replaced.iter().flatten().copied()),
                        false => replaced.push(Former {
                            pair: member.pair,
                            slot: old.slot,
                            told: Former::HERE,
                        }),
                    }
                    effect.ended.push((step.member, old));
                }
            }
            false => {
                self.end(state, step.member, value, effect);
                effect.restated = !effect.ended.is_empty();
                since = effect.ended.first().map_or(since, |(_, old)| old.since);
                let old = effect
                    .ended
                    .iter()
                    .filter_map(|(_, old)| old.replaced.as_ref());
                replaced.extend(old.flatten().copied());
            }
        }
        for other in &member.ends {
            let before = effect.ended.len();
            self.end(state, *other, value, effect);
            let pair = self.member(*other).map_or(u32::MAX, |other| other.pair);
            replaced.extend(effect.ended.iter().skip(before).map(|(_, old)| Former {
                pair,
                slot: old.slot,
                told: Former::HERE,
            }));
        }
        replaced.extend((0..).zip(event.replaces()).map(|(told, _)| Former {
            pair: member.pair,
            slot: step.slot,
            told,
        }));
        self.without_repeats(&mut replaced);
        effect.began = true;
        if let Some(own) = state.get_mut(step.member as usize) {
            own.insert(
                Belief {
                    slot: step.slot,
                    since,
                    item: NO_ITEM,
                    replaced: (!replaced.is_empty()).then(|| replaced.into_boxed_slice()),
                },
                |slot| member.event(slot),
            );
        }
    }

    fn end(&self, state: &mut [Believed], of: u32, value: &Value, effect: &mut Effect) {
        let Some((member, held)) = self.member(of).zip(state.get_mut(of as usize)) else {
            return;
        };
        let ended = held.remove(value, |slot| member.event(slot));
        effect.ended.extend(ended.map(|belief| (of, belief)));
    }

    /// The event that a former belief was stated by, where its pair is of this cluster.
    pub(crate) fn former(&self, former: Former) -> Option<(&Member<'_>, &Event)> {
        let member = self
            .members
            .iter()
            .find(|member| member.pair == former.pair)?;
        Some((member, member.event(former.slot)?))
    }

    /// One belief may have ended in two ways, by an exclusion and by being named; it counts once.
    fn without_repeats(&self, replaced: &mut Vec<Former>) {
        if replaced.len() < 2 {
            return;
        }
        let id = |former: &Former| {
            let (_, event) = self.former(*former)?;
            match former.told {
                Former::HERE => Some(&event.id),
                told => event.replaces().get(told as usize).map(|told| &told.id),
            }
        };
        let ids: Vec<_> = replaced.iter().map(id).collect();
        let first: Vec<bool> = (0..ids.len())
            .map(|at| {
                let (before, rest) = ids.split_at(at);
                rest.first().is_some_and(|id| !before.contains(id))
            })
            .collect();
        let mut keep = first.into_iter();
        replaced.retain(|_| keep.next().unwrap_or(true));
    }
}

impl Believed {
    /// The beliefs, in the order of first mention.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Belief> + Clone {
        self.list.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Belief> {
        self.list.iter_mut()
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// The belief of a value; `of` gives the event of a slot.
    pub(crate) fn find<'e>(
        &self,
        value: &Value,
        of: impl Fn(u32) -> Option<&'e Event>,
    ) -> Option<&Belief> {
        self.list.get(self.place(value, of)?)
    }

    /// The belief that an event states.
    pub(crate) fn stated_by<'e>(
        &self,
        slot: u32,
        of: impl Fn(u32) -> Option<&'e Event>,
    ) -> Option<&Belief> {
        // Most are stated by the event since which they are believed: no value has to be looked up.
        let first = self
            .place_since(slot)
            .and_then(|place| self.list.get(place));
        first.filter(|it| it.slot == slot).or_else(|| {
            let found = self.find(of(slot)?.value.as_ref()?, of);
            found.filter(|it| it.slot == slot)
        })
    }

    pub(crate) fn find_mut<'e>(
        &mut self,
        value: &Value,
        of: impl Fn(u32) -> Option<&'e Event>,
    ) -> Option<&mut Belief> {
        let place = self.place(value, of)?;
        self.list.get_mut(place)
    }

    /// Puts a belief among the others, by the event since which it is believed.
    pub(crate) fn insert<'e>(&mut self, belief: Belief, of: impl Fn(u32) -> Option<&'e Event>) {
        let Some(event) = of(belief.since) else {
            return;
        };
        if self.list.len() == self.list.capacity() {
            self.list.reserve_exact(self.list.len() / 2 + 1);
        }
        if let (Some(lookup), Some(value)) = (&mut self.lookup, &event.value) {
            lookup.0.insert(value.key(), belief.since);
        }
        let last = self.list.last().and_then(|last| of(last.since));
        match last.is_none_or(|last| last.order() < event.order()) {
            true => self.list.push(belief),
            false => self.list.insert(self.rank(event, &of), belief),
        }
        if self.lookup.is_none() && self.list.len() > LOOKUP_FROM {
            let key =
                |belief: &Belief| Some((of(belief.since)?.value.as_ref()?.key(), belief.since));
            self.lookup = Some(Box::new(Lookup(self.list.iter().filter_map(key).collect())));
        }
    }

    pub(crate) fn remove<'e>(
        &mut self,
        value: &Value,
        of: impl Fn(u32) -> Option<&'e Event>,
    ) -> Option<Belief> {
        let place = self.place(value, of)?;
        if let Some(lookup) = &mut self.lookup {
            lookup.0.remove(&value.key());
        }
        Some(self.list.remove(place))
    }

    fn place<'e>(&self, value: &Value, of: impl Fn(u32) -> Option<&'e Event>) -> Option<usize> {
        match &self.lookup {
            Some(lookup) => {
                let since = *lookup.0.get(&value.key())?;
                match self.place_since(since) {
                    Some(place) => Some(place),
                    None => Some(self.rank(of(since)?, of)),
                }
            }
            None => self.list.iter().position(|belief| {
                let held = of(belief.slot).and_then(|event| event.value.as_ref());
                held.is_some_and(|held| held.same(value))
            }),
        }
    }

    /// The place of what is believed since an event. Events come in their order as a rule, and those of one
    /// batch, which are of one instant, close to it; to look at each event is to wait for memory. Where they
    /// came otherwise, it may not be found.
    fn place_since(&self, event: u32) -> Option<usize> {
        let is = |it: &Belief| it.since == event;
        // Where nothing was ever taken back.
        if self.list.get(event as usize).is_some_and(is) {
            return Some(event as usize);
        }
        match self.list.binary_search_by_key(&event, |it| it.since) {
            Ok(place) => Some(place),
            Err(near) => {
                let from = near.saturating_sub(BATCH);
                let around = self.list.iter().skip(from).take(2 * BATCH);
                around.into_iter().position(is).map(|at| from + at)
            }
        }
    }

    /// How many beliefs come before an event.
    fn rank<'e>(&self, event: &Event, of: impl Fn(u32) -> Option<&'e Event>) -> usize {
        let before =
            |belief: &Belief| of(belief.since).is_some_and(|it| it.order() < event.order());
        self.list.partition_point(before)
    }

    fn clear(&mut self) -> Vec<Belief> {
        self.lookup = None;
        std::mem::take(&mut self.list)
    }
}

#[cfg(test)]
mod tests;
