//! Statements drawn from texts by a language model.
//!
//! The text is kept before the model is asked, so nothing that can go wrong there loses it. Of what the
//! model answers only that counts which is quoted from the text, fits its predicate and is news: each
//! statement stands or falls alone. A text that was read once is not read again.

mod prompt;
mod reply;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use jiff::Timestamp;
use recall_store::{Batch, Clock, Precondition, RecordKind, RecordWrite};

use crate::error::Error;
use crate::event_id::EventId;
use crate::models::{Ask, Extractor};
use crate::plan::{
    Author, Change, Outcome, Proposal, Remembered, Stamp, Statement, TextRemembered, TextStatements,
};
use crate::space::Space;
use crate::value::Value;
use crate::view::{Echo, View};
use crate::writer::write;

pub(crate) use reply::of_type;

use reply::Item;

const REPEATS: &str = "it repeats what was answered from here; who means it says it in a sentence";

const LATE: &str = "what was said later took its place; it is kept as history";

/// The model that reads texts.
#[derive(Debug)]
pub(crate) struct Extraction {
    extractor: Arc<dyn Extractor>,
    failures: AtomicU64,
}

/// What became of a text.
#[derive(Debug)]
pub(crate) struct Drawn {
    pub(crate) kind: DrawnKind,
    pub(crate) revision: recall_store::Revision,
}

#[derive(Debug)]
pub(crate) enum DrawnKind {
    /// It was read now.
    Read(Box<Read>),
    /// It was read before, and what was drawn from it is still believed.
    Known(Vec<String>),
    /// It says only what was answered from here.
    Echo(Echo),
    /// It is kept and could not be read.
    Unread(Box<Remembered>),
}

/// What a text that was read came to.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) text: TextRemembered,
    /// What the model said and was not taken, with the reason.
    pub(crate) refused: Vec<(String, String)>,
    /// Places in the results of statements that a later text had replaced before this one was read. They
    /// are history only.
    pub(crate) late: Vec<usize>,
}

impl Extraction {
    pub(crate) fn new(extractor: Arc<dyn Extractor>) -> Self {
        Self {
            extractor,
            failures: AtomicU64::new(0),
        }
    }

    /// Times that the model did not answer as it should.
    pub(crate) fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// Keeps a text, has it read, and keeps what it states.
    pub(crate) async fn remember(
        &self,
        space: &Arc<Space>,
        clock: &Arc<dyn Clock>,
        author: &Author,
        note: Statement,
    ) -> Result<Drawn, Error> {
        let Value::Text(text) = note.value.clone() else {
            return Err(Error::refused("a text is needed"));
        };
        space.current().await?;
        let (echo, revision) = space.read(|view| (view.echo(text.as_str()), view.revision()))?;
        if let Some(echo) = echo {
            let kind = DrawnKind::Echo(echo);
            return Ok(Drawn { kind, revision });
        }
        let kept = Change::Remember(Box::new(note.clone()));
        let done = write(space, clock, author.clone(), kept).await?;
        let Outcome::Remembered(kept) = done.outcome else {
            return Err(Error::refused("a text is kept as a note"));
        };
        let id = kept.stored.id.clone();
        // A text whose reading failed is read now and is as old as it was. One that was read is said anew,
        // where something of it is no longer so.
        let mut said = kept.stored.observed;
        if kept.already_known && is_read(space, &id).await? {
            let drawn = space.read(|view| view.drawn_from(&id))?;
            if drawn.gone.is_empty() {
                return Ok(Drawn {
                    kind: DrawnKind::Known(drawn.believed),
                    revision: done.revision,
                });
            }
            let now = |view: &View| Stamp::new(clock.now(), view, author.clone()).next();
            said = match note.observed {
                Some(at) => at,
                None => space.read(now)?,
            };
        }
        // Evidence is quoted from the text as it is kept, which may differ in case from the one sent.
        let text = kept.stored.value.to_string();
        let ask = space.read(|view| prompt::extraction(view, &text, clock.now()))?;
        let Some(items) = self.ask(space, ask, reply::statements).await else {
            return Ok(Drawn {
                kind: DrawnKind::Unread(kept),
                revision: done.revision,
            });
        };
        match self
            .keep(space, clock, author, (note, &kept, said), items)
            .await
        {
            Ok(drawn) => {
                mark_read(space, &id).await;
                Ok(drawn)
            }
            // The text itself is kept, and read again when it is sent again.
            Err(Error::Full(_)) => Ok(Drawn {
                kind: DrawnKind::Unread(kept),
                revision: done.revision,
            }),
            Err(error) => Err(error),
        }
    }

