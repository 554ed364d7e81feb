//! The writer thread: takes what waits, makes it durable together, answers each.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use recall_store::{
    Acquired, Batch, Clock, Committed, Epoch, Error, Fence, Grant, Namespace, NewEvent,
    Precondition, RecordWrite, Revision, Version,
};
use redb::ReadableTable;
use tokio::sync::{mpsc, oneshot};

use crate::file::File;
use crate::ids;
use crate::read::{broken, in_words, lease};
use crate::tables::Tables;
use crate::turn::Turn;

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
pub(crate) fn run(file: &File, clock: &Arc<dyn Clock>, turn: &Turn, mut jobs: mpsc::Receiver<Job>) {
    let mut group = Vec::with_capacity(GROUP);
    loop {
        // Those that another transaction has to go on with come first.
        if group.is_empty() {
            match jobs.blocking_recv() {
                Some(first) => group.push(first),
                None => return,
            }
        }
        // Somebody else may be writing; those that come meanwhile ride along.
        let _turn = turn.take();
        while group.len() < GROUP
            && let Ok(next) = jobs.try_recv()
        {
            group.push(next);
        }
        turn.met(group.len());
        let unfinished = perform(file, clock.now(), group.drain(..));
        group.extend(unfinished);
    }
}

/// One transaction for a whole group. A job that is refused leaves no trace in it. Answers with those
/// that need another one.
pub(crate) fn perform(file: &File, now: Timestamp, jobs: impl Iterator<Item = Job>) -> Vec<Job> {
    let write = match file.begin_write() {
        Ok(write) => write,
        Err(error) => {
            jobs.for_each(|job| refuse(job, again(&error)));
            return Vec::new();
        }
    };
    let mut answers: Vec<Answer> = Vec::new();
    let mut unfinished = Vec::new();
    let mut effect = Effect::Nothing;
    let mut shared = Shared {
        tables: Tables::new(&write),
        rows: ids::SLICE,
    };
    for job in jobs {
        let effect_of_job = match apply(&mut shared, now, job) {
            Applied::Answered(answer, effect) => {
                answers.push(answer);
                effect
            }
            Applied::Unfinished(job) => {
                unfinished.push(job);
                Effect::Wrote
            }
        };
        effect = effect.max(effect_of_job);
    }
    drop(shared);
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
    unfinished
}

/// What the jobs of one transaction share.
struct Shared<'t> {
    tables: Tables<'t>,
    /// The rows of logs that it may still index.
    rows: u64,
}

