//! Statements drawn from texts by a model: helpful when it is right, harmless when it is not.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::support::{World, config};
use crate::Operation::{Forget, History, Recall, Remember};
use crate::{Ask, Extractor, Memory, ModelError, ModelFuture, Models, Surface};

/// A model that says what it is told to say.
#[derive(Debug, Default)]
pub(super) struct Scripted {
    answers: Mutex<VecDeque<Result<String, String>>>,
    asked: Mutex<Vec<Ask>>,
}

impl Scripted {
    pub(super) fn states(&self, statements: &Value) {
        let answer = json!({ "statements": statements }).to_string();
        self.answers.lock().push_back(Ok(answer));
    }

    fn says(&self, text: &str) {
        self.answers.lock().push_back(Ok(text.to_owned()));
    }

    /// Forgets what was prepared and not asked for.
    pub(super) fn clear(&self) {
        self.answers.lock().clear();
    }

    pub(super) fn fails(&self) {
        self.answers
            .lock()
            .push_back(Err("out of order".to_owned()));
    }

    pub(super) fn asked(&self) -> Vec<Ask> {
        self.asked.lock().clone()
    }
}

impl Extractor for Scripted {
    fn answer(&self, ask: Ask) -> ModelFuture<'_, String> {
        self.asked.lock().push(ask);
        let answer = self
            .answers
            .lock()
            .pop_front()
            .expect("an answer was prepared");
        Box::pin(async move { answer.map_err(ModelError) })
    }
}

pub(super) fn with(world: &World, surface: Surface, open: bool, model: &Arc<Scripted>) -> World {
    let models = Models {
        extractor: Some(model.clone()),
        ..Models::default()
    };
    let (store, clock) = (Arc::new(world.store.clone()), Arc::new(world.clock.clone()));
    World {
        memory: Memory::with_models(store, clock, config(surface, open), models),
        ..world.clone()
    }
}

pub(super) fn text() -> (World, Arc<Scripted>) {
    let model = Arc::new(Scripted::default());
    (with(&World::text(), Surface::Text, true, &model), model)
}

pub(super) fn drawn(predicate: &str, value: &str, evidence: &str) -> Value {
    json!({"subject": "user", "predicate": predicate, "value": value, "evidence": evidence,
        "cardinality": "", "description": "", "value_type": "", "replaces": []})
}

pub(super) async fn tell(world: &World, text: &str) -> Value {
    let told = world.ask(Remember, json!({"text": text})).await;
    world.seconds(1);
    told
}

