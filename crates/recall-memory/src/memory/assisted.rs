//! Operations that a model helps with, where one is set.

use jiff::Timestamp;
use recall_store::Namespace;

use super::{Memory, Writer, head};
use crate::answer::Answer;
use crate::embedding::with_table;
use crate::error::Error;
use crate::extraction::{Drawn, Extraction};
use crate::plan::{Change, Statement};
use crate::text;
use crate::view::{Find, View};
use crate::writer::{Done, write};

impl Memory {
    /// Keeps a text and has a model read it.
    pub(super) async fn read(
        &self,
        ns: &Namespace,
        writer: &Writer,
        note: Statement,
        word: impl FnOnce(&Drawn) -> Answer,
    ) -> Result<Answer, Error> {
        let Some(extraction) = &self.0.extraction else {
            return Err(Error::refused("this server has no extraction model"));
        };
        let space = self.0.cache.space(ns);
        let author = writer.author()?;
        let drawn = extraction
            .remember(&space, &self.0.clock, &author, note)
            .await;
        if let (Some(embedding), Ok(_)) = (&self.0.embedding, &drawn) {
            embedding.nudge(&space);
        }
        drop(space);
        self.0.cache.shrink();
        drawn.map(|drawn| word(&drawn))
    }

    /// Withdraws what a description means: word for word if anything reads so, else what a model
    /// chooses among what matches.
    pub(super) async fn forget_meant(
        &self,
        ns: &Namespace,
        writer: &Writer,
        extraction: &Extraction,
        text: &str,
    ) -> Result<Answer, Error> {
        let exact = Change::ForgetSentence(text.to_owned());
        let word = |_: Option<&View>, done: &Done| text::forget::answer(done);
        match self.change(ns, writer, exact, word).await {
            Err(Error::Refused(_)) => {}
            other => return other,
        }
        let question = head(text);
        let candidates = self
            .look(ns, |view, now| {
                Ok(text::forget::candidates(view, question, now))
            })
            .await?;
        let sentences: Vec<String> = candidates.iter().map(|it| it.sentence.clone()).collect();
        let space = self.0.cache.space(ns);
        let chosen = match sentences.is_empty() {
            true => Some(Vec::new()),
            false => extraction.choose(&space, text, &sentences).await,
        };
        let chosen = chosen.ok_or_else(|| {
            Error::refused(
                "the extraction model did not answer as it should, and nothing is remembered in \
                 exactly these words; nothing was forgotten",
            )
        })?;
        let chosen = chosen.into_iter().filter_map(|at| candidates.get(at));
        let mut forgotten = Vec::new();
        let mut revision = space.read(View::revision)?;
        for candidate in chosen {
            let done = write(
                &space,
                &self.0.clock,
                writer.author()?,
                candidate.withdrawal(),
            )
            .await?;
            revision = done.revision;
            forgotten.push(candidate.sentence.clone());
        }
        Ok(text::forget::all(&forgotten, revision))
    }

    /// Looks for something, by words and, where a model is set up, by vectors.
    pub(super) async fn search(
        &self,
        ns: &Namespace,
        question: Option<&str>,
        look: impl FnOnce(Find<'_>, Timestamp) -> Answer,
    ) -> Result<Answer, Error> {
        let (Some(embedding), Some(question)) = (&self.0.embedding, question) else {
            return self
                .look(ns, |view, now| Ok(look(Find::new(view, None), now)))
                .await;
        };
        let space = self.0.cache.space(ns);
        space.current().await?;
        let near = embedding.ask(&space, question).await;
        let answer = with_table(&space, |table| {
            space.read(|view| {
                look(
                    Find::new(view, None).beside(table, &near),
                    self.0.clock.now(),
                )
            })
        });
        drop(space);
        self.0.cache.shrink();
        Ok(answer?)
    }
}