/// What became of a job.
enum Applied {
    Answered(Answer, Effect),
    /// It did a part of its work, and goes on in the next transaction.
    Unfinished(Job),
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
fn apply(shared: &mut Shared<'_>, now: Timestamp, job: Job) -> Applied {
    let tables = &mut shared.tables;
    match job {
        Job::Commit(ns, batch, to) => match commit(shared, &ns, &batch) {
            Ok(Some(committed)) => later(to, Ok(committed)),
            Ok(None) => Applied::Unfinished(Job::Commit(ns, batch, to)),
            Err(error) => later(to, Err(error)),
        },
        Job::Acquire(ns, ask, to) => later(to, acquire(tables, &ns, &ask, now)),
        Job::Renew(ns, grant, ttl, to) => later(to, renew(tables, &ns, &grant, ttl, now)),
        Job::Release(ns, name, epoch, to) => later(to, release(tables, &ns, &name, epoch)),
        Job::Probe(to) => later(to, probe(tables, now)),
    }
}

fn later<T: Send + 'static>(
    to: oneshot::Sender<Result<T, Error>>,
    outcome: Result<T, Error>,
) -> Applied {
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
    Applied::Answered(answer, effect)
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

fn probe(tables: &mut Tables<'_>, now: Timestamp) -> Result<(), Error> {
    let meta = tables.meta.open()?;
    let seconds = u64::try_from(now.as_second()).unwrap_or_default();
    meta.insert("probed", seconds).map_err(broken)?;
    Ok(())
}

/// The number of a namespace, given on its first write.
fn number(tables: &mut Tables<'_>, ns: &Namespace) -> Result<u32, Error> {
    let table = tables.namespaces.open()?;
    if let Some(number) = table.get(ns.as_str()).map_err(broken)? {
        return Ok(number.value());
    }
    let next = redb::ReadableTableMetadata::len(table).map_err(broken)?;
    let number = u32::try_from(next).map_err(|_| Error::TooLarge {
        what: "the number of namespaces",
        limit: u32::MAX.into(),
    })?;
    table.insert(ns.as_str(), number).map_err(broken)?;
    Ok(number)
}

/// Writes a batch; `None` if the index of ids needs another transaction first.
fn commit(
    shared: &mut Shared<'_>,
    ns: &Namespace,
    batch: &Batch,
) -> Result<Option<Committed>, Error> {
    let Shared { tables, rows } = shared;
    let number = number(tables, ns)?;
    let head = tables.heads.open()?.get(number).map_err(broken)?;
    let (mut revision, mut writes) = head.map_or((0, 0), |head| head.value());
    if batch.expect.is_some_and(|expected| expected.0 != revision)
        || !preconditions_hold(tables, number, &batch.records)?
    {
        return Err(Error::Conflict {
            revision: Revision(revision),
        });
    }
    if let Some(fence) = &batch.fence {
        check_fence(tables, number, fence)?;
    }
    // From here on nothing is refused, so a refused job leaves no trace in the shared transaction.
    let events = match (batch.events.as_slice(), batch.expect) {
        ([], _) => Vec::new(),
        (events, Some(_)) => append_new(tables, number, &mut revision, events)?,
        (_, None) if !ids::catch_up(tables, number, revision, rows)? => return Ok(None),
        (events, None) => append_unknown(tables, number, &mut revision, events)?,
    };
    let versions = put(tables, number, &mut writes, &batch.records)?;
    tables
        .heads
        .open()?
        .insert(number, (revision, writes))
        .map_err(broken)?;
    Ok(Some(Committed {
        revision: Revision(revision),
        events,
        records: versions,
    }))
}

fn preconditions_hold(
    tables: &mut Tables<'_>,
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
        let table = tables.records.open()?;
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

fn check_fence(tables: &mut Tables<'_>, number: u32, fence: &Fence) -> Result<(), Error> {
    let table = tables.leases.open()?;
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

/// Appends events whose ids the caller vouches for.
fn append_new(
    tables: &mut Tables<'_>,
    number: u32,
    revision: &mut u64,
    events: &[NewEvent],
) -> Result<Vec<Revision>, Error> {
    let places = events
        .iter()
        .map(|event| log(tables, number, revision, event));
    places.collect()
}

/// Appends events unless the log has their ids.
fn append_unknown(
    tables: &mut Tables<'_>,
    number: u32,
    revision: &mut u64,
    events: &[NewEvent],
) -> Result<Vec<Revision>, Error> {
    let mut places = Vec::with_capacity(events.len());
    for event in events {
        if let Some(known) = ids::find(tables, number, &event.id)? {
            places.push(Revision(known));
            continue;
        }
        let place = log(tables, number, revision, event)?;
        ids::add(tables, number, &event.id, place.0)?;
        places.push(place);
    }
    ids::know(tables, number, *revision)?;
    Ok(places)
}

/// Adds one event to the log.
fn log(
    tables: &mut Tables<'_>,
    number: u32,
    revision: &mut u64,
    event: &NewEvent,
) -> Result<Revision, Error> {
    *revision += 1;
    let row = (event.id.as_str(), &*event.body);
    let log = tables.events.open()?;
    log.insert((number, *revision), row).map_err(broken)?;
    Ok(Revision(*revision))
}

fn put(
    tables: &mut Tables<'_>,
    number: u32,
    writes: &mut u64,
    records: &[RecordWrite],
) -> Result<Vec<Version>, Error> {
    let mut versions = Vec::with_capacity(records.len());
    for RecordWrite {
        kind, key, body, ..
    } in records
    {
        *writes += 1;
        let place = (number, kind.number(), key.as_str());
        let table = tables.records.open()?;
        match body {
            Some(body) => drop(table.insert(place, (*writes, &**body)).map_err(broken)?),
            None => drop(table.remove(place).map_err(broken)?),
        }
        versions.push(Version(*writes));
    }
    Ok(versions)
}

fn acquire(
    tables: &mut Tables<'_>,
    ns: &Namespace,
    ask: &Ask,
    now: Timestamp,
) -> Result<Acquired, Error> {
    let number = number(tables, ns)?;
    let table = tables.leases.open()?;
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
    tables: &mut Tables<'_>,
    ns: &Namespace,
    grant: &Grant,
    ttl: Duration,
    now: Timestamp,
) -> Result<Grant, Error> {
    let number = number(tables, ns)?;
    let table = tables.leases.open()?;
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
    tables: &mut Tables<'_>,
    ns: &Namespace,
    name: &str,
    epoch: Epoch,
) -> Result<bool, Error> {
    let number = number(tables, ns)?;
    let table = tables.leases.open()?;
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
