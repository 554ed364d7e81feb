//! What is no longer so never comes back as current, however it is asked for. Where something took
//! its place, that answers, with what it replaced.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::rebuild::{act, written};
use super::support::{World, config, run};
use crate::Operation::{Explain, Forget, Recall, Remember};
use crate::Surface;

/// A write: `-` before the predicate withdraws; `<` behind the value names what it replaces.
type Write = (&'static str, &'static str, &'static str);

/// A row of the answer: the value or sentence, and what stands beside it as replaced.
type Row = (&'static str, &'static [&'static str]);

struct Case {
    writes: &'static [Write],
    asked: &'static [&'static str],
    typed: &'static [Row],
    text: &'static [Row],
}

const CASES: &[Case] = &[
    Case {
        writes: &[
            ("2026-01-01", "prefers_editor", "vim"),
            ("2026-02-01", "prefers_editor", "helix"),
        ],
        asked: &[
            "vim",
            "user prefers editor: vim",
            "Does the user use VIM?",
            "helix",
            "which editor",
        ],
        typed: &[("helix", &["vim"])],
        text: &[("user prefers editor: helix", &["vim"])],
    },
    Case {
        writes: &[
            ("2026-01-01", "works_at", "the harbour"),
            ("2026-02-01", "works_at", "the library"),
            ("2026-03-01", "works_at", "the opera"),
        ],
        asked: &["harbour", "library", "opera"],
        typed: &[("the opera", &["the library"])],
        text: &[("user works at: the opera", &["the library"])],
    },
    // Stated later, observed earlier.
    Case {
        writes: &[
            ("2026-02-01", "prefers_editor", "helix"),
            ("2026-01-01", "prefers_editor", "emacs"),
        ],
        asked: &["emacs", "helix"],
        typed: &[("helix", &["emacs"])],
        text: &[("user prefers editor: helix", &["emacs"])],
    },
    Case {
        writes: &[
            ("2026-01-01", "likes", "violins"),
            ("", "-likes", "violins"),
        ],
        asked: &["violins", "user likes: violins"],
        typed: &[],
        text: &[],
    },
    Case {
        writes: &[
            ("2026-01-01", "prefers_editor", "vim"),
            ("", "-prefers_editor", ""),
        ],
        asked: &["vim", "user prefers editor: vim"],
        typed: &[],
        text: &[],
    },
    Case {
        writes: &[
            ("2026-01-01", "likes", "coffee"),
            ("2026-02-01", "dislikes", "coffee"),
        ],
        asked: &["coffee", "user likes: coffee"],
        typed: &[("coffee", &["likes coffee"])],
        text: &[("user dislikes: coffee", &["user likes: coffee"])],
    },
    // One statement names another, under another predicate, as replaced.
    Case {
        writes: &[
            ("2026-01-01", "goal", "join Initech"),
            ("2026-02-01", "works_at", "Globex < goal join Initech"),
        ],
        asked: &["Initech", "Globex"],
        typed: &[("Globex", &["goal join Initech"])],
        text: &[("user works at: Globex", &["user goal: join Initech"])],
    },
    // The same, and what replaced it was replaced.
    Case {
        writes: &[
            ("2026-01-01", "goal", "join Initech"),
            ("2026-02-01", "works_at", "Globex < goal join Initech"),
            ("2026-03-01", "works_at", "Hooli"),
        ],
        asked: &["Initech", "Globex", "Hooli"],
        typed: &[("Hooli", &["Globex"])],
        text: &[("user works at: Hooli", &["Globex"])],
    },
    // What is stated again stands again.
    Case {
        writes: &[
            ("2026-01-01", "diet", "vegan"),
            ("2026-02-01", "diet", "omnivore"),
            ("2026-03-01", "diet", "vegan"),
        ],
        asked: &["vegan", "omnivore"],
        typed: &[("vegan", &["omnivore"])],
        text: &[("user diet: vegan", &["omnivore"])],
    },
];

async fn write(world: &World, (at, predicate, value): Write) {
    if let Some(predicate) = predicate.strip_prefix('-') {
        let value = (!value.is_empty()).then(|| json!(value));
        assert_eq!(world.forget("user", predicate, value).await, 1);
        return;
    }
    let (value, replaces) = match value.split_once(" < ") {
        Some((value, old)) => (value, old.split_once(' ')),
        None => (value, None),
    };
    let mut args = json!({"subject": "user", "predicate": predicate, "value": value,
        "observed_at": format!("{at}T00:00:00Z")});
    if let Some((predicate, value)) = replaces {
        args["replaces"] = json!([{"predicate": predicate, "value": value}]);
    }
    world.ask(Remember, args).await;
}

fn texts(list: &Value, words: impl Fn(&Value) -> String) -> Vec<String> {
    list.as_array().into_iter().flatten().map(words).collect()
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The rows of a typed recall.
fn typed(answer: &Value, value: &str) -> Vec<(String, Vec<String>)> {
    let former = |old: &Value| {
        format!("{} {}", word(&old["predicate"]), word(&old["value"]))
            .trim()
            .to_owned()
    };
    let rows = answer.as_array().unwrap().iter();
    rows.map(|row| (word(&row[value]), texts(&row["replaced"], former)))
        .collect()
}

/// The rows of a text recall.
fn text(answer: &Value) -> Vec<(String, Vec<String>)> {
    let rows = answer["memories"].as_array().unwrap().iter();
    rows.map(|row| {
        (
            word(&row["text"]),
            texts(&row["before"], |old| word(&old["text"])),
        )
    })
    .collect()
}

fn expected(rows: &[Row]) -> Vec<(String, Vec<String>)> {
    let rows = rows.iter();
    rows.map(|(value, former)| {
        (
            (*value).to_owned(),
            former.iter().map(|&old| old.to_owned()).collect(),
        )
    })
    .collect()
}

#[tokio::test]
async fn the_old_statement_is_answered_by_what_took_its_place() {
    for case in CASES {
        let world = World::open();
        for &step in case.writes {
            write(&world, step).await;
        }
        // As it was written, and as it is read back from the log.
        for surface in [Surface::Typed, Surface::Text] {
            let again = world.again(config(surface, true));
            for asked in case.asked {
                match surface {
                    Surface::Typed => {
                        for world in [&world, &again] {
                            let found = world.ask(Recall, json!({"query": asked})).await;
                            assert_eq!(typed(&found, "value"), expected(case.typed), "{asked}");
                            let why = world.ask(Explain, json!({"question": asked})).await;
                            let values: Vec<_> =
                                typed(&why, "value").into_iter().map(|row| row.0).collect();
                            let wanted: Vec<_> = case.typed.iter().map(|row| row.0).collect();
                            assert_eq!(values, wanted, "{asked}");
                        }
                    }
                    Surface::Text => {
                        let found = again.ask(Recall, json!({"question": asked})).await;
                        assert_eq!(text(&found), expected(case.text), "{asked}");
                    }
                }
            }
        }
    }
}

#[tokio::test]
async fn the_value_held_elsewhere_and_the_words_it_came_from_stand_beside_it() {
    let world = World::open();
    let drawn = json!([{"subject": "user", "predicate": "prefers_editor", "value": "zed",
        "evidence": "switched to zed"}]);
    let said = "Long day. I switched to zed. It rained.";
    world
        .ask(Remember, json!({"text": said, "statements": drawn}))
        .await;
    world.say("user", "likes", json!("zed")).await;
    world.seconds(1);
    let found = world.ask(Recall, json!({"query": "editor zed"})).await;
    assert_eq!(found[0]["elsewhere"][0]["predicate"], "likes");
    let again = world.again(config(Surface::Text, true));
    let found = again.ask(Recall, json!({"question": "editor zed"})).await;
    let first = &found["memories"][0];
    assert_eq!(first["text"], "user prefers editor: zed");
    assert_eq!(first["said"], "I switched to zed.");
    assert_eq!(first["elsewhere"][0]["text"], "user likes: zed");
    let rows = found["memories"].as_array().unwrap();
    assert!(
        rows.iter().all(|row| row["text"] != said),
        "its facts answer for the text"
    );
    // A question in words of the text alone finds what was drawn from it, or the text.
    let found = again.ask(Recall, json!({"question": "what rained"})).await;
    assert_eq!(found["memories"][0]["text"], said);
}

#[tokio::test]
async fn a_filter_is_about_the_current_value_not_the_one_it_replaced() {
    let world = World::open();
    world
        .said("user", "diet", json!("vegan"), "2026-01-01T00:00:00Z")
        .await;
    world
        .said("user", "diet", json!("omnivore"), "2026-03-01T00:00:00Z")
        .await;
    let asked = |after: &str, before: &str| json!({"query": "vegan", "observed_after": after, "observed_before": before});
    let values = world
        .values(asked("2026-02-01T00:00:00Z", "2026-04-01T00:00:00Z"))
        .await;
    assert_eq!(values, ["omnivore"]);
    let values = world
        .values(asked("2025-12-01T00:00:00Z", "2026-02-01T00:00:00Z"))
        .await;
    assert!(values.is_empty());
    // Then it was the value, and now it was not said yet.
    let then = |at: &str| json!({"query": "vegan", "as_of": at});
    assert_eq!(world.values(then("2026-02-01T00:00:00Z")).await, ["vegan"]);
    assert!(world.values(then("2025-12-31T00:00:00Z")).await.is_empty());
    assert!(
        world
            .values(json!({"query": "omnivore", "as_of": "2026-02-01T00:00:00Z"}))
            .await
            .is_empty()
    );
}

#[tokio::test]
async fn five_hundred_replaced_values_are_one_row_and_crowd_nothing_out() {
    let world = World::open();
    for no in 0..500 {
        world
            .say("ann", "works_at", json!(format!("shop {no}")))
            .await;
        world.seconds(1);
    }
    world.say("ann", "works_at", json!("the mill")).await;
    for no in 0..30 {
        world
            .say("ann", "likes", json!(format!("shop window {no}")))
            .await;
    }
    for asked in ["shop 7", "ann works at shop 499", "shop"] {
        let found = world
            .ask(Recall, json!({"query": asked, "limit": 20}))
            .await;
        let values: Vec<_> = found
            .as_array()
            .unwrap()
            .iter()
            .map(|row| word(&row["value"]))
            .collect();
        assert_eq!(values.len(), 20, "{asked}: {values:?}");
        assert!(
            values
                .iter()
                .all(|value| *value == "the mill" || value.starts_with("shop window")),
            "{values:?}"
        );
    }
    let found = world
        .values(json!({"query": "where does ann work: shop 7"}))
        .await;
    assert!(
        found.iter().take(3).any(|value| value == "the mill"),
        "{found:?}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever was written, in whatever order: every row of every search is believed now.
    #[test]
    fn every_row_of_a_search_is_believed(acts in prop::collection::vec(act(), 1..40)) {
        run(async {
            let world = written(acts).await;
            let mut believed = Vec::new();
            for subject in ["ann", "bob", "user"] {
                let list = world.ask(Recall, json!({"subject": subject, "limit": 1000})).await;
                believed.extend(list.as_array().unwrap().iter().map(|row| row["event_id"].clone()));
            }
            for query in ["tea", "red shoes", "blue shoes", "ann likes tea", "bob dislikes Tea", "lives in gave away"] {
                let found = world.ask(Recall, json!({"query": query, "limit": 1000})).await;
                for row in found.as_array().unwrap() {
                    assert!(believed.contains(&row["event_id"]), "{query}: {row}");
                }
            }
        });
    }
}

#[tokio::test]
async fn withdrawn_notes_are_found_on_neither_surface() {
    let world = World::text();
    let said = "The vault code is on the fridge.";
    world.ask(Remember, json!({"text": said})).await;
    world.ask(Forget, json!({"text": said})).await;
    for surface in [Surface::Text, Surface::Typed] {
        let world = world.again(config(surface, true));
        let args = match surface {
            Surface::Text => json!({"question": "vault code fridge"}),
            Surface::Typed => json!({"query": "vault code fridge"}),
        };
        let answer = world.answer(Recall, args).await.unwrap();
        assert_eq!(answer.items, 0);
    }
}
