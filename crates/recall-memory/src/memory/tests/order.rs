//! Things that have nothing to do with each other are found alike in whatever order they were written.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::support::{World, run};
use crate::Operation::{Recall, Remember};
use crate::{Args, Writer};

/// When all of it was said.
const SAID: &str = "2026-05-20T08:00:00Z";
/// Few words, so that many share them; the questions have one that nobody wrote.
const WORDS: [&str; 8] = [
    "amber", "boats", "cedar", "deltas", "ember", "garden", "harbour", "island",
];
const QUESTIONS: [&str; 5] = [
    "amber boat",
    "gardn at the harbour",
    "ember ember island delta",
    "what was said on 20 May 2026?",
    "cedar last week",
];

/// Different things to say, fewer than a page of the text surface has rows, and another order of them.
fn said() -> impl Strategy<Value = (Vec<String>, Vec<String>)> {
    let words = proptest::collection::vec(0..WORDS.len(), 1..6);
    let all = proptest::collection::btree_set(words, 1..18);
    all.prop_flat_map(|all| {
        let texts = all.into_iter().map(|words| {
            let words: Vec<_> = words.into_iter().map(|word| WORDS[word]).collect();
            words.join(" ")
        });
        let texts: Vec<String> = texts.collect();
        (Just(texts.clone()), Just(texts).prop_shuffle())
    })
}

/// Remembers each in a session of its own.
async fn remember(world: &World, all: &[String], write: impl Fn(&str) -> Value) {
    for text in all {
        let Value::Object(arguments) = write(text) else {
            panic!("an object")
        };
        let writer = Writer {
            key_id: "k1".to_owned(),
            session: Some(text.clone()),
        };
        let args = Args::from(arguments);
        let call = world.memory.call(&world.ns, &writer, Remember, args);
        call.await.expect("it is remembered");
    }
}

/// What is found, in no order.
async fn found(world: &World, question: &str, text: bool) -> BTreeSet<String> {
    let (rows, told) = match text {
        true => {
            let answer = world.ask(Recall, json!({"question": question})).await;
            (answer["memories"].clone(), "text")
        }
        false => {
            let args = json!({"query": question, "limit": 1000});
            (world.ask(Recall, args).await, "value")
        }
    };
    let rows = rows.as_array().expect("rows").iter();
    rows.map(|row| row[told].as_str().expect("a text").to_owned())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn notes_of_one_time_are_found_whatever_their_order((all, other) in said()) {
        run(async {
            let worlds = [World::text(), World::text()];
            for (world, order) in worlds.iter().zip([&all, &other]) {
                remember(world, order, |text| json!({"text": text, "observed_at": SAID})).await;
            }
            for question in QUESTIONS {
                let [one, two] = &worlds;
                let one = found(one, question, true).await;
                assert_eq!(one, found(two, question, true).await, "{question}");
            }
            let all: BTreeSet<String> = all.into_iter().collect();
            assert_eq!(found(&worlds[1], QUESTIONS[3], true).await, all, "all are of that day");
        });
    }

    #[test]
    fn statements_of_one_time_are_found_whatever_their_order((all, other) in said()) {
        run(async {
            let worlds = [World::open(), World::open()];
            for (world, order) in worlds.iter().zip([&all, &other]) {
                remember(world, order, |text| {
                    json!({"subject": "ann", "predicate": "likes", "value": text, "observed_at": SAID})
                })
                .await;
            }
            for question in QUESTIONS {
                let [one, two] = &worlds;
                let one = found(one, question, false).await;
                assert_eq!(one, found(two, question, false).await, "{question}");
            }
        });
    }
}
