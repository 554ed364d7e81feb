//! What the routes say about what they are asked, in words that help.

use super::*;

fn message(answer: &Answer) -> String {
    answer.json()["error"]["message"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_comes_back_as_it_was_written() {
    let running = Running::start(&[]);
    let key = running.key("team:a").await;
    let (url, bearer) = (
        format!("{}/mcp", running.server.url),
        format!("Bearer {key}"),
    );
    let headers = [("authorization", bearer.as_str())];
    for id in [
        "123456789012345678901234567890",
        "1e400",
        "0.10",
        "-0",
        r#""\u0061""#,
        "{}",
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        let answer = running
            .http
            .send("POST", &url, &headers, body)
            .await
            .expect("an answer");
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        assert_eq!(
            text,
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
        );
    }
    // What is wrong further in leaves the id readable.
    let body = r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":"\ud800"}}"#;
    let answer = running
        .http
        .send("POST", &url, &headers, body)
        .await
        .expect("an answer");
    assert_eq!((answer.status, &answer.json()["id"]), (400, &json!(7)));
    assert_eq!(answer.json()["error"]["code"], -32700);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_posted_is_taken_and_not_answered() {
    let running = Running::start(&[]);
    let key = running.key("team:a").await;
    for answer in [
        json!({ "jsonrpc": "2.0", "id": 1, "result": {} }),
        json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -32601, "message": "no" } }),
    ] {
        let taken = running.post("/mcp", &key, &answer).await;
        assert_eq!((taken.status, taken.body.len()), (202, 0), "{answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_method_is_told_those_of_its_revision() {
    let running = Running::start(&[]);
    let key = running.key("team:a").await;
    let ask = json!({ "jsonrpc": "2.0", "id": 1, "method": "nosuch" });
    let told = running.post("/mcp", &key, &ask).await.json()["error"]["message"].to_string();
    assert!(
        told.contains("initialize") && !told.contains("server/discover"),
        "{told}"
    );
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let ask = json!({ "jsonrpc": "2.0", "id": 1, "method": "nosuch", "params": { "_meta": meta } });
    let (url, bearer) = (
        format!("{}/mcp", running.server.url),
        format!("Bearer {key}"),
    );
    let headers = [
        ("authorization", bearer.as_str()),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "nosuch"),
    ];
    let told = running
        .http
        .send("POST", &url, &headers, ask.to_string())
        .await
        .expect("an answer");
    let told = told.json()["error"]["message"].to_string();
    assert!(
        told.contains("server/discover") && !told.contains("initialize"),
        "{told}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_misspelt_is_named() {
    let running = Running::start(&["--surface=typed"]);
    let key = running.key("team:a").await;
    let unknown = running.post("/v1/nosuch", &key, &json!({})).await;
    assert_eq!(unknown.status, 404);
    assert!(
        message(&unknown).contains("remember:batch"),
        "{}",
        unknown.json()
    );
    let refused = running
        .post("/v1/predicates", &key, &json!({ "zz": 1 }))
        .await;
    assert_eq!(
        (refused.status, refused.code()),
        (400, "invalid_argument".to_owned())
    );
    assert!(message(&refused).contains("zz"), "{}", refused.json());
    // The published server's routes ignore the query string.
    for path in [
        "/v1/predicates",
        "/v1/predicates?namespace=elsewhere&x=1&x=2",
    ] {
        assert_eq!(running.post(path, &key, &json!({})).await.status, 200);
    }
    for (path, part) in [
        ("/v1/keys?limit=1&limit=2", "limit: given more than once"),
        ("/v1/keys?zz=1", "zz: unknown parameter"),
        ("/v1/remember:batch?zz=1", "zz: unknown parameter"),
        (
            "/v1/agents?namespace=a&namespace=b",
            "namespace: given more than once",
        ),
    ] {
        let refused = running.get(path, &running.admin).await;
        assert_eq!(refused.status, 400, "{path}");
        assert!(
            message(&refused).contains(part),
            "{path}: {}",
            refused.json()
        );
    }
}

/// A lifetime of nothing is none: as the published server has it, so that a script that computes 0
/// gets what it got there.
#[tokio::test(flavor = "multi_thread")]
async fn a_lifetime_of_zero_is_for_ever() {
    let running = Running::start(&[]);
    let url = format!("{}/v1/keys", running.server.url);
    for (expires_in, ends) in [
        ("", false),
        ("0", false),
        ("0s", false),
        ("0h0m", false),
        ("1ms", true),
        ("1.5h", true),
    ] {
        let spec = json!({ "namespace": "a", "expires_in": expires_in });
        let minted = running
            .http
            .post(&url, &running.admin, &spec)
            .await
            .expect("an answer");
        assert_eq!(minted.status, 201, "{expires_in}: {}", minted.json());
        assert_eq!(
            minted.json().get("expires_at").is_some(),
            ends,
            "{expires_in}"
        );
    }
}
