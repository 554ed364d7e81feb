//! Deciding a text with the statements drawn from it.

use super::{Draft, Remembered, Statement, TextRemembered, TextStatements};
use crate::error::Error;
use crate::registry::is_name;

impl Draft<'_> {
    /// Keeps the text as a note and files each statement under its predicate. What no predicate
    /// fits stays in the note alone. Nothing is written when any statement is refused.
    pub(super) fn remember_text(&mut self, text: &TextStatements) -> Result<TextRemembered, Error> {
        self.not_ahead(text.episode.observed)?;
        let statements = text.statements.iter();
        let proposals: Vec<Statement> = statements.map(|drawn| self.spelt(drawn)).collect();
        let mut unfiled = Vec::new();
        for (at, proposal) in proposals.iter().enumerate() {
            if !self.fits(proposal) {
                unfiled.push(at);
                continue;
            }
            self.admit(proposal)
                .map_err(|error| Error::Refused(format!("statements[{at}]: {error}")))?;
        }
        let episode = self.state(&text.episode, None)?;
        let note = episode.stored.id.clone();
        let mut results = Vec::new();
        for (at, proposal) in proposals.iter().enumerate() {
            if !unfiled.contains(&at) {
                results.push(self.state(proposal, Some(&note))?);
            }
        }
        if !unfiled.is_empty() || proposals.is_empty() {
            results.push(Remembered {
                superseded: Vec::new(),
                ..episode.clone()
            });
        }
        Ok(TextRemembered {
            episode,
            results,
            proposals,
            unfiled,
        })
    }

    /// Whether a predicate takes the statement.
    fn fits(&self, proposal: &Statement) -> bool {
        let name = &proposal.predicate;
        is_name(name) && (self.view.takes(name) || self.view.is_open())
    }
}
