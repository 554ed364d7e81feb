//! What an item gains when terms that follow one another in the question stand close in it.

use super::dictionary::TermNo;
use super::frequent::ones_in;
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
    /// The pairs each term is in, with the place of its partner.
    pairs_of: Vec<Vec<(usize, usize)>>,
    /// Where each term stood last in the item.
    last: Vec<isize>,
}

/// Where a term stands that does not stand in the item: further from all others than any that does. A
/// number instead of nothing, as no two items are alike and a branch for each would be guessed wrong.
const NOWHERE: isize = -(1 << 24);
/// What two terms of which one is nowhere are not closer than.
const FAR: isize = 1 << 24;

struct Measured {
    weight: f32,
    distance: isize,
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
            let [one, other] = pair.terms.map(place);
            pairs_of[one].push((no, other));
            pairs_of[other].push((no, one));
            measured.push(Measured {
                weight: pair.weight,
                distance: FAR,
            });
        }
        Self {
            seen: terms.iter().fold(0, |seen, &term| seen | bit(term)),
            last: vec![NOWHERE; terms.len()],
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
        self.last.fill(NOWHERE);
        for (no, terms) in item.chunks(64).take(READ / 64).enumerate() {
            // Most are passed over at once: a branch for each would be guessed wrong.
            let like = |term: TermNo| u64::from(self.seen & bit(term) != 0);
            let alike = (0..).zip(terms);
            let alike = alike.fold(0, |alike, (at, &term)| alike | like(term) << at);
            for at in ones_in(alike) {
                if let Some(place) = self.terms.iter().position(|term| *term == terms[at]) {
                    self.note(place, (no * 64 + at) as isize);
                }
            }
        }
        let gains = self.pairs.iter_mut().filter_map(|pair| {
            let distance = std::mem::replace(&mut pair.distance, FAR);
            (distance < FAR).then(|| pair.weight / distance as f32)
        });
        WEIGHT * gains.sum::<f32>()
    }

    /// Notes a term; the closest partner of a pair is always the last one seen.
    fn note(&mut self, place: usize, at: isize) {
        self.last[place] = at;
        for &(no, partner) in &self.pairs_of[place] {
            let distance = at - self.last[partner];
            let least = &mut self.pairs[no].distance;
            *least = distance.min(*least);
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
