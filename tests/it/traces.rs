//! Traces that reach a collector.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};

use super::*;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";

/// A collector that takes everything: its address, and the spans that it was sent.
fn collector() -> (String, Receiver<Value>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let (sender, spans) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let (mut head, mut byte) = (Vec::new(), [0u8; 1]);
            while !head.ends_with(b"\r\n\r\n") {
                stream.read_exact(&mut byte).expect("a head");
                head.push(byte[0]);
            }
            let head = String::from_utf8(head).expect("text").to_ascii_lowercase();
            assert!(head.starts_with("post /v1/traces http/1.1\r\n"), "{head}");
            let length = head
                .split("content-length: ")
                .nth(1)
                .and_then(|rest| rest.lines().next());
            let length = length.expect("a length").parse().expect("a number");
            let mut body = vec![0u8; length];
            stream.read_exact(&mut body).expect("a body");
            let batch: Value = serde_json::from_slice(&body).expect("JSON");
            let sent = batch["resourceSpans"][0]["scopeSpans"][0]["spans"].clone();
            for span in sent.as_array().expect("spans") {
                let _ = sender.send(span.clone());
            }
            // The server waits for it when it ends, and so does the test.
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
        }
    });
    (format!("http://{address}"), spans)
}

fn attribute<'a>(span: &'a Value, key: &str) -> &'a Value {
    let attributes = span["attributes"].as_array().expect("attributes");
    let found = attributes.iter().find(|it| it["key"] == key);
    found.map_or(&Value::Null, |it| &it["value"])
}

#[tokio::test(flavor = "multi_thread")]
async fn traces_name_a_namespace_only_where_that_is_wanted() {
    for (kind, plain) in [("hash", false), ("plain", true)] {
        let (endpoint, spans) = collector();
        let (endpoint, kind) = (
            format!("--otlp-endpoint={endpoint}"),
            format!("--trace-namespaces={kind}"),
        );
        let mut running = Running::start(&[&endpoint, "--trace-ratio=1", &kind]);
        let key = running.key("team:a").await;
        running
            .post("/v1/remember", &key, &json!({ "text": "x" }))
            .await;
        running.server.process().stop().expect("it ends");
        let stores: Vec<String> = spans
            .try_iter()
            .filter_map(|span| {
                let store = attribute(&span, "gen_ai.memory.store.id")["stringValue"].as_str();
                store.map(str::to_owned)
            })
            .collect();
        assert!(!stores.is_empty(), "{kind}");
        assert!(
            stores.iter().all(|store| (store == "team:a") == plain),
            "{kind}: {stores:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_a_span_under_its_callers_and_its_operation_is_one_under_it() {
    let (endpoint, spans) = collector();
    let endpoint = format!("--otlp-endpoint={endpoint}");
    let mut running = Running::start(&["--surface=typed", &endpoint, "--trace-ratio=1"]);
    let key = running.key("team:a").await;
    let parent = format!("00-{TRACE}-{CALLER}-01");
    let (url, bearer) = (
        format!("{}/v1/remember", running.server.url),
        format!("Bearer {key}"),
    );
    let headers = [
        ("authorization", bearer.as_str()),
        ("traceparent", parent.as_str()),
    ];
    let secret = json!({ "subject": "user", "predicate": "role", "value": "a-secret-role" });
    for (body, status) in [(secret, 200), (json!({ "subject": 7 }), 400)] {
        let sent = running.http.send("POST", &url, &headers, body.to_string());
        assert_eq!(sent.await.expect("an answer").status, status);
    }
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "traceparent": parent,
    });
    let params = json!({ "name": "recall", "arguments": { "subject": "user" }, "_meta": meta });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let headers = [
        ("authorization", bearer.as_str()),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "recall"),
    ];
    let url = format!("{}/mcp", running.server.url);
    let sent = running.http.send("POST", &url, &headers, call.to_string());
    assert_eq!(sent.await.expect("an answer").status, 200);
    assert_eq!(running.server.process().stop().expect("it ends"), 0);

    let spans: Vec<Value> = spans
        .try_iter()
        .filter(|span| span["traceId"] == TRACE)
        .collect();
    let named = |name: &'static str| spans.iter().filter(move |span| span["name"] == name);
    let requests: Vec<_> = named("request").collect();
    assert_eq!(requests.len(), 3, "{spans:?}");
    for request in &requests {
        assert_eq!(
            (&request["kind"], &request["parentSpanId"]),
            (&json!(2), &json!(CALLER))
        );
    }
    let kept: Vec<_> = named("upsert_memory").collect();
    assert_eq!(kept.len(), 2, "{spans:?}");
    for span in named("upsert_memory").chain(named("search_memory")) {
        let above = requests
            .iter()
            .find(|it| it["spanId"] == span["parentSpanId"]);
        assert!(above.is_some(), "{span}");
        assert_eq!(attribute(span, "recall.surface")["stringValue"], "typed");
        assert_eq!(attribute(span, "recall.backend")["stringValue"], "embedded");
        let store = attribute(span, "gen_ai.memory.store.id")["stringValue"]
            .as_str()
            .expect("text");
        assert!(store.len() == 16 && !store.contains("team"), "{store}");
    }
    assert_eq!(named("search_memory").count(), 1);
    let found = named("search_memory").next().expect("it was counted");
    let above = requests
        .iter()
        .find(|it| it["spanId"] == found["parentSpanId"])
        .expect("it is under a request");
    for (name, value) in [
        ("mcp.method.name", "tools/call"),
        ("gen_ai.tool.name", "recall"),
        ("http.route", "/mcp"),
        ("http.request.method", "POST"),
    ] {
        assert_eq!(attribute(above, name)["stringValue"], value, "{above}");
    }
    let written = kept
        .iter()
        .find(|span| span["status"]["code"] != 2)
        .expect("one was kept");
    let id = attribute(written, "gen_ai.memory.record.id")["stringValue"].as_str();
    assert!(id.is_some_and(|id| id.starts_with("m-")), "{written}");
    let began: Vec<_> = named("create_memory_store").collect();
    assert_eq!(
        began.len(),
        1,
        "the first write began the memory: {spans:?}"
    );
    assert_eq!(began[0]["parentSpanId"], written["spanId"]);
    let failed = kept
        .iter()
        .find(|span| span["status"]["code"] == 2)
        .expect("one failed");
    assert_eq!(
        attribute(failed, "error.type")["stringValue"],
        "invalid_argument"
    );
    assert!(
        !json!(spans).to_string().contains("a-secret-role"),
        "{spans:?}"
    );
}

