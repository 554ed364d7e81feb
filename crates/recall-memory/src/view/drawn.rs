//! Texts and what was drawn from them.
//!
//! A text outlives what it states: it is kept as it was said, while a statement that was drawn from
//! it may be replaced or withdrawn. An answer that shows such a text must not pass off as current
//! what is not.

use std::sync::Arc;

use super::echo::compared;
use super::{Find, Pair, View};
use crate::event::Event;
use crate::event_id::EventId;
use crate::json::Json;
use crate::sentence;
use crate::value::Value;

/// What stands for words that are left out.
const GAP: &str = "…";
/// How the lines of remembered messages begin; alone they say nothing.
const ROLES: [&str; 2] = ["User:", "Assistant:"];

/// What of a text is no longer so.
#[derive(Debug)]
pub(crate) struct Outdated {
    gone: Vec<Gone>,
    /// The text without the sentences that say so, if anything is left.
    pub(crate) rest: Option<String>,
}

/// The words of a text that say what is no longer so.
#[derive(Debug, Default)]
struct Words {
    /// As they stand in the text.
    quoted: Vec<Arc<str>>,
    /// In the form in which texts are compared.
    repeated: Vec<String>,
    /// Statements of which nobody knows by what words.
    unquoted: usize,
}

/// A statement that is no longer believed.
#[derive(Debug)]
struct Gone {
    subject: Arc<str>,
    predicate: Arc<str>,
    value: Value,
}

/// What was drawn from a text, as sentences.
#[derive(Debug, Default)]
pub(crate) struct DrawnFrom {
    pub(crate) believed: Vec<String>,
    /// What was replaced or withdrawn since.
    pub(crate) gone: Vec<String>,
}

impl View {
    /// What was drawn from a text.
    pub(crate) fn drawn_from(&self, note: &EventId) -> DrawnFrom {
        let mut drawn = DrawnFrom::default();
        for (no, slot) in self.drawn_places(note) {
            let Some((pair, value)) = self.stated(*no, *slot) else {
                continue;
            };
            let list = match pair.holds(value) {
                Some(_) => &mut drawn.believed,
                None => &mut drawn.gone,
            };
            let (subject, predicate) = (self.subject_name(pair), self.predicate_name(pair));
            let sentence = sentence::spoken(&subject, &predicate, value);
            if !list.contains(&sentence) {
                list.push(sentence);
            }
        }
        drawn
    }

    /// Whether a value of a pair was drawn from a text.
    pub(crate) fn is_drawn(&self, note: &EventId, pair: u32, value: &Value) -> bool {
        let places = self.drawn_places(note).iter();
        let mut own = places.filter(|(no, _)| *no == pair);
        own.any(|(no, slot)| {
            self.stated(*no, *slot)
                .is_some_and(|(_, it)| it.same(value))
        })
    }

    /// Whether anything was ever drawn from a text here.
    pub(super) fn has_drawn(&self) -> bool {
        !self.drawn.is_empty()
    }

    pub(super) fn drawn_places(&self, note: &EventId) -> &[(u32, u32)] {
        self.drawn.get(note).map_or(&[][..], Vec::as_slice)
    }

    fn stated(&self, no: u32, slot: u32) -> Option<(&Pair, &Value)> {
        let pair = self.pair(no)?;
        Some((pair, pair.value(slot)?))
    }
}

