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
const BURST: Duration = Duration::from_millis(20);
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
    /// Whether nobody waits in a queue that stands.
    sheds: bool,
    began: Instant,
    /// When a place was last found free, in milliseconds from `began`.
    free_at: Arc<AtomicU64>,
    /// When somebody was last sent away, by the same count; [`NEVER`] if nobody was.
    shed_at: Arc<AtomicU64>,
}

const NEVER: u64 = u64::MAX;

impl Pool {
    /// Whoever finds no place waits up to five seconds.
    fn new(places: usize, waiting: usize) -> Self {
        Self {
            places: Arc::new(Semaphore::new(places)),
            waiting: Arc::new(Semaphore::new(waiting)),
            max_wait: MAX_WAIT,
            sheds: false,
            began: Instant::now(),
            free_at: Arc::default(),
            shed_at: Arc::new(AtomicU64::new(NEVER)),
        }
    }

    /// Work of which more may come than can be done: in a queue that stands nobody waits.
    fn shedding(self) -> Self {
        Self {
            sheds: true,
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
        if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
            self.free_at.store(now, Ordering::Relaxed);
            return Ok(place);
        }
        let full = || {
            self.shed_at.store(self.now(), Ordering::Relaxed);
            ApiError::overloaded("too many requests of this kind are under way")
        };
        if self.sheds && self.stands(now) {
            return Err(full());
        }
        let _waiting = self.waiting.try_acquire().map_err(|_| full())?;
        let place = Arc::clone(&self.places).acquire_owned();
        match tokio::time::timeout(self.max_wait, place).await {
            Ok(Ok(place)) => Ok(place),
            Ok(Err(_)) | Err(_) => Err(full()),
        }
    }

    /// Whether the queue that one finds who comes at `now` is no burst.
    fn stands(&self, now: u64) -> bool {
        let since = |at: &AtomicU64| {
            let at = at.load(Ordering::Relaxed);
            (at != NEVER).then(|| Duration::from_millis(now.saturating_sub(at)))
        };
        since(&self.free_at).is_some_and(|free| free > BURST)
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
    fn default() -> Self {
        Self {
            exchange: Pool::new(1024, 8192),
            memory: Pool::new(256, 8192).shedding(),
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
        let pool = Pool::new(1, 8).shedding();
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
