//! How often one source may ask.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::hash::Hash;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use recall_keys::{format_go, parse_go};

/// So many in such a time. Whoever was silent for that time may ask as often at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    count: NonZeroU32,
    period: Duration,
}

impl Rate {
    /// The longest time a rate may speak of.
    const MAX_PERIOD: Duration = Duration::from_secs(24 * 3600);

    /// How many pass at once.
    pub(crate) fn count(self) -> u32 {
        self.count.get()
    }

    /// The time that a rate speaks of.
    pub(crate) fn period(self) -> Duration {
        self.period
    }

    /// How long one request takes from what is allowed.
    fn cost(self) -> Duration {
        self.period / self.count.get()
    }
}

/// How somebody who is held to a rate stands with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Left {
    /// How many requests pass at once.
    pub(crate) count: u32,
    /// When as many pass as ever, if nothing more is asked.
    pub(crate) restored: Duration,
}

/// What stands for a rate in a setting: `60/1m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidRate;

impl fmt::Display for InvalidRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("must be a number and a time of at most 24h, such as 60/1m")
    }
}

impl std::error::Error for InvalidRate {}

impl FromStr for Rate {
    type Err = InvalidRate;

    fn from_str(text: &str) -> Result<Self, InvalidRate> {
        let (count, period) = text.split_once('/').ok_or(InvalidRate)?;
        let count = count.parse().map_err(|_| InvalidRate)?;
        let period = parse_go(period).map_err(|_| InvalidRate)?;
        let rate = Self { count, period };
        match period <= Self::MAX_PERIOD && !rate.cost().is_zero() {
            true => Ok(rate),
            false => Err(InvalidRate),
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.count, format_go(self.period))
    }
}

/// Holds everybody to a rate, each by a key of their own.
///
/// Of each key one instant is kept: when what it asked for so far is paid off. So a key is forgotten
/// without loss once that instant is past; if too many are not, those seen first go, which costs no
/// more than a fresh start for each.
pub(crate) struct Limiter<K> {
    rate: Option<Rate>,
    capacity: usize,
    seen: Mutex<Seen<K>>,
}

struct Seen<K> {
    paid_off: HashMap<K, Instant>,
    order: VecDeque<K>,
}

impl<K: Clone + Eq + Hash> Limiter<K> {
    /// No limit at all if there is no rate.
    pub(crate) fn new(rate: Option<Rate>, capacity: usize) -> Self {
        let seen = Seen {
            paid_off: HashMap::new(),
            order: VecDeque::new(),
        };
        Self {
            rate,
            capacity: capacity.max(1),
            seen: Mutex::new(seen),
        }
    }

    /// Lets one request of `key` pass, or tells how long it has to wait.
    pub(crate) fn take(&self, key: &K) -> Result<(), Duration> {
        self.take_at(key, Instant::now())
    }

    /// What `key` may still ask for at once. Takes nothing.
    pub(crate) fn left(&self, key: &K) -> Option<Left> {
        self.left_at(key, Instant::now())
    }

    fn left_at(&self, key: &K, now: Instant) -> Option<Left> {
        let rate = self.rate?;
        let paid_off = self.seen.lock().paid_off.get(key).copied();
        let owed = paid_off.map_or(Duration::ZERO, |at| at.saturating_duration_since(now));
        let free = rate.period.saturating_sub(owed);
        let count = free.as_nanos() / rate.cost().as_nanos();
        Some(Left {
            count: u32::try_from(count).unwrap_or(u32::MAX).min(rate.count()),
            restored: owed,
        })
    }

    fn take_at(&self, key: &K, now: Instant) -> Result<(), Duration> {
        let Some(rate) = self.rate else {
            return Ok(());
        };
        let mut seen = self.seen.lock();
        let paid_off = seen.paid_off.get(key).map_or(now, |at| (*at).max(now));
        let next = paid_off + rate.cost();
        let early = next.saturating_duration_since(now + rate.period);
        if !early.is_zero() {
            return Err(early);
        }
        if seen.paid_off.insert(key.clone(), next).is_none() {
            seen.order.push_back(key.clone());
            seen.make_room(self.capacity, now);
        }
        Ok(())
    }
}