impl Find<'_> {
    /// What of a text is no longer so; `None` for any other statement, and for a text that stands as
    /// it was said.
    pub(crate) fn outdated(&self, pair: &Pair, slot: u32) -> Option<Outdated> {
        self.outdated_by(pair, slot, true)
    }

    /// Repeated answers in it are looked for only if `all`, because that means reading it.
    fn outdated_by(&self, pair: &Pair, slot: u32, all: bool) -> Option<Outdated> {
        if !self.view.has_drawn() {
            return None;
        }
        let event = pair.event(slot).filter(|_| self.view.is_note(pair))?;
        let Some(Value::Text(text)) = &event.value else {
            return None;
        };
        let text = text.as_str();
        let mut words = Words::default();
        let places = self.view.drawn_places(&event.id);
        let mut gone = self.drawn_and_gone(places, &mut words);
        if all {
            self.repeated_and_gone(text, &mut gone, &mut words);
        }
        if gone.is_empty() {
            return None;
        }
        // Where no words are quoted, the text is all that can be meant.
        let rest = match words.unquoted > 0 && words.unquoted == places.len() {
            true => None,
            false => without(text, &words),
        };
        Some(Outdated { gone, rest })
    }

    /// What was drawn from a text and is no longer so, and the words that said so.
    fn drawn_and_gone(&self, places: &[(u32, u32)], words: &mut Words) -> Vec<Gone> {
        let mut gone: Vec<Gone> = Vec::new();
        for (no, slot) in places {
            let Some((own, value)) = self.view.stated(*no, *slot) else {
                continue;
            };
            let Some(stated) = own.event(*slot) else {
                continue;
            };
            let later = self.at.is_some_and(|at| stated.observed > at);
            if later || self.believes(*no, own, value) {
                continue;
            }
            match stated.evidence() {
                Some(evidence) => words.quoted.push(Arc::clone(evidence)),
                None => words.unquoted += 1,
            }
            self.add(own, value, &mut gone);
        }
        gone
    }

    /// What a text repeats of what was answered from here that is no longer so.
    fn repeated_and_gone(&self, text: &str, gone: &mut Vec<Gone>, words: &mut Words) {
        if !text.contains(':') {
            return;
        }
        let said = compared(text);
        for served in self.view.served(&said) {
            let (pair, value) = (served.pair, served.value);
            let stated = |event: &Event| {
                let same = event.value.as_ref().is_some_and(|it| it.same(value));
                same && self.at.is_none_or(|at| event.observed <= at)
            };
            if pair.events.iter().any(stated) && !self.believes(served.no, pair, value) {
                words.repeated.push(served.words(&said).to_owned());
                self.add(pair, value, gone);
            }
        }
    }

    fn add(&self, pair: &Pair, value: &Value, gone: &mut Vec<Gone>) {
        let (subject, predicate) = (self.view.subject_name(pair), self.view.predicate_name(pair));
        let known =
            |it: &Gone| it.subject == subject && it.predicate == predicate && it.value.same(value);
        if !gone.iter().any(known) {
            gone.push(Gone {
                subject,
                predicate,
                value: value.clone(),
            });
        }
    }

    /// Whether nothing of a text is so any more, so that it answers nothing.
    pub(crate) fn is_outdated(&self, (no, slot): (u32, u32)) -> bool {
        let outdated = self
            .view
            .pair(no)
            .and_then(|pair| self.outdated(pair, slot));
        outdated.is_some_and(|outdated| outdated.rest.is_none())
    }

    /// The same of what was drawn from it alone: near enough to count by, and cheap.
    pub(super) fn is_replaced(&self, (no, slot): (u32, u32)) -> bool {
        let pair = self.view.pair(no);
        let outdated = pair.and_then(|pair| self.outdated_by(pair, slot, false));
        outdated.is_some_and(|outdated| outdated.rest.is_none())
    }

    /// Whether statements were drawn from a text.
    pub(super) fn is_source(&self, (no, slot): (u32, u32)) -> bool {
        let event = self.view.pair(no).and_then(|pair| pair.event(slot));
        self.view.has_drawn()
            && event.is_some_and(|event| !self.view.drawn_places(&event.id).is_empty())
    }

    fn believes(&self, no: u32, pair: &Pair, value: &Value) -> bool {
        let Some(pair_in_view) = self.view.pair(no) else {
            return false;
        };
        let believed = self.believed(no, pair_in_view);
        believed.find(value, |slot| pair.event(slot)).is_some()
    }
}

