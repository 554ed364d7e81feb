//! Checked keys in memory, and how long they may be believed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use subtle::ConstantTimeEq;

use crate::error::Error;
use crate::record::{Grant, KeyId, KeyRecord};
use crate::text::KeyHash;

/// Keys kept in memory at most; about 0.5 KiB each.
const CAPACITY: u64 = 50_000;
/// On a store that others write too, a key older than this is read again before it is believed:
/// what another replica revoked is refused here within it. Half of the second that is promised: the
/// reading itself takes time on a busy store.
const REVALIDATE: Duration = Duration::from_millis(500);
/// A cached key is read again after this in any case.
const MAX_AGE: Duration = Duration::from_secs(300);
/// How long a change made here outranks what a reader that started before it may still cache. Must
/// be longer than `MAX_AGE`.
const CHANGES_KEPT: Duration = Duration::from_secs(900);

/// A key as it was read.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) record: KeyRecord,
    pub(crate) grant: Arc<Grant>,
    hash: KeyHash,
    /// Of a reading, when it began; of a change, when it was committed. So a reading is newer than a
    /// change only if it cannot have missed it.
    as_of: Instant,
}

impl Entry {
    pub(crate) fn new(record: KeyRecord, hash: KeyHash, as_of: Instant) -> Self {
        let grant = Grant {
            key: Some(record.id),
            reach: record.reach.clone(),
            agent: record.agent.clone(),
            session: record.session.clone(),
            pod_uid: record.pod.as_ref().map(|binding| binding.pod.uid.clone()),
        };
        Self {
            record,
            grant: Arc::new(grant),
            hash,
            as_of,
        }
    }

    /// Whether `hash` is that of the key, in constant time.
    pub(crate) fn is_key(&self, hash: &KeyHash) -> bool {
        self.hash.ct_eq(hash).into()
    }
}

/// What this process did to a key.
#[derive(Debug, Clone)]
enum Change {
    /// Revoked it, for good, at this moment. Pods that fetch keys over and over displace their old
    /// ones, so there are many of these and each is kept small.
    Ended(Instant),
    /// Extended its life.
    Extended(Arc<Entry>),
}

pub(crate) struct Cache {
    entries: moka::future::Cache<KeyId, Arc<Entry>>,
    /// Keys changed by this process lately. Without it, a reader that read before a revocation and
    /// cached after it would bring the key back to life.
    changes: moka::sync::Cache<KeyId, Change>,
    exclusive: bool,
    trust: Duration,
}

impl Cache {
    pub(crate) fn new(exclusive: bool, trust: Duration) -> Self {
        let entries = moka::future::Cache::builder()
            .max_capacity(CAPACITY)
            .time_to_live(MAX_AGE.max(trust))
            .build();
        let changes = moka::sync::Cache::builder()
            .max_capacity(CAPACITY)
            .time_to_live(CHANGES_KEPT.max(trust * 2))
            .build();
        Self {
            entries,
            changes,
            exclusive,
            trust,
        }
    }

    /// The entry of a key: from memory if it may be believed, else by one `load` that all callers
    /// waiting for this key share.
    pub(crate) async fn get<F>(&self, id: &KeyId, load: impl Fn() -> F) -> Result<Arc<Entry>, Error>
    where
        F: Future<Output = Result<Entry, Error>>,
    {
        let entry = match self.entries.get(id).await {
            Some(entry) if self.fresh(&entry) => entry,
            Some(entry) => self.reload(id, entry, load()).await?,
            None => self.first(id, load()).await?,
        };
        self.newest(entry)
    }

    fn fresh(&self, entry: &Entry) -> bool {
        self.exclusive || entry.as_of.elapsed() < REVALIDATE
    }

    async fn first(
        &self,
        id: &KeyId,
        load: impl Future<Output = Result<Entry, Error>>,
    ) -> Result<Arc<Entry>, Error> {
        let shared = self
            .entries
            .try_get_with_by_ref(id, async { load.await.map(Arc::new) });
        shared.await.map_err(|error: Arc<Error>| copy(&error))
    }

    /// Reads a key again; while the store cannot be asked, the old reading serves for a bounded
    /// time.
    async fn reload(
        &self,
        id: &KeyId,
        old: Arc<Entry>,
        load: impl Future<Output = Result<Entry, Error>>,
    ) -> Result<Arc<Entry>, Error> {
        match load.await {
            Ok(entry) => Ok(self.put(entry).await),
            Err(Error::Store(recall_store::Error::Unavailable { .. }))
                if old.as_of.elapsed() < self.trust =>
            {
                Ok(old)
            }
            Err(error) => {
                self.entries.invalidate(id).await;
                Err(error)
            }
        }
    }

    /// What is newer: a reading, or a change that this process made.
    fn newest(&self, read: Arc<Entry>) -> Result<Arc<Entry>, Error> {
        match self.changes.get(&read.record.id) {
            Some(Change::Ended(at)) if at > read.as_of => Err(Error::Unauthenticated),
            Some(Change::Extended(change)) if change.as_of > read.as_of => Ok(change),
            Some(_) | None => Ok(read),
        }
    }

    /// Remembers a reading.
    pub(crate) async fn put(&self, entry: Entry) -> Arc<Entry> {
        let entry = Arc::new(entry);
        self.entries
            .insert(entry.record.id, Arc::clone(&entry))
            .await;
        entry
    }

    /// Makes a change of this process hold for every later look-up here.
    pub(crate) fn changed(&self, entry: Entry) {
        let id = entry.record.id;
        let change = match entry.record.revoked_at {
            Some(_) => Change::Ended(entry.as_of),
            None => Change::Extended(Arc::new(entry)),
        };
        self.changes.insert(id, change);
    }
}

/// The part of a shared error that its callers act on.
fn copy(error: &Error) -> Error {
    match error {
        Error::Unauthenticated => Error::Unauthenticated,
        Error::Store(recall_store::Error::Damaged(what)) => {
            Error::Store(recall_store::Error::Damaged(what.clone()))
        }
        Error::Store(recall_store::Error::Unavailable {
            reason,
            retry_after,
        }) => {
            let (reason, retry_after) = (reason.clone(), *retry_after);
            Error::Store(recall_store::Error::Unavailable {
                reason,
                retry_after,
            })
        }
        other => Error::Store(recall_store::Error::unavailable(other.to_string())),
    }
}
