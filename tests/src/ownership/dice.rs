//! Choices that follow from a seed.

use std::time::Duration;

/// A small generator of numbers (splitmix64): the same seed makes the same choices.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// The choices of one part of a run, apart from those of the others.
    #[must_use]
    pub fn new(seed: u64, part: &str) -> Self {
        // FNV-1a: stable over versions, which the standard hasher is not.
        let part = part.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self(seed ^ part)
    }

    /// The next number.
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.roll() % limit.max(1)
    }

    /// True so many times in a hundred.
    pub fn percent(&mut self, share: u64) -> bool {
        self.below(100) < share
    }

    /// A time of so many milliseconds, from the first up to the second.
    pub fn millis(&mut self, least: u64, most: u64) -> Duration {
        Duration::from_millis(least + self.below(most.saturating_sub(least)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_makes_the_same_choices_and_parts_do_not_share_them() {
        let rolls = |seed, part| {
            let mut dice = Dice::new(seed, part);
            (0..8).map(|_| dice.roll()).collect::<Vec<_>>()
        };
        assert_eq!(rolls(1, "a"), rolls(1, "a"));
        assert_ne!(rolls(1, "a"), rolls(2, "a"));
        assert_ne!(rolls(1, "a"), rolls(1, "b"));
    }
}
