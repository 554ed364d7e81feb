//! What a log tells: which request a line belongs to, and nothing that is secret or remembered.

use super::*;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

/// Everything that must not reach a log has a word of its own in it.
const CANARY: &str = "canary7f3a";

#[tokio::test(flavor = "multi_thread")]
async fn nothing_secret_or_remembered_is_logged_at_debug_level() {
    for surface in ["--surface=text", "--surface=typed"] {
        let mut running = Running::start(&[surface, "--log-filter=debug", "--quota-facts=3"]);
        let key = running.key("team:a").await;
        for (path, body) in planted() {
            let (url, bearer) = (
                format!("{}{path}", running.server.url),
                format!("Bearer {key}"),
            );
            let traced = format!("00-{TRACE}-00f067aa0ba902b7-01");
            let headers = [
                ("authorization", bearer.as_str()),
                ("idempotency-key", &format!("{CANARY}-name")),
                ("user-agent", &format!("{CANARY}-agent")),
                ("cookie", &format!("{CANARY}=1")),
                ("traceparent", &traced),
                ("x-request-id", &format!("req-{}", path.len())),
            ];
            let sent = running.http.send("POST", &url, &headers, body);
            sent.await.expect("an answer");
        }
        let forged = format!("Bearer rcl_0123456789abcdef_{CANARY}{CANARY}ab");
        let url = format!("{}/v1/recall?q={CANARY}", running.server.url);
        for header in [
            ("authorization", forged.as_str()),
            ("authorization", CANARY),
        ] {
            let headers = [header];
            let sent = running.http.send("POST", &url, &headers, CANARY);
            assert_eq!(sent.await.expect("an answer").status, 401);
        }
        let log = running
            .server
            .log_with("\"status\":401")
            .expect("it is logged");
        assert!(log.contains("request answered"), "{log}");
        assert!(log.contains(&format!("\"trace_id\":\"{TRACE}\"")), "{log}");
        assert!(log.contains("\"request_id\":\"req-"), "{log}");
        for secret in [CANARY, &key, &running.admin] {
            // A secret may hold the sign that parts it from its id.
            let secret = secret.splitn(3, '_').nth(2).unwrap_or(secret);
            let line = log.lines().find(|line| line.contains(secret));
            assert_eq!(line, None, "{secret} in the log of {surface}");
        }
    }
}

/// Requests that are served, refused and malformed, with the word wherever text may be.
fn planted() -> Vec<(&'static str, String)> {
    let text = json!({ "text": format!("My secret is {CANARY}.") });
    let fact = json!({ "subject": CANARY, "predicate": "role", "value": CANARY });
    let question = json!({ "question": CANARY, "query": CANARY });
    let call = |name: &str, arguments: Value| json!({ "jsonrpc": "2.0", "id": CANARY, "method": "tools/call", "params": { "name": name, "arguments": arguments } });
    let resume = call(
        "agent_resume",
        json!({ "agent_id": "builder", "holder": CANARY }),
    );
    let turn = json!({ "agent_id": "builder", "role": "user", "content": CANARY });
    vec![
        ("/v1/remember", text.to_string()),
        ("/v1/remember", fact.to_string()),
        (
            "/v1/remember:batch",
            json!({ "items": [fact, text, CANARY] }).to_string(),
        ),
        ("/v1/recall", question.to_string()),
        ("/v1/recall", json!({ "query": CANARY }).to_string()),
        ("/v1/recall", json!({ "question": CANARY }).to_string()),
        ("/v1/forget", text.to_string()),
        ("/v1/recall", json!({ "as_of": CANARY }).to_string()),
        ("/v1/recall", format!("{{\"{CANARY}\": [\"{CANARY}\"")),
        ("/mcp", call("remember", text).to_string()),
        ("/mcp", call(CANARY, json!({ "x": CANARY })).to_string()),
        ("/mcp", resume.to_string()),
        ("/mcp", call("record_turn", turn).to_string()),
        ("/mcp", format!("{{\"jsonrpc\":\"{CANARY}")),
    ]
}