pub(super) async fn rows(world: &World, question: &str) -> Vec<String> {
    let found = world.ask(Recall, json!({"question": question})).await;
    let rows = found["memories"].as_array().unwrap().iter();
    rows.map(|row| row["text"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn a_text_is_kept_and_what_it_states_replaces_what_was_so() {
    let (world, model) = text();
    model.states(&json!([drawn("prefers_editor", "helix", "I use helix")]));
    let told = tell(&world, "I use helix these days.").await;
    assert_eq!(
        told,
        json!({"kept_as_text": true, "remembered": [{"text": "user prefers editor: helix"}]})
    );
    model.states(&json!([
        drawn("prefers_editor", "zed", "I switched to zed"),
        drawn("likes", "mangoes", "mangoes")
    ]));
    let told = tell(&world, "Today I switched to zed. Also, mangoes are great.").await;
    assert_eq!(
        told["remembered"],
        json!([
            {"text": "user prefers editor: zed", "replaces": ["user prefers editor: helix"]},
            {"text": "user likes: mangoes"},
        ])
    );
    let found = world.ask(Recall, json!({"question": "helix"})).await;
    let first = &found["memories"][0];
    assert_eq!(first["text"], "user prefers editor: zed");
    assert_eq!(first["before"][0]["text"], "helix");
    assert_eq!(first["said"], "Today I switched to zed.");
    let history = world.ask(History, json!({"question": "editor"})).await;
    assert_eq!(history["history"][0]["changes"][1]["change"], "replaced");
    // The model was shown what may bear on the text, and the day.
    let second = &model.asked()[1];
    assert!(second.system.contains("2026-06-01"));
    assert_eq!(
        second.user,
        "Today I switched to zed. Also, mangoes are great."
    );
    assert_eq!(second.schema["additionalProperties"], false);
}

#[tokio::test]
async fn each_statement_stands_or_falls_alone() {
    let (world, model) = text();
    model.states(&json!([
        drawn("likes", "tea", "I like tea"),
        drawn("likes", "coffee", "I like coffee"),
        drawn("registry_change", "x", "tea"),
        drawn("", "x", "tea"),
        {"subject": "user", "predicate": "age", "value": "41", "value_type": "number", "evidence": "I am 41",
            "cardinality": "single", "description": "How old.", "replaces": []},
        {"subject": "user", "predicate": "lives_in", "value": {"city": "Oslo"}, "evidence": "I like tea"},
    ]));
    let told = tell(&world, "I like tea. I am 41.").await;
    let kept: Vec<_> = told["remembered"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["text"].clone())
        .collect();
    assert_eq!(kept, ["user likes: tea", "user age: 41"]);
    let refused = told["not_remembered"].as_array().unwrap();
    assert!(
        refused.iter().all(|row| row["reason"].is_string()),
        "{refused:?}"
    );
    let coffee = refused
        .iter()
        .find(|row| row["text"] == "user likes: coffee")
        .unwrap();
    assert_eq!(coffee["reason"], "its evidence is not in the text");
    assert_eq!(kept.len() + refused.len(), 6);
    // A later value of another type is converted, or falls.
    model.states(&json!([
        drawn("age", "42", "I am 42"),
        drawn("age", "old", "old")
    ]));
    let told = tell(&world, "I am 42 now and feel old.").await;
    assert_eq!(told["remembered"][0]["text"], "user age: 42");
    assert_eq!(told["not_remembered"][0]["text"], "user age: old");
}

#[tokio::test]
async fn a_failure_loses_nothing_and_says_so() {
    for prepare in [
        Scripted::fails as fn(&Scripted),
        |model| model.says("Sure! Here you go:"),
        |model| model.says(r#"{"statements": "none"}"#),
        |model| model.says(""),
    ] {
        let (world, model) = text();
        prepare(&model);
        let told = tell(&world, "I use helix these days.").await;
        assert_eq!(
            (&told["kept_as_text"], &told["remembered"]),
            (&json!(true), &json!([]))
        );
        assert!(told["note"].as_str().unwrap().contains("did not answer"));
        assert_eq!(world.memory.stats().extraction_failures, 1);
        assert_eq!(rows(&world, "helix").await, ["I use helix these days."]);
        // Sent again, it is read.
        model.states(&json!([drawn("prefers_editor", "helix", "I use helix")]));
        let told = tell(&world, "I use helix these days.").await;
        assert_eq!(told["remembered"][0]["text"], "user prefers editor: helix");
        assert_eq!(rows(&world, "helix").await, ["user prefers editor: helix"]);
    }
}

#[tokio::test]
async fn a_text_that_was_read_is_not_read_again() {
    let (world, model) = text();
    model.states(&json!([drawn("likes", "tea", "tea")]));
    tell(&world, "I like tea.").await;
    model.states(&json!([]));
    tell(&world, "It rained.").await;
    for world in [&world, &with(&world, Surface::Text, true, &model)] {
        let revision = world.revision().await;
        let told = tell(world, "I like tea.").await;
        assert_eq!(
            told["remembered"],
            json!([{"text": "user likes: tea", "already_known": true}])
        );
        let told = tell(world, "It rained.").await;
        assert_eq!(told["remembered"], json!([]));
        assert_eq!(world.revision().await, revision);
    }
    assert_eq!(model.asked().len(), 2);
    // Forgotten and said again, it is news.
    world.ask(Forget, json!({"text": "I like tea."})).await;
    model.states(&json!([drawn("likes", "tea", "tea")]));
    tell(&world, "I like tea.").await;
    assert_eq!(model.asked().len(), 3);
}

/// An agent that writes down what it has read must not make true again what is no longer so.
#[tokio::test]
async fn a_text_that_repeats_what_was_answered_adds_no_belief() {
    let (world, model) = text();
    model.states(&json!([drawn("prefers_editor", "vim", "I use vim")]));
    tell(&world, "I use vim.").await;
    model.states(&json!([drawn(
        "prefers_editor",
        "zed",
        "I switched to zed"
    )]));
    tell(&world, "I switched to zed.").await;
    let (asked, revision) = (model.asked().len(), world.revision().await);
    for (echo, holds) in [
        ("user prefers editor: zed", true),
        ("user prefers editor: vim", false),
        ("User prefers editor: vim.", false),
        (
            "- user prefers editor: zed\n- user prefers editor: vim",
            false,
        ),
        (
            "Assistant: user prefers editor: vim\nUser: I switched to zed.",
            false,
        ),
    ] {
        let told = tell(&world, echo).await;
        assert!(
            told["note"].as_str().unwrap().contains("only repeats"),
            "{told}"
        );
        assert_eq!(told["kept_as_text"], false);
        // Only what is so is known.
        assert_eq!(told["already_known"] == true, holds, "{told}");
        assert!(!told["remembered"].to_string().contains("vim"), "{told}");
        assert_eq!(told["not_remembered"].is_null(), holds, "{told}");
        assert_eq!(world.revision().await, revision, "{echo}");
    }
    let messages = json!([{"role": "assistant", "content": "user prefers editor: vim"}]);
    let told = world.ask(Remember, json!({"messages": messages})).await;
    assert_eq!(
        told["not_remembered"][0]["text"],
        "user prefers editor: vim"
    );
    assert_eq!(model.asked().len(), asked, "nothing was sent");
    assert_eq!(rows(&world, "vim").await[0], "user prefers editor: zed");
    // Beside something new, the repeated part is still no evidence.
    model.states(&json!([
        drawn("prefers_editor", "vim", "user prefers editor: vim"),
        drawn("likes", "tea", "I like tea"),
    ]));
    let told = tell(
        &world,
        "You told me that user prefers editor: vim\nI like tea.",
    )
    .await;
    assert_eq!(told["remembered"], json!([{"text": "user likes: tea"}]));
    assert!(
        told["not_remembered"][0]["reason"]
            .as_str()
            .unwrap()
            .contains("repeats")
    );
}

#[tokio::test]
async fn forgetting_takes_a_description_and_never_half_of_what_was_chosen() {
    let (world, model) = text();
    model.states(&json!([
        drawn("likes", "tea", "tea"),
        drawn("likes", "cake", "cake")
    ]));
    tell(&world, "I like tea and cake.").await;
    // Word for word, no model is asked.
    let asked = model.asked().len();
    let gone = world.ask(Forget, json!({"text": "user likes: cake"})).await;
    assert_eq!(gone["forgotten"], json!(["user likes: cake"]));
    assert_eq!(model.asked().len(), asked);
    for answer in [r#"{"forget": [0, 99]}"#, "no", r#"{"forget": [-1]}"#] {
        model.says(answer);
        let error = world
            .fails(Forget, json!({"text": "what I said about tea"}))
            .await;
        assert!(
            error.to_string().contains("nothing was forgotten"),
            "{error}"
        );
    }
    assert!(
        rows(&world, "tea")
            .await
            .contains(&"user likes: tea".to_owned())
    );
    model.says(r#"{"forget": []}"#);
    let gone = world
        .ask(Forget, json!({"text": "what I said about tea"}))
        .await;
    assert_eq!(gone["forgotten"], json!([]));
    let offered = model.asked().last().unwrap().user.clone();
    let line = offered
        .lines()
        .find(|line| line.ends_with("user likes: tea"))
        .unwrap();
    let number = line.split('.').next().unwrap();
    model.says(&format!(r#"{{"forget": [{number}]}}"#));
    let gone = world
        .ask(Forget, json!({"text": "what I said about tea"}))
        .await;
    assert_eq!(gone["forgotten"], json!(["user likes: tea"]));
    assert!(
        !rows(&world, "tea")
            .await
            .contains(&"user likes: tea".to_owned())
    );
}

#[tokio::test]
async fn the_typed_surface_takes_a_text_without_statements() {
    let model = Arc::new(Scripted::default());
    let world = with(&World::typed(), Surface::Typed, false, &model);
    model.states(&json!([
        drawn("prefers_editor", "helix", "helix"),
        drawn("shoe_size", "43", "43")
    ]));
    let told = world
        .ask(Remember, json!({"text": "I use helix and wear 43."}))
        .await;
    assert_eq!(told["episode"]["stored"]["predicate"], "note");
    assert_eq!(told["results"][0]["stored"]["value"], "helix");
    assert_eq!(told["proposals"].as_array().unwrap().len(), 1);
    assert!(
        told["refused"][0]["reason"]
            .as_str()
            .unwrap()
            .contains("not in the registry")
    );
    model.fails();
    let told = world.ask(Remember, json!({"text": "I wear hats."})).await;
    assert_eq!(told["results"][0]["stored"]["value"], "I wear hats.");
    assert!(told["note"].is_string());
    assert_eq!(told["proposals"], Value::Null);
}

#[tokio::test]
async fn without_a_model_a_text_is_a_note() {
    let world = World::text();
    let told = tell(&world, "user prefers editor: vim").await;
    assert!(told.get("remembered").is_none());
    assert_eq!(rows(&world, "vim").await, ["user prefers editor: vim"]);
}
