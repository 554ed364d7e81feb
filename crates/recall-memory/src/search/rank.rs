//! Scores the items that a question touches and keeps the best.

use std::cmp::Reverse;

use super::cohesion::Reach;
use super::items::NONE;
use super::proximity::Proximity;
use super::question::{Question, Wanted};
use super::scratch::Scratch;
use super::time::DayRange;
use super::weight::{in_item, is_common};
use super::{Filter, Found, Hit, Index, ItemNo};

/// What a term is worth to the item one, two, three places away.
const TO_LATER: [f32; 3] = [0.60, 0.45, 0.30];
const TO_EARLIER: [f32; 3] = [0.40, 0.30, 0.20];
/// What a question about its asker adds to items that the assistant did not write.
const AUTHOR: f32 = 1.5;
/// A question whose terms have this share of the items, counted with repetition, is dense.
const DENSE: usize = 4;
/// A day before all days, so that a later day is a greater score.
const FIRST_DAY: i32 = -4_000_000;
/// The best items whose words are looked at in their order.
const LOOKED_AT: usize = 100;

/// The best items for a question, at most `limit`, best first.
pub(super) fn best(
    index: &Index,
    question: &Question,
    limit: usize,
    filter: &Filter<'_>,
    scratch: &mut Scratch,
) -> Found {
    scratch.dense = index.is_dense(question);
    for wanted in &question.wanted {
        index.spread(wanted, scratch);
    }
    let (mut ranked, touched) = index.select(question, limit.max(LOOKED_AT), filter, scratch);
    if !question.pairs.is_empty() {
        index.look_at_order(question, limit, &mut ranked);
    }
    ranked.truncate(limit);
    let hits = ranked.into_iter().map(|ranked| Hit {
        item: ranked.item,
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
    /// Offers a term's weight to the items that hold it and to their neighbours.
    fn spread(&self, wanted: &Wanted, scratch: &mut Scratch) {
        let common = is_common(wanted.holders, self.items.live());
        // Of few items every word is held by many; one that two hold is rare there.
        let rare = wanted.holders <= 2 && self.reach() == Reach::Known;
        let reach = match (common && !rare, self.reach()) {
            (true, _) | (false, Reach::Measured(0.0)) => return self.add_each(wanted, scratch),
            (false, reach) => reach,
        };
        for &posting in self.postings.of(wanted.term) {
            let item = posting.item;
            if !self.items.is_live(item) {
                continue;
            }
            let weight = in_item(wanted.weight, posting.times, self.items.norm(item));
            scratch.put(item, weight);
            self.spread_around(item, reach, weight, scratch);
        }
        scratch.end_term();
    }

    /// Adds a term's weight to the items that hold it. Where neighbours count nothing, an item gets
    /// one weight a term, so there is no best to be found first.
    fn add_each(&self, wanted: &Wanted, scratch: &mut Scratch) {
        for &posting in self.postings.of(wanted.term) {
            let item = posting.item;
            if self.items.is_live(item) {
                let weight = in_item(wanted.weight, posting.times, self.items.norm(item));
                scratch.add(item, weight);
            }
        }
    }

    fn spread_around(&self, item: ItemNo, reach: Reach, weight: f32, scratch: &mut Scratch) {
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

    /// The best `room` candidates that may take a place, best first, and how many were counted;
    /// clears the scores.
    fn select(
        &self,
        question: &Question,
        room: usize,
        filter: &Filter<'_>,
        scratch: &mut Scratch,
    ) -> (Vec<Ranked>, u32) {
        let mut best = Best::new(room, question);
        let touched = scratch.touched(filter.counted);
        let offer = |best: &mut Best, item, words| {
            let score = self.with_priors(item, words, question);
            let candidate = Ranked::new(score, self.items.place(item));
            if best.wants(candidate) && filter.keeps(item) {
                best.push(candidate);
            }
        };
        if scratch.dense {
            for (item, words) in (0..).zip(&scratch.total) {
                if *words > best.least_words {
                    offer(&mut best, item, *words);
                }
            }
            scratch.total.fill(0.0);
        } else {
            for item in scratch.candidates.drain(..) {
                let words = std::mem::take(&mut scratch.total[item as usize]);
                offer(&mut best, item, words);
            }
        }
        (best.into_sorted(), touched)
    }

    /// Whether the question's terms touch a large part of the items.
    fn is_dense(&self, question: &Question) -> bool {
        let postings = question.wanted.iter();
        let postings = postings.map(|wanted| self.postings.of(wanted.term).len());
        postings.sum::<usize>() > self.items.written() / DENSE
    }

    /// Adds to the best items, in order, what the closeness of their words is worth.
    fn look_at_order(&self, question: &Question, limit: usize, ranked: &mut [Ranked]) {
        let mut proximity = Proximity::new(&question.pairs);
        let most = proximity.most();
        let mut leaders = Best::new(limit, question);
        for candidate in ranked.iter_mut().take(LOOKED_AT) {
            let (item, score) = (candidate.item, candidate.score());
            let place = self.items.place(item);
            // Nothing behind it can gain its way among those that will be returned.
            if !leaders.wants(Ranked::new(score + most, place)) {
                break;
            }
            let gain = proximity.of(self.items.terms(item));
            *candidate = Ranked::new(score + gain, place);
            leaders.push(*candidate);
        }
        ranked.sort_unstable();
    }

    fn with_priors(&self, item: ItemNo, words: f32, question: &Question) -> f32 {
        let mut score = words;
        if !question.days.is_empty() {
            let day = self.items.day(item);
            if let Ok(at) = question.days.binary_search_by_key(&day, |&(day, _)| day) {
                score += question.days[at].1;
            }
        }
        if question.personal && !self.items.by_assistant(item) {
            score *= AUTHOR;
        }
        score
    }
}

/// Keeps the best of many: up to twice the room is taken in, then all but the best are dropped.
struct Best {
    room: usize,
    found: Vec<Ranked>,
    /// What does not beat it has no place.
    worst: Option<Ranked>,
    /// Words that are worth no more cannot beat it, whatever else an item has.
    least_words: f32,
    /// The most that priors multiply by, and add before that.
    priors: (f32, f32),
}

impl Best {
    fn new(room: usize, question: &Question) -> Self {
        let factor = if question.personal { AUTHOR } else { 1.0 };
        let gains = question.days.iter().map(|&(_, gain)| gain);
        Self {
            room,
            found: Vec::with_capacity(room.min(LOOKED_AT) * 2),
            worst: None,
            least_words: 0.0,
            priors: (factor, gains.fold(0.0, f32::max)),
        }
    }

    fn wants(&self, candidate: Ranked) -> bool {
        self.worst.is_none_or(|worst| candidate < worst)
    }

    fn push(&mut self, candidate: Ranked) {
        self.found.push(candidate);
        if self.found.len() >= self.room.saturating_mul(2) {
            self.drop_rest();
        }
    }

    fn drop_rest(&mut self) {
        if self.room > 0 && self.found.len() > self.room {
            self.found.select_nth_unstable(self.room - 1);
            self.found.truncate(self.room);
            self.worst = self.found.last().copied();
            self.least_words = self
                .worst
                .map_or(0.0, |worst| self.words_for(worst.score()));
        }
    }

    /// A little less than the words that a score takes at least.
    fn words_for(&self, score: f32) -> f32 {
        const ROUNDING: f32 = 0.999;
        let (factor, gain) = self.priors;
        ((score * ROUNDING) / factor - gain).max(0.0)
    }

    fn into_sorted(mut self) -> Vec<Ranked> {
        self.drop_rest();
        self.found.sort_unstable();
        self.found
    }
}

/// An item with its score; the better one is less. One number first, because most of a search for
/// the best is comparing: the score turned round so that more is less, then the order of the item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Ranked {
    key: u64,
    item: ItemNo,
}

impl Ranked {
    fn new(score: f32, (order, item): (u32, ItemNo)) -> Self {
        let key = u64::from(!ascending(score)) << 32 | u64::from(order);
        Self { key, item }
    }

    fn score(self) -> f32 {
        let bits = !((self.key >> 32) as u32);
        f32::from_bits(if bits & SIGN == 0 {
            !bits
        } else {
            bits & !SIGN
        })
    }
}

const SIGN: u32 = 1 << 31;

/// A number whose order is that of [`f32::total_cmp`].
fn ascending(score: f32) -> u32 {
    let bits = score.to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_better_score_is_less_and_then_the_earlier_order() {
        let scores = [
            f32::INFINITY,
            3.5,
            3.25,
            1e-40,
            0.0,
            -0.0,
            -1.0,
            f32::NEG_INFINITY,
        ];
        let ranked: Vec<_> = scores
            .iter()
            .flat_map(|&score| {
                let places = [(7, 9), (u32::MAX - 1, 2), (u32::MAX - 1, 3)];
                places.map(|place| Ranked::new(score, place))
            })
            .collect();
        assert!(ranked.is_sorted_by(|a, b| a < b), "{ranked:?}");
        for (pair, score) in ranked.chunks(3).zip(scores) {
            assert_eq!(pair[0].score().to_bits(), score.to_bits());
            assert_eq!([pair[0].item, pair[1].item, pair[2].item], [9, 2, 3]);
        }
    }
}
