//! Scores the items that a question touches and keeps the best.

use std::cmp::Reverse;

use super::best::{Best, Leaders, Ranked};
use super::cohesion::Reach;
use super::frequent::{self, Frequent};
use super::items::NONE;
use super::proximity::Proximity;
use super::question::{Question, Wanted};
use super::scratch::{Around, Scratch};
use super::time::DayRange;
use super::weight::{in_item, is_common};
use super::{Filter, Found, Hit, Index, ItemNo};

/// What a term is worth to the item one, two, three places away.
const TO_LATER: [f32; 3] = [0.60, 0.45, 0.30];
const TO_EARLIER: [f32; 3] = [0.40, 0.30, 0.20];
/// A question whose terms have this share of the items, counted with repetition, is dense.
const DENSE: usize = 4;
/// A day before all days, so that a later day is a greater score.
const FIRST_DAY: i32 = -4_000_000;
/// The best items whose words are looked at in their order. Of items that are worth the same the last of
/// these may be one or another, by the order in which they were written; in a memory of no more items all are
/// looked at, and that order says nothing.
const LOOKED_AT: usize = 64;

/// The best items for a question, at most `limit`, best first.
pub(super) fn best(
    index: &Index,
    question: &Question,
    limit: usize,
    filter: &Filter<'_>,
    scratch: &mut Scratch,
) -> Found {
    let room = match question.pairs.is_empty() {
        true => limit,
        false => limit.max(LOOKED_AT),
    };
    let mut best = Best::new(index, question, room, filter);
    let touched = match index.frequent(question) {
        Some(ways) => index.look_at_few(question, ways, filter, scratch, &mut best),
        None => index.look_at_all(question, filter, scratch, &mut best),
    };
    let ranked = match question.pairs.is_empty() {
        true => best.into_leaders().into_sorted(),
        false => index.look_at_order(question, limit, best.into_leaders().into_unsorted()),
    };
    let hits = ranked.into_iter().map(|ranked| Hit {
        item: ranked.item(),
        score: ranked.score(),
    });
    Found {
        hits: hits.collect(),
        touched,
    }
}

/// The items of some days, the latest day first, for a question that names nothing else.
pub(super) fn of_days(
    index: &Index,
    days: &[DayRange],
    limit: usize,
    filter: &Filter<'_>,
) -> Found {
    let items = &index.items;
    let within = |item: ItemNo| {
        let day = items.day(item);
        items.is_live(item) && days.iter().any(|range| range.holds(day))
    };
    let count = u32::try_from(items.written()).unwrap_or(NONE);
    let mut found: Vec<ItemNo> = (0..count).filter(|item| within(*item)).collect();
    let touched = found
        .iter()
        .filter(|item| filter.counted.is_none_or(|counted| counted(**item)));
    let touched = u32::try_from(touched.count()).unwrap_or(u32::MAX);
    found.sort_unstable_by_key(|item| (Reverse(items.day(*item)), items.place(*item)));
    let kept = found.into_iter().filter(|item| filter.keeps(*item));
    let hits = kept.take(limit).map(|item| Hit {
        item,
        score: (items.day(item) - FIRST_DAY) as f32,
    });
    Found {
        hits: hits.collect(),
        touched,
    }
}

impl Index {
    /// Scores every item that the question touches.
    fn look_at_all(
        &self,
        question: &Question,
        filter: &Filter<'_>,
        scratch: &mut Scratch,
        best: &mut Best<'_>,
    ) -> u32 {
        let Scratch { around, totals, .. } = scratch;
        let postings = question.wanted.iter();
        let postings = postings.map(|wanted| self.postings.of(wanted.term).len());
        let written = self.items.written();
        totals.begin(written, postings.sum::<usize>() > written / DENSE);
        for wanted in &question.wanted {
            self.weigh(wanted, around, &mut |item, weight| totals.add(item, weight));
        }
        let touched = totals.touched(filter);
        totals.end(|item, words| best.offer(item, words));
        touched
    }

    /// Scores the items that hold a rare term of the question, or lie near to one that does; of the
    /// others those that may take a place.
    fn look_at_few(
        &self,
        question: &Question,
        ways: Vec<Option<Frequent<'_>>>,
        filter: &Filter<'_>,
        scratch: &mut Scratch,
        best: &mut Best<'_>,
    ) -> u32 {
        let Scratch {
            around,
            totals,
            marked,
            weights,
            left,
        } = scratch;
        let mut ends = Vec::with_capacity(ways.len());
        for (wanted, frequent) in question.wanted.iter().zip(&ways) {
            if frequent.is_none() {
                self.weigh(wanted, around, &mut |item, weight| {
                    weights.push((item, weight));
                    marked.mark(item);
                });
            }
            ends.push(weights.len());
        }
        // Each item gets its weights in the order of the question, whatever way they come: sums of
        // numbers like these differ with their order.
        totals.begin(self.items.written(), false);
        let mut from = 0;
        for (frequent, end) in ways.iter().zip(ends) {
            match frequent {
                None => {
                    let own = weights.get(from..end).unwrap_or_default();
                    own.iter().for_each(|(item, own)| totals.add(*item, *own));
                }
                Some(frequent) => {
                    for item in &marked.list {
                        if let Some(weight) = frequent.in_item(*item, &self.items) {
                            totals.add(*item, weight);
                        }
                    }
                }
            }
            from = end;
        }
        weights.clear();
        let rare = totals.touched(filter);
        totals.end(|item, words| best.offer(item, words));
        let mut terms: Vec<_> = ways.into_iter().flatten().collect();
        let others = frequent::offer(&mut terms, &self.items, marked, filter, left, best);
        marked.clear();
        rare.saturating_add(others)
    }

