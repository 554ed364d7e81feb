//! Records: conditions, fences, and batches that are whole although the store has no transaction.
//!
//! A batch of several records has an *anchor*: the record whose condition decides about all of them,
//! an agent's head or a pod's pin. The anchor is written first and holds a journal of the others, so
//! its one write is what commits the batch. The others follow. Whoever reads an anchor makes sure
//! that what its journal lists has been written, and writes it otherwise.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use parking_lot::Mutex;
use recall_store::{
    Clock, Error, Namespace, Precondition, Record, RecordKind, RecordPage, RecordWrite, Revision,
    Version,
};
use serde::{Deserialize, Serialize};

use crate::layout::{self, Place, Shelf, VERSION, Written};
use crate::locks::{Held, Locks, Reach};
use crate::names::Names;
use crate::replicas::Replicas;
use crate::rows::{Fields, Rows};

/// Anchors whose batches are known to be whole. Beyond it all are looked at once more.
const MAX_WHOLE: usize = 50_000;
/// Conditions of a batch without an anchor that are held against other replicas. Larger batches are
/// sweeps of what is dead, which nobody writes any more.
const MAX_LOCKS: usize = 16;

/// The records of one store.
#[derive(Debug)]
pub(crate) struct Records {
    db: Arc<dyn Rows>,
    names: Names,
    replicas: Arc<Replicas>,
    locks: Locks,
    clock: Arc<dyn Clock>,
    last: AtomicU64,
    whole: Mutex<HashMap<(Namespace, Place), Version>>,
}

/// A batch whose locks are held and whose conditions were true.
#[derive(Debug)]
pub(crate) struct Prepared {
    held: Held,
    version: Version,
    /// The records whose conditions count, as they were.
    seen: HashMap<Place, Option<Fields>>,
}

/// One record of a journal.
#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    kind: u8,
    key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body64: Option<String>,
}

impl Prepared {
    /// Whether what was true when it was prepared is still sure to be.
    pub(crate) fn stands(&self) -> bool {
        self.held.stands()
    }

    pub(crate) async fn give_back(self) {
        self.held.give_back().await;
    }
}

