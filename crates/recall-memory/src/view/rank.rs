//! Ranking beliefs by words.
//!
//! What is believed is searched in the index of the present. A statement that no longer stands still
//! lends its words, discounted, to the belief that took its place, so that a question in old words
//! finds the current value. It never comes back itself.

use std::collections::HashSet;

use jiff::Timestamp;

use super::tally::{Counting, Tally};
use super::{Find, Pair, View};
use crate::answer::{Indexes, Vectors, count};
use crate::event::Event;
use crate::event_id::EventId;
use crate::search::{self, Filter, Hit, ItemNo, Query};
use crate::value::Value;
use crate::vectors::{At, VectorTable, fuse};

/// What the words of a replaced statement are worth to what took its place.
const LENT: f32 = 0.6;
/// How many that are found by what they replaced are counted at least.
const LENT_COUNTED: usize = 1_000;
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
    /// How many may answer: those that share words with the question, or stand beside one that does. What
    /// is shown by other means is among them.
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
    pub(crate) texts: Texts,
}

/// What becomes of texts that statements were drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Texts {
    /// They are there as everything else is.
    All,
    /// Those of which nothing is so any more are left out.
    Standing,
    /// Those, too, whose statements answer in their place.
    Folded,
}

type Scored = (f32, At);
/// The part of the beliefs that is looked at; all where none is given.
pub(super) type Part<'a> = Option<&'a dyn Fn(At) -> bool>;

impl<'v> Find<'v> {
    /// Ranks by words. A time that the words name is searched first.
    pub(crate) fn rank(&self, text: &str, now: Timestamp, wanted: &Wanted<'_>) -> Ranked {
        let folds = wanted.texts == Texts::Folded && self.view.has_drawn();
        let asked = Asked {
            text,
            now,
            // Each fact on the page may take the place of one text.
            limit: wanted.limit * if folds { 2 } else { 1 },
        };
        let mut found = Parts::default();
        let spans = search::time::spans(text, now);
        let within = |event: &Event| {
            let at = event.observed;
            spans.iter().any(|span| span.from <= at && at < span.to)
        };
        if let Some(meant) = self.view.index.time_alone(&asked.query(asked.limit)) {
            self.of_time(&asked, wanted, &mut found);
            let rest = |at: At| self.event(at).is_some_and(|it| !meant(it.observed));
            found.outside = self.rank_once(&asked, wanted, Some(&rest), false, &mut found.tally);
        } else if spans.is_empty() {
            found.outside = self.rank_once(&asked, wanted, None, false, &mut found.tally);
        } else {
            for in_time in [true, false] {
                let keep = |at: At| self.event(at).is_some_and(|it| within(it) == in_time);
                let part = self.rank_once(&asked, wanted, Some(&keep), in_time, &mut found.tally);
                match in_time {
                    true => found.inside = part,
                    false => found.outside = part,
                }
            }
        }
        let places = self.page(&found, wanted.limit, folds);
        let considered = match folds {
            true => found.tally.folded(self, &self.answered(&places)),
            false => found.tally.considered,
        };
        Ranked {
            considered: considered.max(count(places.len())),
            indexes: self.indexes(),
            places,
        }
    }

    /// The best of what was found. What was said at the time that is asked for comes first but does
    /// not crowd out what matches better; a text whose statement is on the page gives its place up.
    fn page(&self, found: &Parts<'v>, limit: usize, folds: bool) -> Vec<Place> {
        let mut dropped: HashSet<At> = HashSet::new();
        loop {
            let keep = |place: &&Place| !dropped.contains(&place.at());
            let best = |part: &[Place]| -> Vec<Place> {
                part.iter().filter(keep).take(limit).copied().collect()
            };
            let (mut page, outside) = (best(&found.inside), best(&found.outside));
            page.truncate(limit - outside.len().min(limit / 2));
            let room = limit - page.len();
            page.extend(outside.into_iter().take(room));
            if !folds {
                return page;
            }
            let answered = self.answered(&page);
            let said = page.iter().map(Place::at);
            let said =
                said.filter(|at| self.event(*at).is_some_and(|it| answered.contains(&it.id)));
            let before = dropped.len();
            dropped.extend(said);
            if dropped.len() == before {
                return page;
            }
        }
    }

