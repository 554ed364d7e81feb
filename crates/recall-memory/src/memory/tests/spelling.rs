//! How predicates are spelt: exactly on a closed server, by the nearest name on an open one.

use serde_json::{Value, json};

use super::support::World;
use crate::EmptyReason;
use crate::Operation::{Forget, History, Recall, Remember, Timeline};

fn pair(predicate: &str) -> Value {
    json!({"subject": "user", "predicate": predicate})
}

async fn with_an_editor(world: World) -> World {
    world.say("user", "prefers_editor", json!("helix")).await;
    world
}

#[track_caller]
fn check(found: &(usize, usize, Value), expected: (usize, usize, &str), predicate: &str) {
    let expected = (expected.0, expected.1, json!(expected.2));
    assert_eq!(*found, expected, "{predicate:?}");
}

/// What each read finds of the pair, and the name it is found under.
async fn reads(world: &World, predicate: &str) -> (usize, usize, Value) {
    let recalled = world.ask(Recall, pair(predicate)).await;
    let history = world.ask(History, pair(predicate)).await;
    let timeline = world.ask(Timeline, pair(predicate)).await;
    let count = |list: &Value| list.as_array().unwrap().len();
    assert_eq!(count(&timeline["steps"]), count(&history));
    assert_eq!(count(&timeline["now"]), count(&recalled));
    (
        count(&recalled),
        count(&history),
        timeline["predicate"].clone(),
    )
}

/// From a run of the published server, but for the width of letters.
#[tokio::test]
async fn a_closed_server_takes_names_as_they_are() {
    let world = with_an_editor(World::typed()).await;
    let long = "p".repeat(65);
    for (predicate, found, echoed) in [
        ("prefers_editor", 1, "prefers_editor"),
        (" prefers_editor ", 1, "prefers_editor"),
        ("Prefers_Editor", 0, "Prefers_Editor"),
        ("prefers editor", 0, "prefers editor"),
        ("_prefers_editor", 0, "_prefers_editor"),
        ("ｐrefers_editor", 0, "ｐrefers_editor"),
        (&long, 0, &long),
    ] {
        let all = reads(&world, predicate).await;
        check(&all, (found, found, echoed), predicate);
        if found > 0 {
            continue;
        }
        let answer = world.answer(Recall, pair(predicate)).await.unwrap();
        assert_eq!(answer.coverage.empty, Some(EmptyReason::UnknownPredicate));
        let mut statement = pair(predicate);
        let error = world.fails(Forget, statement.clone()).await;
        assert!(error.to_string().contains("not in the registry"), "{error}");
        statement["value"] = json!("zed");
        let error = world.fails(Remember, statement).await;
        assert_eq!(error.code(), "tool_error", "{predicate}");
        let args = json!({"subject": "user", "predicate": "role", "value": predicate,
            "replaces": [{"predicate": predicate, "value": "helix"}]});
        let answer = world.ask(Remember, args).await;
        assert_eq!(answer["unreplaced"][0]["predicate"], predicate);
    }
    assert_eq!(world.now("user", "prefers_editor").await, ["helix"]);
}

/// From a run of the published server, but for the width of letters.
#[tokio::test]
async fn an_open_server_takes_the_nearest_name() {
    for predicate in [
        "prefers_editor",
        "Prefers_Editor",
        "prefers editor",
        " _prefers--editor_ ",
        "ｐrefers_editor",
    ] {
        let world = with_an_editor(World::open()).await;
        let all = reads(&world, predicate).await;
        check(&all, (1, 1, "prefers_editor"), predicate);
        let known = world.say("user", predicate, json!("helix")).await;
        assert_eq!(known["already_known"], true, "{predicate}");
        let args = json!({"subject": "user", "predicate": "detail", "value": predicate,
            "replaces": [{"predicate": predicate, "value": "helix"}]});
        let replaced = world.ask(Remember, args).await;
        assert_eq!(replaced["superseded"][0]["predicate"], "prefers_editor");
        world.seconds(1);
        world.say("user", predicate, json!("helix")).await;
        assert_eq!(world.forget("user", predicate, None).await, 1);
    }
}

#[tokio::test]
async fn a_name_is_defined_once_however_it_is_spelt() {
    for predicate in ["x", "_x", "x_", "X", " X! "] {
        let world = World::open();
        let stored = world.say("user", predicate, json!(1)).await;
        assert_eq!(stored["stored"]["predicate"], "x", "{predicate}");
        let known = world.say("user", "x", json!(1)).await;
        assert_eq!(known["already_known"], true, "{predicate}");
        check(&reads(&world, predicate).await, (1, 1, "x"), predicate);
    }
    let world = World::open();
    for predicate in ["9x", "!!", &"p".repeat(65)] {
        let args = json!({"subject": "user", "predicate": predicate, "value": 1});
        let error = world.fails(Remember, args).await;
        assert!(error.to_string().contains("snake_case"), "{error}");
        check(
            &reads(&world, predicate).await,
            (0, 0, predicate),
            predicate,
        );
    }
}
