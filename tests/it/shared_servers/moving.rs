//! Memory moves from one store to another and back, whole.

use std::process::{Command, Stdio};

use super::super::agents::call;
use super::*;

/// Runs `recall-server export` or `import` and answers what it wrote.
fn moves(act: &str, flags: &[String], input: Option<&std::path::Path>) -> Vec<u8> {
    let program = programs::folder().expect("built").join("recall-server");
    let input = input.map_or_else(Stdio::null, |path| {
        std::fs::File::open(path).expect("an export").into()
    });
    let output = Command::new(program)
        .arg(act)
        .args(flags)
        .stdin(input)
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{act}: {said}");
    output.stdout
}

/// An export without the moment at which it was made, its lines in order: stores number events in
/// an order of their own.
fn content(export: &[u8]) -> Vec<String> {
    let text = String::from_utf8(export.to_vec()).expect("text");
    let mut lines: Vec<String> = text.lines().skip(1).map(str::to_owned).collect();
    lines.sort();
    lines
}

on_each_store![from_embedded_to_a_shared_store_and_back_nothing_is_lost_or_added,];

async fn from_embedded_to_a_shared_store_and_back_nothing_is_lost_or_added(kind: Kind) {
    let Some(fleet) = Fleet::database(kind, &["--surface=typed", "--open"]) else {
        return;
    };
    let mut running = Running::start(&["--surface=typed", "--open"]);
    let key = running.key("team:a").await;
    for n in 0..40 {
        let body = fact(["prefers_editor", "likes"][n % 2], &format!("é {n}"));
        assert_eq!(running.post("/v1/remember", &key, &body).await.status, 200);
    }
    let (http, url) = (&running.http, running.server.url.clone());
    call(http, &url, &key, "agent_resume", json!({}))
        .await
        .expect("it is free");
    for (tool, arguments) in [
        (
            "record_turn",
            json!({ "role": "user", "content": "hello", "message_id": "m1" }),
        ),
        ("update_working_state", json!({ "goal": "g" })),
        ("store_output", json!({ "tool": "sh", "content": "out" })),
        (
            "begin_action",
            json!({ "tool": "deploy", "class": "idempotent" }),
        ),
    ] {
        call(http, &url, &key, tool, arguments)
            .await
            .expect("the owner writes");
    }
    running.server.process().stop().expect("it ends");

    let data = |dir: &str| {
        let dir = running.dir.path().join(dir);
        vec![format!("--data-dir={}", dir.display()), "--keys".to_owned()]
    };
    let first = moves("export", &data("recall-data"), None);
    let file = running.dir.path().join("first.jsonl");
    std::fs::write(&file, &first).expect("written");
    let shared = fleet.db.flags();
    moves("import", &shared, Some(&file));
    let second = moves(
        "export",
        &[shared.as_slice(), &["--keys".to_owned()]].concat(),
        None,
    );
    assert_eq!(content(&second), content(&first));
    let file = running.dir.path().join("second.jsonl");
    std::fs::write(&file, &second).expect("written");
    moves("import", &data("third")[..1], Some(&file));
    assert_eq!(
        content(&moves("export", &data("third"), None)),
        content(&first)
    );

    // A server on the other store answers as the first did, and the key is the same.
    fleet.join();
    let editor = fleet
        .post("/v1/recall", &key, &about("prefers_editor"))
        .await;
    assert_eq!(value_of(&editor).as_deref(), Some("é 38"));
    let context = call(&fleet.http, &fleet.next(), &key, "agent_resume", json!({})).await;
    let context = context.expect("leases are not moved");
    assert_eq!(
        (&context["turn_seq"], &context["working_state"]["goal"]),
        (&json!(1), &json!("g"))
    );
    assert_eq!(
        context["pending_actions"]
            .as_array()
            .expect("actions")
            .len(),
        1
    );
    assert_eq!(context["outputs"].as_array().expect("outputs").len(), 1);
}
