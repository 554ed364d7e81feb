//! The adapter itself.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use recall_store::{
    Acquired, Batch, BoxFuture, Capabilities, Clock, Committed, Epoch, Error, Fence, Grant,
    LeaseState, LogEntry, LogPage, Namespace, NewEvent, Record, RecordKind, RecordPage, Revision,
    Store,
};

use crate::age::Moment;
use crate::follow::Follower;
use crate::layout;
use crate::locks::Reach;
use crate::log::Space;
use crate::names::{MAX_PREFIX_BYTES, Names};
use crate::records::{Prepared, Records};
use crate::replicas::{Replicas, random};
use crate::rows::{Fields, Leases, NewRow, Rows};

/// A page of events ends early past this many bytes, so that memory stays bounded.
const PAGE_BYTES: usize = 8 * 1024 * 1024;
/// How often a write is prepared anew because the process was paused while it was under way.
const PAUSES: u32 = 4;

/// How a store of rows is used.
#[derive(Debug, Clone)]
pub struct Config {
    /// What every collection's name begins with.
    pub prefix: String,
    /// How stale a read may be against writers that are not replicas of ours.
    pub freshness: Duration,
}

/// Why a store cannot be used as configured. Whether it answers is another matter, told by
/// [`Store::ping`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The prefix cannot be part of a collection's name.
    #[error(
        "{0:?} cannot begin the names of collections: use at most {MAX_PREFIX_BYTES} ASCII letters, digits, _ and -"
    )]
    Prefix(String),
    /// The system gives no random numbers.
    #[error("{0}")]
    Random(String),
}

/// A store on rows. One process is one replica.
pub struct RowStore {
    db: Arc<dyn Rows>,
    names: Names,
    freshness: Duration,
    replicas: Arc<Replicas>,
    /// `None` where agents cannot be resumed.
    leases: Option<Arc<dyn Leases>>,
    records: Records,
    spaces: Mutex<HashMap<Namespace, Arc<Space>>>,
    named: Mutex<HashSet<Namespace>>,
    /// The last write found no store: reading it says nothing of room on its disk.
    unwritten: AtomicBool,
}

impl fmt::Debug for RowStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowStore")
            .field("names", &self.names)
            .field("replica", &self.replicas.id())
            .finish_non_exhaustive()
    }
}

impl RowStore {
    /// A handle to the store. Nothing is asked of it yet. Must be called within a tokio runtime.
    ///
    /// # Errors
    ///
    /// [`OpenError`] for a configuration that cannot work.
    pub fn new(
        db: Arc<dyn Rows>,
        leases: Option<Arc<dyn Leases>>,
        config: &Config,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, OpenError> {
        let names =
            Names::new(&config.prefix).ok_or_else(|| OpenError::Prefix(config.prefix.clone()))?;
        let id = random().map_err(|error| OpenError::Random(error.to_string()))?;
        let replicas = Arc::new(Replicas::new(Arc::clone(&db), &names.servers(), id));
        tokio::spawn(Replicas::keep_up(Arc::downgrade(&replicas)));
        Ok(Self {
            leases,
            records: Records::new(Arc::clone(&db), names.clone(), Arc::clone(&replicas), clock),
            db,
            names,
            freshness: config.freshness,
            replicas,
            spaces: Mutex::default(),
            named: Mutex::default(),
            unwritten: AtomicBool::new(false),
        })
    }

    /// Takes this replica off the store's list, so that the next one to start need not wait for it.
    /// Nothing may be written afterwards.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] if the store cannot be asked; the others notice after a minute.
    pub async fn close(&self) -> Result<(), Error> {
        self.replicas.leave().await
    }

    /// The rows below, to be written as other programs would.
    #[cfg(feature = "conformance")]
    #[must_use]
    pub fn rows(&self) -> &dyn Rows {
        &*self.db
    }

    #[cfg(feature = "conformance")]
    pub(crate) fn names(&self) -> &Names {
        &self.names
    }

    fn space(&self, ns: &Namespace) -> Arc<Space> {
        let mut spaces = self.spaces.lock();
        let fresh = || Arc::new(Space::new(ns.clone(), self.names.memory(ns)));
        Arc::clone(spaces.entry(ns.clone()).or_insert_with(fresh))
    }

    fn follower(&self) -> Follower<'_> {
        Follower {
            db: &*self.db,
            replicas: &self.replicas,
            freshness: self.freshness,
        }
    }

