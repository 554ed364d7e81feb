//! Texts in the one form in which it is decided whether they say the same: their words alone, in one
//! spelling, without punctuation and markup.
//!
//! `**Rome**`, `"rome"` and `ＲＯＭＥ` are one word; `lives_in`, `lives-in` and `Lives In` are two. Where
//! a script writes no spaces, each character is a word. A pictograph is a word too.

use std::hash::{DefaultHasher, Hasher as _};
use std::ops::Range;

use unicode_normalization::UnicodeNormalization as _;

use super::fold::{characters, fold};
use super::script::{Script, continues_word, is_invisible, script_of};

/// What fills the place of an escape that was undone; it shows nothing.
pub(crate) const PAD: char = '\u{1}';

/// Multiplier of the sums by which runs of words are known; any odd number does.
const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

/// The words of a text, and where in it they stand.
#[derive(Debug)]
pub(crate) struct Plain {
    /// Each word between two blanks.
    text: String,
    words: Vec<Word>,
    /// What stands before each word, and behind the last.
    gaps: Vec<Gap>,
    /// Sums over the words up to each, from which that of any run follows.
    sums: Vec<u64>,
    /// Powers of the factor.
    powers: Vec<u64>,
}

#[derive(Debug)]
struct Word {
    /// In the words' text.
    at: Range<usize>,
    /// In the text as it was given.
    raw: Range<usize>,
}

/// What stands between two words.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gap {
    /// Anything but blanks.
    pub(crate) sign: bool,
    /// The end of a line, or of the text.
    pub(crate) line: bool,
    /// One sign alone that makes the words beside it one, as in `Baden-Baden` and `3.5`.
    pub(crate) joins: bool,
}

impl Gap {
    /// Whether a sentence may end or begin here.
    pub(crate) fn parts(self) -> bool {
        self.sign || self.line
    }
}

impl Plain {
    pub(crate) fn of(text: &str) -> Self {
        let mut plain = Self {
            text: String::with_capacity(text.len() + 2),
            words: Vec::new(),
            gaps: Vec::new(),
            sums: vec![0],
            powers: vec![1],
        };
        plain.text.push(' ');
        let mut runs = Runs { text, from: 0 };
        while let Some(run) = runs.next_run() {
            plain.push_run(text, run);
        }
        plain.measure_gaps(text);
        plain
    }

    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Some of the words, one blank between two of them.
    pub(crate) fn words(&self, at: Range<usize>) -> &str {
        let (first, last) = (self.words.get(at.start), at.end.checked_sub(1));
        let last = last.and_then(|last| self.words.get(last));
        let found = first.zip(last).filter(|_| !at.is_empty());
        let found = found.and_then(|(first, last)| self.text.get(first.at.start..last.at.end));
        found.unwrap_or_default()
    }

    /// All words.
    pub(crate) fn all(&self) -> &str {
        self.words(0..self.len())
    }

    /// All words from one on.
    pub(crate) fn from(&self, word: usize) -> &str {
        self.words(word..self.len())
    }

    /// Whether a word is this one.
    pub(crate) fn is(&self, at: usize, word: &str) -> bool {
        self.words(at..at + 1) == word
    }

    /// Where some words stand in the text as it was given; for none, the place before the word that
    /// follows.
    pub(crate) fn raw(&self, at: Range<usize>) -> Range<usize> {
        let start = |word: usize| self.words.get(word).map(|word| word.raw.start);
        let end = |word: usize| self.words.get(word).map(|word| word.raw.end);
        let last = at.end.checked_sub(1).and_then(end).unwrap_or_default();
        match at.is_empty() {
            true => last..last,
            false => start(at.start).unwrap_or(last)..last,
        }
    }

    /// Where what stands before a word, or behind the last, is in the text as it was given.
    pub(crate) fn raw_gap(&self, before: usize, text: &str) -> Range<usize> {
        let from = before.checked_sub(1).and_then(|word| self.words.get(word));
        let to = self.words.get(before);
        let from = from.map_or(0, |word| word.raw.end);
        from..to.map_or(text.len(), |word| word.raw.start).max(from)
    }

