//! Keeping a log current: what other replicas acknowledged, and what strangers wrote.

use std::time::Duration;

use jiff::Timestamp;
use recall_store::{Error, Revision};
use serde_json::Value;

use crate::age::Moment;
use crate::layout;
use crate::log::{Log, Space};
use crate::replicas::{AHEAD, Behind, Replicas};
use crate::rows::{Row, Rows};

/// How far back in time a stranger's new events are looked for each time: clocks differ, and writes
/// take a while.
const LOOK_BACK: Duration = Duration::from_secs(600);
/// How often all events are counted.
const RECOUNT: Duration = Duration::from_secs(30);
/// Events written this long ago may be just being written, by a replica that has not told yet.
const RECENT: Duration = Duration::from_secs(60);
/// The most events that are told on behalf of others at a time: a head holds no more than a few.
const PASSED_ON: usize = 128;

/// Follows the logs of one store.
#[derive(Debug)]
pub(crate) struct Follower<'a> {
    pub(crate) db: &'a dyn Rows,
    pub(crate) replicas: &'a Replicas,
    /// How old a look for strangers' events may be.
    pub(crate) freshness: Duration,
}

impl Follower<'_> {
    /// Makes sure that the log holds every event that any of our replicas acknowledged before this
    /// call, and every one that a stranger wrote `freshness` before it.
    pub(crate) async fn follow(&self, space: &Space) -> Result<(), Error> {
        let others = self.replicas.others().await?;
        if others.is_empty() && self.is_settled(&space.log.lock()) {
            return Ok(());
        }
        let _turn = space.following.lock().await;
        // Whoever is not on this list acknowledges nothing before it is on the next.
        let others = self.replicas.others().await?;
        self.follow_alone(space, &others).await
    }

    /// The revision of a log that need not be followed, and whether it should be soon; `None` where that
    /// cannot be told at once.
    pub(crate) fn at_hand(&self, space: &Space) -> Option<(Revision, bool)> {
        let list_ages = self.replicas.alone()?;
        let log = space.log.lock();
        let ages = |looked: Moment| looked.age() >= self.freshness.mul_f64(AHEAD);
        self.is_settled(&log)
            .then(|| (log.revision(), list_ages || log.looked.is_none_or(ages)))
    }

    /// Follows a log before it must be.
    pub(crate) async fn follow_ahead(&self, space: &Space) -> Result<(), Error> {
        let others = self.replicas.others_ahead().await?;
        let ahead = Follower {
            freshness: self.freshness.mul_f64(AHEAD),
            ..*self
        };
        if others.is_empty() && ahead.is_settled(&space.log.lock()) {
            return Ok(());
        }
        let _turn = space.following.lock().await;
        ahead.follow_alone(space, &others).await
    }

    /// Whether nothing is to be asked for, as long as there is no other replica.
    fn is_settled(&self, log: &Log) -> bool {
        let departed = || self.replicas.departed(log.departed).0;
        log.loaded && !log.doubtful && self.is_fresh(log) && departed().is_empty()
    }

    fn is_fresh(&self, log: &Log) -> bool {
        log.looked
            .is_some_and(|looked| !self.freshness.is_zero() && looked.age() < self.freshness)
    }

    async fn follow_alone(&self, space: &Space, others: &[String]) -> Result<(), Error> {
        let (whole, before) = {
            let log = space.log.lock();
            (!log.loaded || log.doubtful, log.departed)
        };
        // Those that left are followed once more, to what they wrote last.
        let (left, departed) = self.replicas.departed(before);
        if whole {
            return self.load(space, others, departed).await;
        }
        let writers = [others, &left].concat();
        if !writers.is_empty() && !self.follow_heads(space, &writers).await? {
            return self.load(space, others, departed).await;
        }
        space.log.lock().departed = departed;
        let (fresh, counted) = {
            let log = space.log.lock();
            let counted = log.counted.is_some_and(|counted| counted.age() < RECOUNT);
            (self.is_fresh(&log), counted)
        };
        if !fresh {
            self.look(space).await?;
        }
        match counted {
            true => Ok(()),
            false => self.recount(space, &writers).await,
        }
    }

    /// Fetches what the heads tell of and the log lacks. `false` if they do not tell enough.
    async fn follow_heads(&self, space: &Space, others: &[String]) -> Result<bool, Error> {
        let heads = self.replicas.heads(&space.ns, others).await?;
        let mut lacks = Vec::new();
        {
            let log = space.log.lock();
            for (replica, head) in &heads {
                match head.behind(log.seen.get(replica)) {
                    Behind::Ids(ids) => {
                        lacks.extend(ids.into_iter().filter(|id| log.place(id).is_none()))
                    }
                    Behind::Unknown => return Ok(false),
                }
            }
        }
        // Two may tell of the same event.
        lacks.sort_unstable();
        lacks.dedup();
        let mut found = self.db.get(&space.collection, lacks.clone()).await?;
        let mut log = space.log.lock();
        for id in lacks {
            let Some(fields) = found.remove(&id) else {
                // It was announced after it was written, so it is there, unless it is another store.
                log.doubtful = true;
                return Err(Error::unavailable(format!(
                    "event {id} was announced and is not there"
                )));
            };
            log.learn(&id, Some(layout::read_event(&fields)));
        }
        for (replica, head) in heads {
            log.seen.insert(replica, head.seen());
        }
        Ok(true)
    }

    /// Looks for new events that none of our replicas wrote.
    async fn look(&self, space: &Space) -> Result<(), Error> {
        let (began, now) = (Moment::now(), Timestamp::now().as_millisecond());
        let since = space.log.lock().looked_until;
        let rows = self.db.strangers(&space.collection, since).await?;
        let mut log = space.log.lock();
        take(&mut log, rows);
        log.looked = Some(began);
        log.looked_until = now - LOOK_BACK.as_millis() as i64;
        Ok(())
    }

    /// Counts all events there are, and reads them all if there are more than are known: strangers
    /// may date back, and a replica may have died between writing and telling.
    async fn recount(&self, space: &Space, writers: &[String]) -> Result<(), Error> {
        let began = Moment::now();
        let total = {
            // What this process is just writing is no surprise.
            let _writing = space.writing.lock().await;
            self.db.count(&space.collection).await?
        };
        let known = |space: &Space| space.log.lock().revision().0 >= total;
        // Others may have been writing: they have told by now.
        let told = known(space) || (self.follow_heads(space, writers).await? && known(space));
        if !told {
            let rows = self.db.everything(&space.collection).await?;
            let new = take(&mut space.log.lock(), rows);
            self.pass_on(space, writers, new).await?;
        }
        space.log.lock().counted = Some(began);
        Ok(())
    }

    /// Tells the others of new events that nobody told of: whoever wrote them may be dead, and what
    /// is seen here must be seen everywhere.
    async fn pass_on(
        &self,
        space: &Space,
        writers: &[String],
        mut new: Vec<String>,
    ) -> Result<(), Error> {
        if writers.is_empty() || new.is_empty() {
            return Ok(());
        }
        let heads = self.replicas.heads(&space.ns, writers).await?;
        new.retain(|id| !heads.iter().any(|(_, head)| head.ids.contains(id)));
        let surplus = new.len().saturating_sub(PASSED_ON);
        new.drain(..surplus);
        match new.is_empty() {
            true => Ok(()),
            false => self.replicas.announce(&space.ns, &new).await,
        }
    }

    /// Reads the whole log.
    async fn load(&self, space: &Space, others: &[String], departed: usize) -> Result<(), Error> {
        let (began, now) = (Moment::now(), Timestamp::now().as_millisecond());
        // The heads first: what is written meanwhile is found by them.
        let heads = match others.is_empty() {
            true => Vec::new(),
            false => self.replicas.heads(&space.ns, others).await?,
        };
        // From here on a failed write leaves another doubt.
        space.log.lock().doubtful = false;
        let rows = match self.db.everything(&space.collection).await {
            Ok(rows) => rows,
            Err(error) => {
                space.log.lock().doubtful = true;
                return Err(error);
            }
        };
        let new = take(&mut space.log.lock(), rows);
        self.pass_on(space, others, new).await?;
        let mut log = space.log.lock();
        log.seen = heads
            .into_iter()
            .map(|(replica, head)| (replica, head.seen()))
            .collect();
        (log.loaded, log.departed) = (true, departed);
        (log.looked, log.counted) = (Some(began), Some(began));
        log.looked_until = now - LOOK_BACK.as_millis() as i64;
        Ok(())
    }
}

/// Adds rows to the log, in an order that does not depend on how they were found. Answers the new
/// ones of ours that are recent.
fn take(log: &mut Log, mut rows: Vec<Row>) -> Vec<String> {
    rows.retain(|row| log.place(&row.id).is_none());
    rows.sort_by(|a, b| order(a).cmp(&order(b)));
    let since = Timestamp::now().as_millisecond() - RECENT.as_millis() as i64;
    let mut recent = Vec::new();
    for row in rows {
        log.learn(&row.id, Some(layout::read_event(&row.metadata)));
        if layout::recorded_ms(&row.metadata).is_some_and(|at| at >= since) {
            recent.push(row.id);
        }
    }
    recent
}

fn order(row: &Row) -> (i64, &str, &str) {
    let at = row
        .metadata
        .get("observed_at")
        .and_then(Value::as_str)
        .unwrap_or_default();
    (
        layout::observed_ms(&row.metadata).unwrap_or_default(),
        at,
        &row.id,
    )
}