/// What a client behind a bridge can say, whatever revision it speaks: its trace is in the metadata.
#[tokio::test(flavor = "multi_thread")]
async fn a_tool_of_an_agent_is_a_span_with_its_agent_and_epoch() {
    let (endpoint, spans) = collector();
    let endpoint = format!("--otlp-endpoint={endpoint}");
    let mut running = Running::start(&[&endpoint, "--trace-ratio=1"]);
    let key = running.key("team:a").await;
    let call = async |tool: &str, arguments: Value| {
        let meta = json!({ "traceparent": format!("00-{TRACE}-{CALLER}-01") });
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        running.post("/mcp", &key, &call).await.json()["result"].clone()
    };
    let agent = json!({ "agent_id": "coder" });
    let early = json!({ "agent_id": "coder", "role": "user", "content": "a-secret-turn" });
    assert_eq!(call("record_turn", early.clone()).await["isError"], true);
    let resumed = call("agent_resume", agent.clone()).await;
    let epoch = resumed["structuredContent"]["epoch"]
        .as_u64()
        .expect("an epoch");
    assert_eq!(call("record_turn", early).await["isError"], false);
    call("recent_turns", agent.clone()).await;
    call("agent_release", agent).await;
    let unknown = json!({ "jsonrpc": "2.0", "id": 1, "method": "a-secret-method" });
    running.post("/mcp", &key, &unknown).await;
    assert_eq!(running.server.process().stop().expect("it ends"), 0);

    let spans: Vec<Value> = spans.try_iter().collect();
    let of_agents: Vec<_> = spans
        .iter()
        .filter(|span| span["name"] == "agent_operation")
        .collect();
    let told: Vec<_> = of_agents
        .iter()
        .map(|span| {
            assert_eq!(span["traceId"], TRACE, "{span}");
            assert_eq!(attribute(span, "gen_ai.agent.id")["stringValue"], "coder");
            assert_eq!(attribute(span, "recall.backend")["stringValue"], "embedded");
            assert_eq!(attribute(span, "recall.surface")["stringValue"], "text");
            let store = attribute(span, "gen_ai.memory.store.id")["stringValue"].as_str();
            assert!(store.is_some_and(|store| store.len() == 16), "{span}");
            let epoch = &attribute(span, "recall.lease.epoch")["intValue"];
            let epoch = epoch
                .as_str()
                .map(|text| text.parse::<u64>().expect("a number"));
            let tool = attribute(span, "recall.agent.operation")["stringValue"].as_str();
            (tool.expect("a tool"), epoch, span["status"]["code"] == 2)
        })
        .collect();
    let expected = [
        ("record_turn", None, true),
        ("agent_resume", Some(epoch), false),
        ("record_turn", Some(epoch), false),
        ("recent_turns", Some(epoch), false),
        ("agent_release", None, false),
    ];
    assert_eq!(told, expected, "{of_agents:?}");
    let refused = attribute(of_agents[0], "error.type");
    assert_eq!(refused["stringValue"], "tool_error", "{refused}");
    let methods: Vec<_> = spans
        .iter()
        .filter_map(|span| attribute(span, "mcp.method.name")["stringValue"].as_str())
        .collect();
    assert_eq!(methods.iter().filter(|it| **it == "tools/call").count(), 5);
    assert!(methods.contains(&"_OTHER"), "{methods:?}");
    assert!(!json!(spans).to_string().contains("a-secret"), "{spans:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_is_away_costs_nothing_but_the_traces() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let endpoint = format!("--otlp-endpoint=http://{address}");
    let mut running = Running::start(&[&endpoint, "--trace-ratio=1"]);
    let key = running.key("team:a").await;
    for _ in 0..100 {
        assert_eq!(
            running.post("/v1/recall", &key, &json!({})).await.status,
            200
        );
    }
    assert_eq!(running.server.process().stop().expect("it ends"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_of_a_request_that_is_sent_names_its_trace() {
    for (ratio, sent) in [("1", true), ("0", false)] {
        let (endpoint, spans) = collector();
        let (endpoint, ratio) = (
            format!("--otlp-endpoint={endpoint}"),
            format!("--trace-ratio={ratio}"),
        );
        let mut running =
            Running::start(&[&endpoint, &ratio, "--log-filter=info,recall_api=debug"]);
        running.post("/v1/recall", "no-key", &json!({})).await;
        let log = running.server.log_with("\"status\":401");
        let log = log.expect("it is logged");
        running.server.process().stop().expect("it ends");
        let traces: Vec<_> = spans.try_iter().collect();
        assert_eq!(log.contains("\"trace_id\""), sent, "{log}");
        assert_eq!(!traces.is_empty(), sent, "{traces:?}");
        let logged = |span: &Value| log.contains(span["traceId"].as_str().expect("an id"));
        assert!(traces.iter().all(logged), "{traces:?} {log}");
    }
}
