//! The adapter: the port's methods over the reader and the writer thread.
//!
//! Another thread costs a wake-up there and one back, each as much as a small read or a part of a sync. So
//! single records, whose pages are in memory as a rule, are read on the thread that asks; and a write that
//! is alone is done there too, as long as the one before it was alone. As soon as writes meet, the writer
//! thread does them together. Such a write lets another thread go on with the tasks of its own, unless
//! the disk is so quick that this would cost more than waiting for it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use recall_store::{
    Acquired, Batch, BoxFuture, Capabilities, Clock, Committed, Epoch, Error, Grant, LeaseState,
    LogPage, Namespace, Record, RecordKind, RecordPage, Revision, Store, SystemClock,
};
use redb::ReadTransaction;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::file::File;
use crate::open::OpenError;
use crate::read;
use crate::turn::Turn;
use crate::write::{self, Ask, Job, QUEUE};

/// A data directory that this process holds. Dropping it finishes the writes that were queued and
/// frees the directory.
#[derive(Debug)]
pub struct EmbeddedStore {
    file: Arc<File>,
    clock: Arc<dyn Clock>,
    turn: Arc<Turn>,
    jobs: Option<mpsc::Sender<Job>>,
    writer: Option<JoinHandle<()>>,
}

impl EmbeddedStore {
    /// Opens `dir`, making it (mode 0700) if it is not there. Blocks while the file is checked:
    /// about 0.1 s for 100,000 events.
    ///
    /// # Errors
    ///
    /// [`OpenError`], each saying what to do about it.
    pub fn open(dir: &Path) -> Result<Self, OpenError> {
        Self::open_with_clock(dir, Arc::new(SystemClock))
    }

    /// As [`open`](Self::open), with leases that run by `clock`.
    ///
    /// # Errors
    ///
    /// [`OpenError`].
    pub fn open_with_clock(dir: &Path, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        let file = Arc::new(File::open(dir)?);
        let (jobs, queue) = mpsc::channel(QUEUE);
        let turn = Arc::new(Turn::default());
        let (for_writer, writer_clock) = (Arc::clone(&file), Arc::clone(&clock));
        let writers_turn = Arc::clone(&turn);
        let writer = std::thread::Builder::new()
            .name("recall-store".to_owned())
            .spawn(move || write::run(&for_writer, &writer_clock, &writers_turn, queue))
            .map_err(|source| OpenError::Io {
                dir: dir.to_owned(),
                source,
            })?;
        Ok(Self {
            file,
            clock,
            turn,
            jobs: Some(jobs),
            writer: Some(writer),
        })
    }

    async fn ask<T>(
        &self,
        job: impl FnOnce(oneshot::Sender<Result<T, Error>>) -> Job,
    ) -> Result<T, Error> {
        let (to, answer) = oneshot::channel();
        let gone = || Error::unavailable("the store's writer has stopped; restart the server");
        let jobs = self.jobs.as_ref().ok_or_else(gone)?;
        let queue_is_empty = jobs.capacity() == jobs.max_capacity();
        let left = match queue_is_empty && on_a_thread_that_may_block() {
            true => self.alone(job(to)),
            false => vec![job(to)],
        };
        for job in left {
            jobs.send(job).await.map_err(|_| gone())?;
        }
        answer.await.map_err(|_| gone())?
    }

    /// Does a job on this thread if nobody else is writing; answers with what is left for the writer.
    fn alone(&self, job: Job) -> Vec<Job> {
        let Some(_turn) = self.turn.alone() else {
            return vec![job];
        };
        let write = || {
            let perform = || write::perform(&self.file, self.clock.now(), std::iter::once(job));
            catch_unwind(AssertUnwindSafe(perform))
        };
        let began = Instant::now();
        let done = match self.turn.is_quick() && others_work() {
            true => write(),
            false => tokio::task::block_in_place(write),
        };
        self.turn.took(began.elapsed());
        done.unwrap_or_else(|_| {
            tracing::error!("a write ended by a panic");
            Vec::new()
        })
    }

    /// Reads on this thread, what lies on a page or two. A panic of redb on a damaged page ends that
    /// read alone.
    fn look<T>(&self, act: impl FnOnce(&ReadTransaction) -> Result<T, Error>) -> Result<T, Error> {
        catch_unwind(AssertUnwindSafe(|| look(&self.file, act)))
            .unwrap_or_else(|_| Err(Error::Damaged("reading failed".to_owned())))
    }

