//! One writer at a time for records that are written on a condition.
//!
//! Within a process a lock serves; between replicas one of the store's does, which a replica that is
//! alone does without. So does a write that the store itself can make conditional.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use recall_store::Error;
use sha2::{Digest, Sha256};
use tokio::sync::OwnedMutexGuard;

use crate::age::Moment;
use crate::replicas::Replicas;
use crate::rows::Rows;

/// Locks that records share within a process.
const SHARDS: usize = 1024;
/// A replica that dies with a lock holds others up this long.
const TTL: Duration = Duration::from_secs(10);
/// A lock is relied on this long after it was asked for; then the write is given up.
const RELIED: Duration = Duration::from_secs(8);
/// How long a lock is waited for.
const PATIENCE: Duration = Duration::from_secs(15);
const PAUSE: Duration = Duration::from_millis(8);

/// The locks of one store.
#[derive(Debug)]
pub(crate) struct Locks {
    db: Arc<dyn Rows>,
    shards: Vec<Arc<tokio::sync::Mutex<()>>>,
    hasher: RandomState,
}

/// Whom a lock keeps out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Other writes of this process: against other replicas the store itself checks.
    Process,
    /// Other replicas too.
    Replicas,
}

/// What is held until it is given back.
#[derive(Debug)]
pub(crate) struct Held {
    _here: Vec<OwnedMutexGuard<()>>,
    db: Arc<dyn Rows>,
    collection: String,
    holder: String,
    /// Of each lock between replicas: its name, the number, and when it was asked for.
    leases: Vec<(String, u64, Moment)>,
}

impl Locks {
    pub(crate) fn new(db: Arc<dyn Rows>) -> Self {
        Self {
            db,
            shards: (0..SHARDS).map(|_| Arc::default()).collect(),
            hasher: RandomState::new(),
        }
    }

    /// Waits until nobody else holds any of these names.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] if that takes too long or cannot be told.
    pub(crate) async fn hold(
        &self,
        replicas: &Replicas,
        names: &[String],
        reach: Reach,
    ) -> Result<Held, Error> {
        let mut shards: Vec<usize> = names
            .iter()
            .map(|name| self.hasher.hash_one(name) as usize % SHARDS)
            .collect();
        // In one order everywhere, so that no two wait for each other.
        shards.sort_unstable();
        shards.dedup();
        let mut here = Vec::with_capacity(shards.len());
        for shard in shards
            .into_iter()
            .filter_map(|shard| self.shards.get(shard))
        {
            here.push(Arc::clone(shard).lock_owned().await);
        }
        let mut held = Held {
            _here: here,
            db: Arc::clone(&self.db),
            collection: replicas.locks().to_owned(),
            holder: replicas.id().to_owned(),
            leases: Vec::new(),
        };
        let between = reach == Reach::Replicas && !names.is_empty();
        if between && !replicas.others().await?.is_empty() {
            let mut leases: Vec<String> = names.iter().map(|name| lease(name)).collect();
            leases.sort_unstable();
            leases.dedup();
            for name in leases {
                if let Err(error) = held.take(name).await {
                    held.give_back().await;
                    return Err(error);
                }
            }
        }
        Ok(held)
    }
}

impl Held {
    async fn take(&mut self, name: String) -> Result<(), Error> {
        let began = Moment::now();
        let mut pause = PAUSE;
        while began.age() < PATIENCE {
            let asked = Moment::now();
            let taken = self
                .db
                .lock(&self.collection, &name, &self.holder, TTL)
                .await?;
            if let Some(number) = taken {
                self.leases.push((name, number, asked));
                return Ok(());
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 3 / 2).min(PAUSE * 16);
        }
        Err(Error::unavailable(
            "another server kept writing the same record",
        ))
    }

    /// Whether it is sure that nobody else holds them.
    pub(crate) fn stands(&self) -> bool {
        self.leases.iter().all(|(_, _, asked)| asked.age() < RELIED)
    }

    /// Lets the next one in. A lock that cannot be given back ends by itself.
    pub(crate) async fn give_back(self) {
        for (name, number, _) in &self.leases {
            let released = self
                .db
                .unlock(&self.collection, name, &self.holder, *number)
                .await;
            if let Err(error) = released {
                tracing::debug!(%error, "a lock between servers was left to run out");
            }
        }
    }
}

fn lease(name: &str) -> String {
    let digest = Sha256::digest(name.as_bytes());
    format!("w-{}", hex::encode(digest.get(..16).unwrap_or_default()))
}
