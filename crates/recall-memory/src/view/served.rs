//! Sentences of statements in a text: `user prefers editor: vim`, however it is marked up, and the same as
//! a row of the typed surface.

use std::ops::Range;

use super::View;
use super::repeats::{How, Repeat, Said};
use super::spoken::{MAX_WORDLESS, Values};
use crate::search::plain::{Plain, has_colon, tabulates};

/// Names that differ in signs alone, which read alike, that are looked at.
const MAX_ALIKE: usize = 64;
/// What a row of the typed surface calls its parts.
const LABELS: [&str; 3] = ["subject", "predicate", "value"];

/// A text that is looked through, its escapes undone.
pub(super) struct Reading<'t> {
    pub(super) view: &'t View,
    /// The text as it was given.
    pub(super) raw: &'t str,
    pub(super) text: &'t str,
    pub(super) plain: &'t Plain,
    pub(super) values: &'t Values,
}

/// A sentence in the making.
struct Sentence {
    /// The words up to which its subject stands, and from which on its value does.
    subject_ends: usize,
    value_begins: usize,
    predicate: u32,
    /// The predicate's own words.
    own: Range<usize>,
}

impl Reading<'_> {
    /// The sentences of statements that were ever made, where they stand in the text as answers word them;
    /// at most `most`.
    pub(super) fn served(&self, most: usize) -> Vec<Repeat> {
        let mut found = Vec::new();
        for start in 0..self.plain.len() {
            for at in self.runs_from(start, &self.view.predicates.said) {
                for predicate in self.predicates(at.clone()) {
                    found.extend(self.sentence(&self.around(at.clone(), predicate)));
                }
            }
            if found.len() >= most {
                return found;
            }
        }
        self.labelled(most, &mut found);
        found
    }

    fn runs_from<T: Copy>(
        &self,
        start: usize,
        known: &super::runs::Runs<T>,
    ) -> impl Iterator<Item = Range<usize>> + use<T> {
        let lengths: Vec<_> = known.lengths(self.plain.len() - start).collect();
        lengths.into_iter().map(move |length| start..start + length)
    }

    /// The predicates, but that of kept texts, that some words name.
    fn predicates(&self, at: Range<usize>) -> impl Iterator<Item = u32> {
        let view = self.view;
        let alike = view
            .predicates
            .said
            .find(self.plain, at.clone())
            .take(MAX_ALIKE);
        alike.filter(move |no| {
            let predicate = view.predicate(*no).filter(|predicate| !predicate.note);
            predicate.is_some_and(|it| Plain::of(&it.name).all() == self.plain.words(at.clone()))
        })
    }

    /// The subjects that some words name.
    fn subjects(&self, at: Range<usize>) -> impl Iterator<Item = u32> {
        let view = self.view;
        let alike = view
            .subjects
            .said
            .find(self.plain, at.clone())
            .take(MAX_ALIKE);
        alike.filter(move |no| {
            let subject = view.subject(*no);
            subject.is_some_and(|it| Plain::of(&it.name).all() == self.plain.words(at.clone()))
        })
    }

    /// What may be a sentence around a predicate. The labels of a row may stand between its parts.
    fn around(&self, at: Range<usize>, predicate: u32) -> Sentence {
        let [_, own, value] = LABELS;
        let label = at.start.checked_sub(1).filter(|no| self.plain.is(*no, own));
        Sentence {
            subject_ends: label.unwrap_or(at.start),
            value_begins: at.end + usize::from(self.plain.is(at.end, value)),
            predicate,
            own: at,
        }
    }

    /// The longest sentence with this predicate, with all statements that read so.
    fn sentence(&self, sentence: &Sentence) -> Option<Repeat> {
        let mut best: Option<Repeat> = None;
        let end = sentence.subject_ends;
        for length in self.view.subjects.said.lengths(end) {
            let at = end - length..end;
            let raw = self.plain.raw(at.clone());
            for subject in self.subjects(at) {
                self.statement(subject, raw.clone(), sentence, &mut best);
            }
        }
        // A subject of signs alone stands in the gap before the predicate.
        let gap = self.plain.raw_gap(end, self.text);
        for subject in self.view.subjects.wordless.iter().take(MAX_WORDLESS) {
            let name = self.view.subject(*subject).map(|it| &it.name);
            let at = name.and_then(|name| Some((self.text.get(gap.clone())?.find(&**name)?, name)));
            if let Some((at, name)) = at {
                let start = gap.start + at;
                self.statement(*subject, start..start + name.len(), sentence, &mut best);
            }
        }
        best
    }

    fn statement(
        &self,
        subject: u32,
        named: Range<usize>,
        sentence: &Sentence,
        best: &mut Option<Repeat>,
    ) {
        let found = self.value(subject, sentence.predicate, sentence.value_begins);
        let Some((value, said)) = found else { return };
        let how = self.how(subject, named.end, sentence, value.start, &said);
        let Some(how) = how else { return };
        let at = named.start..value.end.max(named.start);
        match best {
            Some(best) if best.at == at => best.of.extend(said),
            Some(best) if best.at.len() >= at.len() => {}
            _ => *best = Some(Repeat { at, how, of: said }),
        }
    }

    /// How a sentence is worded, by what stands between its parts; `None` where people write so too. Signs
    /// that belong to the name or the value say nothing.
    fn how(
        &self,
        subject: u32,
        subject_ends: usize,
        sentence: &Sentence,
        value_begins: usize,
        said: &[Said],
    ) -> Option<How> {
        let own = self.plain.raw(sentence.own.clone());
        let before = self.text.get(subject_ends..own.start).unwrap_or_default();
        let name = self.view.subject(subject).map_or("", |it| &it.name);
        let tail = name.trim_end_matches(is_sign).len();
        let tail = name.get(tail..).unwrap_or_default();
        let before = before.strip_prefix(tail).unwrap_or(before);
        let behind = self.text.get(own.end..value_begins).unwrap_or_default();
        let value = said.first().and_then(|it| it.value(self.view));
        let value = value.map(ToString::to_string).unwrap_or_default();
        let head = value.len() - value.trim_start_matches(is_sign).len();
        let head = value.get(..head).unwrap_or_default();
        let behind = behind.strip_suffix(head).unwrap_or(behind);
        let labels = sentence.subject_ends < sentence.own.start;
        match (
            has_colon(behind),
            labels || tabulates(before) || tabulates(behind),
        ) {
            (true, _) => Some(How::Answer),
            (false, true) => Some(How::Marked),
            (false, false) => None,
        }
    }

    /// The values of a pair that stand from a word on, and where in the text they do.
    fn value(
        &self,
        subject: u32,
        predicate: u32,
        from: usize,
    ) -> Option<(Range<usize>, Vec<Said>)> {
        let no = self.view.pair_no(subject, predicate)?;
        let pair = self.view.pair(no)?;
        let spoken = self.values.of(no, pair);
        let found = spoken.at(self.plain, self.text, from)?;
        let at = match &found.sign {
            Some(sign) => {
                let gap = self.plain.raw_gap(from, self.text).start;
                gap + sign.start..gap + sign.end
            }
            None => {
                let mut last = from + found.words;
                // The same once more, in brackets: `Rome (Rome)`.
                let again = last..last + found.words;
                let gap = self.text.get(self.plain.raw_gap(last, self.text));
                let same = self.plain.words(from..last) == self.plain.words(again.clone());
                if same && gap.is_some_and(|gap| gap.trim() == "(") {
                    last = again.end;
                }
                self.plain.raw(from..last)
            }
        };
        let said = found.slots.iter().map(|slot| Said { no, slot: *slot });
        Some((at, said.collect()))
    }

    /// Rows whose parts carry their labels and stand in any order, as in JSON with sorted keys.
    fn labelled(&self, most: usize, found: &mut Vec<Repeat>) {
        let places = |label: &str| -> Vec<usize> {
            let words = 0..self.plain.len();
            words.filter(|at| self.plain.is(*at, label)).collect()
        };
        let [subjects, predicates, values] = LABELS.map(places);
        for (no, own) in predicates.iter().enumerate() {
            // A row ends where the next one names its predicate.
            let from = no.checked_sub(1).and_then(|no| predicates.get(no));
            let from = from.map_or(0, |before| before + 1);
            let to = predicates.get(no + 1).copied().unwrap_or(self.plain.len());
            for subject in nearest(&subjects, *own, from..to) {
                for value in nearest(&values, *own, from..to) {
                    found.extend(self.row(subject, *own, value));
                }
            }
            if found.len() >= most {
                return;
            }
        }
    }

    fn row(&self, subject: usize, predicate: usize, value: usize) -> Option<Repeat> {
        let start = self
            .plain
            .raw(subject.min(predicate).min(value)..self.plain.len())
            .start;
        let predicates = self.runs_from(predicate + 1, &self.view.predicates.said);
        let predicates = predicates.flat_map(|at| {
            let end = at.end;
            self.predicates(at).map(move |no| (no, end))
        });
        for (own, own_end) in predicates {
            for at in self.runs_from(subject + 1, &self.view.subjects.said) {
                let subject_end = at.end;
                for subject in self.subjects(at) {
                    let Some((at, of)) = self.value(subject, own, value + 1) else {
                        continue;
                    };
                    let named = self.plain.raw(0..own_end.max(subject_end)).end;
                    return Some(Repeat {
                        at: start..at.end.max(named),
                        how: How::Answer,
                        of,
                    });
                }
            }
        }
        None
    }
}

fn is_sign(c: char) -> bool {
    !c.is_alphanumeric()
}

/// The places before and behind one that are nearest to it, within a part.
fn nearest(places: &[usize], at: usize, part: Range<usize>) -> impl Iterator<Item = usize> {
    let behind = places.partition_point(|place| *place < at);
    let before = behind.checked_sub(1).and_then(|no| places.get(no));
    let found = [before.copied(), places.get(behind).copied()];
    found
        .into_iter()
        .flatten()
        .filter(move |place| part.contains(place))
}
