//! Ranking beliefs by words.
//!
//! What is believed is searched in the index of the present. A statement that no longer stands still
//! lends its words, discounted, to the belief that took its place, so that a question in old words
//! finds the current value. It never comes back itself.

use std::cmp::Ordering;
use std::collections::HashSet;

use jiff::Timestamp;

use super::{Find, Pair};
use crate::answer::{Indexes, Vectors, count};
use crate::event::Event;
use crate::search::{self, Filter, Hit, ItemNo, Query};
use crate::vectors::{At, fuse};

/// What the words of a replaced statement are worth to what took its place.
const LENT: f32 = 0.6;
/// How far two lists are joined.
const JOINED: usize = 100;
/// Items that are looked at to fill a page, where several of them may be one belief.
const MAX_LOOKED_AT: usize = 8_192;

/// A belief that was found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) pair: u32,
    pub(crate) slot: u32,
    /// Whether it was stated in the time that the words name.
    pub(crate) in_time: bool,
}

/// Beliefs that were found, best first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranked {
    pub(crate) places: Vec<Place>,
    /// How many share words with the question, or stand beside one that does.
    pub(crate) considered: u32,
    pub(crate) indexes: Indexes,
}

/// Which beliefs are asked for.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    /// The most.
    pub(crate) limit: usize,
    /// Whether all that is believed is in scope, so that nothing need be filtered.
    pub(crate) all: bool,
    pub(crate) keep: &'a dyn Fn(&Pair, &Event) -> bool,
}

type Scored = (f32, At);

impl<'v> Find<'v> {
    /// Ranks by words. A time that the words name is searched first.
    pub(crate) fn rank(&self, text: &str, now: Timestamp, wanted: &Wanted<'_>) -> Ranked {
        let spans = search::time::spans(text, now);
        let mut ranked = Ranked {
            indexes: self.indexes(),
            ..Ranked::default()
        };
        if spans.is_empty() {
            self.rank_once(text, now, wanted, false, &mut ranked);
            return ranked;
        }
        let within = |event: &Event| {
            let at = event.observed;
            spans.iter().any(|span| span.from <= at && at < span.to)
        };
        let [mut inside, mut outside] = [true, false].map(|in_time| {
            let keep =
                |pair: &Pair, event: &Event| within(event) == in_time && (wanted.keep)(pair, event);
            let wanted = Wanted {
                limit: wanted.limit,
                all: false,
                keep: &keep,
            };
            let mut part = Ranked::default();
            self.rank_once(text, now, &wanted, in_time, &mut part);
            part
        });
        // What was said at that time comes first but does not crowd out what matches better.
        let room = outside.places.len().min(wanted.limit / 2);
        inside.places.truncate(wanted.limit - room);
        outside.places.truncate(wanted.limit - inside.places.len());
        ranked.considered = inside.considered + outside.considered;
        ranked.places = inside.places;
        ranked.places.append(&mut outside.places);
        ranked
    }

    fn indexes(&self) -> Indexes {
        Indexes {
            vectors: self.near.map_or(Vectors::Off, |(_, near)| near.state),
            ..Indexes::WORDS
        }
    }

    fn rank_once(
        &self,
        text: &str,
        now: Timestamp,
        wanted: &Wanted<'_>,
        in_time: bool,
        ranked: &mut Ranked,
    ) {
        let nearest = self.nearest(wanted);
        let query = Query {
            text,
            limit: match nearest.is_empty() {
                true => wanted.limit,
                false => wanted.limit.max(JOINED),
            },
            now,
        };
        let (mut found, touched) = self.present(&query, wanted);
        let lent = self.past(&query, wanted);
        if !lent.is_empty() {
            found.extend(lent);
            best_first(&mut found);
        }
        let words: Vec<At> = found.into_iter().map(|(_, at)| at).collect();
        let joined = match nearest.is_empty() {
            true => words,
            false => fuse(&[words, nearest]),
        };
        let places = joined
            .into_iter()
            .take(wanted.limit)
            .map(|(pair, slot)| Place {
                pair,
                slot,
                in_time,
            });
        let before = ranked.places.len();
        ranked.places.extend(places);
        ranked.considered += touched.max(count(ranked.places.len() - before));
    }

    /// What is believed and lies nearest to the question by vectors, nearest first.
    fn nearest(&self, wanted: &Wanted<'_>) -> Vec<At> {
        let Some((table, near)) = self.near else {
            return Vec::new();
        };
        let Some(vector) = &near.vector else {
            return Vec::new();
        };
        let keep = |at: At| self.passes(at, wanted) && self.belief(at.0, at.1).is_some();
        table.nearest(vector, wanted.limit.max(JOINED), keep)
    }

