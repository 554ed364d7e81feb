//! The typed surface, operation by operation. Ids and shapes marked so are from the published server.

use serde_json::{Value, json};

use super::support::World;
use crate::Operation::{Diff, Explain, Forget, History, Predicates, Recall, Remember, Timeline};
use crate::{Cardinality, EmptyReason};

/// From a run of the published server.
#[tokio::test]
async fn a_statement_is_stored_and_replaced() {
    let world = World::typed();
    let stored = world
        .said(
            " User ",
            "prefers_editor",
            json!(" Vim "),
            "2026-01-01T00:00:00.5Z",
        )
        .await;
    assert_eq!(
        stored,
        json!({"stored": {
            "subject": "user", "predicate": "prefers_editor", "value": "Vim", "confidence": 1,
            "kind": "fact", "source": "user_stated", "observed_at": "2026-01-01T00:00:00.5Z",
            "event_id": "m-cb7c6ec3bdaa4535680cf0d6",
        }})
    );
    let known = world.say("user", "prefers_editor", json!("vim")).await;
    assert_eq!(known["already_known"], true);
    assert_eq!(known["stored"], stored["stored"]);
    let args = json!({
        "subject": "user", "predicate": "prefers_editor", "value": "helix", "confidence": 0.9,
        "observed_at": "2026-02-01T10:00:00+02:00", "source": "agent_inferred", "kind": "preference",
    });
    let replaced = world.ask(Remember, args).await;
    assert_eq!(replaced["superseded"], json!([stored["stored"]]));
    let recalled = world
        .ask(
            Recall,
            json!({"subject": "user", "predicate": "prefers_editor"}),
        )
        .await;
    assert_eq!(
        recalled,
        json!([{
            "subject": "user", "predicate": "prefers_editor", "value": "helix", "confidence": 0.9,
            "kind": "preference", "source": "agent_inferred", "observed_at": "2026-02-01T08:00:00Z",
            "event_id": "m-9779f9cf1b898df7e8a3146d", "days_ago": 120,
            "replaced": [{"value": "Vim", "source": "user_stated",
                "observed_at": "2026-01-01T00:00:00.5Z", "event_id": "m-cb7c6ec3bdaa4535680cf0d6"}],
        }])
    );
}

#[tokio::test]
async fn one_change_supersedes_one_belief() {
    let world = World::open();
    for no in 0..200 {
        world
            .say(&format!("s{no}"), "lives_in", json!("Rome"))
            .await;
    }
    let changed = world.say("s7", "lives_in", json!("Oslo")).await;
    assert_eq!(changed["superseded"].as_array().unwrap().len(), 1);
    let answer = world
        .answer(Recall, json!({"predicate": "lives_in", "limit": 1000}))
        .await
        .unwrap();
    assert_eq!(answer.items, 200);
}

#[tokio::test]
async fn restating_writes_nothing() {
    let world = World::typed();
    for _ in 0..10 {
        world.say("user", "name", json!("Ann")).await;
    }
    assert_eq!(world.revision().await, 1);
    assert_eq!(
        world.say("user", "name", json!("ANN")).await["already_known"],
        true
    );
}

#[tokio::test]
async fn values_keep_their_type_and_their_bytes() {
    let world = World::open();
    for (predicate, value, shown) in [
        ("height_cm", json!(171.5), json!(171.5)),
        ("floors", json!(8000.0), json!(8000)),
        ("tiny", json!(1e-7), json!(1e-7)),
        ("huge", json!(1.0e21), json!(1e21)),
        ("married", json!(false), json!(false)),
        (
            "detail",
            json!("a\u{301} <b> \"q\" \\ \n\t ẞ 😀 \u{7f}"),
            json!("a\u{301} <b> \"q\" \\ \n\t ẞ 😀 \u{7f}"),
        ),
    ] {
        world.say("x", predicate, value).await;
        assert_eq!(world.now("x", predicate).await, [shown]);
    }
    let error = world
        .fails(
            Remember,
            json!({"subject": "x", "predicate": "height_cm", "value": "tall"}),
        )
        .await;
    assert_eq!(
        error.to_string(),
        "height_cm expects a number value, got string \"tall\""
    );
}

