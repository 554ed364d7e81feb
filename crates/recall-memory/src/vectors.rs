//! Vectors of one namespace's statements, and which of them lie nearest.

use std::collections::HashMap;

/// A statement by its pair and event.
pub(crate) type At = (u32, u32);

/// Of so many of the nearest the order is worked out first.
const FIRST_SORTED: usize = 1_024;

/// Vectors of equal length, each scaled to length one, so that closeness is a sum of products.
#[derive(Debug, Default)]
pub(crate) struct VectorTable {
    dimension: usize,
    numbers: Vec<f32>,
    places: Vec<At>,
    rows: HashMap<At, u32>,
}

impl VectorTable {
    /// Adds a vector, or puts it in the place of an older one. `false` for one that cannot be
    /// compared: of another length than the others, or without a direction.
    pub(crate) fn put(&mut self, at: At, vector: &[f32]) -> bool {
        let norm = vector
            .iter()
            .map(|number| number * number)
            .sum::<f32>()
            .sqrt();
        let fits = self.places.is_empty() || vector.len() == self.dimension;
        if !fits || !norm.is_normal() {
            return false;
        }
        self.dimension = vector.len();
        let scaled = vector.iter().map(|number| number / norm);
        match self.rows.get(&at) {
            Some(row) => {
                let start = *row as usize * self.dimension;
                let own = self.numbers.iter_mut().skip(start);
                own.zip(scaled).for_each(|(old, new)| *old = new);
            }
            None => {
                let Ok(row) = u32::try_from(self.places.len()) else {
                    return false;
                };
                self.numbers.extend(scaled);
                self.places.push(at);
                self.rows.insert(at, row);
            }
        }
        true
    }

    pub(crate) fn has(&self, at: At) -> bool {
        self.rows.contains_key(&at)
    }

    /// Everything that has a vector, in no order.
    pub(crate) fn places(&self) -> impl Iterator<Item = At> {
        self.places.iter().copied()
    }

    /// Whether a question of this length can be compared.
    pub(crate) fn compares(&self, question: &[f32]) -> bool {
        question.len() == self.dimension && !self.places.is_empty()
    }

