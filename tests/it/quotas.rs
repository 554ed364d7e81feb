//! What one namespace may hold.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_full_namespace_says_so_and_takes_more_once_something_is_forgotten() {
    let running = Running::start(&["--surface=typed", "--quota-facts=2", "--quota-agents=1"]);
    let key = running.key("team:a").await;
    let fact = |subject: &str| json!({ "subject": subject, "predicate": "role", "value": "x" });
    for subject in ["a", "b"] {
        assert_eq!(
            running
                .post("/v1/remember", &key, &fact(subject))
                .await
                .status,
            200
        );
    }
    let refused = running.post("/v1/remember", &key, &fact("c")).await;
    assert_eq!(
        (refused.status, refused.code()),
        (403, "quota_exceeded".to_owned())
    );
    let told = refused.json()["error"]["message"].to_string();
    assert!(
        told.contains("2 of 2 facts") && told.contains("forget some"),
        "{told}"
    );
    let again = running.post("/v1/remember", &key, &fact("a")).await;
    assert_eq!(again.json()["already_known"], true, "a repeat adds nothing");
    let corrected = json!({ "subject": "b", "predicate": "role", "value": "y" });
    let corrected = running.post("/v1/remember", &key, &corrected).await;
    assert_eq!(
        corrected.status,
        200,
        "a correction takes no more room: {}",
        corrected.json()
    );
    let call = |tool: &str, arguments: Value| json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool, "arguments": arguments } });
    let refused = running
        .post("/mcp", &key, &call("remember", fact("c")))
        .await
        .json();
    let text = refused["result"]["content"][0]["text"]
        .as_str()
        .expect("text");
    assert!(text.starts_with("quota_exceeded: "), "{text}");
    let resume = |agent: &str| call("agent_resume", json!({ "agent_id": agent }));
    let resumed = |answer: Value| answer["result"]["isError"] == false;
    assert!(resumed(
        running.post("/mcp", &key, &resume("one")).await.json()
    ));
    assert!(!resumed(
        running.post("/mcp", &key, &resume("two")).await.json()
    ));
    let acquire = call("agent_acquire", json!({ "agent_id": "two" }));
    assert!(
        !resumed(running.post("/mcp", &key, &acquire).await.json()),
        "nor by the other way to take an agent"
    );
    let release = call("agent_release", json!({ "agent_id": "one" }));
    assert!(resumed(running.post("/mcp", &key, &release).await.json()));
    assert!(
        resumed(running.post("/mcp", &key, &resume("one")).await.json()),
        "it is not new"
    );

    let gone = running.post("/v1/forget", &key, &fact("a")).await;
    assert_eq!(gone.json(), json!({ "withdrawn": 1 }));
    assert_eq!(
        running.post("/v1/remember", &key, &fact("c")).await.status,
        200
    );
    let other = running.key("team:b").await;
    assert_eq!(
        running
            .post("/v1/remember", &other, &fact("c"))
            .await
            .status,
        200
    );
}

/// Statements that come together do not pass the last gap together, and bytes are never overshot.
#[tokio::test(flavor = "multi_thread")]
async fn a_quota_is_kept_by_writes_that_come_at_once() {
    let running = Running::start(&["--surface=typed", "--quota-facts=20"]);
    let key = running.key("team:a").await;
    let fact = |n: u32| json!({ "subject": format!("s{n}"), "predicate": "role", "value": "x" });
    let facts: Vec<Value> = (0..100).map(fact).collect();
    let writes = facts
        .iter()
        .map(|fact| running.post("/v1/remember", &key, fact));
    let answers = futures_util::future::join_all(writes).await;
    let kept = answers.iter().filter(|answer| answer.status == 200).count();
    assert_eq!(kept, 20);
    assert!(
        answers
            .iter()
            .all(|answer| [200, 403].contains(&answer.status))
    );
    let every = json!({ "predicate": "role", "limit": 1000 });
    let found = running.post("/v1/recall", &key, &every).await;
    assert_eq!(found.json().as_array().map(Vec::len), Some(20));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_full_of_bytes_takes_repeats_and_withdrawals_alone() {
    let running = Running::start(&["--quota-bytes=1MiB"]);
    let key = running.key("team:a").await;
    let text = |n: u32| json!({ "text": format!("note {n}: {}", "lantern marble ".repeat(500)) });
    let mut kept = 0;
    let refused = loop {
        let answer = running.post("/v1/remember", &key, &text(kept)).await;
        if answer.status != 200 {
            break answer;
        }
        kept += 1;
        assert!(kept < 1_000, "a MiB does not hold that many");
    };
    assert!(kept > 5, "{kept}");
    assert_eq!(refused.code(), "quota_exceeded");
    let told = refused.json()["error"]["message"].to_string();
    assert!(
        told.contains("bytes") && told.contains("ask the operator"),
        "{told}"
    );
    let again = running.post("/v1/remember", &key, &text(0)).await;
    assert_eq!(again.json()["already_known"], true, "{}", again.json());
    let gone = running.post("/v1/forget", &key, &text(0)).await;
    assert_eq!(gone.status, 200, "{}", gone.json());
}
