//! Scores the items that a question touches and keeps the best.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::items::NONE;
use super::proximity::Proximity;
use super::question::{Question, Wanted};
use super::scratch::Scratch;
use super::weight::{in_item, is_common};
use super::{Hit, Index, ItemNo};

/// What a term is worth to the item one, two, three places away.
const TO_LATER: [f32; 3] = [0.60, 0.45, 0.30];
const TO_EARLIER: [f32; 3] = [0.40, 0.30, 0.20];
/// What a question about its asker adds to items that the assistant did not write.
const AUTHOR: f32 = 1.5;
/// The best items whose words are looked at in their order.
const LOOKED_AT: usize = 100;

/// The best items for a question, at most `limit`, best first.
pub(super) fn best(
    index: &Index,
    question: &Question,
    limit: usize,
    keep: &dyn Fn(ItemNo) -> bool,
    scratch: &mut Scratch,
) -> Vec<Hit> {
    for wanted in &question.wanted {
        index.spread(wanted, scratch);
    }
    let mut ranked = index.select(question, limit.max(LOOKED_AT), keep, scratch);
    if !question.pairs.is_empty() {
        let mut proximity = Proximity::new(&question.pairs);
        for candidate in ranked.iter_mut().take(LOOKED_AT) {
            candidate.score += proximity.of(index.items.terms(candidate.item));
        }
        ranked.sort_unstable();
    }
    ranked.truncate(limit);
    ranked
        .into_iter()
        .map(|Ranked { item, score }| Hit { item, score })
        .collect()
}

impl Index {
    /// Offers a term's weight to the items that hold it and to their neighbours.
    fn spread(&self, wanted: &Wanted, scratch: &mut Scratch) {
        let common = is_common(wanted.holders, self.items.live());
        let reach = if common { 0.0 } else { self.reach() };
        for &posting in self.postings.of(wanted.term) {
            let item = posting.item;
            if !self.items.is_live(item) {
                continue;
            }
            let weight = in_item(wanted.weight, posting.times, self.items.norm(item));
            scratch.put(item, weight);
            if reach > 0.0 {
                self.spread_around(item, reach * weight, scratch);
            }
        }
        scratch.end_term();
    }

    fn spread_around(&self, item: ItemNo, weight: f32, scratch: &mut Scratch) {
        let mut later = self.items.next(item);
        for share in TO_LATER {
            if later == NONE {
                break;
            }
            scratch.put(later, share * weight);
            later = self.items.next(later);
        }
        let mut earlier = self.items.previous(item);
        for share in TO_EARLIER {
            if earlier == NONE {
                break;
            }
            scratch.put(earlier, share * weight);
            earlier = self.items.previous(earlier);
        }
    }

    /// The best `room` candidates that `keep` lets pass, best first; clears the scores.
    fn select(
        &self,
        question: &Question,
        room: usize,
        keep: &dyn Fn(ItemNo) -> bool,
        scratch: &mut Scratch,
    ) -> Vec<Ranked> {
        // The greatest, thus the worst of the best, is on top. `keep` is asked only about what would enter.
        let mut best: BinaryHeap<Ranked> = BinaryHeap::new();
        let Scratch {
            total, candidates, ..
        } = scratch;
        for item in candidates.drain(..) {
            let words = std::mem::take(&mut total[item as usize]);
            let candidate = Ranked {
                score: self.with_priors(item, words, question),
                item,
            };
            let enters = best.len() < room || best.peek().is_some_and(|top| candidate < *top);
            if !enters || !keep(item) {
                continue;
            }
            best.push(candidate);
            if best.len() > room {
                best.pop();
            }
        }
        best.into_sorted_vec()
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

/// An item with its score; the better one is less.
#[derive(Clone, Copy, Debug)]
struct Ranked {
    score: f32,
    item: ItemNo,
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        other
            .score
            .total_cmp(&self.score)
            .then(self.item.cmp(&other.item))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ranked {}
