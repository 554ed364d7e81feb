//! Limits and refusals.

use serde_json::{Value, json};

use super::support::World;
use crate::Operation::{Diff, Explain, Forget, History, Recall, Remember, Timeline};

fn statement() -> Value {
    json!({"subject": "user", "predicate": "name", "value": "x"})
}

#[tokio::test]
async fn malformed_statements_are_refused_by_name() {
    let world = World::typed();
    for (key, value, code, part) in [
        (
            "subject",
            json!(1),
            "invalid_argument",
            "subject must be a string",
        ),
        (
            "subject",
            json!(" "),
            "tool_error",
            "subject must not be empty",
        ),
        (
            "subject",
            json!("s".repeat(1_025)),
            "tool_error",
            "subject may have at most 1024",
        ),
        (
            "subject",
            json!("a\0b"),
            "tool_error",
            "subject may not contain the NUL",
        ),
        (
            "predicate",
            json!(null),
            "tool_error",
            "predicate is required",
        ),
        ("predicate", json!("Name"), "tool_error", "snake_case"),
        ("predicate", json!("p".repeat(65)), "tool_error", "64 bytes"),
        (
            "predicate",
            json!("registry_change"),
            "tool_error",
            "reserved",
        ),
        ("value", json!(null), "tool_error", "value is required"),
        (
            "value",
            json!(["a"]),
            "invalid_argument",
            "value must be a string, number or boolean",
        ),
        (
            "value",
            json!({"a": 1}),
            "invalid_argument",
            "value must be",
        ),
        ("value", json!(" "), "tool_error", "value must not be empty"),
        (
            "value",
            json!("v".repeat(65_537)),
            "tool_error",
            "value may have at most 65536",
        ),
        ("value", json!(5), "tool_error", "expects a string"),
        (
            "confidence",
            json!(2),
            "tool_error",
            "confidence must be between",
        ),
        (
            "confidence",
            json!("a"),
            "invalid_argument",
            "confidence must be a number",
        ),
        (
            "source",
            json!("q"),
            "tool_error",
            "source must be user_stated",
        ),
        ("kind", json!("q"), "tool_error", "kind must be fact"),
        (
            "observed_at",
            json!("2026-01-01"),
            "tool_error",
            "observed_at must be an RFC 3339",
        ),
        (
            "observed_at",
            json!("2026-01-01T00:00:00"),
            "tool_error",
            "with a zone",
        ),
        (
            "cardinality",
            json!("multi"),
            "tool_error",
            "registered as single",
        ),
        ("bogus", json!(1), "invalid_argument", "unknown field bogus"),
        (
            "replaces",
            json!("a"),
            "invalid_argument",
            "replaces must be a list",
        ),
        (
            "replaces",
            json!([{"predicate": "role"}]),
            "tool_error",
            "replaces[0].value is required",
        ),
        (
            "replaces",
            json!(vec![json!({"predicate": "role", "value": "x"}); 17]),
            "tool_error",
            "at most 16",
        ),
        ("statements", json!([]), "tool_error", "cannot go with text"),
    ] {
        let mut args = statement();
        args[key] = value;
        let error = world.fails(Remember, args).await;
        assert!(
            error.code() == code && error.to_string().contains(part),
            "{key}: {error}"
        );
    }
    assert_eq!(world.revision().await, 0);
}

#[tokio::test]
async fn statements_at_the_limit_are_taken() {
    let world = World::typed();
    for (key, value) in [
        ("subject", json!("s".repeat(1_024))),
        ("value", json!("v".repeat(65_536))),
        ("confidence", json!(0)),
        ("observed_at", json!("0001-01-01T00:00:00Z")),
        (
            "replaces",
            json!(vec![json!({"predicate": "role", "value": "x"}); 16]),
        ),
        ("kind", json!("")),
        ("source", json!(null)),
        ("cardinality", json!("single")),
        ("predicate", json!(" name ")),
    ] {
        let mut args = statement();
        args[key] = value;
        world.ask(Remember, args).await;
    }
}

