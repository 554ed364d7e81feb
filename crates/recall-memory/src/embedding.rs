//! Keeping vectors beside the statements of a namespace, behind the writes and never in their way.
//!
//! A job of each namespace takes the statements that have no vector yet, asks the model for some at a
//! time and keeps what it answers in the store. A question is sent to the model too; when that is
//! slow, fails, or the namespace's vectors are another model's, words answer alone and the answer
//! says that vectors are missing from it.

mod shelf;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use recall_store::{Batch, Precondition, RecordKind, RecordWrite};
use tokio::time::{Instant, timeout};

use crate::answer::{Vectors, WhyNot};
use crate::models::{Embedder, ModelError};
use crate::space::Space;
use crate::vectors::VectorTable;
use crate::view::Unembedded;

pub(crate) use shelf::Shelf;
use shelf::{Job, Kept, key_of};

/// Texts that are sent to the model at a time.
const BATCH: usize = 64;
/// How long a question waits for its vector before words answer alone.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a batch may take.
const BATCH_TIMEOUT: Duration = Duration::from_secs(60);
/// After a failure the model is left alone for so long: questions are not to wait for each other's
/// disappointment.
const REST: Duration = Duration::from_secs(5);

/// The model, and how it does.
#[derive(Debug)]
pub(crate) struct Embedding {
    embedder: Arc<dyn Embedder>,
    again: bool,
    /// Until when it is left alone.
    rests: Mutex<Option<Instant>>,
    embedded: AtomicU64,
    failures: AtomicU64,
}

/// A question as the search by vectors takes it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Near {
    pub(crate) vector: Option<Vec<f32>>,
    pub(crate) state: Vectors,
}

impl Near {
    fn without(why: WhyNot) -> Self {
        Self {
            vector: None,
            state: Vectors::Degraded(why),
        }
    }
}

impl Embedding {
    pub(crate) fn new(embedder: Arc<dyn Embedder>, again: bool) -> Arc<Self> {
        Arc::new(Self {
            embedder,
            again,
            rests: Mutex::default(),
            embedded: AtomicU64::new(0),
            failures: AtomicU64::new(0),
        })
    }