impl Outdated {
    /// The sentences of what is no longer so.
    pub(crate) fn sentences(&self) -> impl Iterator<Item = String> {
        let gone = self.gone.iter();
        gone.map(|it| sentence::spoken(&it.subject, &it.predicate, &it.value))
    }

    /// Writes what is no longer so for a reader of subjects, predicates and values.
    pub(crate) fn write(&self, json: &mut Json) {
        json.key("no_longer").array(&self.gone, |json, it| {
            json.object(|json| {
                json.key("subject").string(&it.subject);
                json.key("predicate").string(&it.predicate);
                json.key("value").value(&it.value);
            });
        });
    }
}

/// A text without the sentences that hold any of some words; `None` when nothing is left.
fn without(text: &str, words: &Words) -> Option<String> {
    let holds = |sentence: &(usize, usize)| {
        let mut found = words.quoted.iter().flat_map(|quoted| {
            let places = text.match_indices(&**quoted);
            places.map(|(at, quoted)| (at, at + quoted.len()))
        });
        let repeats = || {
            let said = compared(text.get(sentence.0..sentence.1).unwrap_or_default());
            words
                .repeated
                .iter()
                .any(|words| said.contains(words.as_str()))
        };
        found.any(|(from, to)| from < sentence.1 && sentence.0 < to)
            || (!words.repeated.is_empty() && repeats())
    };
    let mut rest = String::new();
    let (mut gap, mut left) = (false, false);
    for sentence in sentence::bounds(text) {
        if holds(&sentence) {
            gap = true;
            continue;
        }
        let words = text.get(sentence.0..sentence.1).unwrap_or_default();
        left |= says_something(words);
        if std::mem::take(&mut gap) {
            let line = rest.is_empty() || rest.ends_with('\n');
            rest.push_str(if line { GAP } else { " …" });
            rest.push(' ');
            rest.push_str(words.trim_start());
        } else {
            rest.push_str(words);
        }
    }
    if gap {
        rest.truncate(rest.trim_end().len());
        rest.push(' ');
        rest.push_str(GAP);
    }
    left.then_some(rest)
}

fn says_something(sentence: &str) -> bool {
    let sentence = sentence.trim();
    let role = ROLES.iter().find_map(|role| sentence.strip_prefix(role));
    let words = role.unwrap_or(sentence);
    words.chars().any(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, quoted: &[&str], expected: Option<&str>) {
        let words = Words {
            quoted: quoted.iter().map(|quoted| Arc::from(*quoted)).collect(),
            ..Words::default()
        };
        assert_eq!(without(text, &words).as_deref(), expected, "{quoted:?}");
    }

    #[test]
    fn the_sentences_of_what_is_gone_are_left_out() {
        let text = "Alice lives in Rome. The wedding is on Friday. It costs 3.5 crowns!";
        check(
            text,
            &["lives in Rome"],
            Some("… The wedding is on Friday. It costs 3.5 crowns!"),
        );
        check(
            text,
            &["wedding"],
            Some("Alice lives in Rome. … It costs 3.5 crowns!"),
        );
        check(
            text,
            &["3.5"],
            Some("Alice lives in Rome. The wedding is on Friday. …"),
        );
        check(text, &["Rome. The"], Some("… It costs 3.5 crowns!"));
        check(text, &["Rome", "Friday", "3.5"], None);
        check("Alice lives in Rome", &["Rome"], None);
        check("- Rome\n- Oslo", &["Rome"], Some("… - Oslo"));
    }

    #[test]
    fn who_spoke_is_not_all_that_is_left() {
        check("User: I live in Rome.\nAssistant: !", &["Rome"], None);
        check(
            "User: I live in Rome.\nAssistant: Lovely.",
            &["Rome"],
            Some("… Assistant: Lovely."),
        );
    }
}