    /// Keeps what the model says of a text, as far as it holds.
    async fn keep(
        &self,
        space: &Arc<Space>,
        clock: &Arc<dyn Clock>,
        author: &Author,
        (note, kept, said): (Statement, &Remembered, Timestamp),
        items: Vec<Item>,
    ) -> Result<Drawn, Error> {
        let text = kept.stored.value.to_string();
        let (proposals, mut refused) = space.read(|view| news(view, said, &text, items))?;
        let change = Change::Text(Box::new(TextStatements {
            episode: note,
            proposals,
            kept: Some(Box::new(kept.clone())),
        }));
        let done = write(space, clock, author.clone(), change).await?;
        let Outcome::Text(text) = done.outcome else {
            return Err(Error::refused("a text is kept with its statements"));
        };
        refused.extend(text.refused.iter().cloned());
        let late = space.read(|view| late(view, &text))?;
        let text = *text;
        Ok(Drawn {
            kind: DrawnKind::Read(Box::new(Read {
                text,
                refused,
                late,
            })),
            revision: done.revision,
        })
    }

    /// Which of some sentences a description means; `None` when the model does not say.
    pub(crate) async fn choose(
        &self,
        space: &Space,
        description: &str,
        candidates: &[String],
    ) -> Option<Vec<usize>> {
        let ask = prompt::choice(description, candidates);
        let most = candidates.len();
        self.ask(space, ask, |text| reply::chosen(text, most)).await
    }

    async fn ask<T>(
        &self,
        space: &Space,
        ask: Ask,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        let answer = self.extractor.answer(ask).await;
        let answer = answer.map_err(|error| error.0).and_then(|text| read(&text));
        match answer {
            Ok(read) => Some(read),
            Err(reason) => {
                self.failures.fetch_add(1, Ordering::Relaxed);
                tracing::warn!(namespace = space.ns.as_str(), %reason, "the extraction model failed");
                None
            }
        }
    }
}

/// What of the statements of a text, said at an instant, is quoted from it and is not only what was answered
/// from here; the others with the reason.
fn news(
    view: &View,
    observed: Timestamp,
    text: &str,
    items: Vec<Item>,
) -> (Vec<Proposal>, Vec<(String, String)>) {
    let answers = view.answers_in(text);
    let (mut proposals, mut refused) = (Vec::new(), Vec::new());
    for item in items {
        let said = item.said();
        // A statement is as old as its text, however long that took to be read: what was said since
        // stays current.
        match item.proposal(text, Some(observed)) {
            Err(reason) => refused.push((said, reason)),
            Ok(proposal) if answers.are_all_of(view, &proposal.statement) => {
                refused.push((said, REPEATS.to_owned()));
            }
            Ok(proposal) => proposals.push(proposal),
        }
    }
    (proposals, refused)
}

impl Read {
    /// Everything that the model said and that is not so now, with the reason.
    pub(crate) fn not_so(&self) -> Vec<(String, String)> {
        let late = self.late.iter().filter_map(|no| self.text.results.get(*no));
        let late = late.map(|it| (it.stored.sentence(), LATE.to_owned()));
        self.refused.iter().cloned().chain(late).collect()
    }
}

/// Which results of a text are not believed now.
fn late(view: &View, text: &TextRemembered) -> Vec<usize> {
    let results = text.results.iter().enumerate();
    let late = results.filter(|(_, it)| {
        let card = &it.stored;
        let subject = view.subject_no(&card.subject);
        let pair = subject
            .zip(view.predicate_no(&card.predicate))
            .and_then(|(subject, predicate)| view.pair(view.pair_no(subject, predicate)?));
        card.id != text.episode.stored.id
            && pair.is_some_and(|pair| pair.holds(&card.value).is_none())
    });
    late.map(|(no, _)| no).collect()
}

/// Whether a text was read, also when it stated nothing.
async fn is_read(space: &Space, note: &EventId) -> Result<bool, recall_store::Error> {
    let key = note.to_string();
    let record = space
        .store
        .get(&space.ns, RecordKind::Reading, &key)
        .await?;
    Ok(record.is_some())
}

/// Notes that a text was read. If that fails it is read again when it is sent again, which does no
/// harm.
async fn mark_read(space: &Space, note: &EventId) {
    let record = RecordWrite {
        kind: RecordKind::Reading,
        key: note.to_string(),
        body: Some(Bytes::from_static(b"{}")),
        precondition: Precondition::None,
    };
    let batch = Batch {
        records: vec![record],
        ..Batch::default()
    };
    if let Err(error) = space.store.commit(&space.ns, batch).await {
        tracing::warn!(namespace = space.ns.as_str(), %error, "that a text was read is not noted");
    }
}