#[tokio::test]
async fn stating_the_opposite_ends_the_value_there() {
    let world = World::open();
    world
        .said("ann", "likes", json!("tea"), "2026-01-01T00:00:00Z")
        .await;
    world
        .said("ann", "likes", json!("cake"), "2026-01-02T00:00:00Z")
        .await;
    let stated = world
        .said("ann", "dislikes", json!("Tea"), "2026-02-01T00:00:00Z")
        .await;
    assert_eq!(stated["superseded"][0]["value"], "tea");
    assert_eq!(world.now("ann", "likes").await, ["cake"]);
    assert_eq!(
        world.as_of("ann", "likes", "2026-01-15T00:00:00Z").await,
        ["tea", "cake"]
    );
    let dislikes = world
        .ask(Recall, json!({"subject": "ann", "predicate": "dislikes"}))
        .await;
    assert_eq!(dislikes[0]["replaced"][0]["predicate"], "likes");
    let timeline = world
        .ask(Timeline, json!({"subject": "ann", "predicate": "likes"}))
        .await;
    assert_eq!(
        timeline["steps"][2],
        json!({
            "at": "2026-02-01T00:00:00Z", "event_id": "m-fcf257d8dea36330eba0fef7",
            "statement": "ann dislikes: Tea", "predicate": "dislikes", "source": "user_stated",
            "change": "withdrawn", "removed": ["ann likes: tea"],
        })
    );
    assert_eq!(timeline["now"], json!(["ann likes: cake"]));
}

#[tokio::test]
async fn what_happened_is_ended_by_nothing_but_a_withdrawal() {
    let world = World::open();
    world
        .said("ann", "cancelled", json!("trip"), "2026-01-01T00:00:00Z")
        .await;
    world
        .said("ann", "plans", json!("trip"), "2026-02-01T00:00:00Z")
        .await;
    assert_eq!(world.now("ann", "cancelled").await, ["trip"]);
    let args = json!({
        "subject": "ann", "predicate": "owns", "value": "x",
        "replaces": [{"predicate": "cancelled", "value": "trip"}],
    });
    let stated = world.ask(Remember, args).await;
    assert_eq!(
        stated["unreplaced"],
        json!([{"predicate": "cancelled", "value": "trip"}])
    );
    // Said once more, it ends the plan that was made in between.
    world
        .said("ann", "cancelled", json!("trip"), "2026-03-01T00:00:00Z")
        .await;
    assert!(world.now("ann", "plans").await.is_empty());
    assert_eq!(
        world.forget("ann", "cancelled", Some(json!("trip"))).await,
        1
    );
    assert!(world.now("ann", "cancelled").await.is_empty());
}

#[tokio::test]
async fn a_statement_replaces_what_it_names() {
    let world = World::open();
    world.say("r", "lives_in", json!("Rome")).await;
    world.say("r", "email", json!("rome@x")).await;
    world.say("r", "likes", json!("tea")).await;
    world.seconds(1);
    let args = json!({"subject": "r", "predicate": "lives_in", "value": "Oslo", "replaces": [
        {"predicate": "email", "value": "ROME@x"},
        {"predicate": "lives_in", "value": "Rome"},
        {"predicate": "likes", "value": "tea"},
        {"predicate": "likes", "value": "Tea"},
        {"predicate": "likes", "value": "milk"},
        {"predicate": "no_such", "value": "milk"},
    ]});
    let stated = world.ask(Remember, args).await;
    let values = |list: &Value| -> Vec<Value> {
        list.as_array()
            .unwrap()
            .iter()
            .map(|belief| belief["value"].clone())
            .collect()
    };
    assert_eq!(values(&stated["superseded"]), ["Rome", "rome@x", "tea"]);
    assert_eq!(values(&stated["stored"]["replaced"]), ["rome@x", "tea"]);
    assert_eq!(
        stated["unreplaced"],
        json!([{"predicate": "likes", "value": "milk"}, {"predicate": "no_such", "value": "milk"}])
    );
    let now = world
        .ask(Recall, json!({"subject": "r", "predicate": "lives_in"}))
        .await;
    assert_eq!(values(&now[0]["replaced"]), ["Rome", "rome@x", "tea"]);
    let history = world
        .ask(History, json!({"subject": "r", "predicate": "email"}))
        .await;
    assert_eq!(history[1]["retraction"], true);
    assert_eq!(history[1]["replaced_by"], stated["stored"]["event_id"]);
    assert!(world.now("r", "email").await.is_empty());
}

