//! Sentences of statements in a text: `user prefers editor: vim`, however it is marked up, and the same as
//! a row of the typed surface.

use std::ops::Range;

use super::View;
use super::repeats::{How, Repeat, Said};
use super::spoken::{MAX_WORDLESS, Values};
use crate::search::plain::Plain;

/// Names that differ in signs alone, which read alike, that are looked at.
const MAX_ALIKE: usize = 64;
/// What a row of the typed surface calls its parts.
const LABELS: [&str; 3] = ["subject", "predicate", "value"];

/// A text that is looked through.
pub(super) struct Reading<'t, 'v> {
    pub(super) view: &'v View,
    pub(super) text: &'t str,
    pub(super) plain: &'t Plain,
    pub(super) values: &'t Values<'v>,
}

/// A sentence in the making.
struct Sentence {
    /// The words up to which its subject stands, and from which on its value does.
    subject_ends: usize,
    value_begins: usize,
    predicate: u32,
    how: How,
}

impl<'v> Reading<'_, 'v> {
    /// The sentences of statements that were ever made, where they stand in the text; at most `most`.
    pub(super) fn served(&self, most: usize) -> Vec<Repeat<'v>> {
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
        let subject_ends = label.unwrap_or(at.start);
        let value_begins = at.end + usize::from(self.plain.is(at.end, value));
        let mut gaps = (subject_ends..=value_begins).map(|no| self.plain.gap(no));
        let signed = gaps.any(|gap| gap.sign);
        let colon = self.plain.gap(at.end).colon || self.plain.gap(value_begins).colon;
        Sentence {
            subject_ends,
            value_begins,
            predicate,
            how: match (signed, colon) {
                (true, true) => How::Answer,
                (true, false) => How::Marked,
                (false, _) => How::Words,
            },
        }
    }

    /// The longest sentence with this predicate, with all statements that read so.
    fn sentence(&self, sentence: &Sentence) -> Option<Repeat<'v>> {
        let mut best: Option<Repeat<'v>> = None;
        let end = sentence.subject_ends;
        for length in self.view.subjects.said.lengths(end) {
            let at = end - length..end;
            let start = self.plain.raw(at.clone()).start;
            for subject in self.subjects(at) {
                self.statement(subject, start, sentence, &mut best);
            }
        }
        // A subject of signs alone stands in the gap before the predicate.
        let gap = self.plain.raw_gap(end, self.text);
        for subject in self.view.subjects.wordless.iter().take(MAX_WORDLESS) {
            let name = self.view.subject(*subject).map(|it| &it.name);
            let at = name.and_then(|name| self.text.get(gap.clone())?.find(&**name));
            if let Some(at) = at {
                self.statement(*subject, gap.start + at, sentence, &mut best);
            }
        }
        best
    }

    fn statement(
        &self,
        subject: u32,
        start: usize,
        sentence: &Sentence,
        best: &mut Option<Repeat<'v>>,
    ) {
        let found = self.value(subject, sentence.predicate, sentence.value_begins);
        let Some((end, said)) = found else { return };
        let at = start..end.max(start);
        match best {
            Some(best) if best.at == at => best.of.extend(said),
            Some(best) if best.at.len() >= at.len() => {}
            _ => {
                *best = Some(Repeat {
                    at,
                    how: sentence.how,
                    of: said,
                });
            }
        }
    }

    /// The values of a pair that stand from a word on, and where in the text they end.
    fn value(&self, subject: u32, predicate: u32, from: usize) -> Option<(usize, Vec<Said<'v>>)> {
        let no = self.view.pair_no(subject, predicate)?;
        let pair = self.view.pair(no)?;
        let spoken = self.values.of(no, pair);
        let found = spoken.at(self.plain, self.text, from)?;
        let end = match found.sign {
            Some(end) => self.plain.raw_gap(from, self.text).start + end,
            None => self.plain.raw(from..from + found.words).end,
        };
        let said = found.values.iter().map(|value| Said {
            no,
            pair,
            value,
            note: None,
        });
        Some((end, said.collect()))
    }

    /// Rows whose parts carry their labels and stand in any order, as in JSON with sorted keys.
    fn labelled(&self, most: usize, found: &mut Vec<Repeat<'v>>) {
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

    fn row(&self, subject: usize, predicate: usize, value: usize) -> Option<Repeat<'v>> {
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
                    let Some((end, of)) = self.value(subject, own, value + 1) else {
                        continue;
                    };
                    let named = self.plain.raw(0..own_end.max(subject_end)).end;
                    return Some(Repeat {
                        at: start..end.max(named),
                        how: How::Answer,
                        of,
                    });
                }
            }
        }
        None
    }
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
