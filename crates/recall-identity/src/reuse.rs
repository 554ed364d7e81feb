//! A bounded store of answers that are good for a short time.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use crate::token::TokenHash;

/// Answers by token hash, each good for the same time, the oldest dropped first.
#[derive(Debug)]
pub(crate) struct Reuse<V> {
    good_for: Duration,
    capacity: usize,
    entries: HashMap<TokenHash, (Instant, V)>,
    order: VecDeque<(Instant, TokenHash)>,
}

impl<V: Clone> Reuse<V> {
    pub(crate) fn new(good_for: Duration, capacity: u64) -> Self {
        let capacity = usize::try_from(capacity).unwrap_or(usize::MAX);
        Self {
            good_for,
            capacity,
            entries: HashMap::new(),
            order: VecDeque::new(),
        }
    }

    /// The answer for `hash`, if it is still good.
    pub(crate) fn get(&self, hash: &TokenHash, now: Instant) -> Option<V> {
        let (asked, value) = self.entries.get(hash)?;
        (now < *asked + self.good_for).then(|| value.clone())
    }

    /// Keeps an answer, which counts from the moment the question was asked.
    pub(crate) fn keep(&mut self, hash: TokenHash, asked: Instant, value: V) {
        self.make_room(asked);
        if self.order.len() < self.capacity {
            self.entries.insert(hash, (asked, value));
            self.order.push_back((asked, hash));
        }
    }

    fn make_room(&mut self, now: Instant) {
        while let Some((asked, hash)) = self.order.front() {
            if self.order.len() < self.capacity && now < *asked + self.good_for {
                return;
            }
            // A later answer for the same token has another time and stays.
            if self.entries.get(hash).is_some_and(|(at, _)| at == asked) {
                self.entries.remove(hash);
            }
            self.order.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: Duration = Duration::from_secs(10);

    fn at(start: Instant, seconds: u64) -> Instant {
        start + Duration::from_secs(seconds)
    }

    #[test]
    fn an_answer_ends_with_its_time() {
        let start = Instant::now();
        let mut reuse = Reuse::new(TTL, 10);
        let hash = TokenHash::of("a");
        reuse.keep(hash, start, 1);
        assert_eq!(reuse.get(&hash, at(start, 9)), Some(1));
        assert_eq!(reuse.get(&hash, at(start, 10)), None);
        reuse.keep(hash, at(start, 11), 2);
        assert_eq!(reuse.get(&hash, at(start, 12)), Some(2));
    }

    #[test]
    fn a_flood_of_tokens_stays_within_the_bound() {
        let start = Instant::now();
        let mut reuse = Reuse::new(TTL, 100);
        for n in 0..10_000 {
            reuse.keep(TokenHash::of(&n.to_string()), start, n);
        }
        assert_eq!((reuse.entries.len(), reuse.order.len()), (100, 100));
        assert_eq!(reuse.get(&TokenHash::of("9999"), start), Some(9999));
        reuse.keep(TokenHash::of("x"), at(start, 11), 0);
        assert_eq!((reuse.entries.len(), reuse.order.len()), (1, 1));
    }

    #[test]
    fn nothing_is_kept_without_room() {
        let start = Instant::now();
        let mut reuse = Reuse::new(TTL, 0);
        reuse.keep(TokenHash::of("a"), start, 1);
        assert_eq!(reuse.get(&TokenHash::of("a"), start), None);
    }
}