    /// Follows a log while nobody waits for it. If that fails, whoever comes when it must be followed is
    /// told.
    fn follow_ahead(&self, space: Arc<Space>) {
        if space.ahead.swap(true, Ordering::AcqRel) {
            return;
        }
        let (db, replicas) = (Arc::clone(&self.db), Arc::clone(&self.replicas));
        let freshness = self.freshness;
        tokio::spawn(async move {
            let follower = Follower {
                db: &*db,
                replicas: &replicas,
                freshness,
            };
            if let Err(error) = follower.follow_ahead(&space).await {
                tracing::debug!(%error, "a log could not be followed ahead");
            }
            space.ahead.store(false, Ordering::Release);
        });
    }

    /// Notes that a namespace has something in it: the collections' names do not tell it.
    async fn name(&self, ns: &Namespace) -> Result<(), Error> {
        if self.named.lock().contains(ns) {
            return Ok(());
        }
        let row = NewRow {
            id: ns.to_string(),
            values: vec![1.0],
            metadata: serde_json::Map::new(),
        };
        self.db
            .put(&self.namespaces_collection(), vec![row])
            .await?;
        self.named.lock().insert(ns.clone());
        Ok(())
    }

    fn namespaces_collection(&self) -> String {
        format!("{}_namespaces", self.names.servers())
    }

    async fn try_commit(&self, ns: &Namespace, batch: Batch) -> Result<Committed, Error> {
        batch.within_limits()?;
        self.name(ns).await?;
        let space = self.space(ns);
        let appends = !batch.events.is_empty() || batch.expect.is_some();
        // Before the lock: whoever follows may wait for the write that is under way.
        if appends && !space.log.lock().loaded {
            self.follower().follow(&space).await?;
        }
        let _writing = match appends {
            true => Some(space.writing.lock().await),
            false => None,
        };
        // One record that the store writes on a condition needs no lock beside.
        let alone = batch.records.len() == 1 && batch.events.is_empty();
        let reach = match self.db.conditional() && alone {
            true => Reach::Process,
            false => Reach::Replicas,
        };
        for _ in 0..PAUSES {
            let prepared = match batch.records.is_empty() {
                true => None,
                false => Some(self.records.prepare(ns, &batch.records, reach).await?),
            };
            let done = self.perform(&space, &batch, prepared.as_ref()).await;
            if let Some(prepared) = prepared {
                prepared.give_back().await;
            }
            if let Some(done) = done.transpose() {
                return done;
            }
        }
        Err(Error::unavailable("this server was paused while it wrote"))
    }

    /// Writes a batch whose records' conditions hold. `None` if so much time passed since that was
    /// seen that it may not be true any more.
    async fn perform(
        &self,
        space: &Space,
        batch: &Batch,
        prepared: Option<&Prepared>,
    ) -> Result<Option<Committed>, Error> {
        let revision = space.log.lock().revision();
        if batch.expect.is_some_and(|expected| expected != revision) {
            return Err(Error::Conflict { revision });
        }
        let asked = match &batch.fence {
            Some(fence) => Some(self.check(&space.ns, fence).await?),
            None => None,
        };
        let late = asked.is_some_and(|asked| !self.stands(asked))
            || prepared.is_some_and(|prepared| !prepared.stands());
        if late {
            return Ok(None);
        }
        let events = self.append(space, &batch.events).await?;
        let records = match prepared {
            Some(prepared) => {
                self.records
                    .write(&space.ns, batch.records.clone(), prepared)
                    .await?
            }
            None => Vec::new(),
        };
        let revision = space.log.lock().revision();
        Ok(Some(Committed {
            revision,
            events,
            records,
        }))
    }

