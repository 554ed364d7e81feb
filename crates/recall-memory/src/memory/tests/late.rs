//! Readings that take long: what was said meanwhile stays as it is.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::extraction::{Scripted, drawn, rows, tell, with};
use super::support::{World, config};
use crate::Operation::{Forget, Recall, Remember};
use crate::{Ask, Extractor, Memory, ModelError, ModelFuture, Models, Surface};

/// A model that answers a text when it is let.
#[derive(Debug, Default)]
struct Slow {
    answers: Mutex<VecDeque<(oneshot::Receiver<()>, String)>>,
    asked: Mutex<usize>,
}

impl Slow {
    /// Prepares an answer, to be let go by what is returned.
    fn states(&self, statements: &Value) -> oneshot::Sender<()> {
        let (go, gone) = oneshot::channel();
        let answer = json!({ "statements": statements }).to_string();
        self.answers.lock().push_back((gone, answer));
        go
    }

    async fn was_asked(&self, times: usize) {
        while *self.asked.lock() < times {
            tokio::task::yield_now().await;
        }
    }
}

impl Extractor for Slow {
    fn answer(&self, _: Ask) -> ModelFuture<'_, String> {
        *self.asked.lock() += 1;
        let next = self.answers.lock().pop_front();
        Box::pin(async move {
            let (go, answer) = next.ok_or_else(|| ModelError("no answer".to_owned()))?;
            go.await.map_err(|_| ModelError("given up".to_owned()))?;
            Ok(answer)
        })
    }
}

fn slow(surface: Surface) -> (World, Arc<Slow>) {
    let model = Arc::new(Slow::default());
    let world = World::new(surface, true);
    let models = Models {
        extractor: Some(model.clone()),
        ..Models::default()
    };
    let (store, clock) = (Arc::new(world.store.clone()), Arc::new(world.clock.clone()));
    let memory = Memory::with_models(store, clock, config(surface, true), models);
    (World { memory, ..world }, model)
}

fn lives(city: &str, evidence: &str) -> Value {
    let mut drawn = drawn("lives_in", city, evidence);
    drawn["subject"] = json!("alice");
    drawn["cardinality"] = json!("single");
    json!([drawn])
}

async fn cities(world: &World) -> (Vec<Value>, Vec<Value>) {
    let world = world.again(config(Surface::Typed, true));
    let believed = world
        .ask(Recall, json!({"subject": "alice", "predicate": "lives_in"}))
        .await[0]
        .clone();
    let replaced = believed["replaced"].as_array().cloned().unwrap_or_default();
    let replaced = replaced.iter().map(|old| old["value"].clone());
    (vec![believed["value"].clone()], replaced.collect())
}

/// The reading of an earlier text ends after that of a later one.
#[tokio::test]
async fn a_slow_reading_does_not_replace_what_a_later_text_said() {
    let same = json!("2026-05-01T10:00:00Z");
    for (surface, times) in [
        (Surface::Text, [Value::Null, Value::Null]),
        (Surface::Typed, [Value::Null, Value::Null]),
        // Said at one instant, in this order.
        (Surface::Text, [same.clone(), same.clone()]),
        (Surface::Text, [json!("2026-05-01T10:00:00Z"), Value::Null]),
    ] {
        let (world, model) = slow(surface);
        let [first, second] = times.clone();
        let go = model.states(&lives("Rome", "Alice lives in Rome"));
        let early = tokio::spawn({
            let world = world.clone();
            async move {
                let args = json!({"text": "Alice lives in Rome.", "observed_at": first});
                world.ask(Remember, args).await
            }
        });
        model.was_asked(1).await;
        world.seconds(1);
        model
            .states(&lives("Oslo", "moved to Oslo"))
            .send(())
            .unwrap();
        let args = json!({"text": "Alice moved to Oslo.", "observed_at": second});
        world.ask(Remember, args).await;
        world.seconds(1);
        go.send(()).unwrap();
        let told = early.await.unwrap();
        let (now, before) = cities(&world).await;
        assert_eq!(
            (now, before),
            (vec![json!("Oslo")], vec![json!("Rome")]),
            "{times:?}"
        );
        // The answer does not claim what is not so.
        let list = match surface {
            Surface::Text => {
                assert_eq!(told["remembered"], json!([]), "{told}");
                &told["not_remembered"]
            }
            Surface::Typed => &told["refused"],
        };
        assert_eq!(list[0]["text"], "alice lives in: Rome", "{told}");
        let reason = list[0]["reason"].as_str().unwrap();
        assert!(reason.contains("later"), "{reason}");
        if surface == Surface::Text {
            assert_eq!(rows(&world, "Rome").await[0], "alice lives in: Oslo");
        }
    }
}

/// A text whose reading failed keeps its day when it is sent again.
#[tokio::test]
async fn a_failed_text_that_is_sent_again_does_not_replace_what_a_later_text_said() {
    for surface in [Surface::Text, Surface::Typed] {
        let model = Arc::new(Scripted::default());
        let world = with(&World::new(surface, true), surface, true, &model);
        model.fails();
        tell(&world, "Alice lives in Rome.").await;
        model.states(&lives("Oslo", "moved to Oslo"));
        tell(&world, "Alice moved to Oslo.").await;
        model.states(&lives("Rome", "Alice lives in Rome"));
        tell(&world, "ALICE lives in Rome.").await;
        let (now, before) = cities(&world).await;
        assert_eq!((now, before), (vec![json!("Oslo")], vec![json!("Rome")]));
    }
}

#[tokio::test]
async fn nothing_is_drawn_from_a_text_that_was_withdrawn_while_it_was_read() {
    let (world, model) = slow(Surface::Text);
    let go = model.states(&lives("Rome", "Alice lives in Rome"));
    let early = tokio::spawn({
        let world = world.clone();
        async move { tell(&world, "Alice lives in Rome.").await }
    });
    model.was_asked(1).await;
    world.seconds(1);
    let gone = world
        .ask(Forget, json!({"text": "Alice lives in Rome."}))
        .await;
    assert_eq!(gone["forgotten"], json!(["Alice lives in Rome."]));
    go.send(()).unwrap();
    let told = early.await.unwrap();
    assert_eq!(told["remembered"], json!([]), "{told}");
    let reason = told["not_remembered"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("withdrawn"), "{reason}");
    assert!(rows(&world, "Alice Rome").await.is_empty());
}

#[tokio::test]
async fn a_new_text_is_not_said_to_be_known() {
    let model = Arc::new(Scripted::default());
    let world = with(&World::open(), Surface::Typed, true, &model);
    model.states(&lives("Rome", "Alice lives in Rome"));
    let told = tell(&world, "Alice lives in Rome.").await;
    assert_eq!(told["episode"]["already_known"], Value::Null, "{told}");
    assert_eq!(told["results"][0]["already_known"], Value::Null, "{told}");
    model.states(&json!([]));
    let told = tell(&world, "It rained.").await;
    assert_eq!(told["results"][0]["already_known"], Value::Null, "{told}");
    // Kept before and not read, it is known.
    model.fails();
    tell(&world, "Bob sings.").await;
    model.states(&json!([]));
    let told = tell(&world, "Bob sings.").await;
    assert_eq!(told["episode"]["already_known"], true, "{told}");
}
