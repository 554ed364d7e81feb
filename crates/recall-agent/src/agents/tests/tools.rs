//! What each tool does for the owner.

use std::collections::BTreeSet;

use recall_memory::{Args, Operation, Writer};

use super::*;

async fn resumed() -> (Bench, Session) {
    let (bench, me) = (Bench::new(), key("k1"));
    bench
        .ok(&me, "agent_resume", json!({"output_threshold": 100}))
        .await;
    (bench, me)
}

#[tokio::test]
async fn the_first_resume_is_fresh_and_the_second_is_not() {
    let (bench, me) = (Bench::new(), key("k1"));
    let first = bench
        .ok(&me, "agent_resume", json!({"token_budget": 500}))
        .await;
    has(
        &first,
        &json!({"agent_id": "a", "fresh": true, "epoch": 1, "lease_held": true, "turn_seq": 0, "token_budget": 500}),
    );
    bench
        .ok(&me, "record_turn", json!({"role": "user", "content": "hi"}))
        .await;
    bench.ok(&me, "agent_release", none()).await;
    let second = bench.ok(&me, "agent_resume", none()).await;
    has(
        &second,
        &json!({"fresh": false, "epoch": 2, "turn_seq": 1, "token_budget": 8000}),
    );
}

#[tokio::test]
async fn arguments_are_checked_by_every_tool() {
    let (bench, me) = resumed().await;
    let long = |bytes: usize| "x".repeat(bytes);
    for (tool, arguments, text) in [
        (
            "agent_context",
            json!({"agent_id": "not a name!"}),
            "agent_id: ' ' at byte 3",
        ),
        ("agent_context", json!({"agent_id": ""}), "agent_id: empty"),
        (
            "agent_context",
            json!({"agent_id": 1}),
            "agent_id must be a string",
        ),
        ("agent_context", json!({"x": 1}), "unknown field x"),
        (
            "record_turn",
            json!({"role": "robot", "content": "x"}),
            "role must be one of",
        ),
        (
            "record_turn",
            json!({"role": "user"}),
            "content is required",
        ),
        (
            "record_turn",
            json!({"role": "user", "content": "x", "message_id": long(257)}),
            "message_id may have at most 256",
        ),
        (
            "record_turn",
            json!({"role": "user", "content": "x", "brief": long(4097)}),
            "brief may have at most 4096",
        ),
        (
            "store_output",
            json!({"content": long((1 << 20) + 1)}),
            "content may have at most 1048576",
        ),
        (
            "store_output",
            json!({"content": "x", "ref": "a b"}),
            "ref: ' ' at byte 1",
        ),
        ("fetch_output", none(), "ref is required"),
        (
            "fetch_output",
            json!({"ref": "absent"}),
            "there is no output \"absent\"",
        ),
        (
            "agent_milestone",
            json!({"name": " "}),
            "name must not be empty",
        ),
        (
            "recent_turns",
            json!({"limit": 1001}),
            "limit may be at most 1000",
        ),
        (
            "recent_turns",
            json!({"limit": "5"}),
            "limit must be a whole number",
        ),
        (
            "begin_action",
            json!({"tool": "", "class": "pure"}),
            "tool must not be empty",
        ),
        (
            "begin_action",
            json!({"tool": long(129), "class": "pure"}),
            "tool may have at most 128",
        ),
        (
            "begin_action",
            json!({"tool": "t", "class": "harmless"}),
            "class must be one of",
        ),
        (
            "end_action",
            json!({"seq": 999, "status": "done"}),
            "there is no action 999",
        ),
        (
            "end_action",
            json!({"seq": -1, "status": "done"}),
            "there is no action -1",
        ),
        ("end_action", json!({"status": "done"}), "seq is required"),
        ("remove_pointer", none(), "name is required"),
    ] {
        let (code, said) = bench.refused(&me, tool, arguments).await;
        assert_eq!(code, "tool_error", "{tool}");
        assert!(said.contains(text), "{tool}: {said}");
    }
}

#[tokio::test]
async fn limits_hold_at_their_edge() {
    let (bench, me) = resumed().await;
    let long = |bytes: usize| "x".repeat(bytes);
    bench
        .ok(
            &me,
            "record_turn",
            json!({"role": "user", "content": "", "message_id": long(256), "brief": long(4096)}),
        )
        .await;
    bench
        .ok(
            &me,
            "store_output",
            json!({"content": long(1 << 20), "ref": long(128)}),
        )
        .await;
    bench
        .ok(
            &me,
            "begin_action",
            json!({"tool": long(128), "class": "pure"}),
        )
        .await;
    bench.ok(&me, "recent_turns", json!({"limit": 1000})).await;
}

