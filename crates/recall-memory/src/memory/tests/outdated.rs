//! What is no longer so does not come back by the text it was said in, nor by being repeated.

use serde_json::{Value, json};

use super::extraction::{drawn, rows, tell, text, with};
use super::support::{World, config};
use crate::Operation::{Explain, Forget, Recall, Remember};
use crate::Surface;

/// A statement about somebody, as the model draws it.
fn about(subject: &str, predicate: &str, value: &str, evidence: &str) -> Value {
    let mut drawn = drawn(predicate, value, evidence);
    drawn["subject"] = json!(subject);
    drawn["cardinality"] = json!("single");
    drawn
}

/// The rows of every way to ask the text surface, of the memory and of one that is built anew.
async fn every_row(world: &World, question: &str) -> Vec<Value> {
    let mut rows = Vec::new();
    for world in [world, &world.again(config(Surface::Text, true))] {
        for args in [
            json!({"question": question}),
            json!({"question": question, "since": "2020-01-01T00:00:00Z"}),
            json!({"since": "2020-01-01T00:00:00Z"}),
            json!({}),
        ] {
            let found = world.ask(Recall, args).await;
            rows.extend(found["memories"].as_array().unwrap().iter().cloned());
        }
    }
    rows
}

#[tokio::test]
async fn the_text_of_a_replaced_value_does_not_answer() {
    let (world, model) = text();
    model.states(&json!([about(
        "alice",
        "lives_in",
        "Rome",
        "Alice lives in Rome"
    )]));
    tell(&world, "Alice lives in Rome.").await;
    // Known already, but said in another text.
    model.states(&json!([about(
        "alice",
        "lives_in",
        "Rome",
        "still lives in Rome"
    )]));
    let told = tell(&world, "Alice still lives in Rome, she says.").await;
    assert_eq!(told["remembered"][0]["already_known"], true, "{told}");
    model.states(&json!([about(
        "alice",
        "lives_in",
        "Rome",
        "Alice is in Rome"
    )]));
    tell(&world, "Alice is in Rome. The wedding of Bob is on Friday.").await;
    let before = world.clock.clone();
    let then = recall_store::Clock::now(&before).to_string();
    model.states(&json!([about(
        "alice",
        "lives_in",
        "Oslo",
        "moved to Oslo"
    )]));
    world.seconds(1);
    tell(&world, "Alice moved to Oslo.").await;

    for question in [
        "Rome",
        "Where does Alice live?",
        "Alice still lives in Rome, she says.",
        "wedding",
    ] {
        for row in every_row(&world, question).await {
            assert!(
                !row["text"].as_str().unwrap().contains("Rome"),
                "{question}: {row}"
            );
        }
    }
    let found = world
        .ask(Recall, json!({"question": "lives in Rome"}))
        .await;
    assert_eq!(found["memories"][0]["text"], "alice lives in: Oslo");
    assert_eq!(found["memories"][0]["before"][0]["text"], "Rome");
    // What else a text says is not lost.
    let found = world
        .ask(Recall, json!({"question": "When is the wedding?"}))
        .await;
    let rest = &found["memories"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["no_longer"].is_array());
    let rest = rest.expect("the rest of the text");
    assert_eq!(rest["text"], "… The wedding of Bob is on Friday.");
    assert_eq!(rest["no_longer"], json!(["alice lives in: Rome"]));
    // At the time it was so.
    let found = world
        .ask(Recall, json!({"question": "Rome", "as_of": then}))
        .await;
    assert_eq!(found["memories"][0]["text"], "alice lives in: Rome");
    assert!(
        found["memories"]
            .as_array()
            .unwrap()
            .iter()
            .all(|row| row["no_longer"].is_null())
    );
    // Withdrawn, it is hidden likewise.
    world
        .ask(Forget, json!({"text": "alice lives in: Oslo"}))
        .await;
    assert!(
        every_row(&world, "Oslo")
            .await
            .iter()
            .all(|row| !row["text"].as_str().unwrap().contains("Oslo"))
    );
}

/// A second mention gives the belief one more source and changes nothing else of it.
#[tokio::test]
async fn a_value_that_is_said_again_keeps_its_standing() {
    let (text_world, model) = text();
    let world = with(&text_world, Surface::Typed, true, &model);
    world
        .said("alice", "owns", json!("a boat"), "2026-05-01T00:00:00Z")
        .await;
    let mut boat = about("alice", "owns", "a boat", "her boat");
    boat["cardinality"] = json!("");
    model.states(&json!([boat]));
    let told = world
        .ask(Remember, json!({"text": "Alice painted her boat."}))
        .await;
    assert_eq!(told["results"][0]["already_known"], true);
    let args = json!({"subject": "alice", "predicate": "owns", "with_sources": true});
    let belief = world.ask(Recall, args).await[0].clone();
    assert_eq!(
        (&belief["confidence"], &belief["source"]),
        (&json!(1), &json!("user_stated"))
    );
    assert_eq!(belief["source_text"], "Alice painted her boat.");
    // The same text read again adds nothing.
    let revision = world.revision().await;
    world
        .ask(Remember, json!({"text": "Alice painted her boat."}))
        .await;
    assert_eq!(world.revision().await, revision);
}

