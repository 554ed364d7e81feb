//! What an item gains when terms that follow one another in the question stand close in it.

use super::dictionary::TermNo;
use super::question::Pair;

/// What a pair of adjacent terms adds, by the lesser of their weights.
const WEIGHT: f32 = 0.4;
/// Terms of an item that are read; only very long items have more.
const READ: usize = 65_536;

/// The pairs of a question, to be measured in one item after another.
pub(super) struct Proximity {
    /// Distinct terms, ascending.
    terms: Vec<TermNo>,
    /// A bit for each term's low bits, to pass over most terms of an item at once.
    seen: u64,
    pairs: Vec<Measured>,
    /// The pairs each term is in.
    pairs_of: Vec<Vec<usize>>,
    /// Where each term stood last in the item.
    last: Vec<Option<usize>>,
}

struct Measured {
    /// Places in `terms`.
    terms: [usize; 2],
    weight: f32,
    distance: Option<usize>,
}

impl Proximity {
    pub(super) fn new(pairs: &[Pair]) -> Self {
        let mut terms: Vec<TermNo> = pairs.iter().flat_map(|pair| pair.terms).collect();
        terms.sort_unstable();
        terms.dedup();
        let place = |term| terms.partition_point(|&other| other < term);
        let mut pairs_of = vec![Vec::new(); terms.len()];
        let mut measured = Vec::with_capacity(pairs.len());
        for (no, pair) in pairs.iter().enumerate() {
            let places = pair.terms.map(place);
            places.iter().for_each(|&at| pairs_of[at].push(no));
            measured.push(Measured {
                terms: places,
                weight: pair.weight,
                distance: None,
            });
        }
        Self {
            seen: terms.iter().fold(0, |seen, &term| seen | bit(term)),
            last: vec![None; terms.len()],
            terms,
            pairs: measured,
            pairs_of,
        }
    }

    /// What no item gains more than.
    pub(super) fn most(&self) -> f32 {
        WEIGHT * self.pairs.iter().map(|pair| pair.weight).sum::<f32>()
    }

    /// The gain of an item with these terms.
    pub(super) fn of(&mut self, item: &[TermNo]) -> f32 {
        self.last.fill(None);
        for (at, &term) in item.iter().take(READ).enumerate() {
            if self.seen & bit(term) != 0
                && let Ok(place) = self.terms.binary_search(&term)
            {
                self.note(place, at);
            }
        }
        let gains = self.pairs.iter_mut().filter_map(|pair| {
            pair.distance
                .take()
                .map(|distance| pair.weight / distance as f32)
        });
        WEIGHT * gains.sum::<f32>()
    }

    /// Notes a term; the closest partner of a pair is always the last one seen.
    fn note(&mut self, place: usize, at: usize) {
        self.last[place] = Some(at);
        for &no in &self.pairs_of[place] {
            let pair = &mut self.pairs[no];
            let [one, other] = pair.terms;
            if let (Some(one), Some(other)) = (self.last[one], self.last[other]) {
                let distance = one.abs_diff(other);
                pair.distance = Some(pair.distance.map_or(distance, |least| least.min(distance)));
            }
        }
    }
}

fn bit(term: TermNo) -> u64 {
    1 << (term & 63)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(item: &[TermNo], expected: f32) {
        let pair = |a, b, weight| Pair {
            terms: [a, b],
            weight,
        };
        let mut proximity = Proximity::new(&[pair(1, 65, 2.0), pair(65, 7, 1.0)]);
        // The second time finds nothing left over from the first.
        for _ in 0..2 {
            assert!((proximity.of(item) - expected).abs() < 1e-6, "{item:?}");
        }
    }

    #[test]
    fn the_smallest_distance_of_each_pair_counts() {
        check(&[], 0.0);
        check(&[1, 1, 7, 129], 0.0);
        check(&[1, 65], 0.8);
        check(&[65, 1], 0.8);
        check(&[1, 9, 9, 9, 65, 9, 1], 0.4);
        check(&[1, 65, 9, 7], 0.8 + 0.2);
        check(&[7, 65], 0.4);
    }
}
