//! Finding by words.

use serde_json::{Value, json};

use super::support::World;
use crate::Operation::{Recall, Remember};

/// Superseded values must not crowd out the current one.
#[tokio::test]
async fn the_current_value_is_found_after_five_hundred_superseded_ones() {
    let world = World::open();
    for no in 0..500 {
        world
            .say("ann", "works_at", json!(format!("company {no}")))
            .await;
        world.seconds(1);
    }
    world
        .say("ann", "works_at", json!("the harbour company"))
        .await;
    for no in 0..20 {
        world
            .say("ann", "likes", json!(format!("thing {no}")))
            .await;
    }
    let found = world
        .ask(Recall, json!({"query": "which company does ann work at"}))
        .await;
    let found = found.as_array().unwrap();
    let place = found
        .iter()
        .position(|card| card["value"] == "the harbour company")
        .unwrap();
    assert!(place < 3, "{place}");
    assert!(
        found
            .iter()
            .all(|card| !card["value"].as_str().unwrap().starts_with("company "))
    );
}

#[tokio::test]
async fn among_a_thousand_notes_its_own_words_put_a_note_first() {
    let world = World::text();
    for no in 0..1_000 {
        world
            .ask(
                Remember,
                json!({"text": format!("Note about subject {no} and nothing else")}),
            )
            .await;
    }
    for no in [0, 500, 999] {
        let found = world
            .ask(Recall, json!({"question": format!("subject {no}")}))
            .await;
        assert_eq!(
            found["memories"][0]["text"],
            format!("Note about subject {no} and nothing else")
        );
    }
}

#[tokio::test]
async fn what_is_forgotten_is_found_nowhere() {
    let world = World::open();
    world.say("ann", "likes", json!("violins")).await;
    world.say("ann", "owns", json!("violins")).await;
    assert_eq!(
        world.forget("ann", "likes", Some(json!("violins"))).await,
        1
    );
    for args in [
        json!({"query": "violins likes"}),
        json!({"subject": "ann"}),
        json!({"predicate": "likes"}),
        json!({"subject": "ann", "predicate": "likes"}),
    ] {
        let found = world.ask(Recall, args.clone()).await;
        assert!(
            found
                .as_array()
                .unwrap()
                .iter()
                .all(|card| card["predicate"] == "owns"),
            "{args}"
        );
    }
    let owns = world.ask(Recall, json!({"subject": "ann"})).await;
    assert!(owns[0].get("elsewhere").is_none());
}

#[tokio::test]
async fn a_query_about_the_past_finds_what_was_believed_then() {
    let world = World::open();
    world
        .said(
            "ann",
            "works_at",
            json!("harbour office"),
            "2026-01-01T00:00:00Z",
        )
        .await;
    world
        .said(
            "ann",
            "works_at",
            json!("city library"),
            "2026-03-01T00:00:00Z",
        )
        .await;
    let values = async |query: &str, at: &str| -> Vec<Value> {
        world.values(json!({"query": query, "as_of": at})).await
    };
    assert_eq!(
        values("harbour", "2026-02-01T00:00:00Z").await,
        ["harbour office"]
    );
    assert!(values("library", "2026-02-01T00:00:00Z").await.is_empty());
    // What replaced a statement answers in its place.
    assert_eq!(
        values("harbour", "2026-04-01T00:00:00Z").await,
        ["city library"]
    );
    assert_eq!(
        values("library", "2026-04-01T00:00:00Z").await,
        ["city library"]
    );
    // The index of the past follows later changes.
    world
        .said("ann", "works_at", json!("opera"), "2026-05-01T00:00:00Z")
        .await;
    assert_eq!(
        values("library", "2026-04-01T00:00:00Z").await,
        ["city library"]
    );
    assert_eq!(world.values(json!({"query": "library"})).await, ["opera"]);
}

#[tokio::test]
async fn a_named_time_is_searched_first_and_excludes_nothing() {
    let world = World::typed();
    world
        .said(
            "user",
            "note",
            json!("met Carla for lunch, lunch was long"),
            "2026-02-01T12:00:00Z",
        )
        .await;
    world
        .said(
            "user",
            "note",
            json!("lunch at the station"),
            "2026-05-30T12:00:00Z",
        )
        .await;
    let found = world.values(json!({"query": "lunch two days ago"})).await;
    assert_eq!(
        found,
        [
            "lunch at the station",
            "met Carla for lunch, lunch was long"
        ]
    );
    let found = world
        .values(json!({"query": "lunch two days ago", "as_of": "2026-02-03T18:00:00Z"}))
        .await;
    assert_eq!(found, ["met Carla for lunch, lunch was long"]);
}

