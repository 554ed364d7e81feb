//! The handle that the API holds: operations in, answers out, and the views in between.

mod assisted;
mod cache;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use jiff::Timestamp;
use recall_store::{Clock, Namespace, Store};

use crate::answer::Answer;
use crate::args::Args;
use crate::embedding::Embedding;
use crate::error::Error;
use crate::extraction::Extraction;
use crate::limits::{MAX_QUERY_BYTES, MAX_SESSION_BYTES};
use crate::models::Models;
use crate::plan::{Author, Change, Quota};
use crate::registry::{PredicateInfo, Registry};
use crate::typed::remember::Parsed;
use crate::view::View;
use crate::writer::{Done, write};
use crate::{text, typed};
use cache::Cache;

/// The memory of every namespace of a server. Cloning gives another handle to the same.
#[derive(Clone)]
pub struct Memory(Arc<Inner>);

/// Without contents: they are the users'.
impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory")
            .field("surface", &self.0.surface)
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

struct Inner {
    surface: Surface,
    clock: Arc<dyn Clock>,
    cache: Cache,
    embedding: Option<Arc<Embedding>>,
    extraction: Option<Extraction>,
}

/// Which tools a server offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    /// Texts in, sentences out; predicates are not seen.
    Text,
    /// Subjects, predicates and values.
    Typed,
}

/// How a memory is set up.
#[derive(Clone, Debug)]
pub struct Config {
    /// Which tools are offered.
    pub surface: Surface,
    /// The predicates, and whether writes may define more.
    pub registry: Registry,
    /// The bytes that views of idle namespaces may take before the least used are let go.
    pub view_memory: usize,
    /// How long a check of a shared store's log answers later reads too. Zero checks for each.
    pub freshness: Duration,
    /// What each namespace may hold.
    pub quota: Quota,
}

/// Who calls.
#[derive(Clone, Debug)]
pub struct Writer {
    /// The key that authorised the call; events carry it.
    pub key_id: String,
    /// What the caller writes in one go: a conversation, a run. Without a name, what a key writes
    /// shortly one after the other is taken for it.
    pub session: Option<String>,
}

/// An operation of either surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Keep a statement, or a text.
    Remember,
    /// What is believed, or was.
    Recall,
    /// Withdraw statements.
    Forget,
    /// The events of a pair, or how what a question reaches changed.
    History,
    /// A pair's history as changes.
    Timeline,
    /// What changed between two instants.
    Diff,
    /// The predicates that statements may use.
    Predicates,
    /// What answers a question, and why it is believed.
    Explain,
}

/// Figures about the views.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Namespaces in memory.
    pub views: usize,
    /// The bytes they take, about.
    pub bytes: usize,
    /// Views built from their log so far.
    pub loads: u64,
    /// Views let go so far.
    pub evictions: u64,
    /// Current statements in their search indexes.
    pub items: usize,
    /// Statements that got a vector so far.
    pub embedded: u64,
    /// Times that the embedding model did not answer so far.
    pub embedding_failures: u64,
    /// Times that the extraction model did not answer as it should so far.
    pub extraction_failures: u64,
}

/// How much a namespace holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Statements that are believed now.
    pub facts: u32,
    /// The bytes that everything ever stated takes in memory, about.
    pub bytes: u64,
}

