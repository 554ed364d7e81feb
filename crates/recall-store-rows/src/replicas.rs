//! Who else of ours writes this store, and what each wrote last.
//!
//! Every replica keeps one record that says it is there, and a head per namespace: a count of the
//! events it wrote and the ids of the last of them, written before a write is acknowledged. A reader
//! that reads the heads of all replicas therefore knows every acknowledged write.
//!
//! Heads cost a call per read and per write, so a replica that is alone keeps none. That is safe
//! because a replica that is not alone waits [`JOIN`] between announcing itself and its first
//! answer, and nobody acts on a list of replicas that is older than [`LISTED`], which is shorter.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use recall_store::{Error, Namespace};
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::age::Moment;
use crate::rows::{Fields, NewRow, Rows};

/// How long a replica that found others waits before it answers anything.
const JOIN: Duration = Duration::from_secs(5);
/// How old a list of replicas may be that is acted on. A store that takes longer to list them is too
/// slow.
const LISTED: Duration = Duration::from_secs(4);
/// How often a list is fetched in vain.
const LISTINGS: u32 = 3;
/// From this part of the time on for which an answer of the store may be acted on, the next is fetched
/// while nobody waits for it.
pub(crate) const AHEAD: f64 = 0.75;
/// A list older than this is fetched anew when it is needed.
const RELIST: Duration = Duration::from_millis(1000);
/// How often a replica says that it is still there.
const BEAT: Duration = Duration::from_secs(10);
/// A replica that could not say so for this long counts itself as gone and joins again.
const LAPSE: Duration = Duration::from_secs(40);
/// A replica that said nothing for this long is gone. Longer than [`LAPSE`] and [`JOIN`] together.
const GONE: Duration = Duration::from_secs(60);
/// A replica that said nothing for this long is taken off the list.
const FORGOTTEN: Duration = Duration::from_secs(600);
/// The ids that a head holds. A reader that is further behind reads the whole log.
const HEAD_IDS: usize = 256;

/// What one replica says it wrote to a namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Head {
    /// Changes when the replica began to count anew.
    pub(crate) run: String,
    /// Events written in this run.
    pub(crate) count: u64,
    /// The last of them, the newest last.
    pub(crate) ids: Vec<String>,
}

/// How far a reader has followed a head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    run: String,
    count: u64,
}

/// What a reader has to do to catch up with a head.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Behind {
    /// These events, most of which it may know already.
    Ids(Vec<String>),
    /// More than the head tells.
    Unknown,
}

impl Head {
    /// What a reader that has `seen` lacks.
    pub(crate) fn behind(&self, seen: Option<&Seen>) -> Behind {
        let from = match seen {
            None => 0,
            Some(seen) if seen.run == self.run => seen.count,
            // It may have written more in its former run than was seen.
            Some(_) => return Behind::Unknown,
        };
        let lacks = self.count.saturating_sub(from);
        let held = self.ids.len() as u64;
        match usize::try_from(held.saturating_sub(lacks)) {
            Ok(skip) if lacks <= held => Behind::Ids(self.ids.iter().skip(skip).cloned().collect()),
            _ => Behind::Unknown,
        }
    }

    pub(crate) fn seen(&self) -> Seen {
        Seen {
            run: self.run.clone(),
            count: self.count,
        }
    }

    fn fields(&self) -> Fields {
        Fields::from_iter([
            ("run".to_owned(), Value::from(self.run.as_str())),
            ("count".to_owned(), self.count.into()),
            ("ids".to_owned(), self.ids.join("\n").into()),
        ])
    }

    fn read(fields: &Fields) -> Option<Self> {
        let text = |name: &str| fields.get(name)?.as_str().map(str::to_owned);
        let ids = text("ids")?;
        Some(Self {
            run: text("run")?,
            count: fields.get("count")?.as_f64()? as u64,
            ids: ids
                .split('\n')
                .filter(|id| !id.is_empty())
                .map(str::to_owned)
                .collect(),
        })
    }
}

/// What this replica counts for one namespace.
#[derive(Debug)]
struct Own {
    run: String,
    count: u64,
    ids: VecDeque<String>,
    /// Held while the head is written, so that an older one never lands on a newer one.
    turn: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Debug, Clone)]
