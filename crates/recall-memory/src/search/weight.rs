//! What a term is worth.

/// Inverse document frequency of a term held by `holders` of `items`.
pub(super) fn idf(holders: u32, items: u32) -> f32 {
    let (holders, items) = (f64::from(holders), f64::from(items));
    (1.0 + (items - holders + 0.5).max(0.0) / (holders + 0.5)).ln() as f32
}

/// Weight of a term in one item, saturating with its count, less in longer items.
pub(super) fn in_item(weight: f32, times: u16, norm: f32) -> f32 {
    const SATURATION: f32 = 2.2;
    let times = f32::from(times);
    weight * SATURATION * times / (times + norm)
}

/// Whether more than a fifth of the items hold the term: such a term says nothing of neighbours.
pub(super) fn is_common(holders: u32, items: u32) -> bool {
    u64::from(holders) * 5 > u64::from(items)
}