impl Memory {
    /// A memory over a store.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, config: Config) -> Self {
        Self::with_models(store, clock, config, Models::default())
    }

    /// A memory over a store that models help to search and to fill.
    #[must_use]
    pub fn with_models(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        config: Config,
        models: Models,
    ) -> Self {
        let embedder = models.embedder;
        Self(Arc::new(Inner {
            extraction: models.extractor.map(Extraction::new),
            embedding: embedder.map(|embedder| Embedding::new(embedder, models.embed_again)),
            surface: config.surface,
            clock,
            cache: Cache::new(store, config),
        }))
    }

    /// Which tools are offered.
    #[must_use]
    pub fn surface(&self) -> Surface {
        self.0.surface
    }

    /// Whether a write joins the queue of its namespace as soon as it is asked for, so that writes are
    /// decided in the order in which they were. Texts that a model reads wait for the model first.
    #[must_use]
    pub fn queues_at_once(&self) -> bool {
        self.0.surface == Surface::Typed || self.0.extraction.is_none()
    }

    /// Whether texts are read by a model, so that they need no statements beside them.
    #[must_use]
    pub fn reads_texts(&self) -> bool {
        self.0.extraction.is_some()
    }

    /// Does an operation. A write that was answered with `Ok` is in the store and seen by every
    /// later call; it is also carried out when the caller goes away while waiting.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for malformed arguments, [`Error::Refused`] for what is not allowed or not
    /// offered, [`Error::Store`] when the store could not do its part.
    pub async fn call(
        &self,
        ns: &Namespace,
        writer: &Writer,
        operation: Operation,
        args: Args,
    ) -> Result<Answer, Error> {
        match self.0.surface {
            Surface::Typed => self.call_typed(ns, writer, operation, args).await,
            Surface::Text => self.call_text(ns, writer, operation, args).await,
        }
    }

    /// The predicates that statements of a namespace may use, by name.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] when the namespace could not be read.
    pub async fn predicates(&self, ns: &Namespace) -> Result<Vec<PredicateInfo>, Error> {
        self.look(ns, |view, _| Ok(typed::predicates::list(view)))
            .await
    }

    /// The current beliefs that answer a question best, as `recall` of the typed surface words them,
    /// whichever surface is offered. Words beyond the longest question are not asked for.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] when the namespace could not be read.
    pub async fn relevant(
        &self,
        ns: &Namespace,
        question: &str,
        limit: u32,
    ) -> Result<Vec<serde_json::Value>, Error> {
        let question = head(question).replace('\0', " ");
        if question.trim().is_empty() {
            return Ok(Vec::new());
        }
        let mut arguments = serde_json::Map::new();
        arguments.insert("query".to_owned(), question.into());
        arguments.insert("limit".to_owned(), limit.into());
        let recall = typed::recall::parse(arguments.into())?;
        let answer = self
            .search(ns, recall.question(), |find, now| recall.answer(find, now))
            .await?;
        serde_json::from_slice(&answer.json).map_err(|error| Error::refused(error.to_string()))
    }

    /// How much a namespace holds.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] when the namespace could not be read.
    pub async fn usage(&self, ns: &Namespace) -> Result<Usage, Error> {
        let usage = |view: &View, _| {
            Ok(Usage {
                facts: view.held(),
                bytes: view.bytes() as u64,
            })
        };
        self.look(ns, usage).await
    }

    /// What one namespace may hold.
    #[must_use]
    pub fn quota(&self) -> Quota {
        self.0.cache.quota
    }

    /// The bytes of what others keep in a namespace beside its memory. They count towards what it may
    /// hold; whoever keeps it counts them here.
    #[must_use]
    pub fn beside(&self, ns: &Namespace) -> Arc<AtomicU64> {
        self.0.cache.beside(ns)
    }

    /// How many statements wait for a vector, in the namespaces that are in memory; none where no
    /// embedding model is set.
    #[must_use]
    pub fn unembedded(&self) -> usize {
        let spaces = self.0.embedding.as_ref().map(|_| self.0.cache.spaces());
        let spaces = spaces.unwrap_or_default();
        spaces.iter().map(|space| space.shelf.waiting(space)).sum()
    }

    /// Figures about the views.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let counts = self
            .0
            .embedding
            .as_ref()
            .map(|embedding| embedding.counts());
        let (embedded, embedding_failures) = counts.unwrap_or_default();
        Stats {
            embedded,
            embedding_failures,
            extraction_failures: self.0.extraction.as_ref().map_or(0, Extraction::failures),
            ..self.0.cache.stats()
        }
    }

    async fn call_typed(
        &self,
        ns: &Namespace,
        writer: &Writer,
        operation: Operation,
        args: Args,
    ) -> Result<Answer, Error> {
        match operation {
            Operation::Remember => {
                match typed::remember::parse(args, self.0.extraction.is_some())? {
                    Parsed::Change(change) => {
                        self.change(ns, writer, change, typed::remember::answer)
                            .await
                    }
                    Parsed::Unread(note) => {
                        self.read(ns, writer, *note, typed::remember::drawn).await
                    }
                }
            }
            Operation::Forget => {
                let change = typed::forget::parse(args)?;
                let word = |_: Option<&View>, done: &Done| typed::forget::answer(done);
                self.change(ns, writer, change, word).await
            }
            Operation::Recall => {
                let recall = typed::recall::parse(args)?;
                self.search(ns, recall.question(), |find, now| recall.answer(find, now))
                    .await
            }
            Operation::History => {
                let history = typed::history::parse_history(args)?;
                self.look(ns, |view, _| Ok(typed::history::answer(view, &history)))
                    .await
            }
            Operation::Timeline => {
                let pair = typed::history::parse(args)?;
                self.look(ns, |view, _| Ok(typed::timeline::answer(view, &pair)))
                    .await
            }
            Operation::Diff => {
                let diff = typed::diff::parse(args)?;
                self.look(ns, |view, now| diff.answer(view, now)).await
            }
            Operation::Predicates => {
                args.read(&[])?;
                self.look(ns, |view, _| Ok(typed::predicates::answer(view)))
                    .await
            }
            Operation::Explain => {
                let question = typed::explain::parse(args)?;
                self.search(ns, Some(&question), |find, now| {
                    typed::explain::answer(&find, &question, now)
                })
                .await
            }
        }
    }

    async fn call_text(
        &self,
        ns: &Namespace,
        writer: &Writer,
        operation: Operation,
        args: Args,
    ) -> Result<Answer, Error> {
        match operation {
            Operation::Remember => {
                let note = text::remember::parse(args)?;
                if self.0.extraction.is_some() {
                    return self.read(ns, writer, *note, text::remember::drawn).await;
                }
                let word = text::remember::answer;
                self.change(ns, writer, Change::Remember(note), word).await
            }
            Operation::Forget => {
                let text = text::forget::parse(args)?;
                if let Some(extraction) = &self.0.extraction {
                    return self.forget_meant(ns, writer, extraction, &text).await;
                }
                let word = |_: Option<&View>, done: &Done| text::forget::answer(done);
                self.change(ns, writer, Change::ForgetSentence(text), word)
                    .await
            }
            Operation::Recall => {
                let recall = text::recall::parse(args)?;
                self.search(ns, recall.question(), |find, now| recall.answer(find, now))
                    .await
            }
            Operation::History => {
                let question = text::history::parse(args)?;
                self.look(ns, |view, now| {
                    Ok(text::history::answer(view, &question, now))
                })
                .await
            }
            Operation::Diff => {
                let diff = text::diff::parse(args)?;
                self.look(ns, |view, now| text::diff::answer(&diff, view, now))
                    .await
            }
            Operation::Timeline | Operation::Predicates | Operation::Explain => Err(
                Error::Refused(format!("unknown memory tool {:?}", operation.tool())),
            ),
        }
    }

    /// Writes, and words the answer by the view that the write has already reached. Once written,
    /// nothing can fail any more.
    async fn change(
        &self,
        ns: &Namespace,
        writer: &Writer,
        change: Change,
        word: impl FnOnce(Option<&View>, &Done) -> Answer,
    ) -> Result<Answer, Error> {
        let space = self.0.cache.space(ns);
        let done = write(&space, &self.0.clock, writer.author()?, change).await;
        let answer = done.map(|done| Answer {
            record: done.record(),
            began: done.began,
            ..space.glance(|view| word(view, &done))
        });
        if let (Some(embedding), Ok(_)) = (&self.0.embedding, &answer) {
            embedding.nudge(&space);
        }
        drop(space);
        self.0.cache.shrink();
        answer
    }

    async fn look<T>(
        &self,
        ns: &Namespace,
        look: impl FnOnce(&View, Timestamp) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let space = self.0.cache.space(ns);
        space.current().await?;
        let looked = space.read(|view| look(view, self.0.clock.now()))?;
        drop(space);
        self.0.cache.shrink();
        looked
    }
}