/// The published server lists the value twice and shows a change that changes nothing.
#[tokio::test]
async fn naming_what_an_exclusion_ends_anyway_counts_once() {
    let world = World::open();
    world
        .said("ann", "likes", json!("cake"), "2026-01-01T00:00:00Z")
        .await;
    let args = json!({
        "subject": "ann", "predicate": "dislikes", "value": "cake",
        "observed_at": "2026-02-01T00:00:00Z", "replaces": [{"predicate": "likes", "value": "cake"}],
    });
    let stated = world.ask(Remember, args).await;
    assert_eq!(stated["superseded"].as_array().unwrap().len(), 1);
    assert_eq!(stated["stored"]["replaced"].as_array().unwrap().len(), 1);
    assert!(stated.get("unreplaced").is_none());
    let now = world
        .ask(Recall, json!({"subject": "ann", "predicate": "dislikes"}))
        .await;
    assert_eq!(now[0]["replaced"].as_array().unwrap().len(), 1);
    let timeline = world
        .ask(Timeline, json!({"subject": "ann", "predicate": "likes"}))
        .await;
    let changes: Vec<_> = timeline["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| &step["change"])
        .collect();
    assert_eq!(changes, ["stated", "withdrawn"]);
}

#[tokio::test]
async fn forgetting_says_how_much() {
    let world = World::open();
    for value in ["a", "b", "c"] {
        world.say("m", "owns", json!(value)).await;
        world.seconds(1);
    }
    assert_eq!(world.forget("m", "owns", Some(json!("B"))).await, 1);
    assert_eq!(world.forget("m", "owns", Some(json!("b"))).await, 0);
    assert_eq!(world.now("m", "owns").await, ["a", "c"]);
    let all = world
        .ask(
            Forget,
            json!({"subject": "m", "predicate": "owns", "all": true}),
        )
        .await;
    assert_eq!(all, json!({"withdrawn": 2}));
    assert_eq!(world.forget("m", "owns", None).await, 0);
    let history = world
        .ask(History, json!({"subject": "m", "predicate": "owns"}))
        .await;
    assert_eq!(history.as_array().unwrap().len(), 5);
    assert_eq!(history[4]["value"], Value::Null);
    let timeline = world
        .ask(Timeline, json!({"subject": "m", "predicate": "owns"}))
        .await;
    assert_eq!(
        timeline["steps"][4]["statement"],
        "withdrew everything for m owns"
    );
    assert_eq!(
        timeline["steps"][4]["removed"],
        json!(["m owns: a", "m owns: c"])
    );
}

#[tokio::test]
async fn a_withdrawal_revives_nothing() {
    let world = World::typed();
    for value in ["vim", "helix"] {
        world.say("user", "prefers_editor", json!(value)).await;
        world.seconds(1);
    }
    assert_eq!(
        world
            .forget("user", "prefers_editor", Some(json!("vim")))
            .await,
        0
    );
    assert_eq!(
        world
            .forget("user", "prefers_editor", Some(json!("helix")))
            .await,
        1
    );
    assert!(world.now("user", "prefers_editor").await.is_empty());
}

#[tokio::test]
async fn the_same_value_elsewhere_is_named() {
    let world = World::open();
    world.say("ann", "lives_in", json!("Rome")).await;
    world.say("ann", "detail", json!("rome")).await;
    world.say("bob", "lives_in", json!("Rome")).await;
    let ann = world
        .ask(Recall, json!({"subject": "ann", "predicate": "lives_in"}))
        .await;
    let elsewhere = &ann[0]["elsewhere"];
    assert_eq!(elsewhere.as_array().unwrap().len(), 1);
    assert_eq!(elsewhere[0]["predicate"], "detail");
    let bob = world.ask(Recall, json!({"subject": "bob"})).await;
    assert!(bob[0].get("elsewhere").is_none());
}

#[tokio::test]
async fn a_text_is_kept_whole_and_its_statements_filed() {
    let world = World::typed();
    let text = "I use neovim now. I live in Lisbon.";
    let args = json!({"text": text, "statements": [
        {"subject": "User", "predicate": "prefers_editor", "value": "neovim", "evidence": "I use neovim now"},
        {"subject": "user", "predicate": "lives_in", "value": "Lisbon", "evidence": "I live in Lisbon"},
    ]});
    let kept = world.ask(Remember, args.clone()).await;
    let note = &kept["episode"]["stored"];
    assert_eq!(
        (&note["value"], &note["confidence"], &note["source"]),
        (&json!(text), &json!(0.5), &json!("agent_inferred"))
    );
    assert_eq!(kept["proposals"].as_array().unwrap().len(), 2);
    assert_eq!(
        kept["unfiled"],
        json!([
            {"subject": "user", "predicate": "lives_in", "value": "Lisbon", "evidence": "I live in Lisbon"}
        ])
    );
    assert_eq!(kept["results"][0]["stored"]["kind"], "preference");
    assert_eq!(kept["results"][0]["stored"]["confidence"], 0.8);
    assert_eq!(kept["results"][1]["stored"], *note);
    let recalled = world
        .ask(Recall, json!({"subject": "user", "with_sources": true}))
        .await;
    assert_eq!(recalled[0]["evidence"], "I use neovim now");
    assert_eq!(recalled[0]["evidence_id"], note["event_id"]);
    assert_eq!(recalled[0]["source_text"], text);
    assert_eq!(recalled[1]["predicate"], "note");
    let again = world.ask(Remember, args).await;
    assert_eq!(again["episode"]["already_known"], true);
    assert_eq!(again["results"][0]["already_known"], true);
    assert_eq!(world.revision().await, 2);
}

#[tokio::test]
async fn statements_of_one_text_see_each_other() {
    let world = World::typed();
    let statement = |value: &str, evidence: &str| json!({"subject": "u", "predicate": "name", "value": value, "evidence": evidence});
    let args = json!({"text": "hello there", "statements": [
        statement("A", "hello"), statement("B", "there"), statement("b", "there"),
    ]});
    let kept = world.ask(Remember, args).await;
    assert_eq!(kept["results"][1]["superseded"][0]["value"], "A");
    assert_eq!(kept["results"][2]["already_known"], true);
    assert_eq!(
        kept["results"][2]["stored"]["event_id"],
        kept["results"][1]["stored"]["event_id"]
    );
    assert_eq!(world.now("u", "name").await, ["B"]);
}

#[tokio::test]
async fn a_text_without_statements_is_kept_alone() {
    let world = World::typed();
    let kept = world
        .ask(Remember, json!({"text": "hello there", "statements": []}))
        .await;
    assert_eq!(kept["proposals"], Value::Null);
    assert_eq!(kept["results"][0], kept["episode"]);
    assert!(kept.get("unfiled").is_none());
}

/// From a run of the published server: what was sent comes back as it was sent.
#[tokio::test]
async fn what_was_not_stored_is_repeated_letter_by_letter() {
    let sent = json!({"subject": " User ", "predicate": "Lives_In", "value": " Lisbon ", "evidence": "there"});
    let named = json!({"predicate": " role ", "value": " Cook "});
    let mut statement =
        json!({"subject": "User ", "predicate": "name", "value": " Ann ", "evidence": "hello"});
    statement["replaces"] = json!([named]);
    let world = World::typed();
    let args = json!({"text": "hello there", "statements": [sent, statement]});
    let kept = world.ask(Remember, args).await;
    assert_eq!(kept["proposals"], json!([sent, statement]));
    assert_eq!(kept["unfiled"], json!([sent]));
    assert_eq!(kept["results"][0]["unreplaced"], json!([named]));
    assert_eq!(kept["results"][0]["stored"]["subject"], "user");
    assert_eq!(kept["results"][0]["stored"]["value"], "Ann");
    let args = json!({"subject": "user", "predicate": "role", "value": "pilot", "replaces": [
        {"predicate": "name", "value": 42.5}, {"predicate": "no_such ", "value": true}, {"predicate": "name", "value": " BOB"},
    ]});
    let answer = world.ask(Remember, args.clone()).await;
    assert_eq!(answer["unreplaced"], args["replaces"]);
    // What is named twice is repeated once.
    let twice =
        json!([{"predicate": "name", "value": "bob"}, {"predicate": "name", "value": " BOB"}]);
    let args = json!({"subject": "user", "predicate": "role", "value": "cook", "replaces": twice});
    let answer = world.ask(Remember, args).await;
    assert_eq!(answer["unreplaced"], json!([twice[0]]));
}

#[tokio::test]
async fn one_bad_statement_refuses_the_whole_text() {
    let world = World::typed();
    let good = json!({"subject": "u", "predicate": "name", "value": "A", "evidence": "hello"});
    for (bad, part) in [
        (
            json!({"subject": "u", "predicate": "name", "value": 5, "evidence": "hello"}),
            "statements[1]",
        ),
        (
            json!({"subject": "u", "predicate": "name", "value": "B", "evidence": "nope"}),
            "statements[1].evidence",
        ),
        (
            json!({"subject": "u", "predicate": "name", "value": "B"}),
            "statements[1].evidence",
        ),
        (
            json!({"subject": "u", "predicate": "name", "evidence": "hello"}),
            "statements[1].value",
        ),
    ] {
        let args = json!({"text": "hello there", "statements": [good, bad]});
        let error = world.fails(Remember, args).await;
        assert!(error.to_string().contains(part), "{error}");
    }
    assert_eq!(world.revision().await, 0);
}

#[tokio::test]
async fn an_open_server_defines_on_first_use() {
    let world = World::open();
    let args = json!({"subject": "ann", "predicate": "langs", "value": "en", "cardinality": "multi", "description": "spoken"});
    world.ask(Remember, args).await;
    world.say("ann", "langs", json!("de")).await;
    world.say("ann", "height_cm", json!(171)).await;
    assert_eq!(world.now("ann", "langs").await, ["en", "de"]);
    let list = world.memory.predicates(&world.ns).await.unwrap();
    let langs = list.iter().find(|info| info.predicate == "langs").unwrap();
    assert_eq!(
        (langs.cardinality, langs.description.as_str()),
        (Cardinality::Multi, "spoken")
    );
    let error = world
        .fails(
            Remember,
            json!({"subject": "ann", "predicate": "langs", "value": "fr", "cardinality": "single"}),
        )
        .await;
    assert!(error.to_string().contains("registered as multi"), "{error}");
    // A text's reader may spell a name in its own way.
    let args = json!({"text": "x likes y", "statements": [
        {"subject": "x", "predicate": "Bad Pred!", "value": "y", "evidence": "likes"},
    ]});
    let kept = world.ask(Remember, args).await;
    assert_eq!(kept["proposals"][0]["predicate"], "bad_pred");
    assert_eq!(world.now("x", "bad_pred").await, ["y"]);
    // The definitions themselves are no memory.
    assert_eq!(
        world
            .ask(Recall, json!({"subject": "recall:registry"}))
            .await,
        json!([])
    );
    assert!(
        world
            .ask(Recall, json!({"query": "registry change langs"}))
            .await
            .to_string()
            .find("recall:registry")
            .is_none()
    );
}

#[tokio::test]
async fn a_closed_server_names_what_it_knows() {
    let world = World::typed();
    let error = world
        .fails(
            Remember,
            json!({"subject": "u", "predicate": "pet", "value": "cat"}),
        )
        .await;
    assert_eq!(error.code(), "tool_error");
    assert!(
        error
            .to_string()
            .contains("\"pet\" is not in the registry; registered are deployment_target,"),
        "{error}"
    );
    let predicates = world.ask(Predicates, json!({})).await;
    assert_eq!(predicates.as_array().unwrap().len(), 16);
    assert_eq!(predicates[2]["predicate"], "note");
}

#[tokio::test]
async fn related_beliefs_are_offered_best_first() {
    let world = World::open();
    world.say("ann", "lives_in", json!("a flat in Rome")).await;
    world.say("ann", "owns", json!("a red bicycle")).await;
    world.say("ann", "note", json!("Rome again")).await;
    for no in 0..9 {
        world.say("ann", "goal", json!(format!("goal {no}"))).await;
        world.seconds(1);
    }
    world.say("bob", "lives_in", json!("Rome")).await;
    let stated = world
        .say("ann", "works_at", json!("the museum in Rome"))
        .await;
    let related = stated["related"].as_array().unwrap();
    assert_eq!(related.len(), 5);
    assert_eq!(related[0]["value"], "a flat in Rome");
    assert!(
        related
            .iter()
            .all(|card| card["subject"] == "ann" && card["predicate"] != "note")
    );
}

#[tokio::test]
async fn diff_speaks_of_what_changed_only() {
    let world = World::open();
    world
        .said("ann", "likes", json!("tea"), "2026-01-01T00:00:00Z")
        .await;
    world
        .said("ann", "likes", json!("cake"), "2026-01-02T00:00:00Z")
        .await;
    world
        .said("ann", "dislikes", json!("Tea"), "2026-02-01T00:00:00Z")
        .await;
    world
        .said("bob", "name", json!("Bob"), "2026-01-01T00:00:00Z")
        .await;
    let diff = world
        .ask(
            Diff,
            json!({"from": "2026-01-15T00:00:00Z", "to": "2026-02-15T00:00:00Z"}),
        )
        .await;
    assert_eq!(
        diff,
        json!({"changes": [
            {"subject": "ann", "predicate": "dislikes", "before": [], "after": ["ann dislikes: Tea"],
             "added": ["ann dislikes: Tea"]},
            {"subject": "ann", "predicate": "likes", "before": ["ann likes: cake", "ann likes: tea"],
             "after": ["ann likes: cake"], "removed": ["ann likes: tea"]},
        ]})
    );
    let bob = world
        .ask(
            Diff,
            json!({"from": "2025-01-01T00:00:00Z", "subject": " BOB "}),
        )
        .await;
    assert_eq!(bob["changes"].as_array().unwrap().len(), 1);
    let error = world
        .fails(
            Diff,
            json!({"from": "2026-02-01T00:00:00Z", "to": "2026-02-01T00:00:00Z"}),
        )
        .await;
    assert!(error.to_string().contains("must be before"), "{error}");
}

#[tokio::test]
async fn explain_gives_reasons() {
    let world = World::open();
    world
        .said(
            "user",
            "prefers_editor",
            json!("vim"),
            "2026-01-01T00:00:00Z",
        )
        .await;
    world
        .said(
            "user",
            "prefers_editor",
            json!("helix"),
            "2026-02-01T00:00:00Z",
        )
        .await;
    world.say("user", "shoe_size", json!(42)).await;
    let reasons = world
        .ask(Explain, json!({"question": "which editor"}))
        .await;
    assert_eq!(reasons.as_array().unwrap().len(), 1);
    assert_eq!(reasons[0]["memory"], "user prefers editor: helix");
    assert_eq!(reasons[0]["stated_at"], "2026-02-01T00:00:00Z");
    assert_eq!(
        reasons[0]["rules"][0]["change"],
        "configured on this server"
    );
    assert_eq!(reasons[0]["history"].as_array().unwrap().len(), 2);
    let shoe = world.ask(Explain, json!({"question": "shoe"})).await;
    assert_eq!(
        shoe[0]["rules"][0]["change"],
        "defined by its first statement"
    );
}

#[tokio::test]
async fn an_empty_answer_says_why() {
    let world = World::typed();
    let empty = async |world: &World, operation, args: Value| {
        world.answer(operation, args).await.unwrap().coverage.empty
    };
    let args = json!({"predicate": "no_such"});
    assert_eq!(
        empty(&world, Recall, args).await,
        Some(EmptyReason::UnknownPredicate)
    );
    let pair = json!({"subject": "user", "predicate": "no_such"});
    for operation in [Recall, History, Timeline] {
        assert_eq!(
            empty(&world, operation, pair.clone()).await,
            Some(EmptyReason::UnknownPredicate)
        );
    }
    assert_eq!(
        empty(&world, Recall, json!({"query": "tea"})).await,
        Some(EmptyReason::NothingStored)
    );
    world.say("user", "name", json!("Ann")).await;
    assert_eq!(
        empty(&world, Recall, json!({"query": "tea"})).await,
        Some(EmptyReason::NothingMatches)
    );
    assert_eq!(
        empty(&world, Recall, json!({"subject": "nobody"})).await,
        Some(EmptyReason::UnknownSubject)
    );
    let pair = json!({"subject": "nobody", "predicate": "name"});
    for operation in [Recall, History, Timeline] {
        assert_eq!(
            empty(&world, operation, pair.clone()).await,
            Some(EmptyReason::UnknownSubject)
        );
    }
    let args =
        json!({"subject": "user", "min_confidence": 1, "observed_after": "2030-01-01T00:00:00Z"});
    assert_eq!(
        empty(&world, Recall, args).await,
        Some(EmptyReason::NothingMatches)
    );
    assert_eq!(
        empty(&world, Recall, json!({"subject": "user"})).await,
        None
    );
}

/// A diff says of an empty answer what a recall at its end says.
#[tokio::test]
async fn an_empty_diff_says_why_as_a_recall_does() {
    let world = World::typed();
    let empty = async |subject: Option<&str>, to: Option<&str>| {
        let from = "2020-01-01T00:00:00Z";
        let (mut diff, mut recall) = (json!({"from": from}), json!({"query": "zebra"}));
        if let Some(subject) = subject {
            (diff["subject"], recall["subject"]) = (json!(subject), json!(subject));
        }
        if let Some(to) = to {
            (diff["to"], recall["as_of"]) = (json!(to), json!(to));
        }
        let diff = world.answer(Diff, diff).await.unwrap();
        let recall = world.answer(Recall, recall).await.unwrap().coverage;
        assert_eq!((diff.items, recall.considered), (0, 0));
        assert_eq!(diff.coverage.in_scope, recall.in_scope);
        assert_eq!(diff.coverage.empty, recall.empty);
        recall.empty.expect("an empty answer")
    };
    use EmptyReason::{NothingMatches, NothingStored, UnknownSubject};
    assert_eq!(empty(None, None).await, NothingStored);
    assert_eq!(empty(Some("ann"), None).await, NothingStored);
    world
        .said("ann", "name", json!("Ann"), "2019-01-01T00:00:00Z")
        .await;
    assert_eq!(empty(None, None).await, NothingMatches);
    assert_eq!(empty(Some("ann"), None).await, NothingMatches);
    assert_eq!(empty(Some("bob"), None).await, UnknownSubject);
    world
        .said("bob", "name", json!("Bob"), "2026-05-01T00:00:00Z")
        .await;
    assert_eq!(
        empty(Some("bob"), Some("2026-04-01T00:00:00Z")).await,
        NothingStored
    );
    // Withdrawn within the time, it is a change.
    world.forget("ann", "name", None).await;
    let args = json!({"from": "2020-01-01T00:00:00Z", "subject": "ann"});
    let diff = world.answer(Diff, args).await.unwrap();
    assert_eq!(
        (diff.items, diff.coverage.considered, diff.coverage.empty),
        (1, 1, None)
    );
}

#[tokio::test]
async fn the_limit_leaves_out_and_says_so() {
    let world = World::open();
    for no in 0..30 {
        world
            .say("user", "likes", json!(format!("thing {no}")))
            .await;
    }
    for (args, shown) in [
        (json!({"subject": "user"}), 20),
        (json!({"subject": "user", "limit": 0}), 20),
        (json!({"subject": "user", "limit": -1}), 20),
        (json!({"subject": "user", "limit": 7}), 7),
        (
            json!({"subject": "user", "predicate": "likes", "limit": 7, "min_confidence": 0.5}),
            7,
        ),
        (json!({"predicate": "likes", "limit": 1000}), 30),
        (json!({"query": "thing", "limit": 5}), 5),
    ] {
        let answer = world.answer(Recall, args.clone()).await.unwrap();
        assert_eq!(
            (answer.items, answer.coverage.left_out),
            (shown, 30 - shown),
            "{args}"
        );
        assert_eq!(answer.coverage.in_scope, 30, "{args}");
    }
}

#[tokio::test]
async fn filters_are_inclusive() {
    let world = World::typed();
    world
        .said("user", "note", json!("plain"), "2026-03-01T00:00:00Z")
        .await;
    let count = async |args: Value| world.values(args).await.len();
    for (key, at, expected) in [
        ("observed_after", "2026-03-01T00:00:00Z", 1),
        ("observed_before", "2026-03-01T00:00:00Z", 1),
        ("observed_after", "2026-03-01T00:00:00.000000001Z", 0),
        ("observed_before", "2026-02-28T23:59:59Z", 0),
    ] {
        for mut args in [json!({"subject": "user"}), json!({"query": "plain"})] {
            args[key] = json!(at);
            assert_eq!(count(args.clone()).await, expected, "{args}");
        }
    }
    let args = json!({"subject": "user", "observed_after": "2026-04-01T00:00:00Z", "observed_before": "2026-01-01T00:00:00Z"});
    assert_eq!(count(args).await, 0);
}

/// Beliefs stand in the order of what they say of time, events in that of their writing.
#[tokio::test]
async fn each_of_many_values_is_found_whatever_the_order_they_came_in() {
    for step in [1, 39, 17] {
        let world = World::typed();
        let word = |at: usize| format!("word{at}");
        for at in (0..40).map(|at| at * step % 40) {
            let day = format!("2026-01-{:02}T{:02}:00:00Z", 1 + at / 20, at % 20);
            let args = json!({
                "subject": "proj", "predicate": "note", "value": word(at), "observed_at": day,
            });
            world.ask(Remember, args).await;
        }
        for at in 0..40 {
            let found = world.ask(Recall, json!({ "query": word(at) })).await;
            assert_eq!(found[0]["value"], word(at), "{step}");
        }
    }
}
