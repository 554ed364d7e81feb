//! Texts and what was drawn from them; texts that only repeat what was answered.

use super::View;
use crate::event_id::EventId;
use crate::registry::NOTE;
use crate::sentence;
use crate::value::{Value, name_key};

/// Whom kept texts are about.
const USER: &str = "user";
/// What may stand before a sentence that is repeated.
const LEADS: [&str; 6] = ["user:", "assistant:", "-", "*", "•", "memory:"];

impl View {
    /// The sentences of what was drawn from a text and is still believed.
    pub(crate) fn drawn_from(&self, note: &EventId) -> Vec<String> {
        let places = self.drawn.get(note).map_or(&[][..], Vec::as_slice);
        let mut sentences: Vec<String> = Vec::new();
        for (no, slot) in places {
            let believed = self.pair(*no).and_then(|pair| {
                let value = pair.value(*slot)?;
                pair.holds(value)?;
                let (subject, predicate) = (self.subject_name(pair), self.predicate_name(pair));
                Some(sentence::spoken(&subject, &predicate, value))
            });
            sentences.extend(believed.filter(|text| !sentences.contains(text)));
        }
        sentences
    }

    /// The sentences of a text that says nothing but what was answered from here, believed still or
    /// not: an agent that writes down what it has read must not make it true again.
    pub(crate) fn echo(&self, text: &str) -> Option<Vec<String>> {
        let lines = text.lines().map(plain).filter(|line| !line.is_empty());
        let mut sentences = Vec::new();
        let mut stated = false;
        for line in lines {
            let was_stated = self.was_stated(line);
            if !was_stated && !self.is_kept(line) {
                return None;
            }
            stated |= was_stated;
            sentences.push(line.to_owned());
        }
        stated.then_some(sentences)
    }

    /// Whether a line is the sentence of a statement that was ever made.
    fn was_stated(&self, line: &str) -> bool {
        let Some((about, value)) = line.trim_end_matches('.').split_once(": ") else {
            return false;
        };
        let about = name_key(about);
        let said = name_key(value);
        let predicates = (0..).zip(self.predicates());
        predicates
            .filter(|(_, predicate)| !predicate.note)
            .any(|(no, predicate)| {
                let words = predicate.name.replace('_', " ");
                let subject = about.strip_suffix(words.as_str());
                let subject = subject.and_then(|subject| subject.strip_suffix(' '));
                let pair = subject
                    .and_then(|subject| self.pair_no(self.subject_no(subject)?, no))
                    .and_then(|pair| self.pair(pair));
                let same = |value: &Value| name_key(&value.to_string()) == said;
                pair.is_some_and(|pair| {
                    pair.events
                        .iter()
                        .any(|event| event.value.as_ref().is_some_and(same))
                })
            })
    }

    /// Whether a line is a text that is kept.
    fn is_kept(&self, line: &str) -> bool {
        let pair = self.subject_no(USER).zip(self.predicate_no(NOTE));
        let pair = pair.and_then(|(subject, note)| self.pair(self.pair_no(subject, note)?));
        pair.is_some_and(|pair| pair.holds(&Value::text(line)).is_some())
    }
}

/// A line without what may stand before and behind its sentence.
fn plain(line: &str) -> &str {
    let mut line = line.trim();
    loop {
        let lead = LEADS.iter().find_map(|lead| {
            let start = line.get(..lead.len())?;
            start
                .eq_ignore_ascii_case(lead)
                .then(|| line.get(lead.len()..))?
        });
        match lead {
            Some(rest) => line = rest.trim(),
            None => return line,
        }
    }
}
