//! Any order of writes, removals and restorations ends in the index of the live items alone.

use jiff::Timestamp;
use proptest::prelude::*;

use crate::search::{Index, ItemNo, NewItem, Query, time};

/// Words to build items of; few, so that items share them.
const WORDS: [&str; 12] = [
    "amber",
    "boat",
    "cedar",
    "delta",
    "ember",
    "forest",
    "garden",
    "harbor",
    "island",
    "juniper",
    "getUserName",
    "京都の桜",
];

#[derive(Clone, Debug)]
struct Made {
    text: String,
    speaker: Option<&'static str>,
    session: Option<String>,
    day: i64,
}

impl Made {
    fn item(&self) -> NewItem<'_> {
        NewItem {
            text: &self.text,
            speaker: self.speaker,
            assistant: self.speaker == Some("assistant"),
            session: self.session.as_deref(),
            observed_at: Timestamp::from_second(self.day * 86_400).unwrap(),
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Insert(Made),
    Remove(usize),
    Restore(usize),
}

fn made() -> impl Strategy<Value = Made> {
    let words = proptest::collection::vec(0..WORDS.len(), 0..9);
    let speaker = prop_oneof![Just(None), Just(Some("Ana")), Just(Some("assistant"))];
    let session = prop_oneof![Just(None), (0..4u8).prop_map(|n| Some(format!("s{n}")))];
    (words, speaker, session, 19_000..19_060i64).prop_map(|(words, speaker, session, day)| Made {
        text: words
            .into_iter()
            .map(|word| WORDS[word])
            .collect::<Vec<_>>()
            .join(" "),
        speaker,
        session,
        day,
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => made().prop_map(Step::Insert),
        3 => (0..60usize).prop_map(Step::Remove),
        2 => (0..60usize).prop_map(Step::Restore),
    ];
    proptest::collection::vec(step, 1..90)
}

/// Cohesion remembers every write, so it is set to the same value in both.
fn empty() -> Index {
    Index {
        fixed_reach: Some(0.75),
        ..Index::default()
    }
}

fn answers(index: &Index, number: impl Fn(ItemNo) -> usize) -> Vec<Vec<(usize, f32)>> {
    let questions = [
        "amber boat",
        "my cedar delta",
        "islnad garden in march 2022",
        "get user 京都",
        "2022",
        "ember ember forest harbor juniper amber boat cedar",
        "桜",
        "What happened yesterday?",
        "juniper yesterday",
        "Ana",
    ];
    let now = Timestamp::from_second(19_040 * 86_400).unwrap();
    questions
        .iter()
        .map(|text| {
            let hits = index.search(
                &Query {
                    text,
                    limit: 200,
                    now,
                },
                &|_| true,
            );
            hits.iter()
                .map(|hit| (number(hit.item), hit.score))
                .collect()
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn history_leaves_no_trace(steps in steps()) {
        let mut index = empty();
        let mut all: Vec<(Made, bool)> = Vec::new();
        for step in steps {
            match step {
                Step::Insert(made) => {
                    prop_assert_eq!(index.insert(&made.item()) as usize, all.len());
                    all.push((made, true));
                }
                Step::Remove(at) => {
                    index.remove(at as ItemNo);
                    if let Some(entry) = all.get_mut(at) { entry.1 = false; }
                }
                Step::Restore(at) => {
                    index.restore(at as ItemNo);
                    if let Some(entry) = all.get_mut(at) { entry.1 = true; }
                }
            }
        }
        let mut fresh = empty();
        let mut numbers = Vec::new();
        for (at, (made, live)) in all.iter().enumerate() {
            if *live {
                fresh.insert(&made.item());
                numbers.push(at);
            }
        }
        prop_assert_eq!(index.len(), fresh.len());
        prop_assert_eq!(
            answers(&index, |item| item as usize),
            answers(&fresh, |item| numbers[item as usize])
        );
    }

    /// Of one day, in no session or each in one of its own: no order says anything about them.
    #[test]
    fn the_order_of_writes_changes_neither_what_is_found_nor_its_score(
        (all, order) in proptest::collection::vec(made(), 1..60).prop_flat_map(|all| {
            let places: Vec<usize> = (0..all.len()).collect();
            (Just(all), Just(places).prop_shuffle())
        }),
    ) {
        let alone: Vec<Made> = all.into_iter().enumerate().map(|(at, made)| Made {
            session: made.session.map(|_| format!("s{at}")),
            day: 19_039,
            ..made
        }).collect();
        let found = |order: &[usize]| {
            let mut index = Index::default();
            for at in order {
                index.insert(&alone[*at].item());
            }
            let mut answers = answers(&index, |item| order[item as usize]);
            for answer in &mut answers {
                answer.sort_by_key(|(at, _)| *at);
            }
            answers
        };
        let written: Vec<usize> = (0..alone.len()).collect();
        prop_assert_eq!(found(&written), found(&order));
    }

    #[test]
    fn any_text_is_indexed_and_asked_without_a_panic(
        texts in proptest::collection::vec(any::<String>(), 1..8),
        seconds in -300_000_000_000i64..=253_000_000_000,
    ) {
        let mut index = Index::default();
        let observed_at = Timestamp::from_second(seconds).unwrap();
        for text in &texts {
            let session = Some("s");
            index.insert(&NewItem { text, speaker: Some(text), assistant: false, session, observed_at });
        }
        for text in &texts {
            for now in [observed_at, Timestamp::MIN, Timestamp::MAX] {
                index.search(&Query { text, limit: 5, now }, &|_| true);
            }
        }
    }

    #[test]
    fn words_of_any_script_are_stemmed_without_a_panic(
        words in proptest::collection::vec("[a-z]{1,20}'?[a-z]{0,3}|[а-яё]{1,20}|[؀-ۿ]{1,9}|[ก-๛]{1,9}", 1..40),
    ) {
        let text = words.join(" ");
        let mut index = Index::default();
        let observed_at = Timestamp::UNIX_EPOCH;
        index.insert(&NewItem { text: &text, speaker: None, assistant: false, session: None, observed_at });
        index.search(&Query { text: &text, limit: 5, now: observed_at }, &|_| true);
    }

    #[test]
    fn time_phrases_never_panic(
        count in "[0-9]{1,6}|a|a few|twelve",
        frame in prop_oneof![Just("ago"), Just("last"), Just("in")],
        unit in prop_oneof![Just("days"), Just("weeks"), Just("months"), Just("years"), Just("march"), Just("sunday")],
        seconds in Timestamp::MIN.as_second()..Timestamp::MAX.as_second(),
    ) {
        let now = Timestamp::from_second(seconds).unwrap();
        for text in [format!("{count} {unit} {frame}"), format!("{frame} {count} {unit}"), format!("{frame} {unit} {count}")] {
            for span in time::spans(&text, now) {
                prop_assert!(span.from < span.to, "{}", text);
            }
        }
    }
}
