//! What an answer says that the limit left out is what a greater limit would show.

use serde_json::{Value, json};

use super::extraction::{drawn, tell, text, with};
use super::support::World;
use crate::Operation::{Explain, Recall, Remember};
use crate::{Coverage, Surface};

/// In scope, considered, left out.
async fn counts(world: &World, args: Value) -> (u32, u32, u32) {
    let Coverage {
        in_scope,
        considered,
        left_out,
        ..
    } = world.answer(Recall, args).await.unwrap().coverage;
    (in_scope, considered, left_out)
}

#[tokio::test]
async fn texts_whose_statements_answer_are_not_left_out_and_cost_no_row() {
    let (world, model) = text();
    for no in 0..30 {
        model.states(&json!([drawn("likes", &format!("cheese {no}"), "cheese")]));
        tell(&world, &format!("Some cheese is number {no}.")).await;
    }
    let found = world
        .answer(Recall, json!({"question": "cheese"}))
        .await
        .unwrap();
    assert_eq!(
        found.items, 20,
        "no row is lost to a text that is folded in"
    );
    // Thirty statements and their thirty texts; only statements are behind the page.
    let all = (
        found.coverage.in_scope,
        found.coverage.considered,
        found.coverage.left_out,
    );
    assert_eq!(all, (60, 30, 10));
    // The texts of which nothing is so any more are not counted either.
    model.states(&json!([]));
    for no in 0..30 {
        let text = format!("user likes: cheese {no}");
        world
            .ask(crate::Operation::Forget, json!({"text": text}))
            .await;
    }
    assert_eq!(
        counts(&world, json!({"question": "cheese"})).await,
        (30, 0, 0)
    );
    // On the typed surface a text is a statement of its own.
    let typed = with(&world, Surface::Typed, true, &model);
    assert_eq!(
        counts(&typed, json!({"subject": "user", "predicate": "note"}))
            .await
            .1,
        30
    );
}

#[tokio::test]
async fn what_another_time_excludes_is_not_left_out() {
    let world = World::open();
    for no in 1..=28 {
        let at = format!("2026-05-{no:02}T00:00:00Z");
        world
            .said("user", "likes", json!(format!("cheese {no}")), &at)
            .await;
        world
            .said("user", "role", json!(format!("cheese maker {no}")), &at)
            .await;
    }
    let then = "2026-05-10T12:00:00Z";
    // Ten cheeses and the latest role.
    for (args, expected) in [
        (json!({"query": "cheese", "as_of": then}), (11, 11, 0)),
        (
            json!({"query": "cheese", "as_of": then, "limit": 4}),
            (11, 11, 7),
        ),
        (
            json!({"subject": "user", "as_of": then, "limit": 4}),
            (11, 11, 7),
        ),
        (
            json!({"query": "cheese", "subject": "user", "as_of": then}),
            (11, 11, 0),
        ),
        (
            json!({"query": "cheese", "predicate": "likes", "as_of": then}),
            (10, 10, 0),
        ),
        (
            json!({"query": "cheese", "observed_before": then}),
            (29, 10, 0),
        ),
        (
            json!({"query": "cheese", "observed_after": then}),
            (29, 19, 0),
        ),
        (
            json!({"query": "cheese", "observed_after": then, "limit": 4}),
            (29, 19, 15),
        ),
        (json!({"query": "cheese"}), (29, 29, 9)),
        (json!({"query": "cheese last month"}), (29, 29, 9)),
    ] {
        assert_eq!(counts(&world, args.clone()).await, expected, "{args}");
    }
    let explained = world.ask(Explain, json!({"question": "cheese"})).await;
    assert_eq!(explained[0]["coverage"]["left_out"], 9);
    let text = World {
        memory: World::over(
            world.store.clone(),
            super::support::config(Surface::Text, true),
        )
        .memory,
        ..world
    };
    assert_eq!(
        counts(&text, json!({"question": "cheese", "as_of": then})).await,
        (11, 11, 0)
    );
    let since = json!({"question": "cheese", "since": "2026-05-10T12:00:00Z"});
    assert_eq!(counts(&text, since).await, (29, 19, 0));
}

#[tokio::test]
async fn a_text_of_many_messages_counts_once() {
    let world = World::text();
    let message = |no: usize| json!({"role": "user", "content": format!("the parrot said {no}")});
    let messages: Vec<_> = (0..300).map(message).collect();
    world.ask(Remember, json!({"messages": messages})).await;
    world
        .ask(Remember, json!({"text": "The parrot is green."}))
        .await;
    assert_eq!(
        counts(&world, json!({"question": "parrot"})).await,
        (2, 2, 0)
    );
}

/// Texts that are wholly gone, by what was drawn from them or because they repeat an answer, are not counted.
#[tokio::test]
async fn what_no_limit_shows_is_not_left_out() {
    let world = World::open();
    for no in 0..8 {
        let said = format!("Worker{no} is at site {no}.");
        let statement = json!({"subject": format!("w{no}"), "predicate": "status", "value": format!("site {no}"),
            "evidence": format!("Worker{no} is at site {no}"), "cardinality": "single"});
        let args = json!({"text": said, "statements": [statement]});
        world.ask(Remember, args).await;
    }
    for no in 0..4 {
        world.say(&format!("w{no}"), "status", json!("home")).await;
    }
    for told in [
        "w0 status: site 0",
        r#"[{"subject":"w1","predicate":"status","value":"site 1"}]"#,
        "I read that w2 status: site 2",
        "Bob says: Worker3 is at site 3.",
    ] {
        world
            .ask(Remember, json!({"text": told, "statements": []}))
            .await;
    }
    let question = "worker site status";
    let all = json!({"query": question, "limit": 1000});
    let all = world.ask(Recall, all).await.as_array().unwrap().len();
    // Eight statements, four texts that stand, and two that quote among other words.
    assert_eq!(all, 8 + 4 + 2);
    for limit in [1, 5, 10, 1000] {
        let args = json!({"query": question, "limit": limit});
        let shown = limit.min(all);
        let (_, considered, left_out) = counts(&world, args).await;
        assert_eq!((considered as usize, left_out as usize), (all, all - shown));
    }
}

/// Found by what they replaced alone.
#[tokio::test]
async fn what_is_found_by_old_words_is_counted() {
    let world = World::open();
    for no in 0..30 {
        let person = format!("person {no}");
        world.say(&person, "role", json!("gardener")).await;
        world
            .say(&person, "role", json!(format!("pilot{no}")))
            .await;
    }
    assert_eq!(
        counts(&world, json!({"query": "gardener", "limit": 5})).await,
        (30, 30, 25)
    );
}
