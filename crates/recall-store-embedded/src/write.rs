//! The writer thread: takes what waits, makes it durable together, answers each.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use recall_store::{
    Acquired, Batch, Clock, Committed, Epoch, Error, Fence, Grant, Namespace, Precondition,
    RecordWrite, Revision, Version,
};
use redb::{ReadableTable, Table, WriteTransaction};
use tokio::sync::{mpsc, oneshot};

use crate::file::File;
use crate::layout;
use crate::read::{broken, in_words, lease};

/// Writes that may wait for the writer thread; more make their callers wait to queue.
pub(crate) const QUEUE: usize = 1024;
/// The most writes that share one fsync.
const GROUP: usize = 256;

/// A write and the place for its answer.
pub(crate) enum Job {
    Commit(Namespace, Batch, oneshot::Sender<Result<Committed, Error>>),
    Acquire(Namespace, Ask, oneshot::Sender<Result<Acquired, Error>>),
    Renew(
        Namespace,
        Grant,
        Duration,
        oneshot::Sender<Result<Grant, Error>>,
    ),
    Release(
        Namespace,
        String,
        Epoch,
        oneshot::Sender<Result<bool, Error>>,
    ),
    /// Whether anything can be written.
    Probe(oneshot::Sender<Result<(), Error>>),
}

/// Who wants a lease, and for how long.
pub(crate) struct Ask {
    pub(crate) name: String,
    pub(crate) holder: String,
    pub(crate) ttl: Duration,
}

/// An answer that is sent once the transaction is on disk, or replaced if it does not get there.
type Answer = Box<dyn FnOnce(Option<Error>) + Send>;

/// Runs until every sender of jobs is gone.
pub(crate) fn run(file: &File, clock: &Arc<dyn Clock>, mut jobs: mpsc::Receiver<Job>) {
    let mut group = Vec::with_capacity(GROUP);
    while let Some(first) = jobs.blocking_recv() {
        group.push(first);
        while group.len() < GROUP
            && let Ok(next) = jobs.try_recv()
        {
            group.push(next);
        }
        perform(file, clock.now(), group.drain(..));
    }
}

/// One transaction for a whole group. A job that is refused leaves no trace in it.
fn perform(file: &File, now: Timestamp, jobs: impl Iterator<Item = Job>) {
    let write = match file.begin_write() {
        Ok(write) => write,
        Err(error) => return jobs.for_each(|job| refuse(job, again(&error))),
    };
    let mut answers: Vec<Answer> = Vec::new();
    let mut effect = Effect::Nothing;
    for job in jobs {
        let (answer, effect_of_job) = apply(&write, now, job);
        answers.push(answer);
        effect = effect.max(effect_of_job);
    }
    let failure = match effect {
        Effect::Nothing => None,
        Effect::Wrote => match write.commit() {
            Ok(()) => {
                file.is_sound();
                None
            }
            Err(error) => Some(file.failed(in_words(&broken(error)))),
        },
        Effect::Broke(reason) => {
            // Undone with its group before the file is looked at.
            drop(write);
            Some(file.failed(reason))
        }
    };
    for answer in answers {
        answer(failure.as_ref().map(again));
    }
}

/// What a job did to the shared transaction, the most consequential last.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Effect {
    /// It was refused before it wrote.
    Nothing,
    /// It wrote, and the transaction has to be committed.
    Wrote,
    /// The file failed under it with this reason, so the transaction may hold half of it and must not
    /// be committed.
    Broke(String),
}

/// Applies one job and keeps its answer back.
fn apply(write: &WriteTransaction, now: Timestamp, job: Job) -> (Answer, Effect) {
    match job {
        Job::Commit(ns, batch, to) => later(to, commit(write, &ns, batch)),
        Job::Acquire(ns, ask, to) => later(to, acquire(write, &ns, &ask, now)),
        Job::Renew(ns, grant, ttl, to) => later(to, renew(write, &ns, &grant, ttl, now)),
        Job::Release(ns, name, epoch, to) => later(to, release(write, &ns, &name, epoch)),
        Job::Probe(to) => later(to, probe(write, now)),
    }
}

fn later<T: Send + 'static>(
    to: oneshot::Sender<Result<T, Error>>,
    outcome: Result<T, Error>,
) -> (Answer, Effect) {
    let effect = match &outcome {
        Ok(_) => Effect::Wrote,
        Err(error @ (Error::Unavailable { .. } | Error::Damaged(_))) => {
            Effect::Broke(in_words(error))
        }
        Err(_) => Effect::Nothing,
    };
    let answer = Box::new(move |failure: Option<Error>| {
        // Nobody waits any more if the caller went away; the write stands all the same.
        let _ = to.send(match failure {
            Some(failure) if outcome.is_ok() => Err(failure),
            Some(_) | None => outcome,
        });
    });
    (answer, effect)
}

