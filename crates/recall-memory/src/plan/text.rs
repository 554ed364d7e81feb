//! Deciding a text with the statements drawn from it.

use super::{Draft, Proposal, Remembered, Statement, TextRemembered, TextStatements};
use crate::error::Error;
use crate::extraction::of_type;
use crate::registry::is_name;
use crate::sentence;
use crate::value::Value;

/// Why nothing is drawn from a text that somebody had forgotten while a model was reading it.
const WITHDRAWN: &str = "its text was withdrawn while it was read";

impl Draft<'_> {
    /// Keeps the text as a note and files each statement under its predicate. What no predicate
    /// fits stays in the note alone. Nothing is written when any statement is refused.
    pub(super) fn remember_text(&mut self, text: &TextStatements) -> Result<TextRemembered, Error> {
        self.not_ahead(text.episode.observed)?;
        // A caller that gives its own statements is told that nothing is written for a known one.
        self.confirms = text.kept.is_some();
        let mut proposals = text.proposals.clone();
        for proposal in &mut proposals {
            proposal.statement = self.spelt(&proposal.statement);
        }
        let refused = match &text.kept {
            Some(kept) => self.leave_out(kept, &mut proposals),
            None => Vec::new(),
        };
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
        let episode = match &text.kept {
            Some(kept) => (**kept).clone(),
            None => self.state(&text.episode, None)?,
        };
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
            refused,
        })
    }

    /// Takes out what no rule admits, and tells why; what fits its predicate after a look at what its
    /// text stands for, stays.
    fn leave_out(
        &mut self,
        kept: &Remembered,
        proposals: &mut Vec<Proposal>,
    ) -> Vec<(String, String)> {
        let withdrawn = !self.view.is_kept_text(&kept.stored.id);
        let mut refused = Vec::new();
        proposals.retain_mut(|proposal| {
            let statement = &mut proposal.statement;
            self.convert(statement);
            let reason = match self.fits(statement) {
                _ if withdrawn => Some(WITHDRAWN.to_owned()),
                true => self.admit(statement).err().map(|error| error.to_string()),
                false => Some(self.unregistered(&statement.predicate).to_string()),
            };
            let Some(reason) = reason else { return true };
            let (subject, predicate) = (&statement.subject, &statement.predicate);
            let said = sentence::spoken(subject, predicate, &statement.value);
            refused.push((said, reason));
            false
        });
        refused
    }

    /// Models give every value as a text.
    fn convert(&self, statement: &mut Statement) {
        let Some(rules) = self.definition(&statement.predicate) else {
            return;
        };
        if let Value::Text(text) = &statement.value
            && let Some(value) = of_type(text.as_str(), rules.value_type.as_str())
        {
            statement.value = value;
        }
    }

    /// Whether a predicate takes the statement.
    fn fits(&self, statement: &Statement) -> bool {
        let name = &statement.predicate;
        is_name(name) && (self.view.takes(name) || self.view.is_open())
    }
}
