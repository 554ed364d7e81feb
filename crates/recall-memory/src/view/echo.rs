//! Texts that only repeat what was answered from here.
//!
//! An agent that writes down what it has read must not make it true again. What answers say of a
//! statement is its sentence, `user prefers editor: vim`; people do not write like that, so where such
//! a sentence stands in a text, and where words stand that were read before, nothing new is said.

use std::collections::{BTreeMap, HashMap};
use std::ops::{Bound, Range};

use super::{Pair, View};
use crate::event_id::EventId;
use crate::plan::Statement;
use crate::registry::NOTE;
use crate::value::{Value, name_key};

/// Whom kept texts are about.
const USER: &str = "user";
/// What may stand before a sentence that is repeated.
const LEADS: [&str; 6] = ["user:", "assistant:", "-", "*", "•", "memory:"];
/// Colons of a text that are looked at; an answer of a full page has fewer sentences.
const MAX_COLONS: usize = 2_048;
/// Words before a predicate of which some may be the subject.
const MAX_SUBJECT_WORDS: usize = 16;

/// A text that repeats answers and says nothing else.
#[derive(Debug, Default)]
pub(crate) struct Echo {
    /// What of it is believed, and the kept texts in it.
    pub(crate) known: Vec<String>,
    /// What of it is no longer so.
    pub(crate) gone: Vec<String>,
}

/// Where a text repeats what was answered.
#[derive(Debug)]
pub(crate) struct Repeated {
    /// The text in the form in which it is compared.
    text: String,
    served: Vec<Range<usize>>,
}

/// The sentence of a statement, found in a text.
pub(super) struct Served<'v> {
    /// Where, in the form in which texts are compared.
    at: Range<usize>,
    pub(super) no: u32,
    pub(super) pair: &'v Pair,
    pub(super) value: &'v Value,
}

impl Served<'_> {
    /// The words of it.
    pub(super) fn words<'t>(&self, text: &'t str) -> &'t str {
        text.get(self.at.clone()).unwrap_or_default()
    }
}

impl View {
    /// What a text repeats that says nothing but what was answered from here, believed still or not.
    pub(crate) fn echo(&self, text: &str) -> Option<Echo> {
        let lines = text.lines().map(plain).filter(|line| !line.is_empty());
        let mut echo = Echo::default();
        let mut stated = false;
        for line in lines {
            let said = compared(line);
            let whole = |it: &Served<'_>| {
                it.at.start == 0
                    && said
                        .get(it.at.end..)
                        .is_some_and(|rest| rest.trim_matches('.').is_empty())
            };
            let served = self.served(&said).into_iter().find(whole);
            let list = match &served {
                Some(it) if it.pair.holds(it.value).is_none() => &mut echo.gone,
                Some(_) => &mut echo.known,
                None if self.is_kept(line) => &mut echo.known,
                None => return None,
            };
            stated |= served.is_some();
            list.push(line.to_owned());
        }
        stated.then_some(echo)
    }

    /// Where a text repeats what was answered from here.
    pub(crate) fn repeated(&self, text: &str) -> Repeated {
        let text = compared(text);
        let served = self.served(&text).into_iter().map(|it| it.at).collect();
        Repeated { text, served }
    }

    /// Whether a statement that is no longer believed was drawn before from words that this text
    /// quotes whole, with the evidence among them.
    pub(crate) fn was_read(&self, text: &Repeated, statement: &Statement, note: &EventId) -> bool {
        let subject = self.subject_no(&statement.subject);
        let pair = subject
            .zip(self.spelt(&statement.predicate))
            .and_then(|(subject, predicate)| self.pair(self.pair_no(subject, predicate)?));
        let Some(pair) = pair.filter(|pair| pair.holds(&statement.value).is_none()) else {
            return false;
        };
        let evidence = compared(statement.evidence.as_deref().unwrap_or_default());
        let same = |value: &Value| value.same(&statement.value);
        let drawn = pair.events.iter().filter(|event| {
            event.value.as_ref().is_some_and(same)
                && event.evidence_id().is_some_and(|id| id != note)
        });
        drawn
            .filter_map(|event| self.source_text(event))
            .map(compared)
            .any(|read| read.contains(&evidence) && text.places(&read).next().is_some())
    }

    /// The sentences of statements that were ever made, where they stand in a text.
    pub(super) fn served(&self, text: &str) -> Vec<Served<'_>> {
        let mut spoken = HashMap::new();
        let colons = text.match_indices(": ").take(MAX_COLONS);
        let found = colons.filter_map(|(at, colon)| {
            let (about, value) = (text.get(..at)?, text.get(at + colon.len()..)?);
            self.served_at(about, value, at + colon.len(), &mut spoken)
        });
        found.collect()
    }

    /// The longest sentence whose value begins at `from`, behind a colon.
    fn served_at<'v>(
        &'v self,
        about: &str,
        said: &str,
        from: usize,
        spoken: &mut HashMap<u32, Spoken<'v>>,
    ) -> Option<Served<'v>> {
        let predicates = (0..).zip(self.predicates());
        let mut best: Option<Served<'_>> = None;
        for (no, predicate) in predicates.filter(|(_, predicate)| !predicate.note) {
            let Some(before) = before_predicate(about, &predicate.name) else {
                continue;
            };
            for start in starts(before) {
                let subject = before.get(start..).and_then(|name| self.subject_no(name));
                let own = subject.and_then(|subject| self.pair_no(subject, no));
                let pair = own.and_then(|own| Some((own, self.pair(own)?)));
                let Some((own, pair)) = pair else { continue };
                let spoken = spoken.entry(own).or_insert_with(|| Spoken::of(pair));
                let Some((length, value)) = spoken.longest_at_start_of(said) else {
                    continue;
                };
                let at = start..from + length;
                if best.as_ref().is_none_or(|best| best.at.len() < at.len()) {
                    best = Some(Served {
                        at,
                        no: own,
                        pair,
                        value,
                    });
                }
            }
        }
        best
    }

    /// Whether a line is a text that is kept.
    fn is_kept(&self, line: &str) -> bool {
        let pair = self.subject_no(USER).zip(self.predicate_no(NOTE));
        let pair = pair.and_then(|(subject, note)| self.pair(self.pair_no(subject, note)?));
        pair.is_some_and(|pair| pair.holds(&Value::text(line)).is_some())
    }
}

