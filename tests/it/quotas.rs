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

/// A tool call; its text, as an error if the tool refused.
async fn tool(running: &Running, key: &str, tool: &str, more: Value) -> Result<String, String> {
    let mut arguments = json!({ "agent_id": "one" });
    for (name, value) in more.as_object().expect("an object") {
        arguments[name] = value.clone();
    }
    let params = json!({ "name": tool, "arguments": arguments });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let result = running.post("/mcp", key, &call).await.json()["result"].take();
    let text = result["content"][0]["text"]
        .as_str()
        .expect("a text")
        .to_owned();
    match result["isError"] == false {
        true => Ok(text),
        false => Err(text),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_full_of_bytes_can_be_put_right() {
    let running = Running::start(&["--surface=typed", "--quota-bytes=256KiB"]);
    let key = running.key("team:a").await;
    let fact = |subject: u32, value: &str| json!({ "subject": format!("s{subject}"), "predicate": "role", "value": value });
    let long = "lantern marble ".repeat(40);
    let mut kept = 0;
    while running
        .post("/v1/remember", &key, &fact(kept, &long))
        .await
        .status
        == 200
    {
        kept += 1;
        assert!(kept < 1_000, "256 KiB do not hold that many");
    }
    while running
        .post("/v1/remember", &key, &fact(kept, "x"))
        .await
        .status
        == 200
    {
        kept += 1;
        assert!(kept < 1_000, "nor that many short ones beside");
    }
    let corrected = running
        .post("/v1/remember", &key, &fact(0, "gardener"))
        .await;
    assert_eq!(corrected.status, 200, "{}", corrected.json());
    let mut replaced = json!({ "subject": "s1", "predicate": "role", "value": "cook" });
    replaced["replaces"] = json!([{ "predicate": "role", "value": long }]);
    let replaced = running.post("/v1/remember", &key, &replaced).await;
    assert_eq!(replaced.status, 200, "{}", replaced.json());
    let gone = json!({ "subject": "s2", "predicate": "role" });
    let gone = running.post("/v1/forget", &key, &gone).await;
    assert_eq!(gone.json()["withdrawn"], 1, "{}", gone.json());
    let new = running
        .post("/v1/remember", &key, &fact(kept + 1, "x"))
        .await;
    assert_eq!(
        new.code(),
        "quota_exceeded",
        "what is new has no part in that"
    );
    // Nor is there more room for corrections than that.
    let mut corrections = 0;
    while running
        .post(
            "/v1/remember",
            &key,
            &fact(0, &format!("{corrections} {long}")),
        )
        .await
        .status
        == 200
    {
        corrections += 1;
        assert!(corrections < 100, "an eighth does not hold that many");
    }
    assert!(corrections > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_agents_keep_counts_towards_the_bytes_of_their_namespace() {
    let flags = ["--surface=typed", "--quota-bytes=512KiB"];
    let mut running = Running::start(&flags);
    let key = running.key("team:a").await;
    tool(&running, &key, "agent_resume", json!({}))
        .await
        .expect("it is free");
    let begun = json!({ "tool": "deploy", "class": "external" });
    tool(&running, &key, "begin_action", begun)
        .await
        .expect("begun");
    let content = "z".repeat(100_000);
    let output = |n: u32| json!({ "content": content, "ref": format!("r{n}") });
    for n in 0..5 {
        tool(&running, &key, "store_output", output(n))
            .await
            .expect("there is room");
    }
    let refused = tool(&running, &key, "store_output", output(5)).await;
    let refused = refused.expect_err("it is full");
    assert!(refused.starts_with("quota_exceeded: "), "{refused}");
    let again = tool(&running, &key, "store_output", output(0)).await;
    assert!(
        again.is_ok_and(|text| text.contains("r0")),
        "the same once more"
    );
    let turn = json!({ "role": "user", "content": "hello ".repeat(5_000) });
    let state = json!({ "notes": "q".repeat(60_000) });
    for (name, arguments) in [("record_turn", turn), ("update_working_state", state)] {
        let refused = tool(&running, &key, name, arguments)
            .await
            .expect_err("it is full");
        assert!(refused.starts_with("quota_exceeded: "), "{name}: {refused}");
    }
    let ended = tool(
        &running,
        &key,
        "end_action",
        json!({ "seq": 1, "status": "done" }),
    )
    .await;
    ended.expect("what was begun can be ended");
    let fact = json!({ "subject": "u", "predicate": "role", "value": "lantern ".repeat(500) });
    for restarted in [false, true] {
        if restarted {
            running.server.process().kill().expect("it runs");
            running.server =
                programs::server(running.dir.path(), "recall", &flags).expect("it starts");
        }
        let refused = running.post("/v1/remember", &key, &fact).await;
        assert_eq!(refused.code(), "quota_exceeded", "restarted: {restarted}");
    }
    // An agent that has no room is given back all the same, and other namespaces have their own.
    tool(&running, &key, "agent_release", json!({}))
        .await
        .expect("given back");
    let other = running.key("team:b").await;
    assert_eq!(
        running.post("/v1/remember", &other, &fact).await.status,
        200
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_that_begin_at_once_are_no_more_than_the_quota() {
    let running = Running::start(&["--quota-agents=2"]);
    let key = running.key("team:a").await;
    let resumes = (0..60).map(|n| {
        let agent = json!({ "agent_id": format!("a{n}") });
        tool(&running, &key, "agent_resume", agent)
    });
    let answers = futures_util::future::join_all(resumes).await;
    let began = answers.iter().filter(|answer| answer.is_ok()).count();
    assert_eq!(began, 2);
}