    /// Reads on a blocking thread. A panic of redb on a damaged page ends that read alone.
    async fn read<T: Send + 'static>(
        &self,
        act: impl FnOnce(&ReadTransaction) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let file = Arc::clone(&self.file);
        tokio::task::spawn_blocking(move || look(&file, act))
            .await
            .unwrap_or_else(|error| Err(Error::Damaged(format!("reading failed: {error}"))))
    }
}

/// Reads, and tells the file if that failed.
fn look<T>(
    file: &File,
    act: impl FnOnce(&ReadTransaction) -> Result<T, Error>,
) -> Result<T, Error> {
    let found = file.begin_read().and_then(|read| act(&read));
    if let Err(error @ Error::Unavailable { .. }) = &found {
        file.is_doubted(error);
    }
    found
}

/// Whether a task may hold up its thread: the others go on without it.
fn on_a_thread_that_may_block() -> bool {
    Handle::try_current().is_ok_and(|it| it.runtime_flavor() == RuntimeFlavor::MultiThread)
}

/// Whether other threads than this one do tasks.
fn others_work() -> bool {
    Handle::try_current().is_ok_and(|it| it.metrics().num_workers() > 1)
}

impl Drop for EmbeddedStore {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(writer) = self.writer.take()
            && writer.join().is_err()
        {
            tracing::error!("the store's writer ended by a panic");
        }
    }
}

impl Store for EmbeddedStore {
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
            self.ask(|to| Job::Commit(ns.clone(), batch, to)).await
        })
    }

    fn events<'a>(
        &'a self,
        ns: &'a Namespace,
        after: Revision,
        limit: u32,
    ) -> BoxFuture<'a, Result<LogPage, Error>> {
        let ns = ns.clone();
        Box::pin(self.read(move |read| read::events(read, &ns, after, limit)))
    }

    fn revision<'a>(&'a self, ns: &'a Namespace) -> BoxFuture<'a, Result<Revision, Error>> {
        Box::pin(async move { self.look(|read| read::revision(read, ns)) })
    }

    fn get<'a>(
        &'a self,
        ns: &'a Namespace,
        kind: RecordKind,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<Record>, Error>> {
        Box::pin(async move { self.look(|read| read::get(read, ns, kind, key)) })
    }

    fn list<'a>(
        &'a self,
        ns: &'a Namespace,
        kind: RecordKind,
        prefix: &'a str,
        after: Option<&'a str>,
        limit: u32,
    ) -> BoxFuture<'a, Result<RecordPage, Error>> {
        let (ns, prefix, after) = (ns.clone(), prefix.to_owned(), after.map(str::to_owned));
        Box::pin(
            self.read(move |read| read::list(read, &ns, kind, &prefix, after.as_deref(), limit)),
        )
    }

    fn acquire<'a>(
        &'a self,
        ns: &'a Namespace,
        name: &'a str,
        holder: &'a str,
        ttl: Duration,
    ) -> BoxFuture<'a, Result<Acquired, Error>> {
        let ask = Ask {
            name: name.to_owned(),
            holder: holder.to_owned(),
            ttl,
        };
        Box::pin(self.ask(|to| Job::Acquire(ns.clone(), ask, to)))
    }

    fn renew<'a>(
        &'a self,
        ns: &'a Namespace,
        grant: &'a Grant,
        ttl: Duration,
    ) -> BoxFuture<'a, Result<Grant, Error>> {
        Box::pin(self.ask(move |to| Job::Renew(ns.clone(), grant.clone(), ttl, to)))
    }

    fn release<'a>(
        &'a self,
        ns: &'a Namespace,
        name: &'a str,
        epoch: Epoch,
    ) -> BoxFuture<'a, Result<bool, Error>> {
        Box::pin(self.ask(move |to| Job::Release(ns.clone(), name.to_owned(), epoch, to)))
    }

    fn inspect<'a>(
        &'a self,
        ns: &'a Namespace,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<LeaseState>, Error>> {
        Box::pin(async move { self.look(|read| read::inspect(read, ns, name, self.clock.now())) })
    }

    fn namespaces<'a>(
        &'a self,
        after: Option<&'a Namespace>,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<Namespace>, Error>> {
        let after = after.cloned();
        Box::pin(self.read(move |read| read::namespaces(read, after.as_ref(), limit)))
    }

    fn ping(&self) -> BoxFuture<'_, Result<(), Error>> {
        // Whoever waits for readiness sends no writes: a failure is over once a write of ours holds.
        Box::pin(async move {
            match self.file.is_in_trouble() {
                true => self.ask(Job::Probe).await,
                false => self.read(|_| Ok(())).await,
            }
        })
    }
}