impl Repeated {
    /// Whether words that are quoted as evidence for a value stand in a sentence that was answered,
    /// or say the value nowhere else.
    pub(crate) fn covers(&self, evidence: &str, value: &Value) -> bool {
        let evidence = compared(evidence);
        let value = compared(&value.to_string());
        self.places(&evidence).any(|at| {
            let over = |it: &&Range<usize>| it.start < at.end && at.start < it.end;
            let mut served = self.served.iter().filter(over).peekable();
            if served.peek().is_none() {
                return false;
            }
            let mut rest = String::new();
            let mut from = at.start;
            for it in served {
                rest.push_str(self.text.get(from..it.start).unwrap_or_default());
                rest.push('\n');
                from = from.max(it.end);
            }
            rest.push_str(self.text.get(from..at.end).unwrap_or_default());
            value.is_empty() || !rest.contains(&value)
        })
    }

    /// Where some words stand in the text.
    fn places(&self, words: &str) -> impl Iterator<Item = Range<usize>> {
        let places = self
            .text
            .match_indices(words)
            .filter(|(_, it)| !it.is_empty());
        places.map(|(at, words)| at..at + words.len())
    }
}

/// The form in which texts are compared: as names are, and every gap one space.
pub(super) fn compared(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    name_key(&words.join(" "))
}

/// What stands before a predicate at the end of some words, be it spelt with blanks or as it is.
fn before_predicate<'t>(about: &'t str, predicate: &str) -> Option<&'t str> {
    let start = about.len().checked_sub(predicate.len())?;
    let (before, words) = (about.get(..start)?, about.get(start..)?);
    let same = |(word, name): (u8, u8)| word == name || (word == b' ' && name == b'_');
    let all = words
        .bytes()
        .zip(predicate.bytes().map(|byte| byte.to_ascii_lowercase()));
    all.into_iter()
        .all(same)
        .then_some(before)?
        .strip_suffix(' ')
}

/// Where a subject at the end of some words may begin, the nearest first.
fn starts(words: &str) -> impl Iterator<Item = usize> {
    let begins = words.char_indices().rev().filter(|(at, letter)| {
        let before = words
            .get(..*at)
            .and_then(|before| before.chars().next_back());
        letter.is_alphanumeric() && before.is_none_or(|before| !before.is_alphanumeric())
    });
    begins.map(|(at, _)| at).take(MAX_SUBJECT_WORDS)
}

/// The values that were ever stated of a pair, in the form in which texts are compared. A text may name a
/// pair thousands of times, and a pair may have had thousands of values.
struct Spoken<'v>(BTreeMap<String, &'v Value>);

impl<'v> Spoken<'v> {
    fn of(pair: &'v Pair) -> Self {
        let values = pair.events.iter().filter_map(|event| event.value.as_ref());
        let mut spoken: BTreeMap<_, _> = values
            .map(|value| (compared(&value.to_string()), value))
            .collect();
        spoken.remove("");
        Self(spoken)
    }

    /// The longest value that some words begin with and do not go on, and how long it is.
    fn longest_at_start_of(&self, words: &str) -> Option<(usize, &'v Value)> {
        let mut below = Bound::Included(words);
        loop {
            let range = (Bound::Unbounded, below);
            let (said, value) = self.0.range::<str, _>(range).next_back()?;
            let common = common_start(said, words);
            let ends = common == said.len() && {
                let next = words.get(common..).and_then(|rest| rest.chars().next());
                next.is_none_or(|next| !next.is_alphanumeric())
            };
            if ends {
                return Some((common, value));
            }
            // What the words begin with is no greater than what they share with this one.
            below = match common == said.len() {
                true => Bound::Excluded(said.as_str()),
                false => Bound::Included(words.get(..common)?),
            };
        }
    }
}

/// How many bytes two texts share at their start, in whole characters.
fn common_start(one: &str, other: &str) -> usize {
    let pairs = one.char_indices().zip(other.chars());
    let mut same = pairs.skip_while(|((_, one), other)| one == other);
    match same.next() {
        Some(((at, _), _)) => at,
        None => one.len().min(other.len()),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_value_that_words_begin_with_is_found() {
        let values = [
            "ro",
            "rome",
            "rome by night",
            "rome by nigh",
            "oslo",
            "r",
            "é",
        ]
        .map(Value::text);
        let spoken = values
            .iter()
            .map(|value| (compared(&value.to_string()), value));
        let spoken = Spoken(spoken.collect());
        for (words, expected) in [
            ("rome", Some("rome")),
            ("rome by night.", Some("rome by night")),
            ("rome by nightfall", Some("rome")),
            ("rome by day", Some("rome")),
            ("romeo", None),
            ("ro, and more", Some("ro")),
            ("r", Some("r")),
            ("", None),
            ("zürich", None),
            ("éa", None),
            ("é", Some("é")),
            ("a", None),
        ] {
            let found = spoken
                .longest_at_start_of(words)
                .map(|(_, value)| value.to_string());
            assert_eq!(found.as_deref(), expected, "{words}");
        }
    }
}
