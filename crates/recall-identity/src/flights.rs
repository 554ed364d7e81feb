//! One look at a token at a time, shared by everybody who holds it.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, WeakShared};
use parking_lot::Mutex;

use crate::caller::Caller;
use crate::error::Error;
use crate::token::TokenHash;

type Outcome = Result<Caller, Error>;
type Flight = BoxFuture<'static, Outcome>;
type Open = Arc<Mutex<HashMap<TokenHash, (u64, WeakShared<Flight>)>>>;

/// The looks that are under way.
///
/// A flight is driven by those who wait for it and has no task of its own: it goes on while one of
/// them is left, and ends with the last.
#[derive(Default)]
pub(crate) struct Flights {
    open: Open,
    counter: std::sync::atomic::AtomicU64,
}

impl Flights {
    /// The flight for `hash` that is under way, or a new one.
    pub(crate) fn join(&self, hash: TokenHash, start: impl FnOnce() -> Flight) -> Shared<Flight> {
        let mut open = self.open.lock();
        if let Some(flight) = open.get(&hash).and_then(|(_, flight)| flight.upgrade()) {
            return flight;
        }
        let id = self
            .counter
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let landing = Landing {
            open: Arc::clone(&self.open),
            hash,
            id,
        };
        let look = start();
        let flight = async move {
            // Gone before the outcome is seen: whoever comes later gets a look of their own.
            let _landing = landing;
            look.await
        }
        .boxed()
        .shared();
        if let Some(weak) = flight.downgrade() {
            open.insert(hash, (id, weak));
        }
        flight
    }
}

impl fmt::Debug for Flights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Flights")
            .field("open", &self.open.lock().len())
            .finish()
    }
}

/// Takes a flight off the list when it ends, however it ends.
struct Landing {
    open: Open,
    hash: TokenHash,
    id: u64,
}

impl Drop for Landing {
    fn drop(&mut self) {
        let mut open = self.open.lock();
        if open.get(&self.hash).is_some_and(|(id, _)| *id == self.id) {
            open.remove(&self.hash);
        }
    }
}