struct Other {
    beat: u64,
    changed: Moment,
}

#[derive(Debug, Default)]
struct Known {
    /// When the listing began that the rest is from.
    listed: Option<Moment>,
    /// Everyone else who has a record, also those that are gone.
    recorded: BTreeMap<String, Other>,
    live: Vec<String>,
    /// When the last beat began that arrived, and its number.
    beaten: Option<Moment>,
    beat: u64,
    /// Replicas that left, in order: their last writes may not have been followed everywhere.
    departed: Vec<String>,
}

impl Known {
    /// Whether the list and our last beat are younger than this.
    fn is_young(&self, list: Duration, beat: Duration) -> bool {
        let within = |at: Option<Moment>, age| at.is_some_and(|at| at.age() < age);
        within(self.listed, list) && within(self.beaten, beat)
    }
}

/// This replica and what it knows of the others.
#[derive(Debug)]
pub(crate) struct Replicas {
    db: Arc<dyn Rows>,
    id: String,
    /// Where replicas are listed, and where their heads are.
    list: String,
    heads: String,
    known: Mutex<Known>,
    own: Mutex<HashMap<Namespace, Own>>,
    joined: OnceCell<()>,
    listing: tokio::sync::Mutex<()>,
}

impl Replicas {
    pub(crate) fn new(db: Arc<dyn Rows>, servers: &str, id: String) -> Self {
        Self {
            db,
            id,
            list: format!("{servers}_replicas"),
            heads: format!("{servers}_heads"),
            known: Mutex::default(),
            own: Mutex::default(),
            joined: OnceCell::new(),
            listing: tokio::sync::Mutex::new(()),
        }
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Where locks between replicas are.
    pub(crate) fn locks(&self) -> &str {
        &self.heads
    }

    /// The others, as a list tells that is young enough to act on. Joins first if that was not done.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] if they cannot be listed.
    pub(crate) async fn others(&self) -> Result<Vec<String>, Error> {
        self.others_within(RELIST).await
    }

    /// The others, as a list tells that is at most so old, so that it can be acted on for a while.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] if they cannot be listed.
    pub(crate) async fn others_ahead(&self) -> Result<Vec<String>, Error> {
        self.others_within(RELIST.mul_f64(AHEAD)).await
    }

    async fn others_within(&self, age: Duration) -> Result<Vec<String>, Error> {
        self.joined.get_or_try_init(|| self.join()).await?;
        for _ in 0..LISTINGS {
            if let Some(live) = self.listed(age, BEAT) {
                return Ok(live);
            }
            let _turn = self.listing.lock().await;
            if let Some(live) = self.listed(age, BEAT) {
                return Ok(live);
            }
            if !self.beaten(LAPSE) {
                // The others may have forgotten us. What they knew of us they know; what we write
                // from here on they must be able to find.
                self.join().await?;
            } else if !self.beaten(BEAT) {
                self.beat().await?;
            }
            self.relist().await?;
            if let Some(live) = self.listed(LISTED, LAPSE) {
                return Ok(live);
            }
        }
        Err(Error::unavailable(format!(
            "{} is too slow to tell which servers use it",
            self.db.name()
        )))
    }

    /// The others, if the list and our last beat are younger than this.
    fn listed(&self, list: Duration, beat: Duration) -> Option<Vec<String>> {
        let known = self.known.lock();
        known.is_young(list, beat).then(|| known.live.clone())
    }

    /// Whether it can be told at once that there is nobody else; then, whether it should soon be asked
    /// again.
    pub(crate) fn alone(&self) -> Option<bool> {
        let known = self.known.lock();
        let alone = self.joined.initialized() && known.live.is_empty();
        (alone && known.is_young(RELIST, BEAT))
            .then(|| !known.is_young(RELIST.mul_f64(AHEAD), BEAT))
    }

    fn beaten(&self, within: Duration) -> bool {
        let beaten = self.known.lock().beaten;
        beaten.is_some_and(|beaten| beaten.age() < within)
    }

    /// The replicas that left after the first `count` did, and how many left in all.
    pub(crate) fn departed(&self, count: usize) -> (Vec<String>, usize) {
        let known = self.known.lock();
        let after = known.departed.get(count..).unwrap_or_default();
        (after.to_vec(), known.departed.len())
    }

    async fn join(&self) -> Result<(), Error> {
        self.beat().await?;
        self.relist().await?;
        if self.known.lock().live.is_empty() {
            return Ok(());
        }
        tokio::time::sleep(JOIN).await;
        self.relist().await
    }

    pub(crate) async fn beat(&self) -> Result<(), Error> {
        let began = Moment::now();
        let beat = {
            let mut known = self.known.lock();
            known.beat += 1;
            known.beat
        };
        let metadata = Fields::from_iter([("beat".to_owned(), beat.into())]);
        let row = NewRow {
            id: self.id.clone(),
            values: vec![1.0],
            metadata,
        };
        self.db.put(&self.list, vec![row]).await?;
        self.known.lock().beaten = Some(began);
        Ok(())
    }

    async fn relist(&self) -> Result<(), Error> {
        let began = Moment::now();
        let rows = self.db.list(&self.list, &Fields::new()).await?;
        let mut known = self.known.lock();
        let others = rows.into_iter().filter(|row| row.id != self.id).map(|row| {
            let beat = row
                .metadata
                .get("beat")
                .and_then(Value::as_f64)
                .unwrap_or_default() as u64;
            let changed = match known.recorded.get(&row.id) {
                Some(other) if other.beat == beat => other.changed,
                _ => began,
            };
            (row.id, Other { beat, changed })
        });
        let recorded: BTreeMap<String, Other> = others.collect();
        let live: Vec<String> = recorded
            .iter()
            .filter(|(_, other)| other.changed.age() < GONE)
            .map(|(id, _)| id.clone())
            .collect();
        let left: Vec<String> = known
            .live
            .iter()
            .filter(|id| !live.contains(id))
            .cloned()
            .collect();
        known.departed.extend(left);
        known.recorded = recorded;
        known.live = live;
        known.listed = Some(began);
        Ok(())
    }

    /// Keeps saying that this replica is there, and removes the records of those long gone. Ends
    /// when the store is closed.
    pub(crate) async fn keep_up(this: std::sync::Weak<Self>) {
        loop {
            tokio::time::sleep(BEAT / 2).await;
            let Some(this) = this.upgrade() else { return };
            let kept_up = async {
                this.others().await?;
                this.clear().await
            };
            if let Err(error) = kept_up.await {
                tracing::debug!(%error, "the other replicas could not be listed");
            }
        }
    }

    /// Removes the records of replicas that were silent for very long. One that wakes up after all
    /// joins again.
    async fn clear(&self) -> Result<(), Error> {
        let ids: Vec<String> = {
            let known = self.known.lock();
            let old = known
                .recorded
                .iter()
                .filter(|(_, other)| other.changed.age() > FORGOTTEN);
            old.map(|(id, _)| id.clone()).collect()
        };
        match ids.is_empty() {
            true => Ok(()),
            false => self.db.delete(&self.list, ids).await,
        }
    }

    /// Takes this replica off the list: the others need not wait for it to be gone.
    pub(crate) async fn leave(&self) -> Result<(), Error> {
        self.db.delete(&self.list, vec![self.id.clone()]).await
    }

    /// The heads of these replicas for a namespace.
    pub(crate) async fn heads(
        &self,
        ns: &Namespace,
        replicas: &[String],
    ) -> Result<Vec<(String, Head)>, Error> {
        let ids: Vec<String> = replicas
            .iter()
            .map(|replica| head_id(replica, ns))
            .collect();
        let mut found = self.db.get(&self.heads, ids.clone()).await?;
        let heads = replicas.iter().zip(ids).filter_map(|(replica, id)| {
            let head = Head::read(&found.remove(&id)?);
            Some(
                head.map(|head| (replica.clone(), head))
                    .ok_or_else(|| Error::Damaged(format!("the head {id} does not decode"))),
            )
        });
        heads.collect()
    }

    /// Tells the others about events that lie in the store, before they are acknowledged. Does
    /// nothing while there are none.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] if it cannot be told; the events stay to be told with the next ones.
    pub(crate) async fn announce(&self, ns: &Namespace, ids: &[String]) -> Result<(), Error> {
        let turn = self.count(ns, ids)?;
        let _turn = turn.lock().await;
        // A replica that is not on this list reads the whole log later than now, with these events.
        if self.others().await?.is_empty() {
            return Ok(());
        }
        self.write_head(ns).await?;
        // The others follow us until GONE.
        match self.beaten(LAPSE) {
            true => Ok(()),
            false => Err(Error::unavailable(format!(
                "{} took too long",
                self.db.name()
            ))),
        }
    }

    fn count(&self, ns: &Namespace, ids: &[String]) -> Result<Arc<tokio::sync::Mutex<()>>, Error> {
        let mut own = self.own.lock();
        if !own.contains_key(ns) {
            let fresh = Own {
                run: random()?,
                count: 0,
                ids: VecDeque::new(),
                turn: Arc::default(),
            };
            own.insert(ns.clone(), fresh);
        }
        let Some(own) = own.get_mut(ns) else {
            return Err(Error::unavailable("a head was lost"));
        };
        own.count += ids.len() as u64;
        own.ids.extend(ids.iter().cloned());
        let surplus = own.ids.len().saturating_sub(HEAD_IDS.max(ids.len()));
        own.ids.drain(..surplus);
        Ok(Arc::clone(&own.turn))
    }

    async fn write_head(&self, ns: &Namespace) -> Result<(), Error> {
        let head = {
            let own = self.own.lock();
            let Some(own) = own.get(ns) else {
                return Ok(());
            };
            Head {
                run: own.run.clone(),
                count: own.count,
                ids: own.ids.iter().cloned().collect(),
            }
        };
        let row = NewRow {
            id: head_id(&self.id, ns),
            values: vec![1.0],
            metadata: head.fields(),
        };
        self.db.put(&self.heads, vec![row]).await
    }

    /// Lets go of what is counted for a namespace. The next write begins a new run.
    pub(crate) fn forget(&self, ns: &Namespace) {
        self.own.lock().remove(ns);
    }
}

fn head_id(replica: &str, ns: &Namespace) -> String {
    format!("{replica}:{ns}")
}

/// A name that nothing else has.
pub(crate) fn random() -> Result<String, Error> {
    let mut bytes = [0u8; 8];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::unavailable(format!("no randomness: {error}")))?;
    Ok(hex::encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(run: &str, count: u64, ids: &[&str]) -> Head {
        Head {
            run: run.to_owned(),
            count,
            ids: ids.iter().map(|id| (*id).to_owned()).collect(),
        }
    }

    #[track_caller]
    fn check(head: &Head, seen: Option<(&str, u64)>, expected: Option<&[&str]>) {
        let seen = seen.map(|(run, count)| Seen {
            run: run.to_owned(),
            count,
        });
        let found = match head.behind(seen.as_ref()) {
            Behind::Ids(ids) => Some(ids),
            Behind::Unknown => None,
        };
        let expected = expected.map(|ids| ids.iter().map(|id| (*id).to_owned()).collect());
        assert_eq!(found, expected);
    }

    #[test]
    fn a_reader_fetches_what_it_lacks_or_knows_that_it_cannot() {
        let whole = head("r", 2, &["a", "b"]);
        check(&whole, None, Some(&["a", "b"]));
        check(&whole, Some(("r", 1)), Some(&["b"]));
        check(&whole, Some(("r", 2)), Some(&[]));
        check(&whole, Some(("q", 2)), None);
        let cut = head("r", 9, &["h", "i"]);
        check(&cut, None, None);
        check(&cut, Some(("r", 6)), None);
        check(&cut, Some(("r", 7)), Some(&["h", "i"]));
        // A head that went back is that of a late write: nothing is new in it.
        check(&whole, Some(("r", 5)), Some(&[]));
    }

    #[test]
    fn heads_survive_the_store() {
        for head in [head("r", 0, &[]), head("r", 300, &["m-1", "m-2"])] {
            assert_eq!(Head::read(&head.fields()), Some(head));
        }
    }
}
