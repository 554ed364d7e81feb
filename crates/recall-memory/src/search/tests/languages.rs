//! In every script, a word of a sentence finds the sentence.

use jiff::Timestamp;

use crate::search::{Index, NewItem, Query};

const TABLE: &str = include_str!("../testdata/languages.txt");

struct Language {
    name: &'static str,
    /// A sentence and the words that find it.
    rows: Vec<(&'static str, Vec<&'static str>)>,
}

fn languages() -> Vec<Language> {
    let mut languages: Vec<Language> = Vec::new();
    for line in TABLE.lines() {
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|line| line.strip_suffix(']'))
        {
            languages.push(Language {
                name,
                rows: Vec::new(),
            });
        } else if let Some((sentence, words)) = line.split_once(" | ") {
            let words = words.split(", ").collect();
            languages.last_mut().unwrap().rows.push((sentence, words));
        }
    }
    languages
}

fn index<'a>(texts: impl IntoIterator<Item = &'a str>) -> Index {
    let mut index = Index::default();
    for text in texts {
        index.insert(&NewItem {
            text,
            speaker: None,
            assistant: false,
            session: None,
            observed_at: Timestamp::UNIX_EPOCH,
        });
    }
    index
}

/// Words of the list that do not find the item first.
fn missed<'a>(index: &Index, words: &[&'a str], item: u32) -> Vec<&'a str> {
    let first = |text| {
        let query = Query {
            text,
            limit: 1,
            now: Timestamp::UNIX_EPOCH,
        };
        index.search(&query, &|_| true).first().map(|hit| hit.item)
    };
    words
        .iter()
        .copied()
        .filter(|&word| first(word) != Some(item))
        .collect()
}

#[test]
fn every_language_has_ten_sentences() {
    for language in languages() {
        assert!(language.rows.len() >= 10, "{}", language.name);
    }
    assert_eq!(languages().len(), 28);
}

#[test]
fn a_word_finds_its_sentence_among_all_languages() {
    let languages = languages();
    let rows: Vec<_> = languages
        .iter()
        .flat_map(|language| &language.rows)
        .collect();
    let index = index(rows.iter().map(|row| row.0));
    let mut failures = Vec::new();
    for (item, (sentence, words)) in rows.iter().enumerate() {
        let missed = missed(&index, words, item as u32);
        if !missed.is_empty() {
            failures.push(format!("{sentence}: {missed:?}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn a_word_finds_the_paragraph_it_is_in() {
    let languages = languages();
    let paragraphs: Vec<String> = languages
        .iter()
        .map(|language| {
            language
                .rows
                .iter()
                .map(|row| row.0)
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    let index = index(paragraphs.iter().map(String::as_str));
    let mut failures = Vec::new();
    for (item, language) in languages.iter().enumerate() {
        for (_, words) in &language.rows {
            let missed = missed(&index, words, item as u32);
            if !missed.is_empty() {
                failures.push(format!("{}: {missed:?}", language.name));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
