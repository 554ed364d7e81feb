//! Texts that only repeat what was answered from here.

use std::ops::Range;

use super::View;
use super::repeats::{How, Repeat, beside, joined};
use super::spoken::Values;
use crate::registry::NOTE;
use crate::sentence;
use crate::value::Value;

/// Whom kept texts are about.
const USER: &str = "user";
/// What may stand before a sentence that is repeated.
const LEADS: [&str; 6] = ["user:", "assistant:", "-", "*", "•", "memory:"];

/// A text that repeats answers and says nothing else.
#[derive(Debug, Default)]
pub(crate) struct Echo {
    /// What of it is believed, and the kept texts in it.
    pub(crate) known: Vec<String>,
    /// What of it is no longer so.
    pub(crate) gone: Vec<String>,
}

impl View {
    /// What a text repeats that says nothing but what was answered from here, believed still or not.
    pub(crate) fn echo(&self, text: &str) -> Option<Echo> {
        let repeats = self.repeats(text, &Values::default());
        let answers = repeats.list.iter().filter(|it| it.how == How::Answer);
        let answers: Vec<&Repeat> = answers.collect();
        let places = joined(answers.iter().map(|it| it.at.clone()));
        if places.is_empty() {
            return None;
        }
        let mut echo = Echo::default();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let own = start..start + line.len();
            start = own.end;
            if is_all_in(text, own, &places) {
                continue;
            }
            let line = plain(line);
            if !self.is_kept(line) {
                return None;
            }
            echo.known.push(line.to_owned());
        }
        for answer in answers {
            let believed = answer.of.iter().find(|it| it.is_held(self));
            let said = believed.or(answer.of.first());
            let stated = said.and_then(|it| it.pair(self).zip(it.value(self)));
            let Some((pair, value)) = stated else {
                continue;
            };
            let (subject, predicate) = (self.subject_name(pair), self.predicate_name(pair));
            let list = match believed {
                Some(_) => &mut echo.known,
                None => &mut echo.gone,
            };
            let said = sentence::spoken(&subject, &predicate, value);
            if !list.contains(&said) {
                list.push(said);
            }
        }
        Some(echo)
    }

    /// Whether a line is a text that is kept.
    fn is_kept(&self, line: &str) -> bool {
        let pair = self.subject_no(USER).zip(self.predicate_no(NOTE));
        let pair = pair.and_then(|(subject, note)| self.pair(self.pair_no(subject, note)?));
        pair.is_some_and(|pair| pair.holds(&Value::text(line)).is_some())
    }
}

/// Whether a line says nothing outside of some places, but for what may stand before.
fn is_all_in(text: &str, line: Range<usize>, places: &[Range<usize>]) -> bool {
    let rest = beside(places, line, text);
    rest.lines()
        .all(|rest| !plain(rest).contains(char::is_alphanumeric))
}

/// A line without what may stand before its sentence.
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