impl Records {
    pub(crate) fn new(
        db: Arc<dyn Rows>,
        names: Names,
        replicas: Arc<Replicas>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            locks: Locks::new(Arc::clone(&db)),
            db,
            names,
            replicas,
            clock,
            last: AtomicU64::new(0),
            whole: Mutex::default(),
        }
    }

    pub(crate) async fn get(
        &self,
        ns: &Namespace,
        kind: RecordKind,
        key: &str,
    ) -> Result<Option<Record>, Error> {
        let place = layout::place(ns, kind, key);
        let mut rows = self.rows(ns, [&place]).await?;
        let Some(fields) = rows.remove(&place) else {
            return Ok(None);
        };
        if fields.contains_key("journal") {
            self.make_whole(ns, &place, &fields).await?;
        }
        self.read(ns, &place, kind, fields)
    }

    /// The records of these places that exist. Of a key also whether it was revoked by the published
    /// server.
    async fn rows<'a>(
        &self,
        ns: &Namespace,
        places: impl IntoIterator<Item = &'a Place>,
    ) -> Result<HashMap<Place, Fields>, Error> {
        let mut shelves: BTreeMap<Shelf, Vec<String>> = BTreeMap::new();
        for place in places {
            shelves
                .entry(place.shelf)
                .or_default()
                .extend(layout::erased_ids(place));
        }
        let mut found = HashMap::new();
        for (shelf, ids) in shelves {
            let mut rows = self.db.get(&shelf.collection(&self.names, ns), ids).await?;
            revoke(&mut rows);
            found.extend(
                rows.into_iter()
                    .map(|(id, fields)| (Place { shelf, id }, fields)),
            );
        }
        Ok(found)
    }

    fn read(
        &self,
        ns: &Namespace,
        place: &Place,
        kind: RecordKind,
        fields: Fields,
    ) -> Result<Option<Record>, Error> {
        layout::read_record(place.shelf, kind, &place.id, fields)
            .map_err(|what| Error::Damaged(format!("{ns}: {what}")))
    }

    pub(crate) async fn list(
        &self,
        ns: &Namespace,
        kind: RecordKind,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<RecordPage, Error> {
        if let Some(keys) = layout::numbered(kind, prefix, after, limit) {
            return self.list_numbered(ns, kind, &keys).await;
        }
        let mut records = Vec::new();
        for (shelf, filter) in layout::listing(ns, kind, prefix) {
            let rows = self
                .db
                .list(&shelf.collection(&self.names, ns), &filter)
                .await?;
            let mut rows = rows.into_iter().map(|row| (row.id, row.metadata)).collect();
            revoke(&mut rows);
            for (id, fields) in rows {
                records.extend(self.read(ns, &Place { shelf, id }, kind, fields)?);
            }
        }
        records.retain(|record| {
            record.key.starts_with(prefix) && after.is_none_or(|after| record.key.as_str() > after)
        });
        records.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        let more = records.len() > limit as usize;
        records.truncate(limit as usize);
        let next = records
            .last()
            .filter(|_| more)
            .map(|record| record.key.clone());
        Ok(RecordPage { records, next })
    }

    async fn list_numbered(
        &self,
        ns: &Namespace,
        kind: RecordKind,
        keys: &[String],
    ) -> Result<RecordPage, Error> {
        let places: Vec<Place> = keys
            .iter()
            .map(|key| layout::place(ns, kind, key))
            .collect();
        let mut rows = self.rows(ns, &places).await?;
        let mut records = Vec::new();
        for place in &places {
            // Numbers have no gap: the first that is missing is one past the last.
            let Some(fields) = rows.remove(place) else {
                break;
            };
            records.extend(self.read(ns, place, kind, fields)?);
        }
        let next = records
            .last()
            .filter(|_| records.len() == keys.len())
            .map(|record| record.key.clone());
        Ok(RecordPage { records, next })
    }

    /// Takes the locks of a batch and checks its conditions.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] when one does not hold.
    pub(crate) async fn prepare(
        &self,
        ns: &Namespace,
        writes: &[RecordWrite],
        reach: Reach,
    ) -> Result<Prepared, Error> {
        let names = lock_names(ns, writes);
        let held = self.locks.hold(&self.replicas, &names, reach).await?;
        match self.check(ns, writes).await {
            Ok((highest, seen)) => Ok(Prepared {
                held,
                version: self.next(highest),
                seen,
            }),
            Err(error) => {
                held.give_back().await;
                Err(error)
            }
        }
    }

    /// The highest version that was met, and the records whose conditions count.
    async fn check(
        &self,
        ns: &Namespace,
        writes: &[RecordWrite],
    ) -> Result<(Version, HashMap<Place, Option<Fields>>), Error> {
        let writes: Vec<(Place, &RecordWrite)> = conditioned(writes)
            .map(|write| (layout::place(ns, write.kind, &write.key), write))
            .collect();
        let rows = self.rows(ns, writes.iter().map(|(place, _)| place)).await?;
        let mut highest = Version(0);
        let mut seen = HashMap::new();
        for (place, write) in &writes {
            let record = match rows.get(place) {
                Some(fields) => self.read(ns, place, write.kind, fields.clone())?,
                None => None,
            };
            let version = record.map(|record| record.version);
            highest = version.map_or(highest, |version| highest.max(version));
            let wanted = match write.precondition {
                Precondition::Version(version) => Some(version),
                Precondition::None | Precondition::Absent => None,
            };
            if version != wanted {
                return Err(conflict());
            }
            seen.insert(place.clone(), rows.get(place).cloned());
        }
        Ok((highest, seen))
    }

    /// A version above all that this process made and above `highest`.
    fn next(&self, highest: Version) -> Version {
        let now = u64::try_from(self.clock.now().as_microsecond()).unwrap_or_default();
        let mut version = 0;
        // The closure never refuses.
        let _ = self
            .last
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |last| {
                version = now.max(last + 1).max(highest.0 + 1);
                Some(version)
            });
        Version(version)
    }

    /// Writes a batch that was prepared.
    pub(crate) async fn write(
        &self,
        ns: &Namespace,
        writes: Vec<RecordWrite>,
        prepared: &Prepared,
    ) -> Result<Vec<Version>, Error> {
        let version = prepared.version;
        let count = writes.len();
        let Some(at) = anchor(&writes) else {
            let rest = match self.db.conditional() {
                true => self.write_each(ns, writes, prepared).await?,
                false => writes,
            };
            self.lay(ns, rest, version).await?;
            return Ok(vec![version; count]);
        };
        let mut rest = writes;
        let anchor = rest.remove(at);
        let journal = rest.iter().map(Entry::of).collect::<Vec<_>>();
        let journal = serde_json::to_string(&journal)
            .map_err(|error| Error::unavailable(error.to_string()))?;
        let place = layout::place(ns, anchor.kind, &anchor.key);
        let written = Written {
            kind: anchor.kind,
            key: anchor.key,
            body: anchor.body.unwrap_or_default(),
            version,
            journal: Some(journal),
        };
        self.put(ns, &place, &written, prepared).await?;
        self.lay(ns, rest, version).await?;
        self.is_whole(ns, place, version);
        Ok(vec![version; count])
    }

    /// Writes the record that decides about a batch, on the condition that was checked where the
    /// store can see to that.
    async fn put(
        &self,
        ns: &Namespace,
        place: &Place,
        written: &Written,
        prepared: &Prepared,
    ) -> Result<(), Error> {
        let collection = place.shelf.collection(&self.names, ns);
        let mut rows = layout::rows(ns, written);
        if let (true, Some(was)) = (self.db.conditional(), prepared.seen.get(place)) {
            // The first row is the record; what may follow says the same again.
            let row = rows.remove(0);
            if !self.db.put_if(&collection, row, was.clone()).await? {
                return Err(conflict());
            }
        }
        match rows.is_empty() {
            true => Ok(()),
            false => self.db.put(&collection, rows).await,
        }
    }

    /// Removes a record on the condition that was checked.
    async fn delete(
        &self,
        ns: &Namespace,
        place: &Place,
        was: Option<Fields>,
    ) -> Result<(), Error> {
        let collection = place.shelf.collection(&self.names, ns);
        if let Some(was) = was {
            let id = place.id.clone();
            if !self.db.delete_if(&collection, id, was).await? {
                return Err(conflict());
            }
        }
        let mut twins = layout::erased_ids(place);
        twins.retain(|id| *id != place.id);
        self.db.delete(&collection, twins).await
    }

    /// Writes those records of a batch without an anchor that have conditions. Answers the others.
    async fn write_each(
        &self,
        ns: &Namespace,
        writes: Vec<RecordWrite>,
        prepared: &Prepared,
    ) -> Result<Vec<RecordWrite>, Error> {
        let version = prepared.version;
        let mut rest = Vec::new();
        for write in writes {
            let place = layout::place(ns, write.kind, &write.key);
            let Some(was) = prepared.seen.get(&place) else {
                rest.push(write);
                continue;
            };
            let Some(body) = write.body else {
                self.delete(ns, &place, was.clone()).await?;
                continue;
            };
            let written = Written {
                kind: write.kind,
                key: write.key,
                body,
                version,
                journal: None,
            };
            self.put(ns, &place, &written, prepared).await?;
        }
        Ok(rest)
    }

    /// Writes records wherever they lie.
    async fn lay(
        &self,
        ns: &Namespace,
        writes: Vec<RecordWrite>,
        version: Version,
    ) -> Result<(), Error> {
        let mut puts: BTreeMap<Shelf, Vec<_>> = BTreeMap::new();
        let mut erasures: BTreeMap<Shelf, Vec<String>> = BTreeMap::new();
        for RecordWrite {
            kind, key, body, ..
        } in writes
        {
            let place = layout::place(ns, kind, &key);
            match body {
                Some(body) => {
                    let written = Written {
                        kind,
                        key,
                        body,
                        version,
                        journal: None,
                    };
                    puts.entry(place.shelf)
                        .or_default()
                        .extend(layout::rows(ns, &written));
                }
                None => erasures
                    .entry(place.shelf)
                    .or_default()
                    .extend(layout::erased_ids(&place)),
            }
        }
        for (shelf, rows) in puts {
            self.db
                .put_newer(&shelf.collection(&self.names, ns), rows, version.0)
                .await?;
        }
        for (shelf, ids) in erasures {
            self.db
                .delete_older(&shelf.collection(&self.names, ns), ids, version.0)
                .await?;
        }
        Ok(())
    }

    fn is_whole(&self, ns: &Namespace, place: Place, version: Version) {
        let mut whole = self.whole.lock();
        if whole.len() >= MAX_WHOLE {
            whole.clear();
        }
        whole.insert((ns.clone(), place), version);
    }

    /// Makes sure that everything an anchor committed has been written.
    async fn make_whole(
        &self,
        ns: &Namespace,
        place: &Place,
        fields: &Fields,
    ) -> Result<(), Error> {
        let version = version_of(fields);
        let known = self.whole.lock().get(&(ns.clone(), place.clone())).copied();
        if known == Some(version) {
            return Ok(());
        }
        let lacks = self.lacks(ns, fields, version).await?;
        if !lacks.is_empty() {
            self.complete(ns, place, version).await?;
        }
        self.is_whole(ns, place.clone(), version);
        Ok(())
    }

    /// The records of a journal that were not written, or not by a version as late.
    async fn lacks(
        &self,
        ns: &Namespace,
        fields: &Fields,
        version: Version,
    ) -> Result<Vec<RecordWrite>, Error> {
        let writes =
            journal(fields).map_err(|what| Error::Damaged(format!("{ns}: a journal: {what}")))?;
        let places: Vec<Place> = writes
            .iter()
            .map(|write| layout::place(ns, write.kind, &write.key))
            .collect();
        let rows = self.rows(ns, &places).await?;
        let lacking = writes.into_iter().zip(places).filter(|(write, place)| {
            let there = rows.get(place).map(version_of);
            match write.body {
                Some(_) => there.is_none_or(|there| there < version),
                None => there.is_some_and(|there| there < version),
            }
        });
        Ok(lacking.map(|(write, _)| write).collect())
    }

    /// Writes what a batch left out, unless a later one came.
    async fn complete(&self, ns: &Namespace, place: &Place, version: Version) -> Result<(), Error> {
        let held = self
            .locks
            .hold(&self.replicas, &[lock_name(ns, place)], Reach::Replicas)
            .await?;
        let completed = async {
            let Some(fields) = self.rows(ns, [place]).await?.remove(place) else {
                return Ok(());
            };
            if version_of(&fields) != version {
                return Ok(());
            }
            let lacks = self.lacks(ns, &fields, version).await?;
            self.lay(ns, lacks, version).await
        };
        let completed = completed.await;
        held.give_back().await;
        completed
    }
}

