//! The in-memory adapter: the port's meaning in its plainest form, for tests and `--backend memory`.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::clock::{Clock, SystemClock};
use crate::error::Error;
use crate::lease::{Acquired, Epoch, Fence, Grant, LeaseState};
use crate::log::{LogEntry, LogPage, Revision};
use crate::names::Namespace;
use crate::records::{Precondition, Record, RecordKind, RecordPage, RecordWrite, Version};
use crate::store::{Batch, BoxFuture, Capabilities, Committed, Store};

/// A store that lives and dies with the process. Cloning gives another handle to the same store.
#[derive(Debug, Clone)]
pub struct MemoryStore {
    spaces: Arc<Mutex<BTreeMap<Namespace, Space>>>,
    clock: Arc<dyn Clock>,
}

#[derive(Debug, Default)]
struct Space {
    log: Vec<LogEntry>,
    ids: HashMap<String, Revision>,
    records: BTreeMap<(RecordKind, String), Record>,
    writes: u64,
    leases: HashMap<String, Lease>,
}

#[derive(Debug)]
struct Lease {
    grant: Grant,
    released: bool,
}

impl MemoryStore {
    /// An empty store on the machine's clock.
    #[must_use]
    pub fn new() -> Self {
        Self::with_clock(Arc::new(SystemClock))
    }

    /// An empty store whose leases run by `clock`.
    #[must_use]
    pub fn with_clock(clock: Arc<dyn Clock>) -> Self {
        Self {
            spaces: Arc::default(),
            clock,
        }
    }

    fn with<T>(&self, ns: &Namespace, act: impl FnOnce(&mut Space) -> T) -> T {
        act(self.spaces.lock().entry(ns.clone()).or_default())
    }

    fn try_acquire(&self, ns: &Namespace, name: &str, holder: &str, ttl: Duration) -> Acquired {
        let now = self.clock.now();
        self.with(ns, |space| {
            let last = space.leases.get(name);
            if let Some(lease) = last
                && !lease.released
                && lease.grant.expires_at > now
            {
                return Acquired::Held(lease.grant.clone());
            }
            let grant = Grant {
                name: name.to_owned(),
                holder: holder.to_owned(),
                epoch: Epoch(last.map_or(1, |lease| lease.grant.epoch.0 + 1)),
                expires_at: now.checked_add(ttl).unwrap_or(jiff::Timestamp::MAX),
            };
            space.leases.insert(
                name.to_owned(),
                Lease {
                    grant: grant.clone(),
                    released: false,
                },
            );
            Acquired::Granted(grant)
        })
    }

    fn try_renew(&self, ns: &Namespace, grant: &Grant, ttl: Duration) -> Result<Grant, Error> {
        let now = self.clock.now();
        self.with(ns, |space| {
            let lost = |current| Error::Fenced {
                held: grant.epoch,
                current,
            };
            let lease = space
                .leases
                .get_mut(&grant.name)
                .ok_or_else(|| lost(Epoch(0)))?;
            let current = lease.grant.epoch;
            if current != grant.epoch || lease.released || lease.grant.expires_at <= now {
                return Err(lost(current));
            }
            lease.grant.expires_at = now.checked_add(ttl).unwrap_or(jiff::Timestamp::MAX);
            Ok(lease.grant.clone())
        })
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl Space {
    fn revision(&self) -> Revision {
        Revision(self.log.len() as u64)
    }

    fn check(&self, batch: &Batch) -> Result<(), Error> {
        let conflict = Error::Conflict {
            revision: self.revision(),
        };
        if batch
            .expect
            .is_some_and(|expected| expected != self.revision())
        {
            return Err(conflict);
        }
        if let Some(Fence { lease, epoch }) = &batch.fence {
            let standing = self.leases.get(lease);
            let current = standing.map_or(Epoch(0), |lease| lease.grant.epoch);
            if current != *epoch || standing.is_some_and(|lease| lease.released) {
                return Err(Error::Fenced {
                    held: *epoch,
                    current,
                });
            }
        }
        for RecordWrite {
            kind,
            key,
            precondition,
            ..
        } in &batch.records
        {
            let stored = self
                .records
                .get(&(*kind, key.clone()))
                .map(|record| record.version);
            let holds = match precondition {
                Precondition::None => true,
                Precondition::Absent => stored.is_none(),
                Precondition::Version(version) => stored == Some(*version),
            };
            if !holds {
                return Err(conflict);
            }
        }
        Ok(())
    }

    fn commit(&mut self, batch: Batch) -> Result<Committed, Error> {
        self.check(&batch)?;
        let vouched = batch.expect.is_some();
        let events = batch
            .events
            .into_iter()
            .map(|event| {
                if let Some(known) = self.ids.get(&event.id) {
                    debug_assert!(!vouched, "{} is said to be new and is not", event.id);
                    return *known;
                }
                let revision = Revision(self.revision().0 + 1);
                self.ids.insert(event.id.clone(), revision);
                self.log.push(LogEntry {
                    revision,
                    id: event.id,
                    body: event.body,
                });
                revision
            })
            .collect();
        let records = batch
            .records
            .into_iter()
            .map(|write| self.write(write))
            .collect();
        Ok(Committed {
            revision: self.revision(),
            events,
            records,
        })
    }

    fn write(&mut self, write: RecordWrite) -> Version {
        self.writes += 1;
        let version = Version(self.writes);
        let place = (write.kind, write.key);
        match write.body {
            Some(body) => {
                let record = Record {
                    key: place.1.clone(),
                    version,
                    body,
                };
                self.records.insert(place, record);
            }
            None => {
                self.records.remove(&place);
            }
        }
        version
    }

    fn list(&self, kind: RecordKind, prefix: &str, after: Option<&str>, limit: u32) -> RecordPage {
        let start = match after {
            Some(after) if after >= prefix => Bound::Excluded((kind, after.to_owned())),
            Some(_) | None => Bound::Included((kind, prefix.to_owned())),
        };
        let mut records: Vec<Record> = self
            .records
            .range((start, Bound::Unbounded))
            .take_while(|((other, key), _)| *other == kind && key.starts_with(prefix))
            .take(limit as usize + 1)
            .map(|(_, record)| record.clone())
            .collect();
        let more = records.len() > limit as usize;
        records.truncate(limit as usize);
        let next = records
            .last()
            .filter(|_| more)
            .map(|record| record.key.clone());
        RecordPage { records, next }
    }
}

impl Store for MemoryStore {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            leases: true,
            fenced_writes: true,
            conditional_append: true,
            exclusive: true,
        }
    }

