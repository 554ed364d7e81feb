//! Both eras of MCP at one address, by what recorded clients send and by the rules themselves.

use super::*;

/// The requests of a recorded client, each with the status and error code it must get.
macro_rules! fixture {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../fixtures/mcp/", $name, ".json")),
        )
    };
}

const STATELESS: &str = "2026-07-28";
const FIXTURES: [(&str, &str); 11] = [
    fixture!("modern-errors"),
    fixture!("published-bridge"),
    fixture!("published-python-client"),
    fixture!("python-auto-fallback"),
    fixture!("python-auto-modern"),
    fixture!("python-legacy"),
    fixture!("rmcp-auto-modern"),
    fixture!("rmcp-initialize"),
    fixture!("typescript-v1"),
    fixture!("typescript-v2-auto-fallback"),
    fixture!("typescript-v2-auto-modern"),
];

fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

async fn send(running: &Running, key: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
    let (url, bearer) = (
        format!("{}/mcp", running.server.url),
        format!("Bearer {key}"),
    );
    let headers = [&[("authorization", bearer.as_str())], headers].concat();
    let answer = running
        .http
        .send("POST", &url, &headers, body.to_string())
        .await;
    answer.expect("an answer")
}

/// One request of the stateless revision with the headers it has to have.
async fn ask(running: &Running, key: &str, method: &str, mut params: Value) -> Answer {
    params["_meta"] = meta();
    let name = params["name"].as_str().unwrap_or_default().to_owned();
    let mut headers = vec![("mcp-protocol-version", STATELESS), ("mcp-method", method)];
    if method == "tools/call" {
        headers.push(("mcp-name", &name));
    }
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    send(running, key, &headers, &body).await
}

#[tokio::test(flavor = "multi_thread")]
async fn recorded_clients_get_the_answers_they_need() {
    let running = Running::start(&[]);
    let key = running.key("team:a").await;
    for (client, recorded) in FIXTURES {
        let recorded: Value = serde_json::from_str(recorded).expect("JSON");
        for exchange in recorded["exchanges"].as_array().expect("exchanges") {
            replay(&running, &key, client, exchange).await;
        }
    }
}

async fn replay(running: &Running, key: &str, client: &str, exchange: &Value) {
    let url = format!("{}/mcp", running.server.url);
    let bearer = format!("Bearer {key}");
    let recorded = exchange["headers"].as_object().expect("headers");
    let mut headers: Vec<_> = recorded
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str().expect("text")))
        .collect();
    if exchange["key"] == true {
        headers.push(("authorization", &bearer));
    }
    let body = match &exchange["body"] {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        body => body.to_string(),
    };
    let method = exchange["method"].as_str().expect("a method");
    let answer = running.http.send(method, &url, &headers, body).await;
    let answer = answer.expect("an answer");
    let found = json!({ "status": answer.status, "code": answer.json()["error"]["code"] });
    let expected = json!({ "status": exchange["status"], "code": exchange["code"] });
    assert_eq!(found, expected, "{client}: {exchange}: {}", answer.json());
    if answer.status == 202 {
        assert!(answer.body.is_empty(), "{client}");
    } else if exchange["body"].is_object() && exchange["status"] == 200 {
        assert_eq!(answer.json()["id"], exchange["body"]["id"], "{client}");
        let stateless = headers.contains(&("mcp-protocol-version", STATELESS))
            || headers.contains(&("MCP-Protocol-Version", STATELESS));
        is_of_its_era(&answer.json()["result"], stateless);
    }
}