impl Entry {
    fn of(write: &RecordWrite) -> Self {
        let text = write
            .body
            .as_ref()
            .map(|body| std::str::from_utf8(body).map(str::to_owned));
        let (body, body64) = match (text, &write.body) {
            (Some(Ok(text)), _) => (Some(text), None),
            (Some(Err(_)), Some(body)) => (None, Some(STANDARD.encode(body))),
            _ => (None, None),
        };
        Self {
            kind: write.kind.number(),
            key: write.key.clone(),
            body,
            body64,
        }
    }

    fn write(self) -> Result<RecordWrite, String> {
        let kind = RecordKind::ALL
            .into_iter()
            .find(|kind| kind.number() == self.kind);
        let body = match (self.body, self.body64) {
            (Some(text), _) => Some(Bytes::from(text)),
            (None, Some(coded)) => Some(
                STANDARD
                    .decode(coded)
                    .map_err(|error| error.to_string())?
                    .into(),
            ),
            (None, None) => None,
        };
        Ok(RecordWrite {
            kind: kind.ok_or_else(|| format!("kind {} is unknown", self.kind))?,
            key: self.key,
            body,
            precondition: Precondition::None,
        })
    }
}

fn journal(fields: &Fields) -> Result<Vec<RecordWrite>, String> {
    let text = fields
        .get("journal")
        .and_then(serde_json::Value::as_str)
        .unwrap_or("[]");
    let entries: Vec<Entry> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    entries.into_iter().map(Entry::write).collect()
}

