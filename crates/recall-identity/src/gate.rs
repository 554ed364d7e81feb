//! How many looks are under way and how many wait.

use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::error::Error;

/// A few at a time, a bounded queue behind them, and bounded patience in it.
#[derive(Debug)]
pub(crate) struct Gate {
    places: Semaphore,
    turns: Semaphore,
    patience: Duration,
}

/// A turn; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    _place: SemaphorePermit<'a>,
    _turn: SemaphorePermit<'a>,
}

impl Gate {
    pub(crate) fn new(turns: usize, queue: usize, patience: Duration) -> Self {
        let places = turns.saturating_add(queue).min(Semaphore::MAX_PERMITS);
        let turns = turns.min(Semaphore::MAX_PERMITS);
        Self {
            places: Semaphore::new(places),
            turns: Semaphore::new(turns),
            patience,
        }
    }

    pub(crate) async fn enter(&self) -> Result<Turn<'_>, Error> {
        let place = self.places.try_acquire().map_err(|_| Error::Overloaded)?;
        match tokio::time::timeout(self.patience, self.turns.acquire()).await {
            Ok(Ok(turn)) => Ok(Turn {
                _place: place,
                _turn: turn,
            }),
            Ok(Err(_)) | Err(_) => Err(Error::Overloaded),
        }
    }
}
