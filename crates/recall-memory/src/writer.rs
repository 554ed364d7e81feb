//! The combining writer: writes of one namespace are decided in order and committed together.
//!
//! A write is put into its namespace's queue. One task drains the queue: it takes waiting writes
//! that touch nothing in common, decides each against the view, commits all their events as one
//! batch, applies them to the view and answers. A write that touches what another one of the batch
//! touches waits for the next batch and is decided on what that one left, so that eight equal
//! remembers become one event. A caller that goes away takes nothing back: the task owns the write. The
//! task's work begins in the caller's own, where nothing has to be woken for it; only what has to wait
//! becomes a task.
//!
//! Where a commit takes long, the task waits a little before the next one for the writers it has just
//! answered: else they and those that came meanwhile ride in turns, half of them a commit.

use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Duration;

use parking_lot::Mutex;
use recall_store::{Batch, Clock, Committed, NewEvent, Revision};
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use crate::error::{Error, repeat};
use crate::event::Placed;
use crate::limits::{MAX_COMMIT_EVENTS, MAX_GATHERING, MAX_WAITING_WRITES, MAX_WRITE_TRIES};
use crate::plan::{Author, Change, Outcome, Plan, Room, Stamp, Touch, plan, touches, weight};
use crate::space::Space;
use crate::view::View;

/// Writes that wait, and whether a task is at work on them.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    waiting: Mutex<Waiting>,
    /// As many wait as the task hopes for.
    gathered: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    working: bool,
    /// The writes that the task hopes for before it goes on.
    hoped: Option<usize>,
}

/// How the last commit went, to judge whether waiting for more writes pays.
#[derive(Clone, Copy, Debug)]
struct Pace {
    took: Duration,
    /// Those it answered and those that came meanwhile.
    writers: usize,
    /// Whether the writers that were waited for came.
    came: bool,
}

impl Pace {
    const FIRST: Self = Self {
        took: Duration::ZERO,
        writers: 0,
        came: true,
    };

    /// How long the next commit may wait for writers. Those that wait for nothing but their answer come
    /// back within a part of a commit, and it is worth half of one to have them all; where they stayed
    /// away the last time, hardly anything is risked.
    fn patience(self) -> Duration {
        let share = match self.came {
            true => 2,
            false => 8,
        };
        (self.took / share).min(MAX_GATHERING)
    }
}

/// A write that waits for its answer.
#[derive(Debug)]
struct Job {
    change: Change,
    author: Author,
    answer: oneshot::Sender<Result<Done, Error>>,
}

/// Less is not worth a timer: a commit that is as quick as this loses nothing by being half full.
const LEAST_GATHERING: Duration = Duration::from_micros(100);

/// What a write came to, and the revision at which it holds.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) outcome: Outcome,
    pub(crate) revision: Revision,
    /// Whether nothing was written to the namespace before.
    pub(crate) began: bool,
}

impl Done {
    /// The event of a single statement.
    pub(crate) fn record(&self) -> Option<String> {
        match &self.outcome {
            Outcome::Remembered(remembered) => Some(remembered.stored.id.to_string()),
            Outcome::Text(_) | Outcome::Withdrawn(_) | Outcome::Forgotten(_) => None,
        }
    }
}

/// Writes a change and waits until it is committed and visible.
///
/// # Errors
///
/// [`Error::Refused`] when the change is not allowed, [`Error::Full`] when there is no room for it,
/// [`Error::Store`] when it could not be written
/// or too many writes wait already.
pub(crate) async fn write(
    space: &Arc<Space>,
    clock: &Arc<dyn Clock>,
    author: Author,
    change: Change,
) -> Result<Done, Error> {
    let (answer, answered) = oneshot::channel();
    let job = Job {
        change,
        author,
        answer,
    };
    if space.queue.put(job)? {
        begin(Box::pin(drain(Arc::clone(space), Arc::clone(clock)))).await;
    }
    answered.await.unwrap_or_else(|_| {
        Err(recall_store::Error::unavailable("the write was interrupted").into())
    })
}

impl Queue {
    /// Adds a write; answers whether a task must be started.
    fn put(&self, job: Job) -> Result<bool, Error> {
        let mut waiting = self.waiting.lock();
        if waiting.jobs.len() >= MAX_WAITING_WRITES {
            return Err(Error::Store(recall_store::Error::Unavailable {
                reason: "too many writes wait for this namespace".to_owned(),
                retry_after: Some(Duration::from_secs(1)),
            }));
        }
        waiting.jobs.push_back(job);
        if waiting
            .hoped
            .is_some_and(|hoped| waiting.jobs.len() >= hoped)
        {
            waiting.hoped = None;
            self.gathered.notify_one();
        }
        Ok(!std::mem::replace(&mut waiting.working, true))
    }