impl<K: Clone + Eq + Hash> Seen<K> {
    /// Forgets those who owe nothing, from the oldest on; beyond the capacity the oldest in any case.
    fn make_room(&mut self, capacity: usize, now: Instant) {
        while let Some(oldest) = self.order.front() {
            let owes = self.paid_off.get(oldest).is_some_and(|at| *at > now);
            if owes && self.order.len() <= capacity {
                return;
            }
            if let Some(oldest) = self.order.pop_front() {
                self.paid_off.remove(&oldest);
            }
        }
    }
}

impl<K> fmt::Debug for Limiter<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limiter")
            .field("rate", &self.rate)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limiter(rate: &str, capacity: usize) -> Limiter<u32> {
        Limiter::new(Some(rate.parse().expect("a rate")), capacity)
    }

    #[test]
    fn rates_are_a_number_and_a_time() {
        for (text, again) in [
            ("60/1m", "60/1m0s"),
            ("1/1s", "1/1s"),
            ("5/24h", "5/24h0m0s"),
        ] {
            assert_eq!(
                text.parse::<Rate>().map(|rate| rate.to_string()),
                Ok(again.to_owned())
            );
        }
        for odd in [
            "",
            "60",
            "/1m",
            "0/1m",
            "-1/1m",
            "60/",
            "60/0s",
            "60/25h",
            "4000000000/1ns",
            "1/x",
        ] {
            assert_eq!(odd.parse::<Rate>(), Err(InvalidRate), "{odd}");
        }
    }

    #[test]
    fn as_many_at_once_as_in_the_time_then_one_by_one() {
        let limiter = limiter("10/1s", 100);
        let start = Instant::now();
        for n in 0..10 {
            assert_eq!(limiter.take_at(&1, start), Ok(()), "{n}");
        }
        let tenth = Duration::from_millis(100);
        assert_eq!(limiter.take_at(&1, start), Err(tenth));
        assert_eq!(
            limiter.take_at(&2, start),
            Ok(()),
            "another one is not held"
        );
        assert_eq!(limiter.take_at(&1, start + tenth), Ok(()));
        assert_eq!(limiter.take_at(&1, start + tenth), Err(tenth));
    }

    #[test]
    fn what_is_left_is_told_without_taking_any() {
        let limiter = limiter("10/1s", 100);
        let start = Instant::now();
        let left = |now| {
            let left = limiter.left_at(&1, now).expect("there is a rate");
            (left.count, left.restored)
        };
        assert_eq!(left(start), (10, Duration::ZERO));
        for n in 1..=10_u32 {
            limiter.take_at(&1, start).expect("it passes");
            let owed = Duration::from_millis(100) * n;
            assert_eq!(left(start), (10 - n, owed));
        }
        assert!(limiter.take_at(&1, start).is_err());
        assert_eq!(left(start + Duration::from_millis(250)).0, 2);
        assert_eq!(left(start + Duration::from_secs(5)), (10, Duration::ZERO));
        assert!(Limiter::<u32>::new(None, 1).left(&1).is_none());
    }

    #[test]
    fn a_refusal_costs_nothing() {
        let limiter = limiter("1/1s", 100);
        let start = Instant::now();
        assert_eq!(limiter.take_at(&1, start), Ok(()));
        for _ in 0..1000 {
            assert!(limiter.take_at(&1, start).is_err());
        }
        assert_eq!(limiter.take_at(&1, start + Duration::from_secs(1)), Ok(()));
    }

    #[test]
    fn a_flood_of_sources_stays_within_the_bound() {
        let limiter = limiter("10/1m", 100);
        let start = Instant::now();
        for key in 0..10_000 {
            assert_eq!(limiter.take_at(&key, start), Ok(()));
        }
        let size = |limiter: &Limiter<u32>| {
            let seen = limiter.seen.lock();
            (seen.paid_off.len(), seen.order.len())
        };
        assert_eq!(size(&limiter), (100, 100));
        assert_eq!(limiter.take_at(&0, start + Duration::from_secs(60)), Ok(()));
        assert_eq!(size(&limiter), (1, 1), "who owes nothing is forgotten");
    }

    #[test]
    fn no_rate_is_no_limit() {
        let limiter = Limiter::new(None, 1);
        assert!((0..100_000).all(|_| limiter.take(&1).is_ok()));
    }
}