    fn leases(&self) -> Result<&dyn Leases, Error> {
        let leases = self.leases.as_deref();
        leases.ok_or(Error::Unsupported("leases"))
    }

    async fn check(&self, ns: &Namespace, fence: &Fence) -> Result<Moment, Error> {
        self.leases()?.check(&self.names.agents(ns), fence).await
    }

    fn stands(&self, asked: Moment) -> bool {
        self.leases
            .as_ref()
            .is_some_and(|leases| leases.stands(asked))
    }

    /// Writes events that the log does not know, tells the others, and numbers them.
    async fn append(&self, space: &Space, events: &[NewEvent]) -> Result<Vec<Revision>, Error> {
        let new = {
            let log = space.log.lock();
            let mut ids = HashSet::new();
            let fresh = events
                .iter()
                .filter(|event| log.place(&event.id).is_none() && ids.insert(event.id.as_str()));
            fresh
                .map(layout::event_row)
                .collect::<Result<Vec<NewRow>, Error>>()?
        };
        if !new.is_empty() {
            let ids: Vec<String> = new.iter().map(|row| row.id.clone()).collect();
            let written = async {
                self.db.add(&space.collection, new).await?;
                self.replicas.announce(&space.ns, &ids).await
            };
            if let Err(error) = written.await {
                // Some of it may be there.
                space.log.lock().doubtful = true;
                return Err(error);
            }
        }
        let mut log = space.log.lock();
        Ok(events
            .iter()
            .map(|event| log.learn(&event.id, None))
            .collect())
    }

    async fn page(&self, ns: &Namespace, after: Revision, limit: u32) -> Result<LogPage, Error> {
        let space = self.space(ns);
        let known = {
            let log = space.log.lock();
            log.loaded && after > Revision(0) && after < log.revision()
        };
        if !known {
            self.follower().follow(&space).await?;
        }
        let (rows, revision) = {
            let mut log = space.log.lock();
            log.release(after);
            (log.after(after, limit), log.revision())
        };
        let mut lacks = Vec::new();
        for (_, id, body) in &rows {
            if body.is_none() {
                lacks.push(id.to_string());
            }
        }
        let mut found = self.db.get(&space.collection, lacks).await?;
        let mut entries = Vec::with_capacity(rows.len());
        let mut bytes = 0;
        for (place, id, body) in rows {
            let body: Bytes = match body {
                Some(body) => body,
                None => layout::read_event(
                    &found
                        .remove(&*id)
                        .ok_or_else(|| Error::Damaged(format!("event {id} is gone")))?,
                ),
            };
            bytes += body.len();
            entries.push(LogEntry {
                revision: place,
                id: id.to_string(),
                body,
            });
            if bytes >= PAGE_BYTES {
                break;
            }
        }
        Ok(LogPage { entries, revision })
    }

    async fn list_namespaces(
        &self,
        after: Option<&Namespace>,
        limit: u32,
    ) -> Result<Vec<Namespace>, Error> {
        let all = Fields::new();
        let rows = self.db.list(&self.namespaces_collection(), &all).await?;
        let mut names: Vec<String> = rows.into_iter().map(|row| row.id).collect();
        // The published server keeps no list; its keys name what they reach.
        let keys = Fields::from_iter([("kind".to_owned(), "key".into())]);
        let keys = self.db.list(&self.names.keys(), &keys).await?;
        names.extend(
            keys.iter()
                .filter_map(|row| Some(row.metadata.get("namespace")?.as_str()?.to_owned())),
        );
        let internal = Namespace::keys();
        let mut spaces: Vec<Namespace> = names
            .iter()
            .filter_map(|name| match name == internal.as_str() {
                true => Some(internal.clone()),
                false => name.parse().ok(),
            })
            .filter(|ns| after.is_none_or(|after| ns > after))
            .collect();
        spaces.sort_unstable();
        spaces.dedup();
        spaces.truncate(limit as usize);
        Ok(spaces)
    }
}