    /// The texts that beliefs were drawn from.
    fn answered(&self, places: &[Place]) -> HashSet<&'v EventId> {
        let events = places.iter().filter_map(|place| self.event(place.at()));
        events.filter_map(Event::evidence_id).collect()
    }

    pub(super) fn event(&self, (no, slot): At) -> Option<&'v Event> {
        self.view.pair(no)?.event(slot)
    }

    fn indexes(&self) -> Indexes {
        Indexes {
            vectors: self.near.map_or(Vectors::Off, |(_, near)| near.state),
            ..Indexes::WORDS
        }
    }

    /// What is believed of a time, for a question that asks for nothing else.
    fn of_time(&self, asked: &Asked<'_>, wanted: &Wanted<'_>, found: &mut Parts<'v>) {
        let view = self.view;
        let counting = Counting::new(self, wanted, None, HashSet::new(), None);
        let counted = |item: ItemNo| counting.count(item);
        let keep = |item: ItemNo| self.answers(item, wanted, None);
        let places = distinct(
            view,
            &asked.query(asked.limit),
            |item| self.whole(item),
            |query| {
                counting.begin();
                let filter = Filter {
                    // What need not be looked at to be counted may take a place as it is.
                    keep: counting.needed().then_some(&keep),
                    counted: counting.needed().then_some(&counted),
                };
                let found = view.index.of_days(query, &filter).unwrap_or_default();
                counting.touched.set(found.touched);
                found.hits
            },
        );
        let lent = self.of_time_then(asked, wanted);
        found.tally.add(counting);
        found.tally.considered += count(lent.len());
        let mut places = places;
        places.extend(lent);
        best_first(view, &mut places);
        let places = places.into_iter().map(|(_, at)| Place::new(at, true));
        found.inside = places.take(asked.limit).collect();
    }

    /// What was said at that time and believed when it is asked for, though it is no more.
    fn of_time_then(&self, asked: &Asked<'_>, wanted: &Wanted<'_>) -> Vec<Scored> {
        if self.at.is_none() {
            return Vec::new();
        }
        let past = &self.view.past;
        let stood = |item: ItemNo| {
            let at = past.place(item)?;
            let stood = self.belief(at.0, at.1).is_some() && self.passes(at, wanted, None);
            stood.then_some((1.0, at))
        };
        let filter = Filter {
            keep: Some(&|item| stood(item).is_some()),
            counted: None,
        };
        distinct(self.view, &asked.query(asked.limit), stood, |query| {
            let found = past.index.of_days(query, &filter);
            found.unwrap_or_default().hits
        })
    }

    fn rank_once(
        &self,
        asked: &Asked<'_>,
        wanted: &Wanted<'_>,
        part: Part<'_>,
        in_time: bool,
        tally: &mut Tally<'v>,
    ) -> Vec<Place> {
        let nearest = self.nearest(asked.limit, wanted, part);
        let query = asked.query(match nearest.is_empty() {
            true => asked.limit,
            false => asked.limit.max(JOINED),
        });
        let lent = self.past(&asked.query(query.limit.max(LENT_COUNTED)), wanted, part);
        // What has a vector is compared and may be shown, whatever words it shares.
        let table = self.compared().map(|(table, _)| table);
        let compared = |at: &At| table.is_some_and(|table| table.has(*at));
        let missing = lent.iter().map(|(_, at)| *at).filter(|at| !compared(at));
        let counting = Counting::new(self, wanted, part, missing.collect(), table);
        let mut found = self.present(&query, wanted, part, &counting);
        tally.add(counting);
        if let Some(table) = table {
            tally.add_all(self, wanted, part, table.places());
        }
        if !lent.is_empty() {
            found.extend(lent);
            best_first(self.view, &mut found);
        }
        let words: Vec<At> = found.into_iter().map(|(_, at)| at).collect();
        let joined = match nearest.is_empty() {
            true => words,
            false => fuse(&[words, nearest]),
        };
        let places = joined.into_iter().take(asked.limit);
        places.map(|at| Place::new(at, in_time)).collect()
    }

    /// The vectors that the question can be compared with, and its own.
    fn compared(&self) -> Option<(&'v VectorTable, &'v [f32])> {
        let (table, near) = self.near?;
        let vector = near.vector.as_deref()?;
        table.compares(vector).then_some((table, vector))
    }

    /// What is believed and lies nearest to the question by vectors, nearest first.
    fn nearest(&self, limit: usize, wanted: &Wanted<'_>, part: Part<'_>) -> Vec<At> {
        let Some((table, vector)) = self.compared() else {
            return Vec::new();
        };
        let keep = |at: At| self.passes(at, wanted, part) && self.belief(at.0, at.1).is_some();
        table.nearest(vector, limit.max(JOINED), keep)
    }

    /// What is believed and matches.
    fn present(
        &self,
        query: &Query<'_>,
        wanted: &Wanted<'_>,
        part: Part<'_>,
        counting: &Counting<'_, 'v>,
    ) -> Vec<Scored> {
        let view = self.view;
        let keep = |item: ItemNo| self.answers(item, wanted, part);
        let counted = |item: ItemNo| counting.count(item);
        let filter = Filter {
            // What need not be looked at to be counted may take a place as it is.
            keep: counting.needed().then_some(&keep),
            counted: counting.needed().then_some(&counted),
        };
        distinct(
            view,
            query,
            |item| self.whole(item),
            |query| {
                counting.begin();
                let found = view.index.find(query, &filter, None);
                counting.touched.set(found.touched);
                found.hits
            },
        )
    }

    /// What matches by a statement that is no longer believed, or was not yet replaced then.
    fn past(&self, query: &Query<'_>, wanted: &Wanted<'_>, part: Part<'_>) -> Vec<Scored> {
        let past = &self.view.past;
        if past.index.is_empty() {
            return Vec::new();
        }
        let stands = |item: ItemNo| {
            let own = past.place(item)?;
            let at = self.successor(own.0, own.1)?;
            Some((if at == own { 1.0 } else { LENT }, at))
        };
        let keep = |item: ItemNo| stands(item).is_some_and(|(_, at)| self.passes(at, wanted, part));
        let filter = Filter {
            keep: Some(&keep),
            counted: None,
        };
        distinct(self.view, query, stands, |query| {
            past.index.find(query, &filter, Some(&self.view.index)).hits
        })
    }

    pub(super) fn place_of(&self, item: ItemNo) -> Option<At> {
        self.view.items.get(item as usize).copied()
    }

    fn whole(&self, item: ItemNo) -> Option<Scored> {
        Some((1.0, self.place_of(item)?))
    }

    /// Whether an item may take a place.
    pub(super) fn answers(&self, item: ItemNo, wanted: &Wanted<'_>, part: Part<'_>) -> bool {
        let held = |(no, slot): At| self.at.is_none() || self.belief(no, slot).is_some();
        let at = self.place_of(item);
        at.is_some_and(|at| self.passes(at, wanted, part) && held(at))
    }

    pub(super) fn passes(&self, at: At, wanted: &Wanted<'_>, part: Part<'_>) -> bool {
        let (no, slot) = at;
        let pair = self.view.pair(no);
        let event = pair.and_then(|pair| Some((pair, pair.event(slot)?)));
        event.is_some_and(|(pair, event)| wanted.all || (wanted.keep)(pair, event))
            && part.is_none_or(|part| part(at))
            && (wanted.texts == Texts::All || !self.is_outdated(at))
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
        let mut found = distinct(view, &query, now, |query| {
            view.index.search(query, &|item| now(item).is_some())
        });
        found.extend(distinct(view, &query, then, |query| {
            let filter = Filter {
                keep: Some(&|item| then(item).is_some()),
                counted: None,
            };
            view.past.index.find(query, &filter, Some(&view.index)).hits
        }));
        best_first(view, &mut found);
        let pairs = found.into_iter().map(|(_, (no, _))| no);
        pairs.take(limit).collect()
    }
}

