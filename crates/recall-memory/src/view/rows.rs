//! Rows of answers: what stands in them beside the sentences of statements.

use std::ops::Range;

use super::repeats::{How, Repeat, Said};
use super::served::Reading;
use crate::search::plain::{PAD, has_colon};

/// Members that hold words, by their words.
const WORDS: [&str; 6] = ["said", "text", "value", "evidence", "source text", "memory"];
/// Members that hold what was so before, and name it bare where somebody writes rows as lines.
const BEFORE: [&str; 3] = ["before", "replaced", "replaces"];
/// Members that hold data on a statement.
const DATA: [&str; 16] = [
    "since",
    "days ago",
    "observed at",
    "recorded at",
    "stated at",
    "at",
    "confidence",
    "kind",
    "source",
    "event id",
    "evidence id",
    "cardinality",
    "value type",
    "rank",
    "already known",
    "revision",
];
/// Members that hold others.
const OTHERS: [&str; 16] = [
    "memories",
    "no longer",
    "elsewhere",
    "subject",
    "predicate",
    "history",
    "about",
    "now",
    "changes",
    "change",
    "ended",
    "began",
    "results",
    "result",
    "remembered",
    "statement",
];
/// Members of which one at least stands in each row.
const MARKS: [&str; 5] = ["since", "days ago", "before", "predicate", "replaced"];

impl Reading<'_> {
    /// Where members of rows hold words: what a statement says, what it replaced, and whence it came.
    /// What is not quoted is one only beside `sentences`: people write colons too.
    pub(super) fn members(&self, sentences: &[Repeat]) -> Vec<Range<usize>> {
        let marked = |at: usize| self.member(at, &MARKS).is_some();
        let is_row = !sentences.is_empty() || (0..self.plain.len()).any(marked);
        let mut found = Vec::new();
        for at in (0..self.plain.len()).filter(|_| is_row) {
            if let Some(end) = self.member(at, &WORDS) {
                found.extend(
                    self.quoted_at(end)
                        .or_else(|| match self.plain.words(at..end) {
                            // People write so of a text.
                            "text" => None,
                            "value" => self.until(end, &[',', '}', ']', '\n']),
                            _ => self.until(end, &['\n']),
                        }),
                );
            } else if let Some(end) = self.member(at, &BEFORE).filter(|_| !sentences.is_empty()) {
                found.extend(self.until(end, &[',', ';', ')', '}', ']', '\n']));
            }
        }
        found
    }

    /// The values that members name bare: they are of the statement that stands nearest before, or first.
    pub(super) fn before(&self, sentences: &[Repeat]) -> Vec<Repeat> {
        let Some(first) = sentences.first() else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for at in self.members(sentences) {
            let no = sentences.partition_point(|it| it.at.start < at.start);
            let beside = no.checked_sub(1).and_then(|no| sentences.get(no));
            let words = self.plain.words_in(at);
            for of in &beside.unwrap_or(first).of {
                let Some(pair) = of.pair(self.view) else {
                    continue;
                };
                let values = self.values.of(of.no, pair);
                let value = values.at(self.plain, self.text, words.start);
                let value = value.filter(|it| it.words > 0 && it.words == words.len());
                let said = value.iter().flat_map(|it| it.slots).map(|slot| Said {
                    no: of.no,
                    slot: *slot,
                });
                let said: Vec<Said> = said.collect();
                if !said.is_empty() {
                    found.push(Repeat {
                        at: self.plain.raw(words.clone()),
                        how: How::Answer,
                        of: said,
                    });
                }
            }
        }
        found
    }

    /// Everything that rows hold beside the sentences of statements, names of members too.
    pub(super) fn beside(&self, sentences: &[Repeat]) -> Vec<Range<usize>> {
        let mut found = self.members(sentences);
        for at in 0..self.plain.len() {
            let end = [&WORDS[..], &BEFORE, &DATA, &OTHERS]
                .iter()
                .find_map(|names| self.member(at, names));
            if let Some(end) = end {
                found.push(self.plain.raw(at..end));
                if self.member(at, &DATA).is_some() {
                    found.extend(self.until(end, &[',', '}', ']', ')', '\n']));
                }
                continue;
            }
            // As people shorten it: `since 2026-06-01`, `3 days ago`.
            if self.plain.is(at, "since") && self.is_number(at + 1) {
                let numbers = (at + 1..self.plain.len()).take_while(|no| self.is_number(*no));
                found.push(self.plain.raw(at..at + 1 + numbers.count()));
            }
            if self.is_number(at) && self.plain.words(at + 1..at + 3) == "days ago" {
                found.push(self.plain.raw(at..at + 3));
            }
        }
        found
    }

    /// Where the name of a member ends that begins with a word, if it is any of some.
    fn member(&self, at: usize, names: &[&str]) -> Option<usize> {
        let ends = names.iter().filter_map(|name| {
            let end = at + name.split(' ').count();
            (self.plain.words(at..end) == *name).then_some(end)
        });
        let gap = |end: &usize| self.text.get(self.plain.raw_gap(*end, self.text));
        ends.into_iter().find(|end| gap(end).is_some_and(has_colon))
    }

    /// The quoted words behind the name of a member.
    fn quoted_at(&self, end: usize) -> Option<Range<usize>> {
        let gap = self.plain.raw_gap(end, self.text);
        let colon = self.text.get(gap.clone())?.find(':')?;
        let start = gap.start + colon + 1;
        let rest = self.text.get(start..)?;
        let open = rest.trim_start_matches(|c: char| c.is_whitespace() || c == PAD);
        let from = start + rest.len() - open.len() + 1;
        let depth = self.depth(from - 1);
        let words = open.strip_prefix('"').and_then(|_| self.text.get(from..))?;
        let mut ends = words.match_indices('"').map(|(no, _)| from + no);
        let to = ends.find(|to| self.depth(*to) <= depth)?;
        Some(from..to)
    }

    /// How often a quote was escaped.
    fn depth(&self, quote: usize) -> usize {
        let escape = self.raw.get(quote..).unwrap_or_default();
        escape.len() - escape.trim_start_matches('\\').len()
    }

    /// What stands behind the name of a member up to any of some signs.
    fn until(&self, end: usize, signs: &[char]) -> Option<Range<usize>> {
        let gap = self.plain.raw_gap(end, self.text);
        let start = gap.start;
        let start = start + self.text.get(gap)?.find(has_colon_sign)?;
        let rest = self.text.get(start..)?;
        let blank = rest.len()
            - rest
                .trim_start_matches(|c: char| !c.is_alphanumeric())
                .len();
        let to = rest.get(blank..)?.find(signs);
        Some(start..to.map_or(self.text.len(), |to| start + blank + to))
    }

    fn is_number(&self, at: usize) -> bool {
        self.plain
            .words(at..at + 1)
            .starts_with(|c: char| c.is_ascii_digit())
    }
}

fn has_colon_sign(c: char) -> bool {
    has_colon(c.encode_utf8(&mut [0; 4]))
}