    pub(crate) fn dimension(&self) -> usize {
        self.dimension
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// The nearest statements that `keep` accepts, nearest first. None for a question of another
    /// length.
    pub(crate) fn nearest(
        &self,
        question: &[f32],
        limit: usize,
        keep: impl Fn(At) -> bool,
    ) -> Vec<At> {
        if !self.compares(question) {
            return Vec::new();
        }
        let rows = self.numbers.chunks_exact(self.dimension);
        let closeness = rows.map(|row| dot(row, question));
        let mut all: Vec<(f32, u32)> = closeness.zip(0..).collect();
        // Equals by their place in the memory, whatever got its vector first.
        let place = |row: u32| self.places.get(row as usize);
        let order = |one: &(f32, u32), two: &(f32, u32)| {
            let closer = two.0.total_cmp(&one.0);
            closer.then_with(|| place(one.1).cmp(&place(two.1)))
        };
        let mut found = Vec::new();
        let mut sorted = 0;
        for first in [FIRST_SORTED.max(limit), usize::MAX] {
            let end = first.min(all.len());
            let rest = all.get_mut(sorted..).unwrap_or_default();
            if end < sorted + rest.len() && end > sorted {
                rest.select_nth_unstable_by(end - sorted - 1, order);
            }
            let next = all.get_mut(sorted..end).unwrap_or_default();
            next.sort_unstable_by(order);
            let places = next
                .iter()
                .filter_map(|(_, row)| self.places.get(*row as usize).copied());
            found.extend(places.filter(|at| keep(*at)).take(limit - found.len()));
            sorted = end;
            if found.len() >= limit || end == all.len() {
                break;
            }
        }
        found
    }

    pub(crate) fn bytes(&self) -> usize {
        const ROW: usize = size_of::<At>() * 2 + 16;
        self.numbers.capacity() * size_of::<f32>() + self.places.capacity() * ROW
    }
}

/// In eight sums, which the compiler keeps in one register.
fn dot(one: &[f32], two: &[f32]) -> f32 {
    let mut sums = [0.0_f32; 8];
    let (ones, twos) = (one.chunks_exact(8), two.chunks_exact(8));
    let rest: f32 = ones
        .remainder()
        .iter()
        .zip(twos.remainder())
        .map(|(a, b)| a * b)
        .sum();
    for (a, b) in ones.zip(twos) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    sums.iter().sum::<f32>() + rest
}

/// What the rank in one list is worth: lists of different scales are joined by their ranks alone.
const RANK_OFFSET: f32 = 60.0;

/// Joins lists, best first: what stands high in several of them comes first.
pub(crate) fn fuse(lists: &[Vec<At>]) -> Vec<At> {
    let mut worth: HashMap<At, (f32, usize)> = HashMap::new();
    for list in lists {
        for (rank, at) in list.iter().enumerate() {
            let seen = worth.len();
            let own = worth.entry(*at).or_insert((0.0, seen));
            own.0 += 1.0 / (RANK_OFFSET + 1.0 + rank as f32);
        }
    }
    let mut joined: Vec<_> = worth.into_iter().collect();
    joined.sort_by(|(_, one), (_, two)| two.0.total_cmp(&one.0).then(one.1.cmp(&two.1)));
    joined.into_iter().map(|(at, _)| at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(vectors: &[&[f32]]) -> VectorTable {
        let mut table = VectorTable::default();
        for (no, vector) in (0..).zip(vectors) {
            table.put((no, 0), vector);
        }
        table
    }

    #[test]
    fn the_nearest_come_by_direction_not_by_length() {
        let table = table(&[&[1.0, 0.0], &[50.0, 50.0], &[0.0, 0.1], &[-1.0, 0.0]]);
        assert_eq!(
            table.nearest(&[1.0, 0.1], 3, |_| true),
            [(0, 0), (1, 0), (2, 0)]
        );
        assert_eq!(
            table.nearest(&[1.0, 0.1], 3, |at| at.0 != 1),
            [(0, 0), (2, 0), (3, 0)]
        );
        assert!(table.nearest(&[1.0, 0.1, 0.0], 3, |_| true).is_empty());
    }

    #[test]
    fn what_does_not_compare_is_not_taken() {
        let mut table = table(&[&[1.0, 0.0]]);
        for vector in [
            &[1.0, 0.0, 0.0][..],
            &[0.0, 0.0],
            &[f32::NAN, 1.0],
            &[f32::INFINITY, 1.0],
            &[],
        ] {
            assert!(!table.put((9, 9), vector), "{vector:?}");
        }
        assert!(table.put((0, 0), &[0.0, 3.0]), "a newer one replaces");
        assert_eq!(table.len(), 1);
        assert_eq!(table.nearest(&[0.0, 1.0], 1, |_| true), [(0, 0)]);
    }

    #[test]
    fn a_filter_that_keeps_only_far_ones_still_finds_them() {
        let mut table = VectorTable::default();
        for no in 0..5_000_u32 {
            table.put((no, 0), &[1.0, no as f32 / 100.0]);
        }
        let far = table.nearest(&[1.0, 0.0], 3, |at| at.0 >= 4_990);
        assert_eq!(far, [(4_990, 0), (4_991, 0), (4_992, 0)]);
        assert_eq!(table.nearest(&[1.0, 0.0], 2, |_| true), [(0, 0), (1, 0)]);
    }

    #[test]
    fn ranks_of_two_lists_add_up() {
        let lists = [vec![(1, 0), (2, 0), (3, 0)], vec![(3, 0), (4, 0)]];
        assert_eq!(fuse(&lists), [(3, 0), (1, 0), (2, 0), (4, 0)]);
        assert!(fuse(&[Vec::new(), Vec::new()]).is_empty());
    }
}
