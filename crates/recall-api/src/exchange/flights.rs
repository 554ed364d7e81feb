//! One exchange of a token at a time, shared by everybody who brings it meanwhile.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, WeakShared};
use parking_lot::Mutex;
use recall_identity::TokenHash;

use super::{Granted, Refused};

type Flight = BoxFuture<'static, Result<Arc<Granted>, Refused>>;
type Open = Arc<Mutex<HashMap<TokenHash, (u64, WeakShared<Flight>)>>>;

/// The exchanges under way: no more than there are requests under way. One is driven by those who
/// wait for it, and ends with the last of them.
#[derive(Default)]
pub(super) struct Flights {
    open: Open,
    counter: AtomicU64,
}

impl Flights {
    /// The exchange of this token that is under way, or a new one.
    pub(super) fn join<F>(&self, hash: TokenHash, start: impl FnOnce() -> F) -> Shared<Flight>
    where
        F: Future<Output = Result<Arc<Granted>, Refused>> + Send + 'static,
    {
        let mut open = self.open.lock();
        if let Some(flight) = open.get(&hash).and_then(|(_, flight)| flight.upgrade()) {
            return flight;
        }
        let id = self.counter.fetch_add(1, Ordering::Relaxed);
        let landing = Landing {
            open: Arc::clone(&self.open),
            hash,
            id,
        };
        let exchange = start();
        let flight = async move {
            // Off the list before the outcome is seen: whoever comes later gets a key of their own.
            let _landing = landing;
            exchange.await
        };
        let flight = flight.boxed().shared();
        if let Some(weak) = flight.downgrade() {
            open.insert(hash, (id, weak));
        }
        flight
    }
}

/// Takes a flight off the list when it ends, however it ends. One that was given up may have been
/// followed by another, which stays.
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