    /// What is believed and matches, with how many match.
    fn present(&self, query: &Query<'_>, wanted: &Wanted<'_>) -> (Vec<Scored>, u32) {
        let view = self.view;
        let place = |item: ItemNo| view.items.get(item as usize).copied();
        let passes = |item: ItemNo| place(item).is_some_and(|at| self.passes(at, wanted));
        let held = |item: ItemNo| {
            self.at.is_none()
                || place(item).is_some_and(|(no, slot)| self.belief(no, slot).is_some())
        };
        let keep = |item: ItemNo| passes(item) && held(item);
        let filter = Filter {
            keep: &keep,
            counted: (!wanted.all).then_some(&passes),
        };
        let mut touched = 0;
        let whole = |item: ItemNo| Some((1.0, place(item)?));
        let found = distinct(query, whole, |query| {
            let found = view.index.find(query, &filter, None);
            touched = found.touched;
            found.hits
        });
        (found, touched)
    }

    /// What matches by a statement that is no longer believed, or was not yet replaced then.
    fn past(&self, query: &Query<'_>, wanted: &Wanted<'_>) -> Vec<Scored> {
        let past = &self.view.past;
        if past.index.is_empty() {
            return Vec::new();
        }
        let stands = |item: ItemNo| {
            let own = past.place(item)?;
            let at = self.successor(own.0, own.1)?;
            Some((if at == own { 1.0 } else { LENT }, at))
        };
        let keep = |item: ItemNo| stands(item).is_some_and(|(_, at)| self.passes(at, wanted));
        let filter = Filter {
            keep: &keep,
            counted: None,
        };
        distinct(query, stands, |query| {
            past.index.find(query, &filter, Some(&self.view.index)).hits
        })
    }

    fn passes(&self, (no, slot): At, wanted: &Wanted<'_>) -> bool {
        let pair = self.view.pair(no);
        let event = pair.and_then(|pair| Some((pair, pair.event(slot)?)));
        event.is_some_and(|(pair, event)| wanted.all || (wanted.keep)(pair, event))
    }

    /// Ranks the pairs whose statements, believed or not, match a question.
    pub(crate) fn rank_ever(
        &self,
        text: &str,
        now: Timestamp,
        limit: usize,
        keep: &dyn Fn(&Pair) -> bool,
    ) -> Vec<u32> {
        let view = self.view;
        let query = Query { text, limit, now };
        let kept = |at: Option<At>| {
            let (no, _) = at?;
            view.pair(no)
                .filter(|pair| keep(pair))
                .map(|_| (1.0, (no, 0)))
        };
        let now = |item: ItemNo| kept(view.items.get(item as usize).copied());
        let then = |item: ItemNo| kept(view.past.place(item));
        let mut found = distinct(&query, now, |query| {
            view.index.search(query, &|item| now(item).is_some())
        });
        found.extend(distinct(&query, then, |query| {
            let filter = Filter {
                keep: &|item| then(item).is_some(),
                counted: None,
            };
            view.past.index.find(query, &filter, Some(&view.index)).hits
        }));
        best_first(&mut found);
        let pairs = found.into_iter().map(|(_, (no, _))| no);
        pairs.take(limit).collect()
    }
}

/// Searches until enough different places are found, or all; each with its best score times what
/// `place` says that it is worth.
fn distinct(
    query: &Query<'_>,
    place: impl Fn(ItemNo) -> Option<Scored>,
    mut search: impl FnMut(&Query<'_>) -> Vec<Hit>,
) -> Vec<Scored> {
    let mut query = *query;
    let wanted = query.limit;
    loop {
        let hits = search(&query);
        let scored = hits.iter().filter_map(|hit| {
            let (share, at) = place(hit.item)?;
            Some((share * hit.score, at))
        });
        let mut found: Vec<Scored> = scored.collect();
        best_first(&mut found);
        if found.len() >= wanted || hits.len() < query.limit || query.limit >= MAX_LOOKED_AT {
            return found;
        }
        query.limit = (query.limit * 4).min(MAX_LOOKED_AT);
    }
}

/// Sorts, and leaves each place once.
fn best_first(found: &mut Vec<Scored>) {
    found.sort_by(|(one, _), (two, _)| two.partial_cmp(one).unwrap_or(Ordering::Equal));
    let mut seen = HashSet::with_capacity(found.len());
    found.retain(|(_, at)| seen.insert(*at));
}
