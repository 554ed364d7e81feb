//! Checked keys in memory, and how long they may be believed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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
/// A key of this age that is still in use is read again while nobody waits for it.
const AHEAD: Duration = Duration::from_millis(375);
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
    /// Whether somebody was told to read it again.
    told: AtomicBool,
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
            told: AtomicBool::new(false),
        }
    }

    fn age(&self) -> Duration {
        self.as_of.elapsed()
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
    /// Readings that are under way.
    readings: moka::future::Cache<KeyId, Arc<Entry>>,
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
        let readings = moka::future::Cache::builder()
            .max_capacity(CAPACITY)
            .time_to_live(REVALIDATE)
            .build();
        let changes = moka::sync::Cache::builder()
            .max_capacity(CAPACITY)
            .time_to_live(CHANGES_KEPT.max(trust * 2))
            .build();
        Self {
            entries,
            readings,
            changes,
            exclusive,
            trust,
        }
    }

    /// The entry of a key: from memory if it may be believed, else read by `load`.
    pub(crate) async fn get<F>(&self, id: &KeyId, load: impl Fn() -> F) -> Result<Arc<Entry>, Error>
    where
        F: Future<Output = Result<Entry, Error>>,
    {
        let entry = match self.entries.get(id).await {
            Some(entry) if self.fresh(&entry) => entry,
            old => {
                let arrived = Instant::now();
                let enough = |entry: &Entry| entry.as_of >= arrived || entry.age() < REVALIDATE;
                self.read(id, old, enough, load).await?
            }
        };
        self.newest(entry)
    }

    /// The entry of a key as the store has it now.
    pub(crate) async fn anew<F>(
        &self,
        id: &KeyId,
        load: impl Fn() -> F,
    ) -> Result<Arc<Entry>, Error>
    where
        F: Future<Output = Result<Entry, Error>>,
    {
        let arrived = Instant::now();
        let enough = |entry: &Entry| entry.as_of >= arrived;
        let entry = self.read(id, None, enough, load).await?;
        self.newest(entry)
    }

    fn fresh(&self, entry: &Entry) -> bool {
        self.exclusive || entry.age() < REVALIDATE
    }

    /// Whether an entry should be read again before anybody has to wait for it. Each is told of once.
    pub(crate) fn ages(&self, entry: &Entry) -> bool {
        !self.exclusive && entry.age() >= AHEAD && !entry.told.swap(true, Ordering::Relaxed)
    }

    /// Reads a key by one `load` that all callers waiting for this key share, unless it began too early
    /// for one of them. While the store cannot be asked, an old reading serves for a bounded time.
    async fn read<F>(
        &self,
        id: &KeyId,
        old: Option<Arc<Entry>>,
        enough: impl Fn(&Entry) -> bool,
        load: impl Fn() -> F,
    ) -> Result<Arc<Entry>, Error>
    where
        F: Future<Output = Result<Entry, Error>>,
    {
        loop {
            let read = async { load().await.map(Arc::new) };
            let shared = self.readings.try_get_with_by_ref(id, read).await;
            // Those who wait for it have it.
            self.readings.invalidate(id).await;
            match shared {
                Ok(entry) if enough(&entry) => {
                    self.entries.insert(*id, Arc::clone(&entry)).await;
                    return Ok(entry);
                }
                Ok(_) => {}
                Err(error) => {
                    let error = copy(&error);
                    let untold =
                        matches!(error, Error::Store(recall_store::Error::Unavailable { .. }));
                    return match old {
                        Some(old) if untold && old.age() < self.trust => Ok(old),
                        _ => {
                            self.entries.invalidate(id).await;
                            Err(error)
                        }
                    };
                }
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use jiff::Timestamp;
    use tokio::sync::Semaphore;
    use tokio::task::{JoinHandle, yield_now};

    use super::*;
    use crate::record::Reach;

    const TRUST: Duration = Duration::from_secs(30);

    fn entry(id: KeyId, as_of: Instant) -> Entry {
        let record = KeyRecord {
            id,
            reach: Reach::Admin,
            agent: None,
            session: None,
            note: None,
            created_at: Timestamp::UNIX_EPOCH,
            ttl: None,
            expires_at: None,
            revoked_at: None,
            pod: None,
        };
        Entry::new(record, [7; 32], as_of)
    }

    fn id() -> KeyId {
        "00000000000000aa".parse().expect("an id")
    }

    /// A cache over a store that others write, on which a reading lasts until it is let go.
    struct Ground {
        cache: Cache,
        begun: AtomicUsize,
        let_go: Semaphore,
    }

    impl Ground {
        fn new() -> Arc<Self> {
            Arc::new(Self {
                cache: Cache::new(false, TRUST),
                begun: AtomicUsize::new(0),
                let_go: Semaphore::new(0),
            })
        }

        async fn load(&self) -> Result<Entry, Error> {
            let as_of = Instant::now();
            self.begun.fetch_add(1, Ordering::SeqCst);
            let turn = self.let_go.acquire().await;
            turn.expect("it is never closed").forget();
            Ok(entry(id(), as_of))
        }

        fn ask(self: &Arc<Self>) -> JoinHandle<Result<Arc<Entry>, Error>> {
            let this = Arc::clone(self);
            tokio::spawn(async move { this.cache.get(&id(), || this.load()).await })
        }

        /// How many readings have begun once everybody who can go on has.
        async fn begun(&self) -> usize {
            for _ in 0..1_000 {
                yield_now().await;
            }
            self.begun.load(Ordering::SeqCst)
        }
    }

    #[tokio::test]
    async fn those_who_come_for_a_key_that_is_due_share_one_reading() {
        let ground = Ground::new();
        let old = entry(id(), Instant::now() - REVALIDATE);
        ground.cache.entries.insert(id(), Arc::new(old)).await;
        let asked: Vec<_> = (0..32).map(|_| ground.ask()).collect();
        assert_eq!(ground.begun().await, 1);
        ground.let_go.add_permits(32);
        for asked in asked {
            let entry = asked.await.expect("it runs").expect("the key");
            assert!(entry.age() < REVALIDATE);
        }
        assert_eq!(ground.begun().await, 1);
    }

    /// What a reading that began before may miss is a revocation that was acknowledged meanwhile.
    #[tokio::test]
    async fn a_reading_that_took_too_long_answers_nobody_who_came_after_it_began() {
        let ground = Ground::new();
        let first = ground.ask();
        assert_eq!(ground.begun().await, 1);
        let later = ground.ask();
        assert_eq!(ground.begun().await, 1);
        tokio::time::sleep(REVALIDATE).await;
        ground.let_go.add_permits(1);
        first.await.expect("it runs").expect("the key");
        assert_eq!(ground.begun().await, 2);
        ground.let_go.add_permits(1);
        later.await.expect("it runs").expect("the key");
    }

    #[tokio::test]
    async fn one_caller_is_told_that_a_key_ages() {
        let shared = Cache::new(false, TRUST);
        let own = Cache::new(true, TRUST);
        let young = entry(id(), Instant::now());
        let old = entry(id(), Instant::now() - AHEAD);
        assert!(!shared.ages(&young) && !own.ages(&old));
        assert!(shared.ages(&old) && !shared.ages(&old));
    }
}