#[tokio::test]
async fn the_typed_surface_marks_a_text_and_leaves_out_what_is_wholly_gone() {
    let world = World::open();
    for (said, city) in [
        ("Alice lives in Rome.", "Rome"),
        ("Alice lives in Genoa. Bob sings.", "Genoa"),
        ("Alice lives in Oslo.", "Oslo"),
    ] {
        let statement = json!({"subject": "alice", "predicate": "lives_in", "value": city,
            "evidence": format!("Alice lives in {city}"), "cardinality": "single"});
        world
            .ask(Remember, json!({"text": said, "statements": [statement]}))
            .await;
        world.seconds(1);
    }
    let found = world
        .ask(Recall, json!({"query": "Alice lives in Rome. Bob sings."}))
        .await;
    let values: Vec<&str> = found
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|row| row["value"].as_str())
        .collect();
    assert!(!values.contains(&"Alice lives in Rome."), "{values:?}");
    let marked = found
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["value"] == "Alice lives in Genoa. Bob sings.");
    let gone = |city: &str| json!([{"subject": "alice", "predicate": "lives_in", "value": city}]);
    assert_eq!(
        marked.expect("the text with more in it")["no_longer"],
        gone("Genoa")
    );
    // By name everything that is kept is there, and marked.
    let notes = world
        .ask(Recall, json!({"subject": "user", "predicate": "note"}))
        .await;
    let marks: Vec<&Value> = notes
        .as_array()
        .unwrap()
        .iter()
        .map(|row| &row["no_longer"])
        .collect();
    assert_eq!(marks, [&gone("Rome"), &gone("Genoa"), &Value::Null]);
    let explained = world
        .ask(
            Explain,
            json!({"question": "Alice lives in Rome. Bob sings."}),
        )
        .await;
    for row in explained.as_array().unwrap() {
        let of = row["memory"].as_str().unwrap();
        assert!(!of.contains("Rome"), "{row}");
        assert_eq!(
            row["no_longer"] == gone("Genoa"),
            of.contains("Genoa"),
            "{row}"
        );
    }
}

/// An agent reads an answer and writes of it in its own text; the model takes the old value from there.
#[tokio::test]
async fn words_inside_an_answer_that_is_repeated_are_no_evidence() {
    let (world, model) = text();
    model.states(&json!([about(
        "alice",
        "lives_in",
        "Rome",
        "lives in Rome"
    )]));
    tell(&world, "Alice lives in Rome.").await;
    model.states(&json!([about(
        "alice",
        "lives_in",
        "Oslo",
        "moved to Oslo"
    )]));
    tell(&world, "Alice moved to Oslo.").await;
    for (no, (told, evidence)) in (0..).zip([
        ("I read that alice lives in: Rome.", "lives in: Rome"),
        ("I read that alice lives in: Rome.", "Rome"),
        (
            "I read that alice lives in: Rome.",
            "I read that alice lives in: Rome",
        ),
        ("I read that Alice\nLives in:  ROME (so it says)", "ROME"),
        (
            "{\"text\":\"alice lives in: Rome\",\"since\":\"2026\"}",
            "alice lives in: Rome",
        ),
        ("alice lives_in: Rome, I noted", "Rome, I noted"),
        ("It says alice lives in: Rome, so Rome it is.", "Rome"),
        // The text that it was drawn from, quoted whole.
        (
            "My notes say: Alice lives in Rome. Good to know.",
            "Alice lives in Rome",
        ),
    ]) {
        let value = if told.contains("ROME") {
            "ROME"
        } else {
            "Rome"
        };
        model.states(&json!([about("alice", "lives_in", value, evidence)]));
        let answer = tell(&world, &format!("{told}\nNumber {no}.")).await;
        assert_eq!(answer["remembered"], json!([]), "{told}: {answer}");
        let reason = answer["not_remembered"][0]["reason"]
            .as_str()
            .unwrap_or_else(|| panic!("{told}: {answer}"));
        assert!(
            reason.contains("repeats") || reason.contains("read before"),
            "{reason}"
        );
        assert_eq!(
            rows(&world, "where does alice live").await[0],
            "alice lives in: Oslo",
            "{told}"
        );
    }
    // What is said in words of its own is news, beside a repeated answer too.
    for (told, evidence, value) in [
        (
            "You said alice lives in: Oslo, but she went back to Rome.",
            "went back to Rome",
            "Rome",
        ),
        (
            "alice lives in: Rome and her dog is Rex",
            "Rome and her dog is Rex",
            "Bergen",
        ),
    ] {
        model.states(&json!([about("alice", "lives_in", value, evidence)]));
        let answer = tell(&world, told).await;
        assert_eq!(
            answer["remembered"].as_array().unwrap().len(),
            usize::from(value == "Rome"),
            "{answer}"
        );
    }
    model.states(&json!([about("rex", "owner", "alice", "her dog is Rex")]));
    let answer = tell(&world, "alice lives in: Rome and her dog is Rex!").await;
    assert_eq!(answer["remembered"], json!([{"text": "rex owner: alice"}]));
}

