//! How much of each kind of work is under way at once, so that one kind cannot starve another.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::error::ApiError;

/// How long work waits for its place in a burst. Longer, and the client is better served by coming
/// back.
const MAX_WAIT: Duration = Duration::from_secs(5);
/// A queue that has stood for this long is no burst: more comes in than can be done, and whoever
/// waits makes all that follow wait as long. Those who have places keep the store busy, so the rest is
/// told at once to come back, which costs least.
const BURST: Duration = Duration::from_millis(10);
/// How long nobody may have been sent away before a queue counts as a burst again. While more comes in
/// than can be done, a place is free for a moment whenever the queue was shed, and whoever came just
/// then would wait behind all who came with it.
const CALM: Duration = Duration::from_secs(1);

/// A number of places and a number of those who may wait for one.
#[derive(Debug, Clone)]
pub(crate) struct Pool {
    places: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
    max_wait: Duration,
    size: usize,
    /// How many of the places are given while a great many are sent away. `None` where nobody is, but
    /// waits.
    fewer: Option<usize>,
    began: Instant,
    /// When a place was last found free, in milliseconds from `began`.
    free_at: Arc<AtomicU64>,
    /// When somebody was last sent away, by the same count; [`NEVER`] if nobody was.
    shed_at: Arc<AtomicU64>,
    /// How many were sent away from a moment on, for [`CALM`].
    counted: Arc<AtomicU64>,
    counted_from: Arc<AtomicU64>,
    /// Until when fewer places are given.
    fewer_until: Arc<AtomicU64>,
}

const NEVER: u64 = u64::MAX;

impl Pool {
    /// Whoever finds no place waits up to five seconds.
    fn new(places: usize, waiting: usize) -> Self {
        Self {
            places: Arc::new(Semaphore::new(places)),
            waiting: Arc::new(Semaphore::new(waiting)),
            max_wait: MAX_WAIT,
            size: places,
            fewer: None,
            began: Instant::now(),
            free_at: Arc::default(),
            shed_at: Arc::new(AtomicU64::new(NEVER)),
            counted: Arc::default(),
            counted_from: Arc::default(),
            fewer_until: Arc::default(),
        }
    }

    /// Work of which more may come than can be done: in a queue that stands nobody waits. While a great many
    /// are sent away, only `fewer` of the places are given.
    fn shedding(self, fewer: usize) -> Self {
        Self {
            fewer: Some(fewer),
            ..self
        }
    }

    /// A place, held until it is dropped.
    ///
    /// # Errors
    ///
    /// 503 `overloaded` if too many wait already, or for too long.
    pub(crate) async fn enter(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        let now = self.now();
        let full = || ApiError::overloaded("too many requests of this kind are under way");
        let free = || {
            let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
            self.free_at.store(now, Ordering::Relaxed);
            Some(place)
        };
        if let Some(fewer) = self.fewer
            && self.stands(now)
        {
            let many = now < self.fewer_until.load(Ordering::Relaxed);
            let given = if many { fewer } else { self.size };
            let taken = self.size.saturating_sub(self.places.available_permits());
            let place = (taken < given).then(free).flatten();
            return place.ok_or_else(|| {
                self.shed(now);
                full()
            });
        }
        if let Some(place) = free() {
            return Ok(place);
        }
        let place = async {
            let _waiting = self.waiting.try_acquire().ok()?;
            let place = Arc::clone(&self.places).acquire_owned();
            tokio::time::timeout(self.max_wait, place).await.ok()?.ok()
        };
        place.await.ok_or_else(|| {
            self.shed(self.now());
            full()
        })
    }

    /// Notes that somebody is sent away. Counts of callers that come at once may differ a little.
    fn shed(&self, now: u64) {
        self.shed_at.store(now, Ordering::Relaxed);
        let calm = CALM.as_millis() as u64;
        if now.saturating_sub(self.counted_from.load(Ordering::Relaxed)) >= calm {
            self.counted_from.store(now, Ordering::Relaxed);
            self.counted.store(0, Ordering::Relaxed);
        }
        if self.counted.fetch_add(1, Ordering::Relaxed) >= self.size as u64 {
            self.fewer_until.store(now + calm, Ordering::Relaxed);
        }
    }

    /// Whether the queue that one finds who comes at `now` is no burst.
    fn stands(&self, now: u64) -> bool {
        let since = |at: &AtomicU64| {
            let at = at.load(Ordering::Relaxed);
            (at != NEVER).then(|| Duration::from_millis(now.saturating_sub(at)))
        };
        let stood = || since(&self.free_at).is_some_and(|free| free > BURST);
        (self.places.available_permits() == 0 && stood())
            || since(&self.shed_at).is_some_and(|shed| shed < CALM)
    }

    /// Milliseconds from when the pool was made.
    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(NEVER - 1)
    }
}