fn refuse(job: Job, error: Error) {
    match job {
        Job::Commit(.., to) => drop(to.send(Err(error))),
        Job::Acquire(.., to) => drop(to.send(Err(error))),
        Job::Renew(.., to) => drop(to.send(Err(error))),
        Job::Release(.., to) => drop(to.send(Err(error))),
        Job::Probe(to) => drop(to.send(Err(error))),
    }
}

/// The same refusal for another job.
fn again(error: &Error) -> Error {
    let retry_after = match error {
        Error::Unavailable { retry_after, .. } => *retry_after,
        _ => None,
    };
    Error::Unavailable {
        reason: in_words(error),
        retry_after,
    }
}

fn probe(write: &WriteTransaction, now: Timestamp) -> Result<(), Error> {
    let mut meta = write.open_table(layout::META).map_err(broken)?;
    let seconds = u64::try_from(now.as_second()).unwrap_or_default();
    meta.insert("probed", seconds).map_err(broken)?;
    Ok(())
}

/// The number of a namespace, given on its first write.
fn number(write: &WriteTransaction, ns: &Namespace) -> Result<u32, Error> {
    let mut table = write.open_table(layout::NAMESPACES).map_err(broken)?;
    if let Some(number) = table.get(ns.as_str()).map_err(broken)? {
        return Ok(number.value());
    }
    let next = redb::ReadableTableMetadata::len(&table).map_err(broken)?;
    let number = u32::try_from(next).map_err(|_| Error::TooLarge {
        what: "the number of namespaces",
        limit: u32::MAX.into(),
    })?;
    table.insert(ns.as_str(), number).map_err(broken)?;
    Ok(number)
}

fn commit(write: &WriteTransaction, ns: &Namespace, batch: Batch) -> Result<Committed, Error> {
    let number = number(write, ns)?;
    let mut heads = write.open_table(layout::HEADS).map_err(broken)?;
    let (mut revision, mut writes) = heads
        .get(number)
        .map_err(broken)?
        .map_or((0, 0), |head| head.value());
    let mut records = write.open_table(layout::RECORDS).map_err(broken)?;
    if batch.expect.is_some_and(|expected| expected.0 != revision)
        || !preconditions_hold(&records, number, &batch.records)?
    {
        return Err(Error::Conflict {
            revision: Revision(revision),
        });
    }
    if let Some(fence) = &batch.fence {
        check_fence(write, number, fence)?;
    }
    // From here on nothing is refused, so a refused job leaves no trace in the shared transaction.
    let events = append(write, number, &mut revision, &batch)?;
    let versions = put(&mut records, number, &mut writes, batch.records)?;
    heads.insert(number, (revision, writes)).map_err(broken)?;
    Ok(Committed {
        revision: Revision(revision),
        events,
        records: versions,
    })
}

type Records<'txn> = Table<'txn, (u32, u8, &'static str), (u64, &'static [u8])>;

fn preconditions_hold(
    table: &Records<'_>,
    number: u32,
    writes: &[RecordWrite],
) -> Result<bool, Error> {
    for RecordWrite {
        kind,
        key,
        precondition,
        ..
    } in writes
    {
        if *precondition == Precondition::None {
            continue;
        }
        let stored = table
            .get((number, kind.number(), key.as_str()))
            .map_err(broken)?;
        let version = stored.map(|value| Version(value.value().0));
        let wanted = match precondition {
            Precondition::Version(version) => Some(*version),
            Precondition::None | Precondition::Absent => None,
        };
        if version != wanted {
            return Ok(false);
        }
    }
    Ok(true)
}

fn check_fence(write: &WriteTransaction, number: u32, fence: &Fence) -> Result<(), Error> {
    let table = write.open_table(layout::LEASES).map_err(broken)?;
    let row = table.get((number, fence.lease.as_str())).map_err(broken)?;
    let (current, released) = row.map_or((0, false), |row| {
        let (epoch, _, _, released) = row.value();
        (epoch, released)
    });
    if current != fence.epoch.0 || released {
        return Err(Error::Fenced {
            held: fence.epoch,
            current: Epoch(current),
        });
    }
    Ok(())
}

