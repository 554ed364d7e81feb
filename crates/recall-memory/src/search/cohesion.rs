//! How much adjacent items of a session have in common.

use super::dictionary::TermNo;
use super::items::NONE;
use super::weight::{idf, is_common};
use super::{Index, ItemNo};

/// Pairs to have seen before what they have in common is believed.
const MIN_PAIRS: u32 = 30;
/// Less than this is chance: items that have nothing to do with each other vary by as much.
const CHANCE: f64 = 0.05;
/// Terms of an item that are compared; only very long items have more.
const COMPARED: usize = 4_096;
/// Earlier items to try for a live one to compare with.
const TRIES: u64 = 8;

/// Running sums over the pairs seen at each write.
///
/// They are history: removing and restoring items later leaves them as they are.
#[derive(Clone, Copy, Default)]
pub(super) struct Cohesion {
    near: f64,
    far: f64,
    pairs: u32,
}

/// How much neighbours count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Reach {
    /// Too few were seen to tell. Those count in full of which it is known that they belong together:
    /// items of a session that its writer named, and messages of one text.
    Known,
    /// All of them by so much: 0 when adjacent items are as strange to each other as any two, but
    /// for chance; 1 when they share at least twice as much.
    Measured(f32),
}

impl Cohesion {
    pub(super) fn reach(&self) -> Reach {
        if self.pairs < MIN_PAIRS {
            return Reach::Known;
        }
        if self.near == 0.0 {
            return Reach::Measured(0.0);
        }
        let more = self.near / self.far.max(1e-9) - 1.0;
        Reach::Measured(match more < CHANCE {
            true => 0.0,
            false => more.min(1.0) as f32,
        })
    }
}

impl Index {
    /// Compares an item just written with the one before it and with one from anywhere.
    pub(super) fn measure_cohesion(&mut self, item: ItemNo) {
        let before = self.items.previous(item);
        if before == NONE {
            return;
        }
        let Some(other) = self.any_earlier(item) else {
            return;
        };
        let own = self.rare_terms(item);
        self.cohesion.pairs += 1;
        self.cohesion.near += self.overlap(&own, &self.rare_terms(before));
        self.cohesion.far += self.overlap(&own, &self.rare_terms(other));
    }

    /// A live item at least ten before this one where there are so many, picked by a hash. One of a
    /// session, too: beside items of another sort any two of a session would look akin.
    fn any_earlier(&self, item: ItemNo) -> Option<ItemNo> {
        let earlier = u64::from(item).saturating_sub(10).max(1);
        (0..TRIES)
            .map(|round| ((u64::from(item) + round) * 7919 % earlier) as ItemNo)
            .find(|&other| self.items.is_live(other) && self.items.is_in_session(other))
    }

    fn rare_terms(&self, item: ItemNo) -> Vec<TermNo> {
        let terms = self.items.terms(item);
        let mut terms = terms[..terms.len().min(COMPARED)].to_vec();
        terms.sort_unstable();
        terms.dedup();
        terms.retain(|&term| !is_common(self.postings.live(term), self.items.live()));
        terms
    }

    /// Weighted share of the terms two items have in common; both lists ascend.
    fn overlap(&self, one: &[TermNo], other: &[TermNo]) -> f64 {
        let weight = |term: &TermNo| f64::from(idf(self.postings.live(*term), self.items.live()));
        let sum = |terms: &[TermNo]| terms.iter().map(weight).sum::<f64>();
        let least = sum(one).min(sum(other));
        if least == 0.0 {
            return 0.0;
        }
        let shared = one.iter().filter(|term| other.binary_search(term).is_ok());
        shared.map(weight).sum::<f64>() / least
    }
}