/// The pools of a server. Their sizes bound memory; none is reached by ordinary load, because a
/// place is taken only once a request is read and its answer is being made.
#[derive(Debug, Clone)]
pub(crate) struct Pools {
    /// Exchanges: a place each while the API server is asked.
    pub(crate) exchange: Pool,
    /// Memory operations and tools.
    pub(crate) memory: Pool,
    /// Managing keys and looking at agents: operators must get through when all else is busy.
    pub(crate) admin: Pool,
}

impl Default for Pools {
    /// For a store in this process.
    fn default() -> Self {
        Self::new(true)
    }
}

/// Places for memory operations.
const MEMORY: usize = 256;
/// As many as keep a store in this process busy, which writes what has gathered in one go. Each more only
/// makes all of them wait: to send one away costs a fraction of serving them, so it is worth to have
/// processors left for that.
const FEWER: usize = 64;

impl Pools {
    /// `near`: whether the store is in this process. One behind a network has a use for every place.
    pub(crate) fn new(near: bool) -> Self {
        let fewer = if near { FEWER } else { MEMORY };
        Self {
            exchange: Pool::new(1024, 8192),
            memory: Pool::new(MEMORY, 8192).shedding(fewer),
            admin: Pool::new(32, 256),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(places: usize, waiting: usize, max_wait: Duration) -> Pool {
        Pool {
            max_wait,
            ..Pool::new(places, waiting)
        }
    }

    #[tokio::test]
    async fn who_finds_neither_place_nor_room_to_wait_is_told_at_once() {
        let pool = pool(1, 1, Duration::from_secs(3600));
        let first = pool.enter().await.expect("a place is free");
        let second = tokio::spawn({
            let pool = pool.clone();
            async move { pool.enter().await.map(drop) }
        });
        while pool.waiting.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        let third = pool.enter().await.expect_err("nobody else may wait");
        assert_eq!((third.status.as_u16(), third.code), (503, "overloaded"));
        drop(first);
        second.await.expect("no panic").expect("its turn came");
        assert!(pool.enter().await.is_ok(), "all places are free again");
    }

    #[tokio::test]
    async fn nobody_waits_for_ever() {
        let pool = pool(1, 1, Duration::from_millis(1));
        let _held = pool.enter().await.expect("a place is free");
        let error = pool.enter().await.expect_err("it waited long enough");
        assert_eq!(error.code, "overloaded");
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_waits_for_its_turn_and_a_standing_queue_is_shed() {
        let pool = Pool::new(1, 8).shedding(1);
        let waited = |pool: Pool| async move {
            let began = Instant::now();
            let refused = pool.enter().await.is_err();
            (refused, began.elapsed())
        };
        let held = pool.enter().await.expect("a place is free");
        let in_the_burst = tokio::spawn(waited(pool.clone()));
        tokio::time::sleep(BURST * 2).await;
        assert_eq!(waited(pool.clone()).await, (true, Duration::ZERO));
        drop(held);
        let (refused, _) = in_the_burst.await.expect("no panic");
        assert!(!refused, "whoever came before the queue stood has its turn");
        // A place was free for a moment, as it is again and again under a load that lasts.
        let held = pool.enter().await.expect("a place is free");
        assert_eq!(waited(pool.clone()).await, (true, Duration::ZERO));
        drop(held);
        // The load has ended: the next burst is borne again.
        tokio::time::sleep(CALM).await;
        let _held = pool.enter().await.expect("a place is free");
        assert_eq!(waited(pool.clone()).await, (true, MAX_WAIT));
    }

    /// More than there are places for came, and a second later less: nobody is sent away any more, though
    /// more came than the fewer places that were given meanwhile.
    #[tokio::test(start_paused = true)]
    async fn fewer_places_are_given_while_a_great_many_are_sent_away() {
        let pool = Pool::new(8, 0).shedding(2);
        let take = async |most: usize| {
            let mut held = Vec::new();
            for _ in 0..most {
                held.extend(pool.enter().await.ok());
            }
            held
        };
        let held = take(9).await;
        assert_eq!(held.len(), 8, "one finds no place and none may wait");
        assert_eq!(take(7).await.len(), 0);
        drop(held);
        assert_eq!(
            take(8).await.len(),
            8,
            "few were sent away: no fewer than as many as places"
        );
        let held = take(8).await;
        assert_eq!(take(1).await.len(), 0);
        drop(held);
        assert_eq!(take(8).await.len(), 2);
        // From the second look on fewer are sent away than there are places.
        for found in [2, 2, 4] {
            tokio::time::sleep(CALM / 2).await;
            assert_eq!(take(4).await.len(), found);
        }
        assert_eq!(take(8).await.len(), 8);
    }

    #[tokio::test]
    async fn a_busy_kind_of_work_leaves_the_others_alone() {
        let pools = Pools::default();
        let mut held = Vec::new();
        while let Ok(place) = Arc::clone(&pools.memory.places).try_acquire_owned() {
            held.push(place);
        }
        assert!(pools.admin.enter().await.is_ok());
        assert!(pools.exchange.enter().await.is_ok());
    }
}