#[tokio::test]
async fn working_state_merges_and_keeps_its_versions() {
    let (bench, me) = resumed().await;
    bench
        .ok(&me, "record_turn", json!({"role": "user", "content": "x"}))
        .await;
    let first = bench
        .ok(&me, "update_working_state", json!({"goal": "g", "step": 1}))
        .await;
    has(
        &first,
        &json!({"goal": "g", "step": 1, "version": 1, "turn_seq": 1}),
    );
    let same = bench
        .ok(&me, "update_working_state", json!({"goal": "g"}))
        .await;
    assert_eq!(same, first, "nothing changed, so nothing is new");
    let reached = bench
        .ok(
            &me,
            "agent_milestone",
            json!({"name": "half", "progress": "50 %"}),
        )
        .await;
    has(
        &reached,
        &json!({"goal": "g", "last_milestone": "half", "progress": "50 %", "version": 2}),
    );
    let history = bench.ok(&me, "working_state_history", none()).await;
    assert_eq!(history, json!([reached, first]));
    let newest = bench
        .ok(&me, "working_state_history", json!({"limit": 1}))
        .await;
    assert_eq!(newest, json!([reached]));
}

#[tokio::test]
async fn a_message_is_one_turn_however_often_it_comes() {
    let (bench, me) = resumed().await;
    let turn = json!({"role": "user", "content": "x", "message_id": "m1"});
    let first = bench.ok(&me, "record_turn", turn.clone()).await;
    bench
        .ok(&me, "record_turn", json!({"role": "user", "content": "y"}))
        .await;
    let again = bench.replica().ok(&me, "record_turn", turn).await;
    assert_eq!(again, first);
    let turns = bench.ok(&me, "recent_turns", none()).await;
    assert_eq!(turns.as_array().map(Vec::len), Some(2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn turns_written_at_once_are_numbered_without_a_gap() {
    let (bench, me) = resumed().await;
    let replicas = [bench.replica(), bench.replica()];
    let writes = (0..20).map(|number| {
        let (bench, me) = (replicas[number % 2].clone(), me.clone());
        let turn = json!({"role": "tool", "content": number.to_string()});
        tokio::spawn(async move { bench.ok(&me, "record_turn", turn).await["seq"].as_u64() })
    });
    let mut numbers = BTreeSet::new();
    for write in writes.collect::<Vec<_>>() {
        numbers.extend(write.await.expect("no panic"));
    }
    assert_eq!(numbers, (1..=20).collect());
    let turns = bench.ok(&me, "recent_turns", none()).await;
    let turns = turns.as_array().expect("a list");
    let contents: BTreeSet<_> = turns
        .iter()
        .map(|turn| turn["content"].to_string())
        .collect();
    assert_eq!(contents.len(), 20);
}

#[tokio::test]
async fn a_long_turn_becomes_an_output() {
    let (bench, me) = resumed().await;
    let whole = "word ".repeat(500);
    let turn = bench
        .ok(
            &me,
            "record_turn",
            json!({"role": "tool", "name": "ls", "content": whole}),
        )
        .await;
    let reference = turn["output_ref"].as_str().expect("a reference");
    let cut = turn["content"].as_str().expect("a content");
    assert!(cut.len() < 600 && cut.contains(reference), "{cut}");
    let output = bench
        .ok(&me, "fetch_output", json!({"ref": reference}))
        .await;
    has(
        &output,
        &json!({"content": whole, "tool": "ls", "tokens": 625}),
    );
}

#[tokio::test]
async fn references_never_repeat_over_resumes() {
    let (bench, me) = resumed().await;
    let mut seen = BTreeSet::new();
    for _ in 0..10 {
        let output = bench.ok(&me, "store_output", json!({"content": "x"})).await;
        assert!(seen.insert(output["ref"].to_string()), "{output}");
        bench.ok(&me, "agent_release", none()).await;
        bench.ok(&me, "agent_resume", none()).await;
    }
    let taken = json!({"content": "mine", "ref": "out-1-12"});
    bench.ok(&me, "store_output", taken).await;
    let next = bench
        .ok(&me, "store_output", json!({"content": "theirs"}))
        .await;
    assert_ne!(next["ref"], "out-1-12");
    let mine = bench
        .ok(&me, "fetch_output", json!({"ref": "out-1-12"}))
        .await;
    assert_eq!(mine["content"], "mine");
}

#[tokio::test]
async fn the_same_reference_replaces_and_is_listed_once() {
    let (bench, me) = resumed().await;
    for content in ["old", "new"] {
        bench
            .ok(
                &me,
                "store_output",
                json!({"content": content, "ref": "r", "summary": content}),
            )
            .await;
    }
    assert_eq!(
        bench.ok(&me, "fetch_output", json!({"ref": "r"})).await["content"],
        "new"
    );
    let outputs = bench.ok(&me, "agent_context", none()).await["outputs"].take();
    assert_eq!(outputs.as_array().map(Vec::len), Some(1));
    assert_eq!(outputs[0]["summary"], "new");
}

#[tokio::test]
async fn pointers_replace_by_name_and_go_without_complaint() {
    let (bench, me) = resumed().await;
    let set = |name: &str, branch: &str| json!({"name": name, "type": "git_ref", "fields": {"branch": branch}});
    for (name, branch) in [("work", "one"), ("image", "x"), ("work", "two")] {
        bench.ok(&me, "set_pointer", set(name, branch)).await;
    }
    let listed = bench.ok(&me, "list_pointers", none()).await;
    assert_eq!(listed.as_array().map(Vec::len), Some(2));
    assert_eq!(listed[0]["name"], "image");
    assert_eq!(listed[1]["fields"], json!({"branch": "two"}));
    for _ in 0..2 {
        let removed = bench
            .ok(&me, "remove_pointer", json!({"name": "work"}))
            .await;
        assert_eq!(removed, json!({"removed": "work"}));
    }
    for number in 1..1000 {
        bench
            .ok(&me, "set_pointer", set(&format!("p{number}"), "x"))
            .await;
    }
    let (_, text) = bench
        .refused(&me, "set_pointer", set("one-more", "x"))
        .await;
    assert_eq!(text, "an agent may have at most 1000 pointers");
    bench.ok(&me, "set_pointer", set("p1", "y")).await;
}

#[tokio::test]
async fn actions_are_open_until_they_end() {
    let (bench, me) = resumed().await;
    let begin = json!({"tool": "deploy", "class": "idempotent", "args": "{}"});
    let one = bench.ok(&me, "begin_action", begin.clone()).await;
    let two = bench.ok(&me, "begin_action", begin).await;
    has(
        &one,
        &json!({"seq": 1, "status": "started", "args": "{}", "epoch": 1}),
    );
    assert_eq!(one["key"].as_str().map(str::len), Some(32));
    assert_ne!(one["key"], two["key"]);
    let ended = bench
        .ok(
            &me,
            "end_action",
            json!({"seq": 1, "status": "done", "result": "ok"}),
        )
        .await;
    has(
        &ended,
        &json!({"status": "done", "result": "ok", "key": one["key"]}),
    );
    bench
        .ok(&me, "end_action", json!({"seq": 2, "status": "unknown"}))
        .await;
    let pending = bench.ok(&me, "pending_actions", none()).await;
    assert_eq!(pending.as_array().map(Vec::len), Some(1));
    has(&pending[0], &json!({"seq": 2, "status": "unknown"}));
    let (_, text) = bench
        .refused(&me, "end_action", json!({"seq": 1, "status": "failed"}))
        .await;
    assert_eq!(text, "action 1 has ended already: done");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_ends_of_one_action_one_wins_and_both_see_it() {
    let (bench, me) = resumed().await;
    for round in 1..=20 {
        bench
            .ok(
                &me,
                "begin_action",
                json!({"tool": "t", "class": "external"}),
            )
            .await;
        let ends = ["done", "failed"].map(|status| {
            let (bench, me) = (bench.replica(), me.clone());
            let end = json!({"seq": round, "status": status});
            tokio::spawn(async move { bench.call(&me, "end_action", end).await })
        });
        let (mut winner, mut refusal) = (None, None);
        for end in ends {
            match end.await.expect("no panic") {
                Ok(action) => assert_eq!(winner.replace(action["status"].to_string()), None),
                Err(error) => assert_eq!(refusal.replace(error.to_string()), None),
            }
        }
        let winner = winner.expect("one wins");
        let told = refusal.expect("one is told");
        assert!(told.ends_with(winner.trim_matches('"')), "{told}: {winner}");
    }
}

#[tokio::test]
async fn long_arguments_and_results_become_outputs() {
    let (bench, me) = resumed().await;
    let long = "x".repeat(1000);
    let begun = bench
        .ok(
            &me,
            "begin_action",
            json!({"tool": "t", "class": "pure", "args": long}),
        )
        .await;
    assert_eq!(begun["args_ref"], "act-1-args");
    let ended = bench
        .ok(
            &me,
            "end_action",
            json!({"seq": 1, "status": "done", "result": long}),
        )
        .await;
    has(
        &ended,
        &json!({"args_ref": "act-1-args", "result_ref": "act-1-result"}),
    );
    let result = bench
        .ok(&me, "fetch_output", json!({"ref": "act-1-result"}))
        .await;
    assert_eq!(result["content"], long);
}

#[tokio::test]
async fn open_actions_are_bounded_and_ended_ones_make_room() {
    let (bench, me) = resumed().await;
    let begin = json!({"tool": "t", "class": "pure"});
    for _ in 0..1000 {
        bench.ok(&me, "begin_action", begin.clone()).await;
    }
    let (_, text) = bench.refused(&me, "begin_action", begin.clone()).await;
    assert!(text.contains("at most 1000 open actions"), "{text}");
    bench
        .ok(
            &me,
            "end_action",
            json!({"seq": 500, "status": "abandoned"}),
        )
        .await;
    assert_eq!(bench.ok(&me, "begin_action", begin).await["seq"], 1001);
}

#[tokio::test]
async fn the_briefing_draws_on_the_memory_for_what_is_in_focus() {
    let (bench, me) = resumed().await;
    let writer = Writer {
        key_id: "k".to_owned(),
        session: None,
    };
    for text in ["The deploy key is in the vault.", "Lunch is at noon."] {
        let Value::Object(arguments) = json!({ "text": text }) else {
            panic!("an object")
        };
        let arguments = Args::from(arguments);
        let said = bench
            .memory
            .call(&bench.ns, &writer, Operation::Remember, arguments)
            .await;
        said.expect("it is kept");
    }
    let before = bench.ok(&me, "agent_context", none()).await;
    assert_eq!(before["memories"], json!([]), "nothing is asked for yet");
    let focus = json!({"goal": "x", "focus": "find the deploy key"});
    bench.ok(&me, "update_working_state", focus).await;
    let context = bench.ok(&me, "agent_context", none()).await;
    let first = &context["memories"][0];
    has(
        first,
        &json!({"predicate": "note", "value": "The deploy key is in the vault."}),
    );
    assert!(first.get("days_ago").is_none());
    let briefing = context["briefing"].as_str().expect("a text");
    assert!(
        briefing.contains("- The deploy key is in the vault."),
        "{briefing}"
    );
    bench.advance(86_400 * 3);
    let later = bench.ok(&me, "agent_context", none()).await;
    assert_eq!(
        later["briefing"], context["briefing"],
        "time alone changes nothing"
    );
}

fn write(kind: RecordKind, body: Option<&'static [u8]>) -> Batch {
    Batch {
        records: vec![recall_store::RecordWrite {
            kind,
            key: "a".to_owned(),
            body: body.map(bytes::Bytes::from_static),
            precondition: Precondition::None,
        }],
        ..Batch::default()
    }
}

#[tokio::test]
async fn records_without_a_head_are_counted() {
    let (bench, me) = resumed().await;
    for _ in 0..3 {
        bench
            .ok(&me, "record_turn", json!({"role": "user", "content": "x"}))
            .await;
    }
    bench
        .ok(
            &me,
            "begin_action",
            json!({"tool": "t", "class": "idempotent"}),
        )
        .await;
    bench
        .ok(&me, "update_working_state", json!({"goal": "g"}))
        .await;
    bench.ok(&me, "agent_release", none()).await;
    bench
        .store
        .commit(&bench.ns, write(RecordKind::Session, None))
        .await
        .expect("erased");
    let context = bench.ok(&me, "agent_resume", none()).await;
    has(&context, &json!({"fresh": false, "turn_seq": 3}));
    assert_eq!(context["pending_actions"][0]["seq"], 1);
    let turn = bench
        .ok(&me, "record_turn", json!({"role": "user", "content": "y"}))
        .await;
    assert_eq!(turn["seq"], 4);
    assert_eq!(
        bench
            .ok(&me, "update_working_state", json!({"goal": "h"}))
            .await["version"],
        2
    );
}

#[tokio::test]
async fn damaged_records_are_said_to_be_damaged() {
    let (bench, me) = resumed().await;
    let spoil = write(RecordKind::WorkingStateHead, Some(b"{\"version\":\"x\""));
    bench.store.commit(&bench.ns, spoil).await.expect("written");
    let (code, _) = bench
        .refused(&me, "update_working_state", json!({"goal": "g"}))
        .await;
    assert_eq!(code, "store_damaged");
}

#[tokio::test]
async fn records_say_what_they_are_and_under_which_epoch_they_came() {
    let (bench, me) = resumed().await;
    bench
        .ok(&me, "record_turn", json!({"role": "user", "content": "x"}))
        .await;
    let record = bench
        .store
        .get(&bench.ns, RecordKind::Turn, "a:000000000001")
        .await;
    let record = record.expect("an answer").expect("the turn");
    let body: Value = serde_json::from_slice(&record.body).expect("JSON");
    has(
        &body,
        &json!({"recall_agent": "a", "record": "turn", "epoch": 1, "seq": 1}),
    );
}
