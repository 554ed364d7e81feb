//! Many callers at once.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use recall_store::SystemClock;
use serde_json::{Value, json};

use super::support::shared::SharedStore;
use super::support::{World, config};
use crate::Operation::{History, Recall, Remember};
use crate::{Args, Memory, Surface, Writer};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn eight_equal_remembers_make_one_event() {
    for (world, args) in [
        (
            World::typed(),
            json!({"subject": "user", "predicate": "name", "value": "Ann"}),
        ),
        (
            World::open(),
            json!({"subject": "user", "predicate": "likes", "value": "tea"}),
        ),
        (
            World::open(),
            json!({"subject": "user", "predicate": "a_new_one", "value": "tea"}),
        ),
        (World::text(), json!({"text": "I like tea."})),
    ] {
        let defines = u64::from(args["predicate"] == "a_new_one");
        let calls: Vec<_> = (0..8)
            .map(|_| {
                let (world, args) = (world.clone(), args.clone());
                tokio::spawn(async move { world.ask(Remember, args).await })
            })
            .collect();
        let mut known = 0;
        for call in calls {
            known += usize::from(call.await.unwrap()["already_known"] == true);
        }
        assert_eq!(known, 7, "{args}");
        assert_eq!(world.revision().await, 1 + defines, "{args}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_acknowledged_note_of_thirty_two_writers_is_there() {
    let world = World::typed();
    let writers: Vec<_> = (0..32)
        .map(|writer| {
            let world = world.clone();
            tokio::spawn(async move {
                for no in 0..40 {
                    world
                        .say("user", "note", json!(format!("note {no} of {writer}")))
                        .await;
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(world.revision().await, 32 * 40);
    let history = world
        .ask(History, json!({"subject": "user", "predicate": "note"}))
        .await;
    let values: HashSet<String> = history
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["value"].to_string())
        .collect();
    assert_eq!(values.len(), 32 * 40);
    let found = world.ask(Recall, json!({"query": "note 39 of 31"})).await;
    assert_eq!(found[0]["value"], "note 39 of 31");
}

/// Writers who disagree about one single-valued fact leave a whole chain behind.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_contested_fact_has_one_value_and_all_its_history() {
    let world = World::typed();
    let writers: Vec<_> = (0..16)
        .map(|writer| {
            let world = world.clone();
            tokio::spawn(
                async move { world.say("user", "name", json!(format!("n{writer}"))).await },
            )
        })
        .collect();
    let mut superseded: Vec<Value> = Vec::new();
    for writer in writers {
        let answer = writer.await.unwrap();
        superseded.extend(
            answer["superseded"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|card| card["value"].clone()),
        );
    }
    let now = world.now("user", "name").await;
    assert_eq!((now.len(), superseded.len()), (1, 15));
    let all: HashSet<String> = superseded
        .iter()
        .chain(&now)
        .map(Value::to_string)
        .collect();
    assert_eq!(
        all.len(),
        16,
        "each value was replaced once, and one stands"
    );
    let history = world
        .ask(History, json!({"subject": "user", "predicate": "name"}))
        .await;
    assert_eq!(history.as_array().unwrap().len(), 16);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn opposites_stated_together_never_hold_together() {
    for round in 0..20 {
        let world = World::open();
        let calls: Vec<_> = ["likes", "dislikes"]
            .into_iter()
            .map(|predicate| {
                let world = world.clone();
                tokio::spawn(async move { world.say("ann", predicate, json!("tea")).await })
            })
            .collect();
        for call in calls {
            call.await.unwrap();
        }
        let all = world.values(json!({"subject": "ann"})).await;
        assert_eq!(all.len(), 1, "round {round}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_caller_that_goes_away_leaves_a_whole_write_or_none() {
    let world = World::typed();
    let drawn = json!({"subject": "user", "predicate": "name", "value": "Ann", "evidence": "Ann"});
    let args = json!({"text": "I am Ann", "statements": [drawn]});
    let call = tokio::spawn({
        let world = world.clone();
        async move { world.ask(Remember, args).await }
    });
    tokio::task::yield_now().await;
    call.abort();
    let _ = call.await;
    // A later write waits behind it.
    world.say("user", "role", json!("cook")).await;
    let revision = world.revision().await;
    assert!(revision == 1 || revision == 3, "{revision}");
}

/// Four writers begin, four more come while the first commit is under way. From then on all eight
/// ride together, instead of four and four in turns.
#[tokio::test(start_paused = true)]
async fn writers_of_a_slow_store_share_every_commit() {
    const WRITES: u64 = 10;
    let mut store = SharedStore::new(true);
    store.exclusive = true;
    store.commit_time = Duration::from_millis(20);
    let store = Arc::new(store);
    let port = Arc::clone(&store);
    let memory = Memory::new(port, Arc::new(SystemClock), config(Surface::Typed, false));
    let write_all = |writer: u64| {
        let memory = memory.clone();
        async move {
            for no in 0..WRITES {
                let args = json!({"subject": format!("s{writer}-{no}"), "predicate": "name", "value": "x"});
                let args = Args::parse(args.to_string().as_bytes()).unwrap();
                let ns = "test".parse().unwrap();
                let by = Writer {
                    key_id: format!("k{writer}"),
                    session: None,
                };
                let call = memory.call(&ns, &by, Remember, args);
                call.await.unwrap();
            }
        }
    };
    let first: Vec<_> = (0..4)
        .map(|writer| tokio::spawn(write_all(writer)))
        .collect();
    tokio::time::sleep(store.commit_time / 2).await;
    let second: Vec<_> = (4..8)
        .map(|writer| tokio::spawn(write_all(writer)))
        .collect();
    for writer in first.into_iter().chain(second) {
        writer.await.unwrap();
    }
    let commits = store.commits.load(Ordering::SeqCst);
    assert!(commits <= WRITES + 2, "{commits} commits");
}