/// The same text sent again is not read again; it says what of it is no longer so.
#[tokio::test]
async fn a_text_sent_again_does_not_claim_what_is_no_longer_so() {
    let (world, model) = text();
    model.states(&json!([
        drawn("prefers_editor", "vim", "vim"),
        drawn("likes", "tea", "tea")
    ]));
    tell(&world, "I use vim and like tea.").await;
    model.states(&json!([drawn("prefers_editor", "zed", "zed")]));
    tell(&world, "I switched to zed.").await;
    let told = tell(&world, "I use vim and like tea.").await;
    assert_eq!(
        told["remembered"],
        json!([{"text": "user likes: tea", "already_known": true}])
    );
    assert_eq!(
        told["not_remembered"][0]["text"],
        "user prefers editor: vim"
    );
    assert_eq!(told["already_known"], Value::Null);
    let typed = with(&world, Surface::Typed, true, &model);
    let told = typed
        .ask(Remember, json!({"text": "I use vim and like tea."}))
        .await;
    assert_eq!(told["refused"][0]["text"], "user prefers editor: vim");
    assert_eq!(told["already_known"], Value::Null);
}

/// A sentence says two things; one of them was replaced.
#[tokio::test]
async fn the_words_beside_a_statement_are_marked_and_a_withdrawn_text_is_not_shown() {
    let (world, model) = text();
    let said = "So. Carl moved to Kyiv and plays chess daily. He is fine.";
    model.states(&json!([
        about("carl", "lives_in", "Kyiv", "moved to Kyiv"),
        about("carl", "hobby", "chess", "plays chess"),
        about("carl", "mood", "fine", "He is fine"),
    ]));
    tell(&world, said).await;
    model.states(&json!([about(
        "carl",
        "lives_in",
        "Lima",
        "settled in Lima"
    )]));
    tell(&world, "Carl settled in Lima.").await;
    let row = async |world: &World, question: &str, text: &str| {
        let found = world.ask(Recall, json!({"question": question})).await;
        let rows = found["memories"].as_array().unwrap().clone();
        let row = rows.into_iter().find(|row| row["text"] == text);
        row.unwrap_or_else(|| panic!("{question}: {found}"))
    };
    let chess = row(&world, "chess", "carl hobby: chess").await;
    assert_eq!(chess["said"], "Carl moved to Kyiv and plays chess daily.");
    assert_eq!(chess["no_longer"], json!(["carl lives in: Kyiv"]));
    let mood = row(&world, "fine", "carl mood: fine").await;
    assert_eq!(
        (&mood["said"], &mood["no_longer"]),
        (&json!("He is fine."), &Value::Null)
    );
    let typed = world.again(config(Surface::Typed, true));
    let hobby = json!({"subject": "carl", "predicate": "hobby", "with_sources": true});
    let belief = typed.ask(Recall, hobby.clone()).await[0].clone();
    let gone = json!([{"subject": "carl", "predicate": "lives_in", "value": "Kyiv"}]);
    assert_eq!(
        (&belief["source_text"], &belief["no_longer"]),
        (&json!(said), &gone)
    );
    let why = typed.ask(Explain, json!({"question": "carl hobby"})).await;
    assert_eq!(
        (&why[0]["source_text"], &why[0]["no_longer"]),
        (&json!(said), &gone)
    );
    let before = belief["observed_at"].clone();
    // Withdrawn, the text is gone for good; what was drawn from it stays.
    let note = json!({"subject": "user", "predicate": "note", "value": said});
    world.seconds(60);
    assert_eq!(typed.ask(Forget, note).await["withdrawn"], 1);
    let world = world.again(config(Surface::Text, true));
    let chess = row(&world, "chess", "carl hobby: chess").await;
    assert_eq!(
        (&chess["said"], &chess["no_longer"]),
        (&json!("plays chess"), &Value::Null)
    );
    let world = world.again(config(Surface::Typed, true));
    let belief = world.ask(Recall, hobby.clone()).await[0].clone();
    assert_eq!(
        (&belief["source_text"], &belief["no_longer"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(belief["evidence"], "plays chess");
    let why = world.ask(Explain, json!({"question": "carl hobby"})).await;
    assert_eq!(why[0]["source_text"], Value::Null);
    // At the time when it was kept it is shown.
    let mut then = hobby;
    then["as_of"] = before;
    assert_eq!(world.ask(Recall, then).await[0]["source_text"], said);
}