/// As much of a text as a question may have.
fn head(text: &str) -> &str {
    let mut end = text.len().min(MAX_QUERY_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

impl Writer {
    fn author(&self) -> Result<Author, Error> {
        let session = self.session.as_deref().map(str::trim);
        let session = session.filter(|session| !session.is_empty());
        if session.is_some_and(|name| name.len() > MAX_SESSION_BYTES || name.contains('\0')) {
            return Err(Error::refused(format!(
                "session may have at most {MAX_SESSION_BYTES} bytes and no NUL character"
            )));
        }
        Ok(Author {
            key: Arc::from(self.key_id.as_str()),
            session: session.map(Arc::from),
        })
    }
}

impl Operation {
    /// Whether it only looks, so that its answer tells what it was taken from.
    #[must_use]
    pub fn reads(self) -> bool {
        !matches!(self, Self::Remember | Self::Forget)
    }

    /// The name of the tool that only the typed surface has.
    fn tool(self) -> &'static str {
        match self {
            Self::Remember => "remember",
            Self::Recall => "recall",
            Self::Forget => "forget",
            Self::History => "memory_history",
            Self::Timeline => "timeline",
            Self::Diff => "diff",
            Self::Predicates => "list_predicates",
            Self::Explain => "explain",
        }
    }
}

#[cfg(test)]
mod tests;