    /// What stands before a word, or behind the last.
    pub(crate) fn gap(&self, before: usize) -> Gap {
        self.gaps.get(before).copied().unwrap_or_default()
    }

    /// The words that stand in a part of the text as it was given.
    pub(crate) fn words_in(&self, part: Range<usize>) -> Range<usize> {
        let first = self
            .words
            .partition_point(|word| word.raw.start < part.start);
        let end = self.words.partition_point(|word| word.raw.end <= part.end);
        first..end.max(first)
    }

    /// By what some of the words are known: equal runs have equal sums, and others hardly ever.
    pub(crate) fn sum(&self, at: Range<usize>) -> u64 {
        let sums = self.sums.get(at.start).zip(self.sums.get(at.end));
        let power = self.powers.get(at.len());
        let Some(((before, until), power)) = sums.zip(power) else {
            return 0;
        };
        until.wrapping_sub(before.wrapping_mul(*power))
    }

    /// Whether the words of another text stand among these, one behind the other.
    pub(crate) fn says(&self, other: &Self) -> bool {
        !other.is_empty() && self.text.contains(other.text.as_str())
    }

    /// Takes in a run of characters without a gap: one word, or several where the script has no spaces.
    fn push_run(&mut self, text: &str, run: Range<usize>) {
        let written = text.get(run.clone()).unwrap_or_default();
        if written.is_ascii() {
            let word = written.bytes().filter(u8::is_ascii_alphanumeric);
            let word: String = word.map(|b| char::from(b.to_ascii_lowercase())).collect();
            return self.push(&word, run);
        }
        let (mut word, mut alone) = (String::new(), false);
        let mut words = Vec::new();
        for c in characters(written).filter(|c| *c != PAD) {
            let script = script_of(c);
            let lone = matches!(
                script,
                Some(Script::Spaceless | Script::Hangul | Script::Emoji)
            );
            let ends =
                (script.is_none() && !continues_word(c)) || lone || (alone && script.is_some());
            if ends && !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            if script.is_some() || continues_word(c) {
                alone = lone || (alone && script.is_none());
                fold(c, &mut |c| word.push(c));
            }
        }
        words.push(word);
        // Where each character is a word of its own, each has its place; else the run is their place.
        let letters: Vec<_> = written.char_indices().filter(|(_, c)| *c != PAD).collect();
        let each = letters.len() == words.len();
        for (no, word) in words.iter().enumerate() {
            let place = letters.get(no).filter(|_| each);
            let place = place.map(|(at, c)| run.start + at..run.start + at + c.len_utf8());
            self.push(word, place.unwrap_or_else(|| run.clone()));
        }
    }

    fn push(&mut self, word: &str, raw: Range<usize>) {
        // Marks that are left without their letter are no word.
        if !word.chars().any(|c| script_of(c).is_some()) {
            return;
        }
        let start = self.text.len();
        self.text.push_str(word);
        let at = start..self.text.len();
        self.text.push(' ');
        self.words.push(Word { at, raw });
        let mut hasher = DefaultHasher::new();
        hasher.write(word.as_bytes());
        let before = self.sums.last().copied().unwrap_or_default();
        let sum = before.wrapping_mul(FACTOR).wrapping_add(hasher.finish());
        self.sums.push(sum);
        let power = self.powers.last().copied().unwrap_or(1);
        self.powers.push(power.wrapping_mul(FACTOR));
    }

    fn measure_gaps(&mut self, text: &str) {
        let gaps = (0..=self.words.len()).map(|before| {
            let gap = text.get(self.raw_gap(before, text)).unwrap_or_default();
            let ends = before == 0 || before == self.words.len();
            let digits = !ends
                && self
                    .words(before - 1..before)
                    .ends_with(|c: char| c.is_ascii_digit())
                && self
                    .words(before..before + 1)
                    .starts_with(|c: char| c.is_ascii_digit());
            measured(gap, ends, digits)
        });
        self.gaps = gaps.collect();
    }
}

/// Colons, of whatever width.
const COLONS: &[char] = &[
    ':', '\u{ff1a}', '\u{fe55}', '\u{fe13}', '\u{2236}', '\u{a789}',
];