    fn commit<'a>(
        &'a self,
        ns: &'a Namespace,
        batch: Batch,
    ) -> BoxFuture<'a, Result<Committed, Error>> {
        Box::pin(async move {
            batch.within_limits()?;
            self.with(ns, |space| space.commit(batch))
        })
    }

    fn events<'a>(
        &'a self,
        ns: &'a Namespace,
        after: Revision,
        limit: u32,
    ) -> BoxFuture<'a, Result<LogPage, Error>> {
        Box::pin(async move {
            Ok(self.with(ns, |space| {
                let from = usize::try_from(after.0)
                    .unwrap_or(usize::MAX)
                    .min(space.log.len());
                let entries = space.log[from..]
                    .iter()
                    .take(limit as usize)
                    .cloned()
                    .collect();
                LogPage {
                    entries,
                    revision: space.revision(),
                }
            }))
        })
    }

    fn revision<'a>(&'a self, ns: &'a Namespace) -> BoxFuture<'a, Result<Revision, Error>> {
        Box::pin(async move { Ok(self.with(ns, |space| space.revision())) })
    }

    fn get<'a>(
        &'a self,
        ns: &'a Namespace,
        kind: RecordKind,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<Record>, Error>> {
        Box::pin(async move {
            Ok(self.with(ns, |space| {
                space.records.get(&(kind, key.to_owned())).cloned()
            }))
        })
    }

    fn list<'a>(
        &'a self,
        ns: &'a Namespace,
        kind: RecordKind,
        prefix: &'a str,
        after: Option<&'a str>,
        limit: u32,
    ) -> BoxFuture<'a, Result<RecordPage, Error>> {
        Box::pin(async move { Ok(self.with(ns, |space| space.list(kind, prefix, after, limit))) })
    }

    fn acquire<'a>(
        &'a self,
        ns: &'a Namespace,
        name: &'a str,
        holder: &'a str,
        ttl: Duration,
    ) -> BoxFuture<'a, Result<Acquired, Error>> {
        Box::pin(async move { Ok(self.try_acquire(ns, name, holder, ttl)) })
    }

    fn renew<'a>(
        &'a self,
        ns: &'a Namespace,
        grant: &'a Grant,
        ttl: Duration,
    ) -> BoxFuture<'a, Result<Grant, Error>> {
        Box::pin(async move { self.try_renew(ns, grant, ttl) })
    }

    fn release<'a>(
        &'a self,
        ns: &'a Namespace,
        name: &'a str,
        epoch: Epoch,
    ) -> BoxFuture<'a, Result<bool, Error>> {
        Box::pin(async move {
            Ok(self.with(ns, |space| {
                let Some(lease) = space.leases.get_mut(name) else {
                    return false;
                };
                let ours = lease.grant.epoch == epoch && !lease.released;
                lease.released |= ours;
                ours
            }))
        })
    }

    fn inspect<'a>(
        &'a self,
        ns: &'a Namespace,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<LeaseState>, Error>> {
        Box::pin(async move {
            let now = self.clock.now();
            Ok(self.with(ns, |space| {
                space.leases.get(name).map(|lease| LeaseState {
                    grant: lease.grant.clone(),
                    live: !lease.released && lease.grant.expires_at > now,
                })
            }))
        })
    }

    fn namespaces<'a>(
        &'a self,
        after: Option<&'a Namespace>,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<Namespace>, Error>> {
        Box::pin(async move {
            let start = after.map_or(Bound::Unbounded, |ns| Bound::Excluded(ns.clone()));
            let spaces = self.spaces.lock();
            Ok(spaces
                .range((start, Bound::Unbounded))
                .filter(|(_, space)| !space.log.is_empty() || !space.records.is_empty())
                .take(limit as usize)
                .map(|(ns, _)| ns.clone())
                .collect())
        })
    }

    fn ping(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async { Ok(()) })
    }
}
