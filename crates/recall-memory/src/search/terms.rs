//! Turns words into the terms that are indexed and searched.

use rust_stemmers::{Algorithm, Stemmer};

use super::english::{base_form, is_function_word, stem};
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
pub(super) fn terms(text: &str, emit: &mut dyn FnMut(&str, Kind)) {
    split(text, &mut |word| match word.script {
        Script::Spaced => spaced(word, emit),
        Script::Spaceless => spaceless(word.text, emit),
        Script::Hangul => hangul(word.text, emit),
        Script::Arabic => emit(without_article(word.text), Kind::Word),
        Script::Cyrillic => emit(
            &Stemmer::create(Algorithm::Russian).stem(word.text),
            Kind::Word,
        ),
        Script::Emoji => emit(word.text, Kind::Word),
    });
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
        return emit(word, kind);
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
