//! Deciding a withdrawal.

use std::sync::Arc;

use super::Draft;
use super::remember::withdrawal;
use crate::answer::count;
use crate::error::Error;
use crate::registry::REGISTRY_PREDICATE;
use crate::sentence;
use crate::value::{Value, name_key};

impl Draft<'_> {
    /// Withdraws one value, or everything; answers with how many beliefs ended.
    pub(super) fn forget(
        &mut self,
        subject: &Arc<str>,
        predicate: &str,
        value: Option<&Value>,
    ) -> Result<u32, Error> {
        let found = self
            .view
            .spelt(predicate)
            .and_then(|no| self.view.predicate(no));
        let Some(rules) = found.filter(|rules| &*rules.name != REGISTRY_PREDICATE) else {
            return Err(self.unregistered(predicate));
        };
        if let Some(value) = value.filter(|_| rules.known) {
            rules
                .definition
                .check(&rules.name, value)
                .map_err(Error::Refused)?;
        }
        let subject = self.subject(subject);
        let predicate = Arc::clone(&rules.name);
        let recorded = self.stamp.next();
        let draft: &Self = self;
        let scope = draft.scope(&subject, &predicate, None, value);
        let ended = match value {
            Some(value) => usize::from(scope.find(value).is_some()),
            None => scope.count(),
        };
        // The withdrawal comes after every statement it means, also one by a clock that is ahead.
        let at = recorded.max(scope.after());
        if ended > 0 {
            let event = withdrawal(&subject, &predicate, value, at, recorded);
            self.push(&subject, &predicate, event);
        }
        Ok(count(ended))
    }

    /// Withdraws what is believed in exactly these words; answers with the sentences.
    pub(super) fn forget_sentence(&mut self, text: &str) -> Result<Vec<String>, Error> {
        let wanted = name_key(text);
        let mut matches = Vec::new();
        for (no, pair) in (0..).map_while(|no| Some((no, self.view.pair(no)?))) {
            let (subject, predicate) =
                (self.view.subject_name(pair), self.view.predicate_name(pair));
            // Only the pairs whose sentences can begin so are looked through.
            let about = name_key(&sentence::about(&subject, &predicate));
            if !self.view.is_note(pair) && !wanted.starts_with(&about) {
                continue;
            }
            for belief in pair.believed.iter() {
                let Some(value) = pair.value(belief.slot) else {
                    continue;
                };
                let spoken = sentence::spoken(&subject, &predicate, value);
                if name_key(&spoken) == wanted {
                    matches.push((no, spoken, value.clone()));
                }
            }
        }
        if matches.is_empty() {
            return Err(Error::refused(
                "nothing is remembered in exactly these words, and forgetting by description needs \
                 an extraction model, which this server does not have; give the exact text of what \
                 to forget, as recall shows it",
            ));
        }
        let mut forgotten = Vec::new();
        for (no, spoken, value) in matches {
            let Some(pair) = self.view.pair(no) else {
                continue;
            };
            let (subject, predicate) =
                (self.view.subject_name(pair), self.view.predicate_name(pair));
            self.forget(&subject, &predicate, Some(&value))?;
            forgotten.push(spoken);
        }
        Ok(forgotten)
    }
}
