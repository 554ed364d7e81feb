//! Search by vectors beside words: helpful while it is there, never in the way when it is not.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use recall_store::{RecordKind, Store as _};
use serde_json::{Value, json};

use super::support::shared::SharedStore;
use super::support::{World, config};
use crate::Operation::{Explain, Forget, Recall, Remember};
use crate::{Answer, Embedder, Memory, ModelError, ModelFuture, Models, Surface, Vectors, WhyNot};

/// Words of one meaning share a direction.
const MEANINGS: [&[&str]; 4] = [
    &["dog", "puppy", "hound"],
    &["car", "vehicle"],
    &["doctor", "physician"],
    &["house", "home"],
];

const ANSWERS: u32 = 0;
const FAILS: u32 = 1;
const HANGS: u32 = 2;
const MISCOUNTS: u32 = 3;

/// A model that knows a few words, and does as it is told.
#[derive(Debug)]
struct Scripted {
    name: String,
    dimension: usize,
    mood: AtomicU32,
    texts: AtomicUsize,
}

impl Scripted {
    fn new(name: &str, dimension: usize) -> Arc<Self> {
        Arc::new(Self {
            name: name.to_owned(),
            dimension,
            mood: AtomicU32::new(ANSWERS),
            texts: AtomicUsize::new(0),
        })
    }

    fn be(&self, mood: u32) {
        self.mood.store(mood, Ordering::SeqCst);
    }

    fn asked(&self) -> usize {
        self.texts.load(Ordering::SeqCst)
    }

    fn vector(&self, text: &str) -> Vec<f32> {
        let mut vector = vec![0.01; self.dimension];
        for word in text
            .to_lowercase()
            .split(|letter: char| !letter.is_alphanumeric())
        {
            let meaning = MEANINGS.iter().position(|words| words.contains(&word));
            if let Some(number) = meaning.and_then(|meaning| vector.get_mut(meaning)) {
                *number += 1.0;
            }
        }
        vector
    }
}

impl Embedder for Scripted {
    fn model(&self) -> &str {
        &self.name
    }

    fn embed(&self, texts: Vec<String>) -> ModelFuture<'_, Vec<Vec<f32>>> {
        Box::pin(async move {
            match self.mood.load(Ordering::SeqCst) {
                FAILS => return Err(ModelError("no".to_owned())),
                HANGS => std::future::pending().await,
                MISCOUNTS => return Ok(Vec::new()),
                _ => {}
            }
            self.texts.fetch_add(texts.len(), Ordering::SeqCst);
            Ok(texts.iter().map(|text| self.vector(text)).collect())
        })
    }
}

/// The same store seen by a memory with a model.
fn with(world: &World, surface: Surface, embedder: &Arc<Scripted>, embed_again: bool) -> World {
    let models = Models {
        embedder: Some(embedder.clone()),
        embed_again,
        ..Models::default()
    };
    let (store, clock) = (Arc::new(world.store.clone()), Arc::new(world.clock.clone()));
    World {
        memory: Memory::with_models(store, clock, config(surface, true), models),
        ..world.clone()
    }
}

