//! Texts and what was drawn from them.
//!
//! A text outlives what it states: it is kept as it was said, while a statement that was drawn from
//! it may be replaced or withdrawn. An answer that shows such a text must not pass off as current
//! what is not.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use super::repeats::{Repeats, joined, overlap};
use super::{Find, Pair, View};
use crate::event::Event;
use crate::event_id::EventId;
use crate::json::Json;
use crate::sentence;
use crate::value::{Value, ValueKey};
use crate::vectors::At;

/// What stands for words that are left out.
const GAP: &str = "…";

/// What of a text is no longer so.
#[derive(Debug)]
pub(crate) struct Outdated {
    gone: Vec<Gone>,
    /// The text without the sentences that say so, if anything is left.
    pub(crate) rest: Option<String>,
}

/// The words that a statement was drawn from, as an answer shows them.
#[derive(Debug)]
pub(crate) struct SaidIn<'v> {
    pub(crate) words: &'v str,
    /// What they say beside and is no longer so.
    pub(crate) outdated: Option<Outdated>,
}

/// What of a text is no longer so, and where the text says it.
#[derive(Debug, Default)]
struct Old {
    gone: Vec<Gone>,
    seen: HashSet<(u32, ValueKey)>,
    /// Places in the text, with the place in `gone` of what they say.
    places: Vec<(Range<usize>, usize)>,
    /// Those of them that the text was read for: a sentence that meets one is no longer so.
    drawn: Vec<Range<usize>>,
    /// Those that an answer says; a sentence is no longer so if it says nothing else.
    served: Vec<Range<usize>>,
    repeats: Option<Arc<Repeats>>,
    /// Statements of which nobody knows by what words.
    unquoted: usize,
}

/// A statement that is no longer believed.
#[derive(Debug)]
struct Gone {
    subject: Arc<str>,
    predicate: Arc<str>,
    value: Value,
    no: u32,
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

    /// Whether any statement ever ceased to be believed.
    fn has_superseded(&self) -> bool {
        !self.superseded.is_empty()
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
        let (event, text) = self.text_of(pair, slot)?;
        let old = self.old_of(event, text);
        if old.gone.is_empty() {
            return None;
        }
        // Where no words are quoted, the text is all that can be meant.
        let drawn = self.view.drawn_places(&event.id).len();
        let rest = match old.unquoted > 0 && old.unquoted == drawn {
            true => None,
            false => without(text, |sentence| old.is_gone(text, sentence)),
        };
        Some(Outdated {
            gone: old.gone,
            rest,
        })
    }

    /// What of a text is no longer so, by the id of the text.
    pub(crate) fn outdated_text(&self, note: &EventId) -> Option<Outdated> {
        let (no, slot) = self.view.note_place(note)?;
        self.outdated(self.view.pair(no)?, slot)
    }

