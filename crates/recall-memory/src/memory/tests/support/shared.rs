//! A store that several servers share, with faults to be switched on.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use recall_store::{
    Acquired, Batch, BoxFuture, Capabilities, Committed, Epoch, Error, Grant, LeaseState, LogPage,
    MemoryStore, Namespace, Record, RecordKind, RecordPage, Revision, Store,
};

/// The in-memory store without the promise that nobody else writes it.
#[derive(Debug)]
pub(crate) struct SharedStore {
    pub(crate) inner: MemoryStore,
    conditional: bool,
    /// Promises all the same that nobody else writes.
    pub(crate) exclusive: bool,
    /// How long each commit takes.
    pub(crate) commit_time: Duration,
    /// The next commit happens and its answer is lost.
    pub(crate) lose_answer: AtomicBool,
    pub(crate) down: AtomicBool,
    /// The next commit is the last thing that works.
    pub(crate) down_after_commit: AtomicBool,
    pub(crate) always_conflict: AtomicBool,
    pub(crate) commits: AtomicU64,
    /// How often the log's revision was asked for.
    pub(crate) checks: AtomicU64,
}

impl SharedStore {
    pub(crate) fn new(conditional: bool) -> Self {
        Self {
            inner: MemoryStore::new(),
            conditional,
            exclusive: false,
            commit_time: Duration::ZERO,
            lose_answer: AtomicBool::new(false),
            down: AtomicBool::new(false),
            down_after_commit: AtomicBool::new(false),
            always_conflict: AtomicBool::new(false),
            commits: AtomicU64::new(0),
            checks: AtomicU64::new(0),
        }
    }

    fn up(&self) -> Result<(), Error> {
        match self.down.load(Ordering::SeqCst) {
            true => Err(Error::unavailable("down")),
            false => Ok(()),
        }
    }
}

impl Store for SharedStore {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            exclusive: self.exclusive,
            conditional_append: self.conditional,
            ..self.inner.capabilities()
        }
    }

    fn commit<'a>(
        &'a self,
        ns: &'a Namespace,
        batch: Batch,
    ) -> BoxFuture<'a, Result<Committed, Error>> {
        Box::pin(async move {
            self.up()?;
            self.commits.fetch_add(1, Ordering::SeqCst);
            if self.always_conflict.load(Ordering::SeqCst) {
                return Err(Error::Conflict {
                    revision: Revision(0),
                });
            }
            tokio::task::yield_now().await;
            if !self.commit_time.is_zero() {
                tokio::time::sleep(self.commit_time).await;
            }
            let committed = self.inner.commit(ns, batch).await?;
            if self.down_after_commit.load(Ordering::SeqCst) {
                self.down.store(true, Ordering::SeqCst);
            }
            match self.lose_answer.swap(false, Ordering::SeqCst) {
                true => Err(Error::unavailable("the answer was lost")),
                false => Ok(committed),
            }
        })
    }

    fn events<'a>(
        &'a self,
        ns: &'a Namespace,
        after: Revision,
        limit: u32,
    ) -> BoxFuture<'a, Result<LogPage, Error>> {
        Box::pin(async move {
            self.up()?;
            tokio::task::yield_now().await;
            // Small pages, so that following takes several.
            self.inner.events(ns, after, limit.min(3)).await
        })
    }

    fn revision<'a>(&'a self, ns: &'a Namespace) -> BoxFuture<'a, Result<Revision, Error>> {
        Box::pin(async move {
            self.up()?;
            self.checks.fetch_add(1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            self.inner.revision(ns).await
        })
    }

    fn get<'a>(
        &'a self,
        ns: &'a Namespace,
        kind: RecordKind,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<Record>, Error>> {
        self.inner.get(ns, kind, key)
    }

    fn list<'a>(
        &'a self,
        ns: &'a Namespace,
        kind: RecordKind,
        prefix: &'a str,
        after: Option<&'a str>,
        limit: u32,
    ) -> BoxFuture<'a, Result<RecordPage, Error>> {
        self.inner.list(ns, kind, prefix, after, limit)
    }

    fn acquire<'a>(
        &'a self,
        ns: &'a Namespace,
        name: &'a str,
        holder: &'a str,
        ttl: Duration,
    ) -> BoxFuture<'a, Result<Acquired, Error>> {
        self.inner.acquire(ns, name, holder, ttl)
    }

    fn renew<'a>(
        &'a self,
        ns: &'a Namespace,
        grant: &'a Grant,
        ttl: Duration,
    ) -> BoxFuture<'a, Result<Grant, Error>> {
        self.inner.renew(ns, grant, ttl)
    }

    fn release<'a>(
        &'a self,
        ns: &'a Namespace,
        name: &'a str,
        epoch: Epoch,
    ) -> BoxFuture<'a, Result<bool, Error>> {
        self.inner.release(ns, name, epoch)
    }

    fn inspect<'a>(
        &'a self,
        ns: &'a Namespace,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<LeaseState>, Error>> {
        self.inner.inspect(ns, name)
    }

    fn namespaces<'a>(
        &'a self,
        after: Option<&'a Namespace>,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<Namespace>, Error>> {
        self.inner.namespaces(after, limit)
    }

    fn ping(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async { self.up() })
    }
}