/// Whether what stands between two words has a sign by which rows and tables part them. People put signs
/// of emphasis, quotes and brackets into their sentences, and end them.
pub(crate) fn tabulates(gap: &str) -> bool {
    const WRITTEN: &[char] = &[
        '*', '_', '`', '~', '"', '\'', '(', ')', '[', ']', '{', '}', '<', '>', '#', '.', '!', '?',
        '\u{2026}', '\u{3002}', '\u{ff01}', '\u{ff1f}', '\u{2018}', '\u{2019}', '\u{201a}',
        '\u{201c}', '\u{201d}', '\u{201e}', '\u{ab}', '\u{bb}', '\u{300c}', '\u{300d}',
    ];
    let signs = gap.chars().filter(|c| !c.is_whitespace() && !is_hidden(*c));
    let signs = signs.filter(|c| !WRITTEN.contains(c) && !is_of_word(*c));
    signs.count() > 0
}

/// Whether what stands between two words has a colon.
pub(crate) fn has_colon(gap: &str) -> bool {
    gap.contains(COLONS)
}

/// `ends` for the gap before the first word and the one behind the last, `digits` for one between digits.
fn measured(gap: &str, ends: bool, digits: bool) -> Gap {
    const JOINING: &[char] = &[
        '-', '_', '/', '\'', '\u{2019}', '&', '+', '@', '\u{2010}', '\u{2011}',
    ];
    let mut signs = gap.chars().filter(|c| *c != PAD);
    let only = signs.next().filter(|_| signs.next().is_none());
    let joins =
        only.is_some_and(|c| JOINING.contains(&c) || (digits && matches!(c, '.' | ',' | ':')));
    Gap {
        sign: gap.chars().any(|c| !c.is_whitespace() && !is_hidden(c)),
        line: ends || gap.contains(['\n', '\r', '\u{2028}', '\u{2029}']),
        joins: joins && !ends,
    }
}

/// Runs of characters that belong to words.
struct Runs<'t> {
    text: &'t str,
    from: usize,
}

impl Runs<'_> {
    fn next_run(&mut self) -> Option<Range<usize>> {
        let rest = self.text.get(self.from..)?;
        let start = self.from + rest.find(is_of_word)?;
        let mut end = start;
        while let Some(next) = self.step(start, end) {
            end = next;
        }
        self.from = end + possessive(self.text.get(end..)?);
        Some(start..end)
    }

    /// Where a run ends that has come up to `end`, if it goes on.
    fn step(&self, start: usize, end: usize) -> Option<usize> {
        let rest = self.text.get(end..)?;
        let c = rest.chars().next()?;
        let goes_on = is_of_word(c) || continues_word(c) || is_hidden(c) || {
            let digit = self
                .text
                .get(start..end)?
                .ends_with(|c: char| c.is_ascii_digit());
            digit && c == ',' && is_thousand(rest.get(1..)?)
        };
        goes_on.then(|| end + c.len_utf8())
    }
}

fn is_hidden(c: char) -> bool {
    c == PAD || is_invisible(c)
}

/// Whether a character makes a word, now or in compatibility form (`㎞`).
fn is_of_word(c: char) -> bool {
    match c.is_ascii() {
        true => c.is_ascii_alphanumeric(),
        false => script_of(c).is_some() || std::iter::once(c).nfkc().any(char::is_alphanumeric),
    }
}

/// Whether exactly three digits come first, as behind the comma of `8,000`.
fn is_thousand(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit);
    digits.take(4).count() == 3
}