    /// A kept text, where any was ever read.
    fn text_of<'p>(&self, pair: &'p Pair, slot: u32) -> Option<(&'p Event, &'p str)> {
        if !self.view.has_drawn() {
            return None;
        }
        let event = pair.event(slot).filter(|_| self.view.is_note(pair))?;
        match &event.value {
            Some(Value::Text(text)) => Some((event, text.as_str())),
            _ => None,
        }
    }

    fn old_of(&self, event: &Event, text: &str) -> Old {
        let mut old = Old::default();
        self.drawn_and_gone(event, text, &mut old);
        if self.view.has_superseded() {
            self.repeated_and_gone(event, text, &mut old);
        }
        for places in [&mut old.drawn, &mut old.served] {
            places.sort_by_key(|at| (at.start, at.end));
            *places = joined(std::mem::take(places).into_iter());
        }
        old
    }

    /// What was drawn from a text and is no longer so, and where it says so.
    fn drawn_and_gone(&self, event: &Event, text: &str, old: &mut Old) {
        for (no, slot) in self.view.drawn_places(&event.id) {
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
            let gone = self.add(*no, own, value, old);
            match stated.evidence() {
                Some(evidence) => {
                    for (at, it) in text.match_indices(&**evidence) {
                        old.places.push((at..at + it.len(), gone));
                        old.drawn.push(at..at + it.len());
                    }
                }
                None => old.unquoted += 1,
            }
        }
    }

    /// What a text repeats of what was answered or read here and is no longer so.
    fn repeated_and_gone(&self, event: &Event, text: &str, old: &mut Old) {
        old.repeats = self.view.repeats_of(event, text, &self.values);
        let Some(repeats) = old.repeats.clone() else {
            return;
        };
        for repeat in &repeats.list {
            let of = repeat.of.iter();
            let of = of.filter_map(|it| Some((it.no, it.pair(self.view)?, it.value(self.view)?)));
            let of: Vec<_> = of.collect();
            // Where a sentence may mean several statements, it is true as long as one of them is.
            let believed =
                |(no, pair, value): &(u32, &Pair, &Value)| self.believes(*no, pair, value);
            if of.iter().any(believed) {
                continue;
            }
            for (no, pair, value) in of {
                if self.was_stated(pair, value) {
                    let gone = self.add(no, pair, value, old);
                    old.places.push((repeat.at.clone(), gone));
                    if repeat.how.is_served() {
                        old.served.push(repeat.at.clone());
                    }
                }
            }
        }
    }

    /// Whether a value was stated by the time that is asked about.
    fn was_stated(&self, pair: &Pair, value: &Value) -> bool {
        let stated = |event: &Event| {
            let same = event.value.as_ref().is_some_and(|it| it.same(value));
            same && self.at.is_none_or(|at| event.observed <= at)
        };
        self.at.is_none() || pair.events.iter().any(stated)
    }

    /// Notes a statement as one that is no longer so, once.
    fn add(&self, no: u32, pair: &Pair, value: &Value, old: &mut Old) -> usize {
        if old.seen.insert((no, value.key())) {
            old.gone.push(Gone {
                subject: self.view.subject_name(pair),
                predicate: self.view.predicate_name(pair),
                value: value.clone(),
                no,
            });
            return old.gone.len() - 1;
        }
        let known = old
            .gone
            .iter()
            .position(|it| it.no == no && it.value.same(value));
        known.unwrap_or_default()
    }

    /// The text that a statement was drawn from, unless it was withdrawn.
    fn standing_source(&self, event: &Event) -> Option<(&'_ Pair, u32)> {
        let (no, slot) = self.view.source(event)?;
        let pair = self.view.pair(no)?;
        self.believes(no, pair, pair.value(slot)?)
            .then_some((pair, slot))
    }

    /// The whole text that a statement was drawn from, with what of it is no longer so; `None` where the
    /// text was withdrawn.
    pub(crate) fn source_text(&self, event: &Event) -> Option<SaidIn<'_>> {
        let (pair, slot) = self.standing_source(event)?;
        let (_, words) = self.text_of(pair, slot)?;
        let outdated = self.outdated(pair, slot);
        Some(SaidIn { words, outdated })
    }

    /// The sentence that a statement was drawn from, with what of it is no longer so; only the words that
    /// are quoted as evidence where the text was withdrawn.
    pub(crate) fn said<'e>(&'e self, event: &'e Event) -> Option<SaidIn<'e>> {
        let evidence = event.evidence()?;
        let quoted = SaidIn {
            words: evidence,
            outdated: None,
        };
        let source = self.standing_source(event);
        let Some((own, text)) = source.and_then(|(pair, slot)| self.text_of(pair, slot)) else {
            return Some(quoted);
        };
        let Some(at) = sentence::around(evidence, text) else {
            return Some(quoted);
        };
        let old = self.old_of(own, text);
        let here = old
            .places
            .iter()
            .filter(|(place, _)| place.start < at.end && at.start < place.end);
        let here: HashSet<usize> = here.map(|(_, gone)| *gone).collect();
        let mut no = 0..;
        let mut gone = old.gone;
        gone.retain(|_| no.next().is_some_and(|no| here.contains(&no)));
        Some(SaidIn {
            words: text.get(at).unwrap_or_default().trim(),
            outdated: (!gone.is_empty()).then_some(Outdated { gone, rest: None }),
        })
    }

    /// Whether nothing of a text is so any more, so that it answers nothing.
    pub(crate) fn is_outdated(&self, (no, slot): At) -> bool {
        let outdated = self
            .view
            .pair(no)
            .and_then(|pair| self.outdated(pair, slot));
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

impl Old {
    /// Whether a sentence of the text is no longer so.
    fn is_gone(&self, text: &str, sentence: Range<usize>) -> bool {
        let repeats = self.repeats.as_deref();
        overlap(&self.drawn, &sentence)
            || (overlap(&self.served, &sentence)
                && repeats.is_some_and(|it| it.is_all_in(text, sentence)))
    }
}

/// A text without some of its sentences; `None` when nothing is left.
fn without(text: &str, is_gone: impl Fn(Range<usize>) -> bool) -> Option<String> {
    let mut rest = String::new();
    let (mut gap, mut left) = (false, false);
    for (from, to) in sentence::bounds(text) {
        if is_gone(from..to) {
            gap = true;
            continue;
        }
        let words = text.get(from..to).unwrap_or_default();
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
    let words = sentence::without_role(sentence);
    words.chars().any(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, quoted: &[&str], expected: Option<&str>) {
        let mut places: Vec<_> = quoted
            .iter()
            .flat_map(|quoted| text.match_indices(quoted))
            .map(|(at, quoted)| at..at + quoted.len())
            .collect();
        places.sort_by_key(|at| at.start);
        let places = joined(places.into_iter());
        let rest = without(text, |sentence| overlap(&places, &sentence));
        assert_eq!(rest.as_deref(), expected, "{quoted:?}");
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