fn conflict() -> Error {
    Error::Conflict {
        revision: Revision(0),
    }
}

fn version_of(fields: &Fields) -> Version {
    let version = fields.get(VERSION);
    Version(
        version
            .and_then(|version| {
                version
                    .as_u64()
                    .or_else(|| version.as_f64().map(|v| v as u64))
            })
            .unwrap_or(0),
    )
}

/// The record of a batch that decides about all of it.
fn anchor(writes: &[RecordWrite]) -> Option<usize> {
    let several = writes.len() > 1;
    writes.iter().position(|write| {
        let decides = matches!(write.kind, RecordKind::Session | RecordKind::Pin);
        several && decides && write.body.is_some() && write.precondition != Precondition::None
    })
}

/// The records of a batch whose conditions count. All writes of an agent pass by its head, so the
/// head's condition decides alone: what a batch left half written is in nobody's way.
fn conditioned(writes: &[RecordWrite]) -> impl Iterator<Item = &RecordWrite> {
    let head = anchor(writes)
        .and_then(|at| writes.get(at))
        .filter(|head| head.kind == RecordKind::Session);
    writes
        .iter()
        .filter(|write| write.precondition != Precondition::None)
        .filter(move |write| head.is_none_or(|head| std::ptr::eq(head, *write)))
}

fn lock_names(ns: &Namespace, writes: &[RecordWrite]) -> Vec<String> {
    let names: Vec<String> = conditioned(writes)
        .map(|write| lock_name(ns, &layout::place(ns, write.kind, &write.key)))
        .collect();
    match anchor(writes).is_none() && names.len() > MAX_LOCKS {
        true => Vec::new(),
        false => names,
    }
}

fn lock_name(ns: &Namespace, place: &Place) -> String {
    format!("{ns}\0{:?}\0{}", place.shelf, place.id)
}

/// Lets keys know that the published server revoked them.
fn revoke(rows: &mut HashMap<String, Fields>) {
    let revoked: Vec<(String, serde_json::Value)> = rows
        .iter()
        .filter_map(|(id, fields)| {
            Some((
                id.strip_prefix("revoked:")?.to_owned(),
                fields.get("revoked_at")?.clone(),
            ))
        })
        .collect();
    for (key, at) in revoked {
        rows.remove(&format!("revoked:{key}"));
        if let Some(fields) = rows.get_mut(&format!("key:{key}")) {
            fields.entry("revoked_at").or_insert(at);
        }
    }
}
