//! Long listings, page by page.

use serde_json::{Value, json};

use super::support::World;
use crate::Operation::{self, History, Recall};

/// All pages of a listing, each a list of values.
async fn pages(world: &World, operation: Operation, args: &Value) -> Vec<Vec<Value>> {
    let (mut pages, mut args) = (Vec::new(), args.clone());
    loop {
        let answer = world.answer(operation, args.clone()).await.expect("a page");
        let rows: Vec<Value> = serde_json::from_slice(&answer.json).expect("a list");
        pages.push(rows.iter().map(|row| row["value"].clone()).collect());
        assert_eq!(answer.next.is_some(), answer.coverage.left_out > 0);
        match answer.next {
            Some(next) => args["cursor"] = next.into(),
            None => return pages,
        }
        assert!(pages.len() < 1_000, "it never ends");
    }
}

#[tokio::test]
async fn the_pages_of_a_listing_are_the_listing() {
    let world = World::typed();
    for n in 0..25 {
        let predicate = if n % 3 == 0 {
            "note"
        } else {
            "uses_technology"
        };
        let confidence = if n % 2 == 0 { 0.9 } else { 0.4 };
        let args = json!({"subject": "u", "predicate": predicate, "value": format!("v{n}"), "confidence": confidence});
        world.ask(Operation::Remember, args).await;
        world.seconds(1);
    }
    for listing in [
        json!({"subject": "u"}),
        json!({"predicate": "note"}),
        json!({"subject": "u", "predicate": "uses_technology"}),
        json!({"subject": "u", "min_confidence": 0.5}),
        json!({"subject": "u", "as_of": "2026-06-01T12:00:12Z"}),
    ] {
        let mut whole = listing.clone();
        whole["limit"] = json!(1000);
        let whole = world.values(whole).await;
        for limit in [1, 7, 24, 25, 26] {
            let mut listing = listing.clone();
            listing["limit"] = json!(limit);
            let found = pages(&world, Recall, &listing).await;
            assert_eq!(found.concat(), whole, "{listing}");
            let full = found.iter().rev().skip(1);
            assert!(
                full.into_iter().all(|page| page.len() == limit),
                "{listing}: {found:?}"
            );
        }
    }
}

#[tokio::test]
async fn what_happens_between_two_pages_moves_none_of_the_rest() {
    let world = World::typed();
    for n in 0..10 {
        world
            .say("u", "uses_technology", json!(format!("v{n}")))
            .await;
        world.seconds(1);
    }
    let args = json!({"subject": "u", "limit": 4});
    let first = world.answer(Recall, args.clone()).await.expect("a page");
    // The last of the page, one before it and one after it go; a new one comes.
    for gone in ["v3", "v1", "v5"] {
        world
            .forget("u", "uses_technology", Some(json!(gone)))
            .await;
    }
    world.say("u", "uses_technology", json!("v10")).await;
    let mut args = args;
    args["cursor"] = first.next.expect("there is more").into();
    assert_eq!(
        pages(&world, Recall, &args).await.concat(),
        ["v4", "v6", "v7", "v8", "v9", "v10"]
    );
}

#[tokio::test]
async fn a_page_goes_on_behind_a_row_that_is_gone_whatever_came_first() {
    let world = World::typed();
    // Dated back, the newest first: the order of the log is not that of the listing.
    for n in (0..10).rev() {
        let args = json!({
            "subject": "u", "predicate": "uses_technology", "value": format!("v{n}"),
            "observed_at": format!("2026-01-{:02}T00:00:00Z", n + 1),
        });
        world.ask(Operation::Remember, args).await;
    }
    let mut args = json!({"subject": "u", "limit": 4});
    let first = world.answer(Recall, args.clone()).await.expect("a page");
    let forgotten = world.forget("u", "uses_technology", Some(json!("v3")));
    forgotten.await;
    // Another is said again, which leaves it where it is.
    world.say("u", "uses_technology", json!("v6")).await;
    args["cursor"] = first.next.expect("there is more").into();
    assert_eq!(
        pages(&world, Recall, &args).await.concat(),
        ["v4", "v5", "v6", "v7", "v8", "v9"]
    );
}

#[tokio::test]
async fn a_history_comes_in_pages_where_it_is_asked_to() {
    let world = World::typed();
    for n in 0..9 {
        world
            .say("u", "prefers_editor", json!(format!("v{n}")))
            .await;
        world.seconds(1);
    }
    let pair = json!({"subject": "u", "predicate": "prefers_editor"});
    let whole = pages(&world, History, &pair).await;
    assert_eq!(
        whole.iter().map(Vec::len).collect::<Vec<_>>(),
        [9],
        "all of it by default"
    );
    let mut paged = pair.clone();
    paged["limit"] = json!(4);
    let found = pages(&world, History, &paged).await;
    assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [4, 4, 1]);
    assert_eq!(found.concat(), whole.concat());
}

#[tokio::test]
async fn a_cursor_that_is_none_is_refused() {
    let world = World::typed();
    world.say("u", "name", json!("x")).await;
    for (operation, args, part) in [
        (
            Recall,
            json!({"subject": "u", "cursor": "x"}),
            "an earlier page",
        ),
        (
            Recall,
            json!({"subject": "u", "cursor": 1}),
            "must be a string",
        ),
        (
            Recall,
            json!({"query": "x", "cursor": "p0-0-0"}),
            "one page",
        ),
        (
            History,
            json!({"subject": "u", "predicate": "name", "cursor": ""}),
            "an earlier page",
        ),
        (
            History,
            json!({"subject": "u", "predicate": "name", "limit": 1001}),
            "at most 1000",
        ),
    ] {
        let error = world.fails(operation, args.clone()).await.to_string();
        assert!(error.contains(part), "{args}: {error}");
    }
}