impl Place {
    fn new((pair, slot): At, in_time: bool) -> Self {
        Self {
            pair,
            slot,
            in_time,
        }
    }

    fn at(&self) -> At {
        (self.pair, self.slot)
    }
}

/// A question.
struct Asked<'q> {
    text: &'q str,
    now: Timestamp,
    limit: usize,
}

impl<'q> Asked<'q> {
    fn query(&self, limit: usize) -> Query<'q> {
        Query {
            text: self.text,
            limit,
            now: self.now,
        }
    }
}

/// What was found: within the time that is asked for, and the rest.
#[derive(Default)]
struct Parts<'v> {
    inside: Vec<Place>,
    outside: Vec<Place>,
    tally: Tally<'v>,
}

/// Searches until enough different places are found, or all; each with its best score times what
/// `place` says that it is worth.
fn distinct(
    view: &View,
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
        ask_for(view, &found);
        best_first(view, &mut found);
        if found.len() >= wanted || hits.len() < query.limit || query.limit >= MAX_LOOKED_AT {
            return found;
        }
        query.limit = (query.limit * 4).min(MAX_LOOKED_AT);
    }
}

/// Asks memory for what rows of these places are written from. They lie far apart: asked for all at once,
/// they are waited for once.
fn ask_for(view: &View, found: &[Scored]) {
    let events = found
        .iter()
        .filter_map(|(_, (no, slot))| view.pair(*no)?.event(*slot));
    let read = events.fold(0, |all, event| {
        let text = match &event.value {
            Some(Value::Text(text)) => text.as_str().bytes().next(),
            _ => None,
        };
        all ^ event.arrival ^ u32::from(text.unwrap_or_default())
    });
    std::hint::black_box(read);
}

/// Sorts, and leaves each place once. Equals are in the order of the log, whatever was indexed first.
fn best_first(view: &View, found: &mut Vec<Scored>) {
    let arrival = |(no, slot): At| {
        let event = view.pair(no).and_then(|pair| pair.event(slot));
        event.map(|event| event.arrival)
    };
    found.sort_by(|(one, first), (two, second)| {
        two.total_cmp(one)
            .then_with(|| arrival(*first).cmp(&arrival(*second)))
    });
    let mut seen = HashSet::with_capacity(found.len());
    found.retain(|(_, at)| seen.insert(*at));
}
