//! Taking an event in: where it belongs, what it changes, and what the index must forget or learn.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::mem;

use super::items::IndexText;
use super::{Pair, View};
use crate::answer::count;
use crate::event::{Event, Placed};
use crate::fold::{Belief, Believed, NO_ITEM, Step};
use crate::registry::{Definition, REGISTRY_PREDICATE, REGISTRY_SUBJECT};
use crate::sentence;
use crate::value::Value;

impl View {
    /// Puts an event to its pair, without asking what it means. `None` for a definition.
    pub(super) fn place(&mut self, placed: Placed) -> Option<(u32, u32)> {
        if &*placed.subject == REGISTRY_SUBJECT && &*placed.predicate == REGISTRY_PREDICATE {
            self.define(&placed);
            return None;
        }
        let subject = self.subjects.subject(&placed.subject);
        let predicate = self.predicates.predicate(&placed.predicate);
        let no = self.pair_for(subject, predicate);
        let note = self
            .predicate(predicate)
            .is_some_and(|predicate| predicate.note);
        let mut event = placed.event;
        self.last_recorded = self.last_recorded.max(event.recorded);
        event.arrival = count(self.events);
        self.events += 1;
        self.heap += event.heap();
        let asserts = !event.retraction;
        if asserts {
            let (key, named) = (placed.written_by.as_ref(), placed.session.as_ref());
            event.session = self.sessions.of(key, named, event.observed);
        }
        let pair = self.pairs.get_mut(no as usize)?;
        let slot = u32::try_from(pair.events.len()).ok()?;
        if asserts && note {
            self.notes.insert(event.id.clone(), (no, slot));
        } else if let (true, Some(value)) = (asserts, &event.value) {
            *self.stated.entry(value_hash(subject, value)).or_default() += 1;
        }
        let source = event.evidence_id().filter(|_| asserts).cloned();
        for told in event.replaces() {
            self.ended_by.insert(told.id.clone(), (no, slot));
        }
        pair.push(event);
        if let Some(note) = source {
            self.drawn.entry(note).or_default().push((no, slot));
            self.note_quotes(no, slot);
        }
        Some((no, slot))
    }

    /// Whether any other pair of the subject may hold this value, at whatever time.
    pub(crate) fn maybe_elsewhere(&self, subject: u32, value: &Value) -> bool {
        let count = self.stated.get(&value_hash(subject, value));
        count.is_some_and(|count| *count > 1)
    }

    fn pair_for(&mut self, subject: u32, predicate: u32) -> u32 {
        if let Some(no) = self.pair_no(subject, predicate) {
            return no;
        }
        let no = self.pair_count();
        self.pairs.push(Pair {
            subject,
            predicate,
            events: Vec::new(),
            order: None,
            believed: Believed::default(),
        });
        self.pair_of.insert((subject, predicate), no);
        if let Some(subject) = self.subjects.get_mut(subject) {
            subject.pairs.push(no);
        }
        if let Some(predicate) = self.predicates.get_mut(predicate) {
            predicate.pairs.push(no);
        }
        no
    }

    fn define(&mut self, placed: &Placed) {
        self.last_recorded = self.last_recorded.max(placed.event.recorded);
        // A definition that cannot be read is one that another program understands.
        let Some((name, definition)) = Definition::read(placed) else {
            return;
        };
        let Some(no) = self.predicates.define(&name, definition) else {
            return;
        };
        self.defined += 1;
        let pairs = self.predicate(no).map(|it| it.pairs.clone());
        for pair in pairs.unwrap_or_default() {
            self.fold_again(pair);
        }
    }

    /// Lets the last event of a cluster take its effect.
    pub(super) fn settle(&mut self, pairs: &[u32], no: u32, slot: u32) {
        let mut state = self.take_state(pairs);
        let cluster = self.cluster(pairs);
        let member = (0..).zip(pairs).find(|(_, pair)| **pair == no);
        let step = Step {
            member: member.map_or(0, |(member, _)| member),
            slot,
        };
        let effect = cluster.step(&mut state, step);
        self.put_state(pairs, state);
        for (member, belief) in effect.ended {
            if let Some(pair) = pairs.get(member as usize) {
                self.forget(*pair, &belief);
            }
        }
        if effect.began {
            self.learn(no, slot);
        }
    }

