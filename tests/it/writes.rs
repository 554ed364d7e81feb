//! Writes that are sent twice, and many in one.

use super::*;

async fn remember(running: &Running, key: &str, name: &str, body: &Value) -> Answer {
    let (url, bearer) = (
        format!("{}/v1/remember", running.server.url),
        format!("Bearer {key}"),
    );
    let headers = [
        ("authorization", bearer.as_str()),
        ("idempotency-key", name),
    ];
    let answer = running.http.send("POST", &url, &headers, body.to_string());
    answer.await.expect("an answer")
}

fn fact(value: &str) -> Value {
    json!({ "subject": "user", "predicate": "role", "value": value })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_under_the_same_name_is_done_once_and_answered_twice() {
    let running = Running::start(&["--surface=typed"]);
    let (key, other) = (running.key("team:a").await, running.key("team:a").await);
    let first = remember(&running, &key, "one", &fact("pilot")).await;
    assert_eq!(first.status, 200, "{}", first.json());
    assert!(!first.headers.contains_key("idempotency-replayed"));
    let moved = running.post("/v1/remember", &key, &fact("cook")).await;
    assert_eq!(moved.status, 200);

    let again = remember(&running, &key, "one", &fact("pilot")).await;
    assert_eq!(again.body, first.body);
    assert_eq!(again.headers["idempotency-replayed"], "true");
    let now = running
        .post("/v1/recall", &key, &json!({ "subject": "user" }))
        .await;
    assert_eq!(now.json()[0]["value"], "cook", "nothing was written again");

    let reused = remember(&running, &key, "one", &fact("sailor")).await;
    assert_eq!(
        (reused.status, reused.code()),
        (422, "idempotency_key_reused".to_owned())
    );
    let theirs = remember(&running, &other, "one", &fact("sailor")).await;
    assert_eq!(theirs.status, 200, "each key names its own writes");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_not_kept_and_an_odd_name_is_refused() {
    let running = Running::start(&["--surface=typed"]);
    let key = running.key("team:a").await;
    assert_eq!(
        remember(&running, &key, "one", &json!({})).await.status,
        400
    );
    assert_eq!(
        remember(&running, &key, "one", &fact("pilot")).await.status,
        200
    );
    let (url, bearer) = (
        format!("{}/v1/recall", running.server.url),
        format!("Bearer {key}"),
    );
    for odd in ["", &"x".repeat(129)] {
        assert_eq!(
            remember(&running, &key, odd, &fact("pilot")).await.status,
            400
        );
        // A read has no use for it.
        let headers = [("authorization", bearer.as_str()), ("idempotency-key", odd)];
        let read = running
            .http
            .send("POST", &url, &headers, r#"{"subject":"user"}"#)
            .await;
        assert_eq!(read.expect("an answer").status, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_at_once_under_one_name_are_one_write() {
    let running = Running::start(&["--surface=typed"]);
    let key = running.key("team:a").await;
    let body = fact("pilot");
    let mut calls = Vec::new();
    for _ in 0..20 {
        calls.push(remember(&running, &key, "one", &body));
    }
    let answers = futures_util::future::join_all(calls).await;
    assert!(answers.iter().all(|answer| answer.status == 200));
    let replayed = |answer: &&Answer| answer.headers.contains_key("idempotency-replayed");
    assert_eq!(answers.iter().filter(replayed).count(), 19);
    assert!(answers.iter().all(|answer| answer.body == answers[0].body));
}

#[tokio::test(flavor = "multi_thread")]
async fn each_item_of_a_batch_has_a_result_of_its_own() {
    let running = Running::start(&["--surface=typed", "--quota-facts=2"]);
    let key = running.key("team:a").await;
    let note = |n: u32| json!({ "subject": format!("s{n}"), "predicate": "note", "value": "x" });
    let items = json!([note(1), { "subject": 7 }, "odd", note(2), note(3)]);
    let answer = running
        .post("/v1/remember:batch", &key, &json!({ "items": items }))
        .await;
    assert_eq!(answer.status, 200, "{}", answer.json());
    let results = answer.json()["results"].clone();
    let ok: Vec<_> = results
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| it["ok"] == true)
        .collect();
    assert_eq!(ok, [true, false, false, true, false], "{results}");
    assert_eq!(results[0]["result"]["stored"]["subject"], "s1");
    assert_eq!(results[1]["error"]["code"], "invalid_argument");
    assert_eq!(results[4]["error"]["code"], "quota_exceeded");
    for odd in [
        json!({}),
        json!({ "items": 1 }),
        json!({ "items": [], "x": 1 }),
        json!({ "items": vec![0; 101] }),
    ] {
        assert_eq!(
            running.post("/v1/remember:batch", &key, &odd).await.status,
            400
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_items_of_a_batch_are_decided_in_their_order() {
    // With a bound on bytes each item looks at the agents' first.
    for flags in [
        &["--surface=typed"][..],
        &["--surface=typed", "--quota-bytes=64MiB"],
    ] {
        let running = Running::start(flags);
        let key = running.key("team:a").await;
        let state =
            |n: usize| json!({ "subject": "user", "predicate": "role", "value": format!("r{n}") });
        let other =
            |n: usize| json!({ "subject": format!("s{n}"), "predicate": "note", "value": "x" });
        // Between other things a role changes, and each is said twice.
        let items: Vec<Value> = (0..25)
            .flat_map(|n| [state(n), other(n), state(n), other(n)])
            .collect();
        let answer = running
            .post("/v1/remember:batch", &key, &json!({ "items": items }))
            .await;
        assert_eq!(answer.status, 200, "{}", answer.json());
        let results = answer.json()["results"].take();
        for (n, four) in results.as_array().expect("a list").chunks(4).enumerate() {
            let known: Vec<_> = four
                .iter()
                .map(|it| it["result"]["already_known"] == true)
                .collect();
            assert_eq!(known, [false, false, true, true], "{n}: {results}");
        }
        let asked = json!({ "subject": "user", "predicate": "role" });
        let now = running.post("/v1/recall", &key, &asked).await.json();
        assert_eq!(now[0]["value"], "r24", "{now}");
        let past = running.post("/v1/history", &key, &asked).await.json();
        let said: Vec<&str> = past["history"]
            .as_array()
            .or_else(|| past.as_array())
            .expect("a history")
            .iter()
            .filter_map(|it| it["value"].as_str())
            .collect();
        let mut expected: Vec<String> = (0..25).map(|n| format!("r{n}")).collect();
        if said.first() == Some(&"r24") {
            expected.reverse();
        }
        assert_eq!(said, expected);
    }
}

async fn batch(running: &Running, key: &str, name: &str, items: &Value) -> Answer {
    let (url, bearer) = (
        format!("{}/v1/remember:batch", running.server.url),
        format!("Bearer {key}"),
    );
    let headers = [
        ("authorization", bearer.as_str()),
        ("idempotency-key", name),
    ];
    let body = json!({ "items": items }).to_string();
    let answer = running.http.send("POST", &url, &headers, body);
    answer.await.expect("an answer")
}

/// The codes of what was refused of a batch; nothing of what was done.
fn refusals(answer: &Answer) -> Vec<Value> {
    let results = answer.json()["results"].take();
    let results = results.as_array().expect("a list").iter();
    results.map(|it| it["error"]["code"].clone()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_with_a_part_that_was_refused_for_now_is_tried_anew_under_its_name() {
    let running = Running::start(&["--surface=typed", "--quota-facts=2"]);
    let key = running.key("team:a").await;
    let note = |n: u32| json!({ "subject": format!("s{n}"), "predicate": "note", "value": "x" });
    assert_eq!(
        running.post("/v1/remember", &key, &note(1)).await.status,
        200
    );
    let items = json!([note(2), note(3), { "subject": 7 }]);
    let first = batch(&running, &key, "one", &items).await;
    assert_eq!(
        refusals(&first),
        [
            json!(null),
            json!("quota_exceeded"),
            json!("invalid_argument")
        ]
    );
    let gone = json!({ "subject": "s1", "predicate": "note", "value": "x" });
    assert_eq!(
        running.post("/v1/forget", &key, &gone).await.json()["withdrawn"],
        1
    );
    for replayed in [false, true] {
        let again = batch(&running, &key, "one", &items).await;
        assert_eq!(again.headers.contains_key("idempotency-replayed"), replayed);
        assert_eq!(
            refusals(&again),
            [json!(null), json!(null), json!("invalid_argument")]
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_comes_too_often_tells_when_to_come_again() {
    let running = Running::start(&["--surface=typed", "--limit-per-key=1/1h"]);
    let key = running.key("team:a").await;
    let items = json!([fact("pilot"), fact("cook")]);
    for (name, done) in [("one", 1), ("one", 0), ("two", 0)] {
        let answer = batch(&running, &key, name, &items).await;
        assert_eq!(answer.status, 200);
        assert!(!answer.headers.contains_key("idempotency-replayed"));
        let wait = answer.headers["retry-after"].to_str().expect("a number");
        assert!(wait.parse::<u64>().is_ok_and(|wait| wait > 0), "{wait}");
        let refused = refusals(&answer);
        let limited = refused.iter().filter(|code| *code == "rate_limited");
        assert_eq!(limited.count(), 2 - done, "{name}: {refused:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_write_under_a_name_in_use_is_refused_as_such_whatever_becomes_of_the_first() {
    let running = Running::start(&["--surface=typed"]);
    let key = running.key("team:a").await;
    let bodies: Vec<Value> = (0..40)
        .map(|n| match n % 2 {
            0 => json!({ "subject": 7, "predicate": "role", "value": "x" }),
            _ => fact(&format!("pilot {n}")),
        })
        .collect();
    let calls = bodies
        .iter()
        .map(|body| remember(&running, &key, "one", body));
    let answers = futures_util::future::join_all(calls).await;
    for (body, answer) in bodies.iter().zip(answers) {
        let allowed = match body["subject"] == 7 {
            // Its own refusal.
            true => [400, 422],
            false => [200, 422],
        };
        assert!(
            allowed.contains(&answer.status),
            "{body}: {}",
            answer.json()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn fixed_keys_of_one_namespace_name_their_own_writes() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("keys");
    std::fs::write(&file, "first-fixed-key team:a\nsecond-fixed-key team:a\n").expect("written");
    let flag = format!("--keys-file={}", file.display());
    let running = Running::start(&["--surface=typed", &flag]);
    for (key, value) in [("first-fixed-key", "pilot"), ("second-fixed-key", "cook")] {
        let answer = remember(&running, key, "one", &fact(value)).await;
        assert_eq!(answer.status, 200, "{key}: {}", answer.json());
    }
}