    fn len(&self) -> usize {
        self.waiting.lock().jobs.len()
    }

    /// Waits until as many writers are back as the last commit had, but no longer than a part of what
    /// that commit took. Answers whether they came.
    async fn gather(&self, last: Pace) -> bool {
        if last.writers <= 1 {
            // Nobody to share a commit with.
            return last.came;
        }
        let patience = last.patience();
        {
            let mut waiting = self.waiting.lock();
            if waiting.jobs.len() >= last.writers {
                return true;
            }
            if patience < LEAST_GATHERING {
                return last.came;
            }
            waiting.hoped = Some(last.writers);
        }
        let in_time = tokio::time::timeout(patience, self.gathered.notified()).await;
        if in_time.is_err() && self.waiting.lock().hoped.take().is_none() {
            // They came at the last moment: what says so must not end the next wait.
            self.gathered.notified().await;
            return true;
        }
        in_time.is_ok()
    }

    /// Takes the next writes that can share a commit. `None` ends the task.
    fn take(&self, view: impl FnOnce(&mut dyn FnMut(&View)) -> bool) -> Option<Vec<Job>> {
        let mut waiting = self.waiting.lock();
        if waiting.jobs.is_empty() {
            waiting.working = false;
            return None;
        }
        let mut jobs = Vec::new();
        let looked = view(&mut |view| jobs = choose(&mut waiting.jobs, view));
        if !looked || jobs.is_empty() {
            jobs.extend(waiting.jobs.pop_front());
        }
        Some(jobs)
    }
}

/// Takes writes in order as long as they fit; later ones that touch what an earlier one touches
/// stay, in their order.
fn choose(waiting: &mut VecDeque<Job>, view: &View) -> Vec<Job> {
    let mut touched = Touched::default();
    let mut events = 0;
    let mut chosen = Vec::new();
    let mut left = VecDeque::new();
    for _ in 0..MAX_COMMIT_EVENTS {
        let Some(job) = waiting.pop_front() else {
            break;
        };
        let weight = weight(&job.change);
        let touches = touches(view, &job.change);
        let alone = weight == usize::MAX;
        let fits = chosen.is_empty() || (!alone && events + weight <= MAX_COMMIT_EVENTS);
        if fits && !touched.meets(&touches) {
            events = weight.saturating_add(events);
            chosen.push(job);
        } else {
            left.push_back(job);
        }
        touched.add(touches);
        if alone || events >= MAX_COMMIT_EVENTS {
            break;
        }
    }
    left.append(waiting);
    *waiting = left;
    chosen
}

/// What the writes looked at so far touch.
#[derive(Debug, Default)]
struct Touched(HashMap<(String, String), Vec<Option<crate::value::ValueKey>>>);

impl Touched {
    fn meets(&self, touches: &[Touch]) -> bool {
        touches.iter().any(|touch| {
            self.0.get(&touch.pair).is_some_and(|values| {
                touch.value.is_none()
                    || values
                        .iter()
                        .any(|value| value.is_none() || *value == touch.value)
            })
        })
    }

    fn add(&mut self, touches: Vec<Touch>) {
        for touch in touches {
            self.0.entry(touch.pair).or_default().push(touch.value);
        }
    }
}

/// Does as much of some work as can be done without waiting, and leaves the rest to a task that nobody
/// can end.
async fn begin(mut work: Pin<Box<impl Future<Output = ()> + Send + 'static>>) {
    let step = poll_fn(|context| {
        // A panic is the work's own, as it would be in its task.
        let step = catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context)));
        Poll::Ready(step.unwrap_or_else(|_| {
            tracing::error!("a write ended by a panic");
            Poll::Ready(())
        }))
    });
    if step.await.is_pending() {
        tokio::spawn(work);
    }
}

/// Works until no write waits.
async fn drain(space: Arc<Space>, clock: Arc<dyn Clock>) {
    let mut idle = Idle(Some(&space.queue));
    let mut pace = Pace::FIRST;
    let mut moved = false;
    loop {
        let came = space.queue.gather(pace).await;
        if pace.writers > 0 && space.queue.len() > 0 && !std::mem::replace(&mut moved, true) {
            // Whoever began this has its answer and does not do the others' work.
            tokio::task::yield_now().await;
        }
        let loaded = space.current().await;
        let jobs = space
            .queue
            .take(|look| space.read(|view| look(view)).is_ok());
        let Some(jobs) = jobs else {
            idle.0 = None;
            return;
        };
        match loaded {
            Ok(()) => {
                let (began, writers) = (Instant::now(), jobs.len());
                commit(&space, &clock, jobs).await;
                pace = Pace {
                    took: began.elapsed(),
                    writers: writers + space.queue.len(),
                    came,
                };
            }
            Err(error) => refuse(jobs, &error),
        }
    }
}

