//! The words that statements were drawn from, and where a text says them again.

use super::View;
use super::repeats::{How, Repeat, Said};
use super::runs::Runs;
use super::served::Reading;
use crate::search::plain::Plain;
use crate::sentence;

/// Words of a sentence from which on it is known inside a longer one; what is shorter is said by chance.
const SENTENCE: usize = 3;
/// Sentences that hold the words of one statement.
const MAX_SENTENCES: usize = 8;
/// Statements that were drawn from the same words that are looked at, the latest of them.
const MAX_ALIKE: usize = 64;

/// Where statements were drawn from, by their words.
pub(super) type Quotes = Runs<Quote>;

/// A statement, by its place, and the words of one sentence that it was drawn from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quote {
    no: u32,
    slot: u32,
    /// Whether they count only where they stand as a sentence of their own.
    alone: bool,
}

impl View {
    /// Remembers by what words a statement was drawn from a text.
    pub(super) fn note_quotes(&mut self, no: u32, slot: u32) {
        let words = self.drawn_words(no, slot);
        for (words, alone) in words {
            self.quotes.add(&words, Quote { no, slot, alone });
        }
    }

    /// The sentences that hold the evidence of a statement, and the evidence; with each whether it counts
    /// only where it stands alone.
    fn drawn_words(&self, no: u32, slot: u32) -> Vec<(Plain, bool)> {
        let event = self.pair(no).and_then(|pair| pair.event(slot));
        let Some((event, evidence)) = event.and_then(|it| Some((it, it.evidence()?))) else {
            return Vec::new();
        };
        let text = self.kept_text(event).unwrap_or_default();
        let sentences = sentence::holding(text, evidence).take(MAX_SENTENCES);
        let mut words: Vec<(Plain, bool)> = sentences
            .map(|sentence| {
                let words = Plain::of(sentence::without_role(sentence));
                let short = words.len() < SENTENCE;
                (words, short)
            })
            .collect();
        let evidence = Plain::of(evidence);
        if !words.iter().any(|(other, _)| other.all() == evidence.all()) {
            words.push((evidence, true));
        }
        words
    }
}

impl Reading<'_> {
    /// Where the text says what statements were drawn from; at most `most`. Words that go on behind are
    /// other words: `Alice lives in Rome again`.
    pub(super) fn quoted(&self, most: usize) -> Vec<Repeat> {
        let mut found = Vec::new();
        for end in (1..=self.plain.len()).filter(|end| self.plain.gap(*end).parts()) {
            for length in self.view.quotes.lengths(end) {
                let at = end - length..end;
                let of = self.drawn_from(at.start, self.plain.words(at.clone()), at.end);
                if !of.is_empty() {
                    let at = self.plain.raw(at);
                    found.push(Repeat {
                        at,
                        how: How::Quote,
                        of,
                    });
                }
            }
            if found.len() >= most {
                break;
            }
        }
        found
    }

    /// The statements that were drawn from these words.
    fn drawn_from(&self, start: usize, words: &str, end: usize) -> Vec<Said> {
        let whole = self.plain.gap(start).parts();
        let alike = self
            .view
            .quotes
            .find(self.plain, start..end)
            .take(MAX_ALIKE);
        let alike: Vec<Quote> = alike.filter(|it| whole || !it.alone).collect();
        // One look tells whether the words are the same and not only their sum.
        let first = alike
            .first()
            .map(|it| self.view.drawn_words(it.no, it.slot));
        if !first.is_some_and(|first| first.iter().any(|(own, _)| own.all() == words)) {
            return Vec::new();
        }
        let said = alike.iter().map(|it| Said {
            no: it.no,
            slot: it.slot,
        });
        said.filter(|it| self.names(it.no)).collect()
    }

    /// Whether the text names the subject of a pair: the words alone may be anybody's.
    fn names(&self, no: u32) -> bool {
        let subject = self.view.pair(no).map(|pair| self.view.subject_name(pair));
        subject.is_some_and(|name| {
            let words = Plain::of(&name);
            match words.is_empty() {
                true => self.text.contains(&*name),
                // A role tells who wrote a line, not whom it is about.
                false if sentence::is_role(&name) => self.text.lines().any(|line| {
                    let line = Plain::of(sentence::without_role(line));
                    line.says(&words)
                }),
                false => self.plain.says(&words),
            }
        })
    }
}