#[tokio::test]
async fn a_named_time_does_not_crowd_out_what_matches_better() {
    let world = World::text();
    let exact = "The piano tuner from Ghent comes in March";
    for (text, at) in std::iter::once((exact.to_owned(), "2026-02-02T12:00:00Z"))
        .chain((0..40).map(|no| (format!("Piano lesson {no}"), "2026-03-10T12:00:00Z")))
    {
        let args = json!({"text": text, "observed_at": at});
        world.ask(Remember, args).await;
    }
    let args = json!({"question": "Does the piano tuner from Ghent come in March?"});
    let found = world.ask(Recall, args).await;
    let rows: Vec<_> = found["memories"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["text"].clone())
        .collect();
    assert_eq!(rows.len(), 20);
    assert_eq!(
        rows.iter().position(|row| *row == exact),
        Some(19),
        "what was said at that time comes first"
    );
}

#[tokio::test]
async fn a_query_stays_within_the_subject_and_the_predicate() {
    let world = World::open();
    for subject in ["ann", "bob"] {
        world.say(subject, "likes", json!("green tea")).await;
        world.say(subject, "goal", json!("drink less tea")).await;
    }
    let of = async |args: Value| world.ask(Recall, args).await.as_array().unwrap().clone();
    let bob = of(json!({"query": "tea", "subject": "Bob"})).await;
    assert_eq!(bob.len(), 2);
    assert!(bob.iter().all(|card| card["subject"] == "bob"));
    let goals = of(json!({"query": "tea", "predicate": "goal"})).await;
    assert!(goals.len() == 2 && goals.iter().all(|card| card["predicate"] == "goal"));
    // Both together name the pair, and the whole pair answers.
    assert_eq!(
        of(json!({"query": "nothing", "subject": "bob", "predicate": "goal"}))
            .await
            .len(),
        1
    );
}

/// "The Who", "Her", "It": a name may be made of words that are grammar elsewhere.
#[tokio::test]
async fn a_name_of_function_words_is_found_by_its_words() {
    let world = World::open();
    world.say("user", "likes", json!("The Who")).await;
    world.say("user", "likes", json!("the kinks")).await;
    world.say("user", "note", json!("What about them?")).await;
    world
        .say("ann", "note", json!("We heard The Who in Leeds once."))
        .await;
    world.say("ann", "watched", json!("It")).await;
    for (query, found) in [
        (
            "The Who",
            &["The Who", "We heard The Who in Leeds once."][..],
        ),
        ("the who", &["The Who", "We heard The Who in Leeds once."]),
        ("it", &["It"]),
        ("them", &["What about them?"]),
        (
            "has anybody seen The Who",
            &["The Who", "We heard The Who in Leeds once."],
        ),
        ("to be or not to be", &[]),
    ] {
        assert_eq!(
            world.values(json!({"query": query})).await,
            found,
            "{query}"
        );
    }
    // Replaced, it leads on.
    world.say("ann", "lives_in", json!("There")).await;
    world.say("ann", "lives_in", json!("Oslo")).await;
    assert_eq!(
        world
            .values(json!({"query": "there", "predicate": "lives_in"}))
            .await,
        ["Oslo"]
    );
}

/// What the page says of words that are mistyped, and what it does not promise.
#[tokio::test]
async fn a_mistyped_word_is_found_as_far_as_the_page_says() {
    for (text, typed, found) in [
        // One letter is wrong, in a stem of eight letters or more.
        ("The restaurant was full.", "restaurent", true),
        ("Marrakesh was hot.", "Marrakech", true),
        // One is missing or too many, in a stem of seven or more.
        ("The restaurant was full.", "restarant", true),
        ("Ask the accountant.", "acountant", true),
        ("Kubernetes runs here.", "kubernets", true),
        // Two are swapped, in a stem of eleven or more.
        ("The electrician came.", "electrciian", true),
        // The last one is wrong, in a stem of five or more.
        ("The calendar is full.", "calendas", true),
        ("The tulip is red.", "tulib", true),
        // Shorter words, and several errors.
        ("She bought a bicycle.", "bycicle", false),
        ("He paints houses.", "piants", false),
        ("The cat sleeps.", "cst", false),
        // Not letters alone.
        ("The ticket is PROJ1234567.", "PROJ1234566", false),
    ] {
        let world = World::text();
        world.ask(Remember, json!({"text": text})).await;
        let rows = world.ask(Recall, json!({"question": typed})).await;
        let rows = rows["memories"].as_array().unwrap();
        assert_eq!(!rows.is_empty(), found, "{typed}: {rows:?}");
    }
}
