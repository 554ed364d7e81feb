//! What a term is worth.

/// What the weight of a term grows to at most, by its inverse document frequency.
const SATURATION: f32 = 2.2;

/// A few sums and products of numbers in one order are less than this many times those in another.
pub(super) const ROUNDING: f32 = 1.000_1;

/// Inverse document frequency of a term held by `holders` of `items`.
pub(super) fn idf(holders: u32, items: u32) -> f32 {
    let (holders, items) = (f64::from(holders), f64::from(items));
    (1.0 + (items - holders + 0.5).max(0.0) / (holders + 0.5)).ln() as f32
}

/// Weight of a term in one item, saturating with its count, less in longer items.
pub(super) fn in_item(weight: f32, times: u16, norm: f32) -> f32 {
    let times = f32::from(times);
    weight * SATURATION * times / (times + norm)
}

/// What part of the most that a term may weigh it weighs in one item, but for rounding.
pub(super) fn share(times: u16, norm: f32) -> f32 {
    in_item(1.0 / SATURATION, times, norm)
}

/// What a term weighs no more than in an item with this share.
pub(super) fn at_most(weight: f32, share: f32) -> f32 {
    weight * SATURATION * share * ROUNDING
}

/// Whether more than a fifth of the items hold the term: such a term says nothing of neighbours.
pub(super) fn is_common(holders: u32, items: u32) -> bool {
    u64::from(holders) * 5 > u64::from(items)
}