impl Store for RowStore {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            leases: self.leases.is_some(),
            fenced_writes: false,
            conditional_append: false,
            exclusive: false,
        }
    }

    fn commit<'a>(
        &'a self,
        ns: &'a Namespace,
        batch: Batch,
    ) -> BoxFuture<'a, Result<Committed, Error>> {
        Box::pin(async move {
            let done = self.try_commit(ns, batch).await;
            match &done {
                Ok(_) => self.unwritten.store(false, Ordering::Relaxed),
                Err(Error::Unavailable { .. }) => self.unwritten.store(true, Ordering::Relaxed),
                Err(_) => {}
            }
            done
        })
    }

    fn events<'a>(
        &'a self,
        ns: &'a Namespace,
        after: Revision,
        limit: u32,
    ) -> BoxFuture<'a, Result<LogPage, Error>> {
        Box::pin(self.page(ns, after, limit))
    }

    fn revision<'a>(&'a self, ns: &'a Namespace) -> BoxFuture<'a, Result<Revision, Error>> {
        Box::pin(async move {
            let space = self.space(ns);
            self.follower().follow(&space).await?;
            Ok(space.log.lock().revision())
        })
    }

    fn revision_at_hand(&self, ns: &Namespace) -> Option<Revision> {
        let space = self.space(ns);
        let (revision, ages) = self.follower().at_hand(&space)?;
        if ages {
            self.follow_ahead(space);
        }
        Some(revision)
    }

    fn forget(&self, ns: &Namespace) {
        self.spaces.lock().remove(ns);
        self.replicas.forget(ns);
    }

    fn get<'a>(
        &'a self,
        ns: &'a Namespace,
        kind: RecordKind,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<Record>, Error>> {
        Box::pin(self.records.get(ns, kind, key))
    }

    fn list<'a>(
        &'a self,
        ns: &'a Namespace,
        kind: RecordKind,
        prefix: &'a str,
        after: Option<&'a str>,
        limit: u32,
    ) -> BoxFuture<'a, Result<RecordPage, Error>> {
        Box::pin(self.records.list(ns, kind, prefix, after, limit))
    }

    fn acquire<'a>(
        &'a self,
        ns: &'a Namespace,
        name: &'a str,
        holder: &'a str,
        ttl: Duration,
    ) -> BoxFuture<'a, Result<Acquired, Error>> {
        Box::pin(async move {
            self.leases()?
                .acquire(&self.names.agents(ns), name, holder, ttl)
                .await
        })
    }

    fn renew<'a>(
        &'a self,
        ns: &'a Namespace,
        grant: &'a Grant,
        ttl: Duration,
    ) -> BoxFuture<'a, Result<Grant, Error>> {
        Box::pin(async move {
            self.leases()?
                .renew(&self.names.agents(ns), grant, ttl)
                .await
        })
    }

    fn release<'a>(
        &'a self,
        ns: &'a Namespace,
        name: &'a str,
        epoch: Epoch,
    ) -> BoxFuture<'a, Result<bool, Error>> {
        Box::pin(async move {
            self.leases()?
                .release(&self.names.agents(ns), name, epoch)
                .await
        })
    }

    fn inspect<'a>(
        &'a self,
        ns: &'a Namespace,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<LeaseState>, Error>> {
        Box::pin(async move { self.leases()?.inspect(&self.names.agents(ns), name).await })
    }

    fn namespaces<'a>(
        &'a self,
        after: Option<&'a Namespace>,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<Namespace>, Error>> {
        Box::pin(self.list_namespaces(after, limit))
    }

    fn ping(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            self.db.ready().await?;
            // Health needs no key; this does.
            self.replicas.others().await?;
            if self.unwritten.load(Ordering::Relaxed) {
                self.replicas.beat().await?;
                self.unwritten.store(false, Ordering::Relaxed);
            }
            Ok(())
        })
    }
}