/// Lets the next write start a new task, should this one be torn down.
struct Idle<'a>(Option<&'a Queue>);

impl Drop for Idle<'_> {
    fn drop(&mut self) {
        if let Some(queue) = self.0 {
            queue.waiting.lock().working = false;
        }
    }
}

/// Decides, commits and applies one batch.
async fn commit(space: &Space, clock: &Arc<dyn Clock>, jobs: Vec<Job>) {
    for _ in 0..MAX_WRITE_TRIES {
        let decided = space.read(|view| {
            let room = Room::new(space.quota, view, space.beside.load(Ordering::Relaxed));
            decide(view, clock, &jobs, room)
        });
        let (plans, batch, known) = match decided {
            Ok(decided) => decided,
            Err(error) => return refuse(jobs, &error),
        };
        if batch.events.is_empty() {
            return answer(jobs, plans, known, false);
        }
        let expect = space.store.capabilities().conditional_append;
        let batch = Batch {
            expect: expect.then_some(known),
            ..batch
        };
        match space.store.commit(&space.ns, batch).await {
            Ok(committed) => {
                apply(space, &plans, known, &committed);
                if space.read(View::revision).ok() != Some(committed.revision) {
                    // Others wrote between; the log knows the order.
                    if let Err(error) = space.catch_up().await {
                        tracing::warn!(namespace = space.ns.as_str(), %error, "the view lags behind its log");
                    }
                }
                return answer(jobs, plans, committed.revision, known.0 == 0);
            }
            Err(recall_store::Error::Conflict { .. }) => {
                if let Err(error) = space.catch_up().await {
                    return refuse(jobs, &error);
                }
            }
            Err(error) => {
                space.doubt();
                return fail(jobs, plans, known, &error);
            }
        }
    }
    refuse(
        jobs,
        &recall_store::Error::Unavailable {
            reason: "the log kept changing while the write was decided".to_owned(),
            retry_after: Some(Duration::from_secs(1)),
        },
    );
}

type Plans = Vec<Result<Plan, Error>>;

fn decide(
    view: &View,
    clock: &Arc<dyn Clock>,
    jobs: &[Job],
    mut room: Room,
) -> (Plans, Batch, Revision) {
    let mut stamp = Stamp::new(clock.now(), view, Author::nobody());
    let plans: Plans = jobs
        .iter()
        .map(|job| {
            stamp.by(&job.author);
            plan(view, &job.change, &mut stamp, &mut room)
        })
        .collect();
    let events = plans.iter().flatten().flat_map(|plan| &plan.events);
    let batch = Batch {
        events: events.map(new_event).collect(),
        ..Batch::default()
    };
    (plans, batch, view.revision())
}

fn new_event(placed: &Placed) -> NewEvent {
    NewEvent {
        id: placed.event.id.to_string(),
        body: placed.body(),
    }
}

/// Applies what was committed, as far as it follows on what the view knows without a gap.
fn apply(space: &Space, plans: &Plans, known: Revision, committed: &Committed) {
    let events = plans.iter().flatten().flat_map(|plan| &plan.events);
    space.update(|view| {
        if view.revision() != known {
            return;
        }
        let mut next = known;
        let new = events
            .zip(&committed.events)
            .filter_map(|(placed, revision)| {
                let follows = revision.0 == next.0 + 1;
                follows.then(|| {
                    next = *revision;
                    placed.clone()
                })
            });
        view.apply(new);
        view.set_revision(next);
    });
}

fn answer(jobs: Vec<Job>, plans: Plans, revision: Revision, first: bool) {
    let mut began = first;
    for (job, plan) in jobs.into_iter().zip(plans) {
        // Only the first of those that shared the commit began the memory.
        let done = plan.map(|plan| Done {
            began: !plan.events.is_empty() && std::mem::take(&mut began),
            outcome: plan.outcome,
            revision,
        });
        // The caller may have gone; the write stands all the same.
        let _ = job.answer.send(done);
    }
}

/// Answers a batch whose commit failed. Writes that had nothing to commit are done.
fn fail(jobs: Vec<Job>, plans: Plans, known: Revision, error: &recall_store::Error) {
    for (job, plan) in jobs.into_iter().zip(plans) {
        let done = plan.and_then(|plan| match plan.events.is_empty() {
            true => Ok(Done {
                outcome: plan.outcome,
                revision: known,
                began: false,
            }),
            false => Err(Error::Store(repeat(error))),
        });
        let _ = job.answer.send(done);
    }
}

fn refuse(jobs: Vec<Job>, error: &recall_store::Error) {
    for job in jobs {
        let _ = job.answer.send(Err(Error::Store(repeat(error))));
    }
}
