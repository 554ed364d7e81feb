//! The examples of `docs/rest.md` work as pasted.

use std::process::Command;

use super::*;

fn examples() -> Vec<String> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/rest.md");
    let text = std::fs::read_to_string(path).expect("the page");
    let blocks = text.split("```sh\n").skip(1);
    blocks
        .map(|rest| rest.split("```").next().unwrap_or_default().to_owned())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_examples_of_the_rest_page_work_as_pasted() {
    let running = Running::start(&[]);
    let key = running.key("demo:me").await;
    let run = |script: &str| {
        let output = Command::new("bash")
            .args(["-c", &format!("set -eu\n{script}")])
            .env("RECALL_URL", &running.server.url)
            .env("RECALL_API_KEY", &key)
            .output()
            .expect("bash starts");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}{err}");
        said
    };
    let examples = examples();
    let [again, batch] = examples.as_slice() else {
        panic!("two examples: {examples:?}")
    };
    let said = run(again).replace('\r', "").to_ascii_lowercase();
    assert_eq!(said.matches("http/1.1 200").count(), 2, "{said}");
    assert_eq!(
        said.matches("idempotency-replayed: true").count(),
        1,
        "{said}"
    );
    let bodies: Vec<_> = said.lines().filter(|line| line.starts_with('{')).collect();
    assert!(bodies.len() == 2 && bodies[0] == bodies[1], "{said}");
    assert!(
        !bodies[1].contains("already_known"),
        "the first answer comes again: {said}"
    );
    let results: Value = serde_json::from_str(&run(batch)).expect("JSON");
    let ok: Vec<_> = results["results"]
        .as_array()
        .expect("results")
        .iter()
        .map(|it| it["ok"] == true)
        .collect();
    assert_eq!(ok, [true, false, true], "{results}");
}

/// A listing of a long memory, as a client pages through it.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_listing_is_paged_over_rest_and_mcp() {
    let running = Running::start(&["--surface=typed"]);
    let key = running.key("team:a").await;
    for n in 0..45 {
        let note = json!({ "subject": "user", "predicate": "note", "value": format!("note {n}") });
        assert_eq!(running.post("/v1/remember", &key, &note).await.status, 200);
    }
    for (path, tool, mut ask) in [
        ("/v1/recall", "recall", json!({ "subject": "user" })),
        (
            "/v1/history",
            "memory_history",
            json!({ "subject": "user", "predicate": "note", "limit": 20 }),
        ),
    ] {
        let (mut pages, mut piped) = (Vec::new(), ask.clone());
        loop {
            let page = running.post(path, &key, &ask).await;
            assert_eq!(page.status, 200, "{}", page.json());
            let rows = page.json().as_array().map_or(0, Vec::len);
            let params = json!({ "name": tool, "arguments": piped });
            let call =
                json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
            let answer = running.post("/mcp", &key, &call).await.json();
            let told = &answer["result"]["structuredContent"];
            assert_eq!(told["result"], page.json());
            pages.push(rows);
            let next = page.headers.get("recall-next-cursor");
            let next = next.map(|next| next.to_str().expect("text").to_owned());
            assert_eq!(told["next_cursor"].as_str(), next.as_deref());
            let Some(next) = next else { break };
            ask["cursor"] = next.clone().into();
            piped["cursor"] = next.into();
        }
        assert_eq!(pages, [20, 20, 5], "{path}");
    }
}
