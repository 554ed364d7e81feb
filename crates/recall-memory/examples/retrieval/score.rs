//! Scores of answers, and how sure they are.

use std::collections::BTreeMap;

/// What one answer is worth: recall at 5, 10 and 20, a hit among ten, the reciprocal rank among 20.
pub(crate) type Score = [f64; 5];

/// The names of the columns of a [`Score`].
pub(crate) const COLUMNS: &str = "  R@5  R@10  R@20 hit@10 MRR@20";

/// The column that comparisons are made by.
pub(crate) const AT_TEN: usize = 1;

/// Scores an answer, the ids best first.
pub(crate) fn score(answer: &[String], gold: &[String]) -> Score {
    let found = |limit: usize| {
        let top: Vec<_> = answer.iter().take(limit).collect();
        gold.iter().filter(|id| top.contains(id)).count() as f64
    };
    let recall = |limit| found(limit) / gold.len().max(1) as f64;
    let first = answer.iter().position(|id| gold.contains(id));
    let reciprocal = first.map_or(0.0, |at| 1.0 / (at + 1) as f64);
    [
        recall(5),
        recall(10),
        recall(20),
        f64::from(found(10) > 0.0),
        reciprocal,
    ]
}

/// The mean of scores, in percent.
pub(crate) fn mean<'s>(scores: impl IntoIterator<Item = &'s Score>) -> Score {
    let (mut sum, mut count) = ([0.0; 5], 0.0);
    for score in scores {
        for (sum, value) in sum.iter_mut().zip(score) {
            *sum += value;
        }
        count += 1.0;
    }
    sum.map(|sum| 100.0 * sum / f64::max(count, 1.0))
}

/// The mean of differences, and the interval that holds it in 95 of 100 draws of as many
/// conversations. Questions of one conversation are no independent witnesses.
pub(crate) fn bootstrap(differences: &[(usize, f64)]) -> (f64, Option<(f64, f64)>) {
    const DRAWS: usize = 2_000;
    let mut groups: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    for (talk, difference) in differences {
        let group = groups.entry(*talk).or_default();
        group.0 += 100.0 * difference;
        group.1 += 1.0;
    }
    let groups: Vec<(f64, f64)> = groups.into_values().collect();
    let ratio = |(sum, count): (f64, f64)| sum / count.max(1.0);
    let add = |one: (f64, f64), two: &(f64, f64)| (one.0 + two.0, one.1 + two.1);
    let mean = ratio(groups.iter().fold((0.0, 0.0), add));
    if groups.len() < 3 {
        return (mean, None);
    }
    let mut random = Random::new(1);
    let mut draws: Vec<f64> = (0..DRAWS)
        .map(|_| {
            let drawn = (0..groups.len()).filter_map(|_| groups.get(random.below(groups.len())));
            ratio(drawn.fold((0.0, 0.0), add))
        })
        .collect();
    draws.sort_by(f64::total_cmp);
    let at = |share: usize| {
        draws
            .get(DRAWS * share / 1_000)
            .copied()
            .unwrap_or_default()
    };
    (mean, Some((at(25), at(974))))
}

/// Numbers that follow from a seed.
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_add(0x9E37_79B9_7F4A_7C15))
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        (mixed % end.max(1) as u64) as usize
    }
}
