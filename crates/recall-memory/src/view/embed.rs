//! What of a view has no vector yet.

use std::collections::HashMap;

use super::View;
use crate::event_id::EventId;
use crate::vectors::At;

/// A statement that is believed and has no vector.
#[derive(Debug)]
pub(crate) struct Unembedded {
    pub(crate) at: At,
    pub(crate) id: EventId,
    pub(crate) text: String,
}

impl View {
    /// Statements among the index items from `from` on that `has` does not know, at most `most`, and
    /// the item to go on from. Later statements only ever get later items.
    pub(crate) fn unembedded(
        &self,
        from: usize,
        most: usize,
        has: impl Fn(At) -> bool,
    ) -> (Vec<Unembedded>, usize) {
        let mut found: Vec<Unembedded> = Vec::new();
        // A view that was built anew may be shorter than the one that was looked at.
        let from = if from > self.items.len() { 0 } else { from };
        for (no, at) in self.items.iter().enumerate().skip(from) {
            if found.len() >= most {
                return (found, no);
            }
            let again = found.last().is_some_and(|last| last.at == *at);
            if !again && !has(*at) {
                found.extend(self.to_embed(*at));
            }
        }
        (found, self.items.len())
    }

    /// How many statements among `most` index items from `from` on `has` does not know, and the item to
    /// go on from, if there is one.
    pub(crate) fn waiting(
        &self,
        from: usize,
        most: usize,
        has: impl Fn(At) -> bool,
    ) -> (usize, Option<usize>) {
        let items = self.items.get(from..).unwrap_or_default();
        let page = items.get(..most).unwrap_or(items);
        let mut places: Vec<At> = page.to_vec();
        places.dedup();
        let waits = |at: &&At| !has(**at) && self.is_held(**at).is_some();
        let count = places.iter().filter(waits).count();
        (
            count,
            (page.len() < items.len()).then_some(from + page.len()),
        )
    }

    /// Whether a statement is believed.
    fn is_held(&self, (no, slot): At) -> Option<()> {
        let pair = self.pair(no)?;
        let value = pair.event(slot)?.value.as_ref()?;
        (pair.holds(value) == Some(slot)).then_some(())
    }

    fn to_embed(&self, at: At) -> Option<Unembedded> {
        self.is_held(at)?;
        let (no, slot) = at;
        let pair = self.pair(no)?;
        let event = pair.event(slot)?;
        Some(Unembedded {
            at,
            id: event.id.clone(),
            text: self.index_text(pair, slot)?.into_text(),
        })
    }

    /// How many items the index was ever given.
    pub(crate) fn items_given(&self) -> usize {
        self.items.len()
    }

    /// Where each event is, by its id.
    pub(crate) fn event_places(&self) -> HashMap<String, At> {
        let pairs = (0..).zip(&self.pairs);
        let places = pairs.flat_map(|(no, pair)| {
            let events = (0..).zip(&pair.events);
            events.map(move |(slot, event)| (event.id.to_string(), (no, slot)))
        });
        places.collect()
    }
}
