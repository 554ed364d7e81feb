//! Views over a store that others write too, and stores in trouble.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use recall_store::{Batch, ManualClock, NewEvent, Store as _};
use serde_json::json;

use super::support::shared::SharedStore;
use super::support::{World, at, config};
use crate::Operation::{Recall, Remember};
use crate::{Config, Memory, Surface};

/// Two servers over one store.
fn pair(store: &Arc<SharedStore>) -> [World; 2] {
    let base = World::over(store.inner.clone(), config(Surface::Typed, true));
    let clock = ManualClock::new(at("2026-06-01T12:00:00Z"));
    [(); 2].map(|()| World {
        memory: Memory::new(
            store.clone(),
            Arc::new(clock.clone()),
            config(Surface::Typed, true),
        ),
        clock: clock.clone(),
        ..base.clone()
    })
}

#[tokio::test]
async fn each_replica_reads_what_the_other_acknowledged() {
    for conditional in [true, false] {
        let store = Arc::new(SharedStore::new(conditional));
        let [one, two] = pair(&store);
        for round in 0..5 {
            one.say("user", "name", json!(format!("one {round}"))).await;
            assert_eq!(two.now("user", "name").await, [format!("one {round}")]);
            two.say("user", "name", json!(format!("two {round}"))).await;
            assert_eq!(one.now("user", "name").await, [format!("two {round}")]);
        }
        assert_eq!(
            two.say("user", "name", json!("two 4")).await["already_known"],
            true
        );
        assert_eq!(
            one.memory.stats().loads,
            1,
            "the tail is followed, not the whole log"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn equal_remembers_on_two_replicas_make_one_event() {
    let store = Arc::new(SharedStore::new(true));
    let worlds = pair(&store);
    let calls: Vec<_> = (0..8)
        .map(|no| {
            let world = worlds[no % 2].clone();
            tokio::spawn(async move { world.say("user", "name", json!("Ann")).await })
        })
        .collect();
    for call in calls {
        call.await.unwrap();
    }
    assert_eq!(worlds[0].revision().await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn readers_share_a_check_and_see_what_came_before_them() {
    let store = Arc::new(SharedStore::new(true));
    let [one, two] = pair(&store);
    two.now("user", "note").await;
    for round in 0..20 {
        one.say("user", "note", json!(format!("note {round}")))
            .await;
        let readers: Vec<_> = (0..8)
            .map(|_| {
                let two = two.clone();
                tokio::spawn(async move { two.now("user", "note").await.len() })
            })
            .collect();
        for reader in readers {
            assert_eq!(reader.await.unwrap(), round + 1);
        }
    }
}

#[tokio::test]
async fn a_commit_of_unknown_outcome_is_looked_up_before_the_next_answer() {
    let store = Arc::new(SharedStore::new(true));
    let [world, _] = pair(&store);
    world.say("user", "name", json!("A")).await;
    store.lose_answer.store(true, Ordering::SeqCst);
    let args = json!({"subject": "user", "predicate": "name", "value": "B"});
    let error = world.fails(Remember, args.clone()).await;
    assert_eq!(error.code(), "store_unavailable");
    // It was written after all, and that is what stands.
    assert_eq!(world.now("user", "name").await, ["B"]);
    assert_eq!(world.ask(Remember, args).await["already_known"], true);
    assert_eq!(world.revision().await, 2);
}

#[tokio::test]
async fn a_store_that_cannot_be_asked_is_no_empty_memory() {
    let store = Arc::new(SharedStore::new(true));
    let [world, _] = pair(&store);
    world.say("user", "name", json!("A")).await;
    store.down.store(true, Ordering::SeqCst);
    for (operation, args) in [
        (Recall, json!({"subject": "user"})),
        (
            Remember,
            json!({"subject": "user", "predicate": "name", "value": "B"}),
        ),
    ] {
        assert_eq!(
            world.fails(operation, args).await.code(),
            "store_unavailable"
        );
    }
    store.down.store(false, Ordering::SeqCst);
    assert_eq!(world.now("user", "name").await, ["A"]);
}

#[tokio::test]
async fn a_damaged_event_is_named_and_nothing_is_guessed() {
    let world = World::typed();
    world.say("user", "name", json!("A")).await;
    let batch = Batch {
        events: vec![NewEvent {
            id: "m-x".to_owned(),
            body: Bytes::from_static(b"{\"kind\":\"rumour\"}"),
        }],
        ..Batch::default()
    };
    world.store.commit(&world.ns, batch).await.unwrap();
    let again = world.again(config(Surface::Typed, false));
    let error = again.fails(Recall, json!({"subject": "user"})).await;
    assert_eq!(error.code(), "store_damaged");
    assert!(error.to_string().contains("revision 2"), "{error}");
}

#[tokio::test]
async fn a_log_that_never_rests_is_given_up_on() {
    let store = Arc::new(SharedStore::new(true));
    let [world, _] = pair(&store);
    store.always_conflict.store(true, Ordering::SeqCst);
    let args = json!({"subject": "user", "predicate": "name", "value": "B"});
    let error = world.fails(Remember, args).await;
    assert_eq!(error.code(), "store_unavailable");
    assert_eq!(store.commits.load(Ordering::SeqCst), 8);
}

#[tokio::test]
async fn a_check_answers_later_reads_for_as_long_as_it_is_fresh() {
    for (freshness, checks) in [(Duration::ZERO, 5), (Duration::from_secs(3_600), 0)] {
        let store = Arc::new(SharedStore::new(true));
        let settings = Config {
            freshness,
            ..config(Surface::Typed, false)
        };
        let base = World::over(store.inner.clone(), settings.clone());
        let world = World {
            memory: Memory::new(store.clone(), Arc::new(base.clock.clone()), settings),
            ..base
        };
        world.say("user", "name", json!("A")).await;
        let before = store.checks.load(Ordering::SeqCst);
        for _ in 0..5 {
            world.now("user", "name").await;
        }
        assert_eq!(store.checks.load(Ordering::SeqCst) - before, checks);
    }
}

#[tokio::test]
async fn a_write_that_is_done_is_answered_although_the_store_goes_away() {
    let store = Arc::new(SharedStore::new(true));
    let [world, _] = pair(&store);
    world.say("user", "name", json!("A")).await;
    store.down_after_commit.store(true, Ordering::SeqCst);
    let stored = world.say("user", "role", json!("cook")).await;
    assert_eq!(stored["related"][0]["value"], "A");
}