    /// Statements embedded and calls of the model that failed, so far.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        (read(&self.embedded), read(&self.failures))
    }

    /// Makes a question ready. Never fails: the answer then comes from words.
    pub(crate) async fn ask(self: &Arc<Self>, space: &Arc<Space>, question: &str) -> Near {
        if let Err(why) = self.ready(space).await {
            return Near::without(why);
        }
        self.nudge(space);
        if self.is_resting() {
            return Near::without(WhyNot::Resting);
        }
        let asked = self.embedder.embed(vec![cut(question).to_owned()]);
        let Ok(answer) = timeout(QUESTION_TIMEOUT, asked).await else {
            self.rest(&ModelError("no answer within a second".into()));
            return Near::without(WhyNot::Slow);
        };
        let vector = match answer.map(|vectors| vectors.into_iter().next()) {
            Ok(Some(vector)) => vector,
            Ok(None) => return self.failed(&ModelError("no vector for a question".into())),
            Err(error) => return self.failed(&error),
        };
        if space
            .shelf
            .look(|table| table.len() > 0 && table.dimension() != vector.len())
        {
            return Near::without(WhyNot::OtherModel);
        }
        let state = match space.shelf.is_behind(space) {
            true => Vectors::Degraded(WhyNot::Behind),
            false => Vectors::Used,
        };
        Near {
            vector: Some(vector),
            state,
        }
    }

    fn failed(&self, error: &ModelError) -> Near {
        self.rest(error);
        Near::without(WhyNot::Failed)
    }

    fn rest(&self, error: &ModelError) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        let again = Instant::now() + REST;
        if self
            .rests
            .lock()
            .replace(again)
            .is_none_or(|at| at <= Instant::now())
        {
            tracing::warn!(%error, "the embedding model does not answer; words are searched alone");
        }
    }

    fn is_resting(&self) -> bool {
        self.rests.lock().is_some_and(|at| at > Instant::now())
    }

    /// Loads what the store keeps, and sees whether this model made it.
    async fn ready(&self, space: &Arc<Space>) -> Result<(), WhyNot> {
        let loaded = space
            .shelf
            .load(space, self.embedder.model(), self.again)
            .await;
        match loaded {
            Ok(Kept::Ours) => Ok(()),
            Ok(Kept::Others) => Err(WhyNot::OtherModel),
            Err(error) => {
                tracing::warn!(namespace = space.ns.as_str(), %error, "vectors cannot be read");
                Err(WhyNot::Unreadable)
            }
        }
    }

    /// Starts the namespace's job unless it is at work.
    pub(crate) fn nudge(self: &Arc<Self>, space: &Arc<Space>) {
        if !self.is_resting() && space.shelf.begin() {
            let (own, space) = (Arc::clone(self), Arc::clone(space));
            tokio::spawn(async move { own.work(&space).await });
        }
    }

    async fn work(&self, space: &Arc<Space>) {
        let mut job = Job::of(space);
        if self.ready(space).await.is_err() {
            return;
        }
        loop {
            let Some(next) = job.next(BATCH) else {
                self.tidy(space).await;
                if job.end() {
                    return;
                }
                continue;
            };
            if let Err(error) = self.embed(space, next).await {
                self.rest(&error);
                return;
            }
        }
    }

    /// Embeds some statements and keeps their vectors.
    async fn embed(&self, space: &Arc<Space>, next: shelf::Next) -> Result<(), ModelError> {
        let (mut wanted, end) = (next.wanted, next.end);
        if !space.store.capabilities().exclusive {
            self.take_kept(space, &mut wanted).await?;
        }
        if wanted.is_empty() {
            space.shelf.reached(end);
            return Ok(());
        }
        let texts: Vec<String> = wanted.iter().map(|it| cut(&it.text).to_owned()).collect();
        let count = texts.len();
        let asked = timeout(BATCH_TIMEOUT, self.embedder.embed(texts)).await;
        let vectors = asked.map_err(|_| ModelError("no answer within a minute".to_owned()))??;
        if vectors.len() != count {
            let text = format!("{} vectors for {count} texts", vectors.len());
            return Err(ModelError(text));
        }
        let taken = space
            .shelf
            .take(wanted.iter().map(|it| it.at).zip(&vectors));
        if !taken {
            return Err(ModelError(
                "vectors that do not compare with those kept".to_owned(),
            ));
        }
        let mut records: Vec<RecordWrite> = wanted
            .iter()
            .zip(&vectors)
            .map(|(it, vector)| record(key_of(self.embedder.model(), &it.id), bytes(vector)))
            .collect();
        records.extend(space.shelf.mark(self.embedder.model()));
        let batch = Batch {
            records,
            ..Batch::default()
        };
        let kept = space.store.commit(&space.ns, batch).await;
        kept.map_err(|error| ModelError(format!("vectors cannot be kept: {error}")))?;
        space.shelf.reached(end);
        self.embedded.fetch_add(count as u64, Ordering::Relaxed);
        let (done, of) = space.shelf.progress(space);
        tracing::debug!(namespace = space.ns.as_str(), done, of, "embedded");
        Ok(())
    }

    /// Takes what another server over the same store has embedded meanwhile.
    async fn take_kept(
        &self,
        space: &Space,
        wanted: &mut Vec<Unembedded>,
    ) -> Result<(), ModelError> {
        let mut missing = Vec::new();
        for it in wanted.drain(..) {
            let key = key_of(self.embedder.model(), &it.id);
            let record = space.store.get(&space.ns, RecordKind::Vector, &key).await;
            let record =
                record.map_err(|error| ModelError(format!("vectors cannot be read: {error}")))?;
            let vector = record.map(|record| numbers(&record.body));
            if !vector.is_some_and(|vector| space.shelf.take([(it.at, &vector)].into_iter())) {
                missing.push(it);
            }
        }
        *wanted = missing;
        Ok(())
    }

    /// Erases another model's vectors once all are made anew.
    async fn tidy(&self, space: &Arc<Space>) {
        if let Err(error) = space.shelf.tidy(space, self.embedder.model()).await {
            tracing::warn!(namespace = space.ns.as_str(), %error, "old vectors cannot be erased");
        }
    }
}

/// Looks at the vectors of a namespace.
pub(crate) fn with_table<T>(space: &Space, look: impl FnOnce(&VectorTable) -> T) -> T {
    space.shelf.look(look)
}

fn record(key: String, body: Vec<u8>) -> RecordWrite {
    RecordWrite {
        kind: RecordKind::Vector,
        key,
        body: Some(Bytes::from(body)),
        precondition: Precondition::None,
    }
}

fn bytes(vector: &[f32]) -> Vec<u8> {
    vector
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect()
}

fn numbers(bytes: &[u8]) -> Vec<f32> {
    let words = bytes.chunks_exact(4);
    words
        .filter_map(|word| Some(f32::from_le_bytes(word.try_into().ok()?)))
        .collect()
}

/// What a model is sent of a text: models cut long texts anyway, and some refuse them.
fn cut(text: &str) -> &str {
    const MOST: usize = 8_000;
    let mut end = text.len().min(MOST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}
