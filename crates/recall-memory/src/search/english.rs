//! English word facts: function words, irregular forms, stems.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};

static FACTS: LazyLock<Facts> = LazyLock::new(|| Facts::parse(include_str!("words_en.txt")));

/// Words by which a question speaks of its asker.
const FIRST_PERSON: [&str; 9] = ["i", "im", "ive", "me", "mine", "my", "our", "us", "we"];

struct Facts {
    function_words: HashSet<&'static str>,
    bases: HashMap<&'static str, &'static str>,
}

impl Facts {
    fn parse(text: &'static str) -> Self {
        let mut facts = Self {
            function_words: HashSet::new(),
            bases: HashMap::new(),
        };
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            match words.next() {
                Some("stop") => facts.function_words.extend(words),
                Some("form") => {
                    if let Some(base) = words.next() {
                        facts.bases.extend(words.map(|form| (form, base)));
                    }
                }
                _ => {}
            }
        }
        facts
    }
}

/// Whether the word carries grammar only and is left out of index and question.
pub(super) fn is_function_word(word: &str) -> bool {
    FACTS.function_words.contains(word)
}

/// Whether the word names the asker.
pub(super) fn is_first_person(word: &str) -> bool {
    FIRST_PERSON.contains(&word)
}

/// The base form of an irregular form, any other word as it is.
pub(super) fn base_form(word: &str) -> &str {
    FACTS.bases.get(word).copied().unwrap_or(word)
}

/// The Snowball stem of an ASCII word.
pub(super) fn stem(word: &str) -> Cow<'_, str> {
    // Snowball leaves these as they are.
    if word.len() < 3 || word.bytes().all(|b| b.is_ascii_digit()) {
        return Cow::Borrowed(word);
    }
    Stemmer::create(Algorithm::English).stem(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(word: &str, expected: &str) {
        assert_eq!(stem(base_form(word)), expected, "{word}");
    }

    #[test]
    fn forms_of_a_word_become_one_term() {
        for (word, term) in [
            ("went", "go"),
            ("going", "go"),
            ("children", "child"),
            ("child", "child"),
            ("best", "good"),
            ("running", "run"),
            ("skies", "sky"),
            ("2024", "2024"),
            ("1990s", "1990s"),
        ] {
            check(word, term);
        }
    }

    #[test]
    fn the_word_facts_are_complete() {
        assert_eq!(FACTS.function_words.len(), 100);
        assert_eq!(FACTS.bases.len(), 181);
    }
}