/// Waits until so many statements got their vector.
async fn embedded(world: &World, count: u64) {
    for _ in 0..10_000 {
        if world.memory.stats().embedded >= count {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("{:?}", world.memory.stats());
}

async fn keep(world: &World, text: &str) {
    world.ask(Remember, json!({"text": text})).await;
}

async fn ask(world: &World, question: &str) -> (Vec<String>, Answer) {
    let answer = world
        .answer(Recall, json!({"question": question}))
        .await
        .unwrap();
    let body: Value = serde_json::from_slice(&answer.json).unwrap();
    let rows = body["memories"].as_array().unwrap().iter();
    (
        rows.map(|row| row["text"].as_str().unwrap().to_owned())
            .collect(),
        answer,
    )
}

async fn told() -> (World, Arc<Scripted>) {
    let model = Scripted::new("m1", 4);
    let world = with(&World::text(), Surface::Text, &model, false);
    for text in [
        "Rex is a hound.",
        "The physician called.",
        "Lunch was late.",
    ] {
        keep(&world, text).await;
    }
    embedded(&world, 3).await;
    (world, model)
}

#[tokio::test]
async fn a_question_in_other_words_finds_what_is_meant() {
    let (world, _) = told().await;
    let (rows, answer) = ask(&world, "Who has a puppy?").await;
    assert_eq!(rows[0], "Rex is a hound.");
    assert_eq!(answer.coverage.indexes.used(), ["words", "vector"]);
    assert_eq!(answer.coverage.indexes.vectors, Vectors::Used);
    // Words still count.
    let (rows, _) = ask(&world, "lunch").await;
    assert_eq!(rows[0], "Lunch was late.");
    // What is read without a question is not searched for.
    let answer = world.answer(Recall, json!({})).await.unwrap();
    assert_eq!(answer.coverage.indexes.vectors, Vectors::Off);
}

#[tokio::test]
async fn without_a_model_nothing_is_said_of_vectors() {
    let world = World::text();
    keep(&world, "Rex is a hound.").await;
    let (rows, answer) = ask(&world, "Who has a puppy?").await;
    assert!(rows.is_empty());
    assert_eq!(answer.coverage.indexes.vectors, Vectors::Off);
    assert!(answer.coverage.indexes.degraded().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_model_that_hangs_or_fails_costs_a_second_once_and_words_answer() {
    for (mood, why, words) in [
        (HANGS, WhyNot::Slow, "in time"),
        (FAILS, WhyNot::Failed, "could not be reached"),
        (MISCOUNTS, WhyNot::Failed, "with a vector"),
    ] {
        let (world, model) = told().await;
        model.be(mood);
        let began = tokio::time::Instant::now();
        let (rows, answer) = ask(&world, "hound").await;
        assert_eq!(rows, ["Rex is a hound."], "words answer alone");
        assert_eq!(answer.coverage.indexes.vectors, Vectors::Degraded(why));
        assert_eq!(answer.coverage.indexes.degraded(), ["vector"]);
        assert!(answer.coverage.indexes.why().unwrap().contains(words));
        assert!(began.elapsed() <= Duration::from_millis(1_001));
        // It is left alone for a while, and asked again after that.
        let began = tokio::time::Instant::now();
        for _ in 0..100 {
            let indexes = ask(&world, "hound").await.1.coverage.indexes;
            assert_eq!(indexes.vectors, Vectors::Degraded(WhyNot::Resting));
            assert!(indexes.why().unwrap().contains("a moment ago"));
        }
        assert_eq!(began.elapsed(), Duration::ZERO);
        assert_eq!(world.memory.stats().embedding_failures, 1);
        model.be(ANSWERS);
        tokio::time::advance(Duration::from_secs(6)).await;
        assert_eq!(
            ask(&world, "hound").await.1.coverage.indexes.vectors,
            Vectors::Used
        );
    }
}

#[tokio::test(start_paused = true)]
async fn what_could_not_be_embedded_is_embedded_later_and_the_answer_says_so_till_then() {
    let (world, model) = told().await;
    model.be(FAILS);
    keep(&world, "My vehicle is green.").await;
    tokio::task::yield_now().await;
    tokio::time::advance(Duration::from_secs(6)).await;
    // The job fails again while the question itself would be answered.
    let (rows, answer) = ask(&world, "green").await;
    assert_eq!(rows, ["My vehicle is green."]);
    assert_eq!(answer.coverage.indexes.degraded(), ["vector"]);
    assert_eq!(world.memory.unembedded(), 1);
    model.be(ANSWERS);
    tokio::time::advance(Duration::from_secs(6)).await;
    ask(&world, "anything").await;
    embedded(&world, 4).await;
    let (rows, answer) = ask(&world, "Which car?").await;
    assert_eq!(rows[0], "My vehicle is green.");
    assert_eq!(answer.coverage.indexes.vectors, Vectors::Used);
    assert_eq!(world.memory.unembedded(), 0);
}

#[tokio::test]
async fn what_waits_for_a_vector_is_what_is_believed_and_has_none() {
    let world = World::open();
    let models = Models::default();
    let plain = Memory::with_models(
        Arc::new(world.store.clone()),
        Arc::new(world.clock.clone()),
        config(Surface::Typed, true),
        models,
    );
    let plain = World {
        memory: plain,
        ..world
    };
    for no in 0..5_000 {
        plain.say(&format!("ann {no}"), "likes", json!("tea")).await;
    }
    plain.say("ann 7", "likes", json!("coffee")).await;
    plain.forget("ann 8", "likes", None).await;
    assert_eq!(plain.memory.unembedded(), 0, "no model is set");
    let model = Scripted::new("m1", 4);
    model.be(FAILS);
    let world = with(&plain, Surface::Typed, &model, false);
    world.ask(Recall, json!({"query": "tea"})).await;
    assert_eq!(world.memory.unembedded(), 5_000);
}

#[tokio::test]
async fn vectors_are_kept_and_not_made_twice() {
    let (world, model) = told().await;
    let asked = model.asked();
    let again = with(&world, Surface::Text, &model, false);
    let (rows, answer) = ask(&again, "puppy").await;
    assert_eq!(rows[0], "Rex is a hound.");
    assert_eq!(answer.coverage.indexes.vectors, Vectors::Used);
    assert_eq!(model.asked(), asked + 1, "the question alone");
}

#[tokio::test]
async fn vectors_of_another_model_are_not_compared_but_made_anew_when_told_to() {
    let (world, _) = told().await;
    let other = Scripted::new("m2", 6);
    let refusing = with(&world, Surface::Text, &other, false);
    let (rows, answer) = ask(&refusing, "puppy").await;
    assert!(rows.is_empty());
    assert_eq!(
        answer.coverage.indexes.vectors,
        Vectors::Degraded(WhyNot::OtherModel)
    );
    assert!(
        answer
            .coverage
            .indexes
            .why()
            .unwrap()
            .contains("another embedding model")
    );
    assert_eq!(ask(&refusing, "hound").await.0, ["Rex is a hound."]);
    assert_eq!(other.asked(), 0, "nothing is sent");

    let again = with(&world, Surface::Text, &other, true);
    ask(&again, "puppy").await;
    embedded(&again, 3).await;
    let (rows, answer) = ask(&again, "puppy").await;
    assert_eq!(rows[0], "Rex is a hound.");
    assert_eq!(answer.coverage.indexes.vectors, Vectors::Used);
    let kept = async || {
        let list = world
            .store
            .list(&world.ns, RecordKind::Vector, "", None, 100)
            .await
            .unwrap();
        list.records.len()
    };
    for _ in 0..1_000 {
        if kept().await == 4 {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert_eq!(
        kept().await,
        4,
        "three vectors and whose they are; the old ones are erased"
    );
}

/// The same name, and another length: somebody changed the model behind it.
#[tokio::test]
async fn vectors_of_another_length_are_another_models() {
    let (world, _) = told().await;
    let other = Scripted::new("m1", 5);
    let changed = with(&world, Surface::Text, &other, false);
    let (rows, answer) = ask(&changed, "hound").await;
    assert_eq!(rows, ["Rex is a hound."]);
    assert_eq!(
        answer.coverage.indexes.vectors,
        Vectors::Degraded(WhyNot::OtherModel)
    );
}

#[tokio::test]
async fn vectors_bring_back_nothing_that_is_no_longer_so() {
    let model = Scripted::new("m1", 4);
    let world = with(&World::open(), Surface::Typed, &model, false);
    world
        .said(
            "ann",
            "works_at",
            json!("the dog shelter"),
            "2026-01-01T00:00:00Z",
        )
        .await;
    world
        .say("ann", "likes", json!("hounds and puppy stories"))
        .await;
    embedded(&world, 2).await;
    world
        .said(
            "ann",
            "works_at",
            json!("the bakery"),
            "2026-02-01T00:00:00Z",
        )
        .await;
    world.forget("ann", "likes", None).await;
    embedded(&world, 3).await;
    assert_eq!(
        world.values(json!({"query": "puppy"})).await,
        ["the bakery"]
    );
    let then = json!({"query": "puppy", "as_of": "2026-01-15T00:00:00Z"});
    assert_eq!(world.values(then).await, ["the dog shelter"]);
    let none = json!({"query": "puppy", "predicate": "goal"});
    assert!(world.values(none).await.is_empty());
    let why = world.ask(Explain, json!({"question": "puppy"})).await;
    assert_eq!(why[0]["coverage"]["indexes"], json!(["words", "vector"]));
}

#[tokio::test]
async fn notes_that_are_forgotten_stay_forgotten() {
    let (world, _) = told().await;
    world.ask(Forget, json!({"text": "Rex is a hound."})).await;
    let (rows, _) = ask(&world, "puppy").await;
    assert!(!rows.contains(&"Rex is a hound.".to_owned()), "{rows:?}");
}

/// Two servers over one store do not have one text embedded twice, unless at the same moment.
#[tokio::test]
async fn what_another_server_has_embedded_is_taken_from_the_store() {
    let store = Arc::new(SharedStore::new(true));
    let base = World::over(store.inner.clone(), config(Surface::Text, true));
    let models = [(); 2].map(|()| Scripted::new("m1", 4));
    let [one, two] = [0, 1].map(|no: usize| {
        let models = Models {
            embedder: Some(models[no].clone()),
            ..Models::default()
        };
        let clock = Arc::new(base.clock.clone());
        World {
            memory: Memory::with_models(store.clone(), clock, config(Surface::Text, true), models),
            ..base.clone()
        }
    });
    ask(&two, "puppy").await;
    for no in 1..=3 {
        keep(&one, &format!("Rex number {no} is a hound.")).await;
        embedded(&one, no).await;
    }
    let before = models[1].asked();
    for asked in 1..1_000 {
        let (rows, answer) = ask(&two, "puppy").await;
        if answer.coverage.indexes.vectors == Vectors::Used {
            assert_eq!(rows.len(), 3);
            assert_eq!(models[1].asked(), before + asked, "questions alone");
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("never taken");
}

/// Whatever limit is named: what it left out is what a greater one shows.
#[tokio::test]
async fn what_vectors_find_is_counted_and_left_out_as_a_greater_limit_shows() {
    let world = World::open();
    let model = Scripted::new("m", 4);
    let typed = with(&world, Surface::Typed, &model, false);
    for no in 0..30 {
        let at = format!("2026-05-{:02}T00:00:00Z", no + 1);
        let word = if no % 3 == 0 { "vehicle" } else { "dog" };
        let owner = format!("owner{}", no % 2);
        typed
            .said(&owner, "owns", json!(format!("{word} {no}")), &at)
            .await;
    }
    for no in 0..5 {
        let statement = json!({"subject": "ann", "predicate": "has_pet", "value": format!("puppy {no}"),
            "cardinality": "multi", "evidence": format!("puppy {no}")});
        let text = format!("Ann walks puppy {no}.");
        typed
            .ask(Remember, json!({"text": text, "statements": [statement]}))
            .await;
        typed.seconds(1);
    }
    // All have their vector before two are forgotten: what is gone sooner needs none.
    embedded(&typed, 40).await;
    typed
        .forget("owner0", "owns", Some(json!("vehicle 0")))
        .await;
    typed.forget("owner1", "owns", Some(json!("dog 1"))).await;
    typed.say("owner0", "owns", json!("car 99")).await;
    embedded(&typed, 41).await;
    let explorers = with(&world, Surface::Text, &model, false);
    let then = "2026-05-20T12:00:00Z";
    for args in [
        json!({"query": "car"}),
        json!({"query": "nothing at all"}),
        json!({"query": "car", "subject": "owner0"}),
        json!({"query": "hound", "predicate": "owns"}),
        json!({"query": "hound", "observed_after": then}),
        json!({"query": "hound", "as_of": then}),
        json!({"query": "car last month"}),
        json!({"query": "what happened last month"}),
        json!({"query": "May 7"}),
    ] {
        let ask = async |limit: u32| {
            let mut args = args.clone();
            args["limit"] = json!(limit);
            typed.answer(Recall, args).await.unwrap()
        };
        let all = ask(1000).await;
        assert_eq!(
            (all.coverage.left_out, all.coverage.considered),
            (0, all.items),
            "{args}"
        );
        assert!(all.items > 2, "{args}: {}", all.items);
        for limit in [1, 3, 10, all.items] {
            let page = ask(limit).await;
            let found = (page.items, page.coverage.left_out);
            assert_eq!(found, (limit, all.items - limit), "{args} {limit}");
            assert_eq!(page.coverage.considered, all.items, "{args} {limit}");
        }
    }
    // The five texts give their places up to their statements.
    for question in ["hound", "car", "Ann walks"] {
        let (rows, answer) = ask(&explorers, question).await;
        let coverage = answer.coverage;
        assert_eq!(
            (rows.len(), coverage.considered, coverage.left_out),
            (20, 34, 14),
            "{question}"
        );
    }
}
