//! How much of each kind of work is under way at once, so that one kind cannot starve another.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::ApiError;

/// How long work waits for its place. Longer, and the client is better served by coming back.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// A number of places and a number of those who may wait for one.
#[derive(Debug, Clone)]
pub(crate) struct Pool {
    places: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
    max_wait: Duration,
}

impl Pool {
    fn new(places: usize, waiting: usize) -> Self {
        Self {
            places: Arc::new(Semaphore::new(places)),
            waiting: Arc::new(Semaphore::new(waiting)),
            max_wait: MAX_WAIT,
        }
    }

    /// A place, held until it is dropped.
    ///
    /// # Errors
    ///
    /// 503 `overloaded` if too many wait already, or for too long.
    pub(crate) async fn enter(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
            return Ok(place);
        }
        let full = || ApiError::overloaded("too many requests of this kind are under way");
        let _waiting = self.waiting.try_acquire().map_err(|_| full())?;
        let place = Arc::clone(&self.places).acquire_owned();
        match tokio::time::timeout(self.max_wait, place).await {
            Ok(Ok(place)) => Ok(place),
            Ok(Err(_)) | Err(_) => Err(full()),
        }
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
            memory: Pool::new(512, 8192),
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