    /// The frequent terms of a question in their places, `None` for the others; nothing where it has none
    /// or the others touch a large part of the items.
    fn frequent(&self, question: &Question) -> Option<Vec<Option<Frequent<'_>>>> {
        #[cfg(test)]
        if self.exhaustive {
            return None;
        }
        let mut rare = 0;
        let ways = question.wanted.iter().map(|wanted| {
            let postings = self.postings.of(wanted.term);
            let around = self.reach_of(wanted).is_some();
            let blocks = self.postings.blocks(wanted.term).filter(|_| !around);
            if blocks.is_none() {
                let each = if around {
                    1 + TO_LATER.len() + TO_EARLIER.len()
                } else {
                    1
                };
                rare += postings.len() * each;
            }
            blocks.map(|blocks| Frequent::new(wanted, postings, blocks))
        });
        let ways: Vec<_> = ways.collect();
        let few = rare <= self.items.written() / DENSE;
        (few && ways.iter().any(Option::is_some)).then_some(ways)
    }

    /// Gives a term's weight to the items that hold it and to their neighbours.
    fn weigh(&self, wanted: &Wanted, around: &mut Around, give: &mut impl FnMut(ItemNo, f32)) {
        let Some(reach) = self.reach_of(wanted) else {
            return self.weigh_each(wanted, give);
        };
        for &posting in self.postings.of(wanted.term) {
            let item = posting.item;
            if !self.items.is_live(item) {
                continue;
            }
            let weight = in_item(wanted.weight, posting.times, self.items.norm(item));
            around.put(item, weight);
            self.spread_around(item, reach, weight, around);
        }
        around.end_term(give);
    }

    /// How far a term counts for neighbours; `None` where it does not.
    fn reach_of(&self, wanted: &Wanted) -> Option<Reach> {
        if !self.items.has_neighbours() {
            return None;
        }
        let common = is_common(wanted.holders, self.items.live());
        // Of few items every word is held by many; one that two hold is rare there.
        let rare = wanted.holders <= 2 && self.reach() == Reach::Known;
        match (common && !rare, self.reach()) {
            (true, _) | (false, Reach::Measured(0.0)) => None,
            (false, reach) => Some(reach),
        }
    }

    /// Gives a term's weight to the items that hold it. Where neighbours count nothing, an item gets
    /// one weight a term, so there is no best to be found first.
    fn weigh_each(&self, wanted: &Wanted, give: &mut impl FnMut(ItemNo, f32)) {
        for &posting in self.postings.of(wanted.term) {
            let item = posting.item;
            if self.items.is_live(item) {
                let weight = in_item(wanted.weight, posting.times, self.items.norm(item));
                give(item, weight);
            }
        }
    }

    fn spread_around(&self, item: ItemNo, reach: Reach, weight: f32, scratch: &mut Around) {
        let (weight, all) = match reach {
            Reach::Measured(reach) => (reach * weight, true),
            Reach::Known => (weight, false),
        };
        let items = &self.items;
        let goes_on =
            |from: ItemNo, to: ItemNo| to != NONE && (all || items.belong_together(from, to));
        let mut at = item;
        for share in TO_LATER {
            let later = items.next(at);
            if !goes_on(at, later) {
                break;
            }
            scratch.put(later, share * weight);
            at = later;
        }
        let mut at = item;
        for share in TO_EARLIER {
            let earlier = items.previous(at);
            if !goes_on(at, earlier) {
                break;
            }
            scratch.put(earlier, share * weight);
            at = earlier;
        }
    }

    /// The best of the items, at most `limit`, when what the closeness of their words is worth is added to
    /// the best of them.
    fn look_at_order(
        &self,
        question: &Question,
        limit: usize,
        mut ranked: Vec<Ranked>,
    ) -> Vec<Ranked> {
        if ranked.len() > LOOKED_AT {
            ranked.select_nth_unstable(LOOKED_AT);
        }
        let most = LOOKED_AT.min(ranked.len());
        let (looked_at, others) = ranked.split_at_mut(most);
        // What the best of them gain tells of most others that they need not be looked at.
        if limit < looked_at.len() {
            looked_at.select_nth_unstable(limit);
        }
        let terms: Vec<_> = looked_at
            .iter()
            .map(|candidate| self.items.terms(candidate.item()))
            .collect();
        // They lie far apart: asked for all at once, memory is waited for once.
        let firsts = terms.iter().filter_map(|terms| terms.first());
        std::hint::black_box(firsts.fold(0, |all, term| all ^ term));
        let mut proximity = Proximity::new(&question.pairs);
        let most = proximity.most();
        let mut leaders = Leaders::new(limit);
        for (no, (candidate, terms)) in looked_at.iter().zip(terms).enumerate() {
            if no == limit {
                leaders.settle();
            }
            let (place, score) = (candidate.place(), candidate.score());
            // It may not gain its way among those that will be returned.
            if leaders.want(Ranked::new(score + most, place)) {
                let gain = proximity.of(terms);
                let candidate = Ranked::new(score + gain, place);
                if leaders.want(candidate) {
                    leaders.push(candidate);
                }
            }
        }
        for other in others {
            leaders.push(*other);
        }
        leaders.into_sorted()
    }
}