/// How long the `'s` is that a text begins with: `Kai's` is Kai.
fn possessive(text: &str) -> usize {
    let rest = text.strip_prefix(['\'', '\u{2019}', '\u{2bc}']);
    let rest = rest.and_then(|rest| rest.strip_prefix(['s', 'S']));
    let whole = rest.filter(|rest| !rest.starts_with(|c| is_of_word(c) || continues_word(c)));
    whole.map_or(0, |rest| text.len() - rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, words: &str) {
        let plain = Plain::of(text);
        assert_eq!(plain.all(), words, "{text:?}");
        for no in 0..plain.len() {
            let raw = plain.raw(no..no + 1);
            assert!(
                text.get(raw.clone()).is_some_and(|raw| !raw.is_empty()),
                "{text:?} {raw:?}"
            );
        }
    }

    #[test]
    fn words_are_what_is_left_of_a_text() {
        for text in [
            "kai lives in: Rome",
            "Kai\u{a0} LIVES-in:\n**Rome**!",
            "\u{201c}kai\u{201d} (lives_in): 'Rome'",
            "ｋａｉ lives in：Ｒｏｍｅ",
            "| kai | lives_in | Rome |",
            "Kai's lives in: Ro\u{200b}me",
            "ka\u{0301}i lives ín Rome\u{2026}",
        ] {
            check(text, "kai lives in rome");
        }
        check("", "");
        check(" \u{2026}!? ", "");
        check("@ann, _x_ & C++", "ann x c");
        check("\u{1f680} rocket", "\u{1f680} rocket");
        check("8,000 or 8,00 or 1,234,567", "8000 or 8 00 or 1234567");
        check("3.5 km", "3 5 km");
        check("妹は犬", "妹 は 犬");
        check("강아지 a", "강 아 지 a");
        check("ﾊﾞｲｵﾘﾝ", "ば い お り ん");
        check("แมว", "แ ม ว");
        check("Straße STRASSE", "strasse strasse");
        check("O'Hara's and its", "o hara and its");
    }

    #[test]
    fn runs_of_words_are_known_by_their_sums() {
        let (one, two) = (
            Plain::of("so: Ann Marie, lives in Rome"),
            Plain::of("ann-marie"),
        );
        assert_eq!(one.sum(1..3), two.sum(0..2));
        assert_ne!(one.sum(1..2), two.sum(0..2));
        assert_ne!(one.sum(0..2), two.sum(0..2));
        assert!(one.says(&two) && !two.says(&one));
        assert!(!Plain::of("ann mariette").says(&two));
        assert!(!one.says(&Plain::of("")));
    }

    #[test]
    fn signs_of_rows_are_none_that_people_write_in_sentences() {
        for (gap, rows) in [
            (" ", false),
            ("** *", false),
            ("\u{201d} (", false),
            (". ", false),
            (": ", true),
            (" | ", true),
            (" \u{2192} ", true),
            (" - ", true),
            ("\u{ff1a}", true),
            (",", true),
            ("=\"", true),
        ] {
            assert_eq!(tabulates(gap), rows, "{gap:?}");
        }
        assert!(has_colon("\u{ff1a}") && !has_colon("; "));
    }

    #[test]
    fn gaps_say_what_parts_and_what_joins() {
        let text = "a: b-c. 3.5 d\ne \u{201c}f\u{201d}";
        let plain = Plain::of(text);
        let gaps: Vec<String> = (0..=plain.len())
            .map(|no| {
                let gap = plain.gap(no);
                let flags = [(gap.sign, 's'), (gap.line, 'l'), (gap.joins, 'j')];
                flags
                    .iter()
                    .filter(|(set, _)| *set)
                    .map(|(_, flag)| flag)
                    .collect()
            })
            .collect();
        assert_eq!(gaps, ["l", "s", "sj", "s", "sj", "", "l", "s", "sl"]);
        assert_eq!(text.get(plain.raw_gap(1, text)), Some(": "));
    }

    proptest::proptest! {
        /// Any text: its words stand where they are said to stand, and signs around it change none.
        #[test]
        fn any_text_is_read(text in "\\PC{0,40}") {
            let plain = Plain::of(&text);
            for no in 0..plain.len() {
                let at = plain.raw(no..no + 1);
                proptest::prop_assert!(text.get(at).is_some_and(|raw| !raw.is_empty()));
                proptest::prop_assert!(text.get(plain.raw_gap(no, &text)).is_some());
            }
            let marked = format!("> **{text}**\n");
            let marked = Plain::of(&marked);
            proptest::prop_assert_eq!(marked.all(), plain.all());
        }
    }
}