    /// Folds a pair's cluster from nothing and tells the index what came of it.
    pub(super) fn fold_again(&mut self, no: u32) {
        let Some(pair) = self.pair(no) else { return };
        let pairs = self.cluster_pairs(pair);
        let before = self.take_state(&pairs);
        let after = self.cluster(&pairs).fold(None);
        let mut new = Vec::new();
        let mut gone = Vec::new();
        let mut state = Vec::new();
        for ((pair, before), mut after) in pairs.iter().zip(before).zip(after) {
            let mut old: HashMap<u32, Belief> = before
                .iter()
                .map(|belief| (belief.slot, belief.clone()))
                .collect();
            for belief in after.iter_mut() {
                match old.remove(&belief.slot) {
                    Some(same) => belief.item = same.item,
                    None => new.push((*pair, belief.slot)),
                }
            }
            gone.extend(old.into_values().map(|belief| (*pair, belief)));
            state.push(after);
        }
        self.put_state(&pairs, state);
        for (pair, belief) in gone {
            self.forget(pair, &belief);
        }
        for (pair, slot) in new {
            self.learn(pair, slot);
        }
    }

    /// Works out anew what one value's belief is, in a cluster where values do not replace each
    /// other.
    fn fold_value_again(&mut self, pairs: &[u32], value: &Value) {
        let state = self.cluster(pairs).fold_value(None, value);
        let (mut gone, mut new) = (Vec::new(), Vec::new());
        for (no, state) in pairs.iter().zip(state) {
            let Some(Pair {
                events, believed, ..
            }) = self.pairs.get_mut(*no as usize)
            else {
                continue;
            };
            let of = |slot: u32| events.get(slot as usize);
            let now = state.iter().next();
            if let (Some(old), Some(now)) = (believed.find_mut(value, of), now)
                && old.slot == now.slot
            {
                let now = Belief {
                    item: old.item,
                    ..now.clone()
                };
                match old.since == now.since {
                    true => *old = now,
                    // It stands elsewhere among the others.
                    false => {
                        believed.remove(value, of);
                        believed.insert(now, of);
                    }
                }
                continue;
            }
            gone.extend(believed.remove(value, of).map(|old| (*no, old)));
            if let Some(now) = now {
                believed.insert(now.clone(), of);
                new.push((*no, now.slot));
            }
        }
        for (no, belief) in gone {
            self.forget(no, &belief);
        }
        for (no, slot) in new {
            self.learn(no, slot);
        }
    }

    /// Lets events take effect that go into the past of their clusters.
    pub(super) fn settle_late(&mut self, late: &[(u32, u32)]) {
        let mut rest = late;
        while let Some((first, _)) = rest.first() {
            let Some(pair) = self.pair(*first) else {
                return;
            };
            let pairs = self.cluster_pairs(pair);
            let own = rest.iter().take_while(|(no, _)| pairs.contains(no)).count();
            let (events, others) = rest.split_at(own);
            match self.values_of(&pairs, events) {
                Some(values) => values
                    .iter()
                    .for_each(|value| self.fold_value_again(&pairs, value)),
                None => self.fold_again(*first),
            }
            rest = others;
        }
        for (no, slot) in late {
            self.note_superseded(*no, *slot);
        }
    }

    /// The values that events speak of, if each can be looked at alone and they are few.
    fn values_of(&self, pairs: &[u32], events: &[(u32, u32)]) -> Option<Vec<Value>> {
        /// Beyond this, folding the whole cluster costs less.
        const FEW: usize = 16;
        let cluster = self.cluster(pairs);
        if events.len() > FEW || cluster.members.iter().any(|member| member.single) {
            return None;
        }
        let value = |(no, slot): &(u32, u32)| self.pair(*no)?.value(*slot).cloned();
        events.iter().map(value).collect()
    }

    /// Whether an event comes after all others of its cluster.
    pub(super) fn is_last(&self, pairs: &[u32], no: u32, slot: u32) -> bool {
        let Some(event) = self
            .pair(no)
            .and_then(|pair| pair.events.get(slot as usize))
        else {
            return false;
        };
        pairs.iter().all(|other| {
            let last = self.pair(*other).and_then(Pair::last);
            last.is_none_or(|(place, last)| {
                (*other == no && place == slot) || last.order() < event.order()
            })
        })
    }

    fn take_state(&mut self, pairs: &[u32]) -> Vec<Believed> {
        let taken = pairs
            .iter()
            .map(|no| match self.pairs.get_mut(*no as usize) {
                Some(pair) => mem::take(&mut pair.believed),
                None => Believed::default(),
            });
        taken.collect()
    }

    fn put_state(&mut self, pairs: &[u32], state: Vec<Believed>) {
        for (no, believed) in pairs.iter().zip(state) {
            if let Some(pair) = self.pairs.get_mut(*no as usize) {
                pair.believed = believed;
            }
        }
    }

    /// A belief ended: it is found no more.
    fn forget(&mut self, no: u32, belief: &Belief) {
        if belief.item != NO_ITEM {
            self.unindex(no, belief);
            self.count(no, |count| count.saturating_sub(1));
        }
        self.superseded.push((no, belief.slot));
    }

    /// Takes all items of an event out of the index; they lie one behind the other.
    fn unindex(&mut self, no: u32, belief: &Belief) {
        let own = (no, belief.slot);
        let items = self.items.iter().skip(belief.item as usize);
        let end = belief.item + count(items.take_while(|place| **place == own).count());
        for item in belief.item..end {
            self.index.remove(item);
        }
    }