/// A row has another place in another listing, so that its cursor would leave rows out there.
#[tokio::test]
async fn the_cursor_of_another_listing_is_refused() {
    let world = World::open();
    for n in 0..6 {
        world.say("u", "likes", json!(format!("v{n}"))).await;
        world.say("w", "likes", json!(format!("v{n}"))).await;
        world.seconds(1);
    }
    let asked = json!({"subject": "u", "limit": 2});
    let first = world.answer(Recall, asked.clone()).await.expect("a page");
    let next = first.next.expect("there is more");
    for (operation, other) in [
        (Recall, json!({"predicate": "likes", "limit": 2})),
        (Recall, json!({"subject": "w", "limit": 2})),
        (Recall, json!({"subject": "u", "predicate": "likes"})),
        (Recall, json!({"subject": "u", "min_confidence": 0.5})),
        (
            Recall,
            json!({"subject": "u", "as_of": "2026-06-01T12:00:03Z"}),
        ),
        (
            Recall,
            json!({"subject": "u", "observed_after": "2026-06-01T12:00:03Z"}),
        ),
        (
            Recall,
            json!({"subject": "u", "observed_before": "2026-06-01T12:00:03Z"}),
        ),
        (
            History,
            json!({"subject": "u", "predicate": "likes", "limit": 2}),
        ),
    ] {
        let mut other = other;
        other["cursor"] = json!(next);
        let error = world.fails(operation, other.clone()).await.to_string();
        assert!(error.contains("another listing"), "{other}: {error}");
    }
    // The same listing in pages of another length, with other members and another spelling, goes on.
    for same in [
        json!({"subject": "u", "limit": 3, "cursor": next}),
        json!({"subject": " U", "limit": 3, "with_sources": true, "min_confidence": 0, "cursor": next}),
    ] {
        assert_eq!(
            world.values(same.clone()).await,
            ["v2", "v3", "v4"],
            "{same}"
        );
    }
}

#[tokio::test]
async fn a_cursor_goes_with_its_own_listing_alone() {
    let world = World::typed();
    for n in 0..4 {
        world
            .say("u", "uses_technology", json!(n.to_string()))
            .await;
        world
            .say("v", "uses_technology", json!(n.to_string()))
            .await;
    }
    let recall = json!({"subject": "u", "limit": 2});
    let history = json!({"subject": "u", "predicate": "uses_technology", "limit": 2});
    let mut cursors = Vec::new();
    for (operation, args) in [(Recall, &recall), (History, &history)] {
        let page = world.answer(operation, args.clone()).await.expect("a page");
        cursors.push(json!(page.next.expect("there is more")));
    }
    let pair = json!({"subject": "u", "predicate": "uses_technology"});
    for (operation, mut args, cursor) in [
        (Recall, json!({"subject": "v"}), 0),
        (Recall, pair.clone(), 0),
        (Recall, json!({"predicate": "uses_technology"}), 0),
        (Recall, json!({"subject": "u", "min_confidence": 0.5}), 0),
        (
            Recall,
            json!({"subject": "u", "as_of": "2026-06-01T12:00:12Z"}),
            0,
        ),
        (Recall, recall.clone(), 1),
        (History, pair, 0),
        (
            History,
            json!({"subject": "v", "predicate": "uses_technology"}),
            1,
        ),
    ] {
        args["cursor"] = cursors[cursor].clone();
        let error = world.fails(operation, args.clone()).await.to_string();
        assert!(
            error.contains("cursor is of another listing"),
            "{args}: {error}"
        );
    }
    // How much of it comes at once is no part of what it is.
    let mut more = recall;
    (more["limit"], more["cursor"]) = (json!(1), cursors[0].clone());
    more["with_sources"] = json!(true);
    assert_eq!(world.values(more).await, ["2"]);
}

#[tokio::test]
async fn a_history_repeats_and_skips_nothing_whatever_is_dated_back_in_between() {
    let world = World::typed();
    let say = async |value: String, day: u32| {
        let args = json!({
            "subject": "u", "predicate": "prefers_editor", "value": value,
            "observed_at": format!("2026-01-{day:02}T00:00:00Z"),
        });
        world.ask(Operation::Remember, args).await;
    };
    for day in (2..=20).step_by(2) {
        say(format!("v{day}"), day).await;
    }
    let mut args = json!({"subject": "u", "predicate": "prefers_editor", "limit": 3});
    let (mut seen, mut late) = (Vec::new(), 1);
    loop {
        let answer = world.answer(History, args.clone()).await.expect("a page");
        let rows: Vec<Value> = serde_json::from_slice(&answer.json).expect("a list");
        seen.extend(
            rows.iter()
                .map(|row| row["value"].as_str().expect("a text").to_owned()),
        );
        let Some(next) = answer.next else { break };
        args["cursor"] = next.into();
        // One before what was shown, and one after.
        say(format!("early{late}"), late).await;
        say(format!("later{late}"), 20 + late).await;
        late += 2;
        assert!(late < 10, "it never ends");
    }
    let known: Vec<&String> = seen.iter().filter(|value| value.starts_with('v')).collect();
    let expected: Vec<String> = (2..=20).step_by(2).map(|day| format!("v{day}")).collect();
    assert_eq!(known, expected.iter().collect::<Vec<_>>(), "{seen:?}");
    let once: std::collections::BTreeSet<&String> = seen.iter().collect();
    assert_eq!(once.len(), seen.len(), "{seen:?}");
    assert!(seen.iter().any(|value| value == "later1"), "{seen:?}");
}
