//! Deciding a text with the statements drawn from it.

use super::{Draft, Remembered, Statement, TextRemembered, TextStatements};
use crate::error::Error;
use crate::registry::is_name;

impl Draft<'_> {
    /// Keeps the text as a note and files each statement under its predicate. What no predicate
    /// fits stays in the note alone. Nothing is written when any statement is refused.
    pub(super) fn remember_text(&mut self, text: &TextStatements) -> Result<TextRemembered, Error> {
        self.not_ahead(text.episode.observed)?;
        let mut proposals = text.proposals.clone();
        for proposal in &mut proposals {
            proposal.statement = self.spelt(&proposal.statement);
        }
        let statements = proposals.iter().map(|proposal| &proposal.statement);
        let mut unfiled = Vec::new();
        for (at, statement) in statements.clone().enumerate() {
            if !self.fits(statement) {
                unfiled.push(at);
                continue;
            }
            self.admit(statement)
                .map_err(|error| Error::Refused(format!("statements[{at}]: {error}")))?;
        }
        let episode = self.state(&text.episode, None)?;
        let note = episode.stored.id.clone();
        let mut results = Vec::new();
        for (at, statement) in statements.enumerate() {
            if !unfiled.contains(&at) {
                results.push(self.state(statement, Some(&note))?);
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
    fn fits(&self, statement: &Statement) -> bool {
        let name = &statement.predicate;
        is_name(name) && (self.view.takes(name) || self.view.is_open())
    }
}