fn append(
    write: &WriteTransaction,
    number: u32,
    revision: &mut u64,
    batch: &Batch,
) -> Result<Vec<Revision>, Error> {
    if batch.events.is_empty() {
        return Ok(Vec::new());
    }
    let mut log = write.open_table(layout::EVENTS).map_err(broken)?;
    let mut ids = write.open_table(layout::EVENT_IDS).map_err(broken)?;
    let mut places = Vec::with_capacity(batch.events.len());
    for event in &batch.events {
        let id = event.id.as_str();
        let known = ids
            .get((number, id))
            .map_err(broken)?
            .map(|place| place.value());
        if let Some(known) = known {
            places.push(Revision(known));
            continue;
        }
        *revision += 1;
        ids.insert((number, id), *revision).map_err(broken)?;
        log.insert((number, *revision), (id, &*event.body))
            .map_err(broken)?;
        places.push(Revision(*revision));
    }
    Ok(places)
}

fn put(
    table: &mut Records<'_>,
    number: u32,
    writes: &mut u64,
    records: Vec<RecordWrite>,
) -> Result<Vec<Version>, Error> {
    let mut versions = Vec::with_capacity(records.len());
    for RecordWrite {
        kind, key, body, ..
    } in records
    {
        *writes += 1;
        let place = (number, kind.number(), key.as_str());
        match body {
            Some(body) => drop(table.insert(place, (*writes, &*body)).map_err(broken)?),
            None => drop(table.remove(place).map_err(broken)?),
        }
        versions.push(Version(*writes));
    }
    Ok(versions)
}

fn acquire(
    write: &WriteTransaction,
    ns: &Namespace,
    ask: &Ask,
    now: Timestamp,
) -> Result<Acquired, Error> {
    let number = number(write, ns)?;
    let mut table = write.open_table(layout::LEASES).map_err(broken)?;
    let place = (number, ask.name.as_str());
    let standing = table
        .get(place)
        .map_err(broken)?
        .map(|row| lease(&ask.name, row.value(), now));
    if let Some(state) = &standing
        && state.live
    {
        return Ok(Acquired::Held(state.grant.clone()));
    }
    let epoch = standing.map_or(1, |state| state.grant.epoch.0 + 1);
    let expires_at = ends(now, ask.ttl);
    let row = (
        epoch,
        ask.holder.as_str(),
        expires_at.as_microsecond(),
        false,
    );
    table.insert(place, row).map_err(broken)?;
    Ok(Acquired::Granted(Grant {
        name: ask.name.clone(),
        holder: ask.holder.clone(),
        epoch: Epoch(epoch),
        expires_at,
    }))
}

fn renew(
    write: &WriteTransaction,
    ns: &Namespace,
    grant: &Grant,
    ttl: Duration,
    now: Timestamp,
) -> Result<Grant, Error> {
    let number = number(write, ns)?;
    let mut table = write.open_table(layout::LEASES).map_err(broken)?;
    let place = (number, grant.name.as_str());
    let standing = table
        .get(place)
        .map_err(broken)?
        .map(|row| lease(&grant.name, row.value(), now));
    let current = standing
        .as_ref()
        .map_or(Epoch(0), |state| state.grant.epoch);
    let Some(state) = standing.filter(|state| state.live && current == grant.epoch) else {
        return Err(Error::Fenced {
            held: grant.epoch,
            current,
        });
    };
    let expires_at = ends(now, ttl);
    let row = (
        current.0,
        state.grant.holder.as_str(),
        expires_at.as_microsecond(),
        false,
    );
    table.insert(place, row).map_err(broken)?;
    Ok(Grant {
        expires_at,
        ..state.grant
    })
}

fn release(
    write: &WriteTransaction,
    ns: &Namespace,
    name: &str,
    epoch: Epoch,
) -> Result<bool, Error> {
    let number = number(write, ns)?;
    let mut table = write.open_table(layout::LEASES).map_err(broken)?;
    let standing = table.get((number, name)).map_err(broken)?.map(|row| {
        let (current, holder, expires, released) = row.value();
        (current, holder.to_owned(), expires, released)
    });
    let Some((current, holder, expires, false)) = standing else {
        return Ok(false);
    };
    if current != epoch.0 {
        return Ok(false);
    }
    let row = (current, holder.as_str(), expires, true);
    table.insert((number, name), row).map_err(broken)?;
    Ok(true)
}

fn ends(now: Timestamp, ttl: Duration) -> Timestamp {
    // Whole microseconds, as on disk, so that a grant compares equal to what is read back.
    now.checked_add(ttl)
        .and_then(|end| Timestamp::from_microsecond(end.as_microsecond()))
        .unwrap_or(Timestamp::MAX)
}
