//! Turns words into the terms that are indexed and searched.

use rust_stemmers::{Algorithm, Stemmer};

use super::english::{base_form, is_first_person, is_function_word, stem};
use super::forms::{hindi_spelling, pieces};
use super::script::{Script, is_han};
use super::words::{Word, split};

/// Whether a term stands for a word of the text or for a piece of one.
///
/// Pieces make a word findable by what is in it. They are indexed behind all words of an item and
/// do not count in its length, so that prose ranks as if there were none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Word,
    Piece,
}

/// Elided words that French writes before a noun: in `l'hôtel` the `hotel` is findable too.
const ELIDED: [&str; 9] = ["c", "d", "j", "l", "m", "n", "qu", "s", "t"];

/// Leading forms of the Arabic article and what joins it, longest first.
const ARTICLES: [&str; 4] = ["وال", "بال", "ال", "لل"];

/// Calls `emit` with each term of the text in order; the same for items and questions.
///
/// Function words are no terms, but where they name something: in a text of nothing else, and where
/// several with capital letters follow one another, as in `they saw The Who`.
pub(super) fn terms(text: &str, emit: &mut dyn FnMut(&str, Kind)) {
    let mut names = Names::default();
    split(text, &mut |word| {
        if is_grammar(word) {
            return names.grammar(word);
        }
        names.content(word);
        match word.script {
            Script::Spaced => spaced(word, emit),
            Script::Spaceless => spaceless(word.text, emit),
            Script::Hangul => hangul(word.text, emit),
            Script::Arabic => emit(without_article(word.text), Kind::Word),
            Script::Cyrillic => emit(
                &Stemmer::create(Algorithm::Russian).stem(word.text),
                Kind::Word,
            ),
            Script::Emoji => emit(word.text, Kind::Word),
        }
    });
    names.end(emit);
    dates(text, &mut |date| emit(date, Kind::Piece));
}

/// Whether a text has function words and nothing else.
pub(super) fn is_all_grammar(text: &str) -> bool {
    let (mut any, mut all) = (false, true);
    split(text, &mut |word| {
        any = true;
        all &= is_grammar(word);
    });
    any && all
}

fn is_grammar(word: &Word<'_>) -> bool {
    word.script == Script::Spaced
        && word.plain
        && word.parts.is_empty()
        && is_function_word(word.text)
}

/// Function words that may be names.
#[derive(Default)]
struct Names {
    /// All of the text, until a word of content comes.
    all: Vec<String>,
    /// Those with capital letters that follow one another up to here, and before that.
    run: Vec<String>,
    found: Vec<String>,
    /// Words of content, and how many of them are in small letters.
    content: usize,
    small: bool,
}

impl Names {
    fn grammar(&mut self, word: &Word<'_>) {
        match word.title && !is_first_person(word.text) {
            true => self.run.push(word.text.to_owned()),
            false => self.end_run(),
        }
        if self.content == 0 {
            self.all.push(word.text.to_owned());
        }
    }

    fn content(&mut self, word: &Word<'_>) {
        self.end_run();
        self.content += 1;
        self.small |= !word.title && word.text.starts_with(char::is_lowercase);
        self.all.clear();
    }

    fn end_run(&mut self) {
        match self.run.len() {
            0 | 1 => self.run.clear(),
            _ => self.found.append(&mut self.run),
        }
    }

    fn end(mut self, emit: &mut dyn FnMut(&str, Kind)) {
        self.end_run();
        if self.content == 0 {
            self.all.iter().for_each(|word| emit(word, Kind::Word));
        } else if self.small {
            // In a heading every word has a capital letter.
            self.found.iter().for_each(|word| emit(word, Kind::Piece));
        }
    }
}

/// Calls `emit` with each date such as `2024-05-12` in a text.
pub(super) fn dates(text: &str, emit: &mut dyn FnMut(&str)) {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    for (at, _) in text.match_indices('-') {
        let Some(start) = at.checked_sub(4) else {
            continue;
        };
        let digits = [0, 1, 2, 3, 5, 6, 8, 9]
            .iter()
            .all(|place| is_digit(start + place));
        let ends =
            !is_digit(start + 10) && start.checked_sub(1).is_none_or(|before| !is_digit(before));
        if digits && ends && bytes.get(start + 7) == Some(&b'-') {
            emit(text.get(start..start + 10).unwrap_or_default());
        }
    }
}

fn spaced(word: &Word<'_>, emit: &mut dyn FnMut(&str, Kind)) {
    latin(word.text, word.plain, Kind::Word, emit);
    if let Some(start) = word.behind_apostrophe {
        let (elided, rest) = word.text.split_at(start);
        if ELIDED.contains(&elided) && rest.chars().nth(2).is_some() {
            latin(rest, word.plain, Kind::Piece, emit);
        }
    }
    if word.parts.is_empty() {
        return;
    }
    let mut start = 0;
    for &end in word.parts.iter().chain([&word.text.len()]) {
        let part = word.text.get(start..end).unwrap_or_default();
        if part.chars().nth(1).is_some() {
            latin(part, word.plain, Kind::Piece, emit);
        }
        start = end;
    }
}

/// `plain` is false where an accent came off: `für` is no function word, whatever `fur` is.
fn latin(word: &str, plain: bool, kind: Kind, emit: &mut dyn FnMut(&str, Kind)) {
    if !word.is_ascii() {
        let spelling = hindi_spelling(word);
        let word = spelling.as_deref().unwrap_or(word);
        emit(word, kind);
        return pieces(word, &mut |piece| emit(piece, Kind::Piece));
    }
    if !plain {
        return emit(&stem(word), kind);
    }
    if !is_function_word(word) {
        emit(&stem(base_form(word)), kind);
    }
}

/// Every two neighbours, and Han characters alone as well.
fn spaceless(run: &str, emit: &mut dyn FnMut(&str, Kind)) {
    bigrams(run, emit);
    let mut bytes = [0; 4];
    let alone = run.chars().nth(1).is_none();
    for c in run.chars().filter(|&c| !alone && is_han(c)) {
        emit(c.encode_utf8(&mut bytes), Kind::Word);
    }
}

/// Every two neighbours; the first syllable too, as a noun of one syllable has a particle behind.
fn hangul(word: &str, emit: &mut dyn FnMut(&str, Kind)) {
    bigrams(word, emit);
    let mut syllables = word.chars();
    if let (Some(first), Some(_)) = (syllables.next(), syllables.next()) {
        emit(first.encode_utf8(&mut [0; 4]), Kind::Piece);
    }
}

fn bigrams(run: &str, emit: &mut dyn FnMut(&str, Kind)) {
    let mut starts = run.char_indices().map(|(at, _)| at).chain([run.len()]);
    let (mut first, second) = (starts.next().unwrap_or(0), starts.next());
    let Some(mut second) = second else { return };
    if second == run.len() {
        return emit(run, Kind::Word);
    }
    for end in starts {
        emit(run.get(first..end).unwrap_or_default(), Kind::Word);
        (first, second) = (second, end);
    }
}

fn without_article(word: &str) -> &str {
    ARTICLES
        .into_iter()
        .find_map(|article| {
            word.strip_prefix(article)
                .filter(|rest| rest.chars().nth(2).is_some())
        })
        .unwrap_or(word)
}

#[cfg(test)]
mod tests;