#[tokio::test]
async fn texts_have_limits() {
    let world = World::typed();
    let drawn = |count: usize| {
        vec![json!({"subject": "u", "predicate": "name", "value": "A", "evidence": "x"}); count]
    };
    for (args, part) in [
        (
            json!({"text": "x".repeat(32_769), "statements": []}),
            "at most 32768",
        ),
        (
            json!({"text": " ", "statements": []}),
            "text must not be empty",
        ),
        (json!({"text": "x"}), "no extraction model"),
        (json!({"statements": []}), "text is required"),
        (
            json!({"text": "x", "statements": drawn(33)}),
            "at most 32 entries, got 33",
        ),
        (
            json!({"text": "x", "statements": [], "subject": "user"}),
            "subject cannot go with text",
        ),
        (
            json!({"text": "x", "statements": [{"kind": "fact"}]}),
            "statements[0].kind",
        ),
    ] {
        let error = world.fails(Remember, args).await;
        assert!(error.to_string().contains(part), "{error}");
    }
    assert_eq!(world.revision().await, 0);
    world
        .ask(
            Remember,
            json!({"text": "x".repeat(32_768), "statements": drawn(32)}),
        )
        .await;
    assert_eq!(world.revision().await, 2);
}

#[tokio::test]
async fn reads_refuse_what_they_do_not_know() {
    let world = World::typed();
    for (operation, args, code, part) in [
        (Recall, json!({}), "tool_error", "give a query"),
        (
            Recall,
            json!({"query": " ", "subject": ""}),
            "tool_error",
            "give a query",
        ),
        (
            Recall,
            json!({"subject": "u", "limit": 1001}),
            "tool_error",
            "at most 1000, got 1001",
        ),
        (
            Recall,
            json!({"subject": "u", "limit": 1e300}),
            "tool_error",
            "at most 1000",
        ),
        (
            Recall,
            json!({"subject": "u", "limit": 1.5}),
            "tool_error",
            "whole number",
        ),
        (
            Recall,
            json!({"subject": "u", "limit": "5"}),
            "invalid_argument",
            "limit must be a number",
        ),
        (
            Recall,
            json!({"subject": "u", "min_confidence": -1}),
            "tool_error",
            "min_confidence",
        ),
        (
            Recall,
            json!({"subject": "u", "as_of": "yesterday"}),
            "tool_error",
            "as_of must be",
        ),
        (
            Recall,
            json!({"subject": "u", "with_sources": "yes"}),
            "invalid_argument",
            "with_sources",
        ),
        (
            Recall,
            json!({"subject": "u", "tags": []}),
            "invalid_argument",
            "unknown field tags",
        ),
        (
            History,
            json!({"predicate": "name"}),
            "tool_error",
            "subject is required",
        ),
        (
            Timeline,
            json!({"subject": "u"}),
            "tool_error",
            "predicate is required",
        ),
        (Diff, json!({}), "invalid_argument", "from is required"),
        (
            Explain,
            json!({"question": " "}),
            "tool_error",
            "question must not be empty",
        ),
        (
            Forget,
            json!({"subject": "u"}),
            "tool_error",
            "predicate is required",
        ),
        (
            Forget,
            json!({"subject": "u", "predicate": "zz"}),
            "tool_error",
            "not in the registry",
        ),
        (
            Forget,
            json!({"subject": "u", "predicate": "name", "value": null}),
            "tool_error",
            "leave it out",
        ),
        (
            Forget,
            json!({"subject": "u", "predicate": "name", "value": 5}),
            "tool_error",
            "expects a string",
        ),
        (
            Forget,
            json!({"subject": "u", "predicate": "name", "value": "x", "all": true}),
            "tool_error",
            "cannot go with a value",
        ),
        (
            Forget,
            json!({"subject": "u", "predicate": "name", "all": false}),
            "tool_error",
            "value is required",
        ),
    ] {
        let error = world.fails(operation, args).await;
        assert!(
            error.code() == code && error.to_string().contains(part),
            "{operation:?}: {error}"
        );
    }
    let pair = json!({"subject": "nobody", "predicate": "no_such"});
    assert_eq!(world.ask(History, pair.clone()).await, json!([]));
    assert_eq!(world.ask(Timeline, pair).await["steps"], json!([]));
}

/// One person, however the name is typed.
#[tokio::test]
async fn names_are_one_in_any_spelling() {
    let world = World::open();
    world.say("Ann\u{e9}", "lives_in", json!("Köln")).await;
    for subject in ["  ANN\u{c9} ", "anne\u{301}", "ａｎｎｅ\u{301}"] {
        assert_eq!(world.now(subject, "lives_in").await, ["Köln"], "{subject}");
        let known = world.say(subject, "lives_in", json!("ko\u{308}ln")).await;
        assert_eq!(known["already_known"], true, "{subject}");
        assert_eq!(known["stored"]["subject"], "ann\u{e9}");
    }
    assert_eq!(world.revision().await, 1);
}
