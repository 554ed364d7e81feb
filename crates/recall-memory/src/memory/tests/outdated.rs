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
            "Rome",
        ),
    ] {
        model.states(&json!([about("alice", "lives_in", value, evidence)]));
        let answer = tell(&world, told).await;
        assert_eq!(
            answer["remembered"].as_array().unwrap().len(),
            usize::from(told.contains("back")),
            "{answer}"
        );
        // Said with other words, it is so; then that is no longer so.
        model.states(&json!([about("alice", "lives_in", "Oslo", "Oslo")]));
        tell(&world, &format!("Alice is in Oslo for good, {evidence}.")).await;
    }
    model.states(&json!([about("rex", "owner", "alice", "her dog is Rex")]));
    let answer = tell(&world, "alice lives in: Rome and her dog is Rex!").await;
    assert_eq!(answer["remembered"], json!([{"text": "rex owner: alice"}]));
}

/// The same text sent again is not read again while it stands. Where something of it is no longer so, it is
/// said anew, and what it says is so from now on.
#[tokio::test]
async fn a_text_said_again_is_news_where_something_of_it_is_no_longer_so() {
    let said = json!([
        drawn("prefers_editor", "vim", "vim"),
        drawn("likes", "tea", "tea")
    ]);
    for surface in [Surface::Text, Surface::Typed] {
        let (world, model) = text();
        let world = with(&world, surface, true, &model);
        model.states(&said);
        tell(&world, "I use vim and like tea.").await;
        let asked = model.asked().len();
        let told = tell(&world, "I use vim and like tea.").await;
        assert_eq!(told["already_known"], true, "{told}");
        assert_eq!(model.asked().len(), asked, "nothing of it is news");
        model.states(&json!([drawn("prefers_editor", "zed", "zed")]));
        tell(&world, "I switched to zed.").await;
        let before = recall_store::Clock::now(&world.clock);
        // Of a day before, it is history.
        model.states(&said);
        let early =
            json!({"text": "I use vim and like tea.", "observed_at": "2026-05-01T00:00:00Z"});
        world.ask(Remember, early).await;
        let now = async || {
            let typed = world.again(config(Surface::Typed, true));
            let args = json!({"subject": "user", "predicate": "prefers_editor"});
            typed.ask(Recall, args).await[0].clone()
        };
        assert_eq!(now().await["value"], "zed");
        model.states(&said);
        tell(&world, "I use vim and like tea.").await;
        let row = now().await;
        assert_eq!(row["value"], "vim");
        let at: jiff::Timestamp = row["observed_at"].as_str().unwrap().parse().unwrap();
        assert!(at >= before, "{row}");
    }
}

/// A status that comes back is told in the words in which it was told first.
#[tokio::test]
async fn what_is_so_again_is_believed_in_the_same_words() {
    let (world, model) = text();
    for (day, value) in [("01", "down"), ("02", "up"), ("20", "down"), ("21", "up")] {
        let said = format!("The server is {value}.");
        let evidence = format!("The server is {value}");
        model.states(&json!([about("server", "status", value, &evidence)]));
        let args = json!({"text": said, "observed_at": format!("2026-05-{day}T00:00:00Z")});
        let told = world.ask(Remember, args).await;
        let row = format!("server status: {value}");
        assert_eq!(told["remembered"][0]["text"], row.as_str(), "{told}");
        assert_eq!(rows(&world, "Is the server up or down?").await[0], row);
    }
}

/// The same words about somebody else, and a denial, are neither refused nor hidden.
#[tokio::test]
async fn the_same_words_about_somebody_else_are_news() {
    for surface in [Surface::Text, Surface::Typed] {
        let (world, model) = text();
        let world = with(&world, surface, true, &model);
        let mut held = Vec::new();
        for (subject, predicate, value, told, evidence) in [
            (
                "mum",
                "status",
                "has a cold",
                "Mum: I have a cold.",
                "I have a cold",
            ),
            (
                "mum",
                "status",
                "well",
                "Mum: I am well again.",
                "I am well again",
            ),
            (
                "dad",
                "status",
                "has a cold",
                "Dad: I have a cold.",
                "I have a cold",
            ),
            (
                "user",
                "lives_in",
                "Rome",
                "I live in Rome.",
                "I live in Rome",
            ),
            (
                "user",
                "lives_in",
                "Oslo",
                "I live in Oslo.",
                "I live in Oslo",
            ),
            (
                "bob",
                "lives_in",
                "Rome",
                "My friend Bob says: I live in Rome.",
                "I live in Rome",
            ),
            ("lamp", "color", "red", "The lamp: it is red.", "it is red"),
            (
                "lamp",
                "color",
                "green",
                "The lamp is green now.",
                "is green now",
            ),
            (
                "car",
                "color",
                "red",
                "I bought a car, it is red.",
                "it is red",
            ),
        ] {
            model.states(&json!([about(subject, predicate, value, evidence)]));
            let told = tell(&world, told).await;
            held.push((subject, predicate, value));
            held.retain(|(other, _, own)| *other != subject || *own == value);
            assert!(!told.to_string().contains("repeats"), "{told}");
        }
        let typed = world.again(config(Surface::Typed, true));
        for (subject, predicate, value) in held {
            let args = json!({"subject": subject, "predicate": predicate});
            let found = typed.ask(Recall, args).await;
            assert_eq!(found[0]["value"], value, "{subject}: {found}");
        }
        // Nothing is drawn from these; they are found as they were said.
        for (told, of, marked) in [
            ("Zoe: I have a cold.", "Zoe", false),
            ("User: My boss says: I live in Rome.", "boss", false),
            (
                "It is not true that the lamp: it is red.",
                "true lamp",
                true,
            ),
            (
                "Never believe that mum: I have a cold.",
                "Never believe",
                true,
            ),
        ] {
            model.states(&json!([]));
            let answer = tell(&world, told).await;
            let typed = world.again(config(Surface::Typed, true));
            let found = typed.ask(Recall, json!({"query": of})).await;
            let rows = found.as_array().unwrap();
            let row = rows.iter().find(|row| row["value"] == told);
            let row = row.unwrap_or_else(|| panic!("{told}: {answer} {found}"));
            assert_eq!(!row["no_longer"].is_null(), marked, "{row}");
            let text = world.again(config(Surface::Text, true));
            let found = text.ask(Recall, json!({"question": of})).await;
            let rows = found["memories"].as_array().unwrap();
            assert!(
                rows.iter().any(|row| row["text"] == told),
                "{told}: {found}"
            );
        }
    }
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