    /// A belief began: it is found from now on.
    pub(super) fn learn(&mut self, no: u32, slot: u32) {
        let Some(item) = self.index_event(no, slot) else {
            return;
        };
        self.count(no, |count| count.saturating_add(1));
        let Some(pair) = self.pairs.get_mut(no as usize) else {
            return;
        };
        let events = &pair.events;
        let value = events
            .get(slot as usize)
            .and_then(|event| event.value.as_ref());
        let belief = value.and_then(|value| {
            pair.believed
                .find_mut(value, |slot| events.get(slot as usize))
        });
        if let Some(belief) = belief {
            belief.item = item;
        }
    }

    /// Puts an event into the index and answers with the first of its items.
    fn index_event(&mut self, no: u32, slot: u32) -> Option<u32> {
        let pair = self.pairs.get(no as usize)?;
        let text = self.index_text(pair, slot)?;
        let first = self.items.len();
        for item in text.items() {
            self.index.insert_at(&item, text.place(), text.name());
            self.items.push((no, slot));
        }
        self.several |= self.items.len() > first + 1;
        u32::try_from(first).ok()
    }

    /// What the index is told of an event.
    pub(super) fn index_text(&self, pair: &Pair, slot: u32) -> Option<IndexText> {
        let event = pair.events.get(slot as usize)?;
        let subject = self.subject_name(pair);
        let text = sentence::indexed(&subject, &self.predicate_name(pair), event);
        let named = self.sessions.is_named(event.session);
        let note = self.is_note(pair);
        let mut text = IndexText::new(text, subject, note, named, event);
        if let Some(Value::Text(value)) = event.value.as_ref().filter(|_| !note) {
            text.set_name(value.as_str());
        }
        Some(text)
    }

    fn note_superseded(&mut self, no: u32, slot: u32) {
        let Some(pair) = self.pair(no) else { return };
        let event = pair.events.get(slot as usize);
        let stated = event
            .filter(|event| !event.retraction)
            .and_then(|event| event.value.as_ref());
        if stated.is_some_and(|value| pair.holds(value) != Some(slot)) {
            self.superseded.push((no, slot));
        }
    }

    fn count(&mut self, no: u32, change: impl Fn(u32) -> u32) {
        let Some(pair) = self.pairs.get(no as usize) else {
            return;
        };
        self.held = change(self.held);
        if let Some(subject) = self.subjects.get_mut(pair.subject) {
            subject.held = change(subject.held);
        }
        if let Some(predicate) = self.predicates.get_mut(pair.predicate) {
            predicate.held = change(predicate.held);
        }
    }
}

impl Pair {
    fn push(&mut self, event: Event) {
        let slot = u32::try_from(self.events.len()).unwrap_or(u32::MAX);
        let in_order = self
            .last()
            .is_none_or(|(_, last)| last.order() < event.order());
        if !in_order && self.order.is_none() {
            self.order = Some((0..slot).collect());
        }
        if let Some(order) = &mut self.order {
            let place = order.partition_point(|other| {
                let other = self.events.get(*other as usize);
                other.is_some_and(|other| other.order() < event.order())
            });
            order.insert(place, slot);
        }
        if self.events.len() == self.events.capacity() {
            self.events.reserve_exact(self.events.len() / 2 + 1);
        }
        self.events.push(event);
    }

    /// The last event in fold order, with its slot.
    pub(crate) fn last(&self) -> Option<(u32, &Event)> {
        let slot = match &self.order {
            Some(order) => *order.last()?,
            None => u32::try_from(self.events.len()).ok()?.checked_sub(1)?,
        };
        Some((slot, self.events.get(slot as usize)?))
    }

    /// The events in fold order, each with its place.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = (u32, &Event)> {
        let order = self.order.as_deref().map(|order| order.iter());
        let plain = (0..).zip(&self.events);
        let plain = plain.filter(move |_| self.order.is_none());
        let ordered = order
            .into_iter()
            .flatten()
            .filter_map(|slot| Some((*slot, self.events.get(*slot as usize)?)));
        ordered.chain(plain)
    }

    /// The event by which a value is believed now.
    pub(crate) fn holds(&self, value: &Value) -> Option<u32> {
        let belief = self.believed.find(value, |slot| self.event(slot))?;
        Some(belief.slot)
    }

    pub(crate) fn event(&self, slot: u32) -> Option<&Event> {
        self.events.get(slot as usize)
    }

    pub(crate) fn value(&self, slot: u32) -> Option<&Value> {
        self.event(slot)?.value.as_ref()
    }
}

fn value_hash(subject: u32, value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    subject.hash(&mut hasher);
    value.key().hash(&mut hasher);
    hasher.finish()
}