/// Nothing of the stateless revision shows in an answer to others: published clients read them to
/// the byte.
#[track_caller]
fn is_of_its_era(result: &Value, stateless: bool) {
    let Value::Object(result) = result else {
        return;
    };
    assert_eq!(result.contains_key("resultType"), stateless, "{result:?}");
    assert_eq!(result.contains_key("_meta"), stateless, "{result:?}");
    let cached = result.contains_key("tools") || result.contains_key("supportedVersions");
    for member in ["ttlMs", "cacheScope"] {
        let expected = stateless && cached;
        assert_eq!(result.contains_key(member), expected, "{result:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_discovery_tells_everything_an_initialize_tells() {
    let running = Running::start(&[]);
    let key = running.key("team:a").await;
    let found = ask(&running, &key, "server/discover", json!({})).await;
    let found = found.json()["result"].clone();
    let asked = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize" });
    let initialized = send(&running, &key, &[], &asked).await.json()["result"].clone();
    assert_eq!(found["instructions"], initialized["instructions"]);
    assert_eq!(found["capabilities"], json!({ "tools": {} }));
    assert_eq!(found["supportedVersions"][0], STATELESS);
    assert_eq!(
        found["_meta"]["io.modelcontextprotocol/serverInfo"],
        initialized["serverInfo"]
    );
    assert_eq!(initialized["protocolVersion"], "2025-06-18");
}

#[tokio::test(flavor = "multi_thread")]
async fn both_eras_list_the_same_tools() {
    let running = Running::start(&["--surface=typed"]);
    let key = running.key("team:a").await;
    let stateless = ask(&running, &key, "tools/list", json!({})).await.json();
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let handshake = send(&running, &key, &[], &list).await.json();
    assert_eq!(stateless["result"]["tools"], handshake["result"]["tools"]);
    let paged = ask(&running, &key, "tools/list", json!({ "cursor": "x" })).await;
    assert_eq!(
        (paged.status, &paged.json()["error"]["code"]),
        (200, &json!(-32602))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_structured_answer_holds_what_the_text_holds() {
    let running = Running::start(&["--surface=typed"]);
    let key = running.key("team:a").await;
    let fact = json!({ "subject": "user", "predicate": "role", "value": "pilot" });
    let params = json!({ "name": "remember", "arguments": fact });
    let kept = ask(&running, &key, "tools/call", params).await.json();
    let text = kept["result"]["content"][0]["text"].as_str().expect("text");
    let text: Value = serde_json::from_str(text).expect("JSON");
    assert_eq!(kept["result"]["structuredContent"], text);
    let params = json!({ "name": "recall", "arguments": { "subject": "user" } });
    let found = ask(&running, &key, "tools/call", params).await.json();
    let structured = &found["result"]["structuredContent"];
    assert_eq!(structured["result"][0]["value"], "pilot");
    assert_eq!(structured["coverage"]["considered"], 1, "{structured}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stateless_request_says_who_it_is_and_what_it_wants() {
    let running = Running::start(&[]);
    let key = running.key("team:a").await;
    let list = |id: Value| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list", "params": { "_meta": meta() } });
    let version = ("mcp-protocol-version", STATELESS);
    let method = ("mcp-method", "tools/list");
    for (headers, body, status, code) in [
        (vec![version, method], list(json!(1)), 200, json!(null)),
        (vec![version, method], list(json!("a")), 200, json!(null)),
        (vec![version, method], list(json!(null)), 400, json!(-32600)),
        (vec![version, method], list(json!(1.5)), 400, json!(-32600)),
        (vec![version, method], list(json!([1])), 400, json!(-32600)),
        (
            vec![version, method, method],
            list(json!(1)),
            400,
            json!(-32020),
        ),
        (
            vec![version, version, method],
            list(json!(1)),
            400,
            json!(-32020),
        ),
        (
            vec![
                ("MCP-PROTOCOL-VERSION", STATELESS),
                ("MCP-METHOD", " tools/list "),
            ],
            list(json!(1)),
            200,
            json!(null),
        ),
        (
            vec![version, ("mcp-method", "TOOLS/LIST")],
            list(json!(1)),
            400,
            json!(-32020),
        ),
        (
            vec![version, method, ("mcp-name", "unasked")],
            list(json!(1)),
            200,
            json!(null),
        ),
        (
            vec![
                version,
                method,
                ("last-event-id", "7"),
                ("mcp-session-id", "x"),
            ],
            list(json!(1)),
            200,
            json!(null),
        ),
        (
            vec![("mcp-protocol-version", "2025-06-18"), method],
            list(json!(1)),
            400,
            json!(-32020),
        ),
        (
            vec![("mcp-protocol-version", "bogus")],
            json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }),
            400,
            json!(-32022),
        ),
        (
            vec![version, method],
            json!({ "id": 1, "method": "tools/list", "params": { "_meta": meta() } }),
            400,
            json!(-32600),
        ),
        (
            vec![version, method],
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": [] }),
            400,
            json!(-32602),
        ),
    ] {
        let answer = send(&running, &key, &headers, &body).await;
        let found = (answer.status, &answer.json()["error"]["code"]);
        assert_eq!(found, (status, &code), "{headers:?} {body}");
        if code == -32600 && !body["id"].is_u64() {
            assert!(answer.json().get("id").is_none(), "{}", answer.json());
        }
    }
    let unsaid = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "_meta": meta() } });
    assert_eq!(send(&running, &key, &[version], &unsaid).await.status, 202);
}

/// A page that a browser shows can name this server and its own name for it; neither reaches it.
#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_page_or_name_is_refused_before_the_key_is_looked_at() {
    let named = Running::start(&[
        "--allowed-origins=https://app.example.com",
        "--allowed-hosts=recall.example.com",
    ]);
    let key = named.key("team:a").await;
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    for (header, status) in [
        (("origin", "http://localhost:6274"), 200),
        (("origin", "https://app.example.com"), 200),
        (("origin", "http://evil.example"), 403),
        (("origin", "null"), 403),
        (("host", "recall.example.com:8080"), 200),
        (("host", "rebound.example"), 403),
    ] {
        let answer = send(&named, &key, &[header], &ping).await;
        assert_eq!(answer.status, status, "{header:?}");
        let keyless = send(&named, "none", &[header], &ping).await;
        let expected = if status == 403 {
            "forbidden"
        } else {
            "unauthenticated"
        };
        assert_eq!(keyless.code(), expected, "{header:?}");
    }
}
