//! The bridge against a server that the test scripts.

use std::collections::HashMap;
use std::sync::Mutex as StdMutex;

use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use super::*;

/// What a script answers to leave a call without an answer.
const SILENCE: u16 = 0;

type Script = dyn Fn(&str, &str, Option<&str>) -> (u16, String) + Send + Sync;

/// A server on loopback that answers by `script(path, body, authorization)`.
async fn server(script: Arc<Script>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(serve(listener, script));
    format!("http://{address}")
}

async fn serve(listener: TcpListener, script: Arc<Script>) {
    while let Ok((stream, _)) = listener.accept().await {
        let script = Arc::clone(&script);
        let service =
            service_fn(move |request: Request<Incoming>| answer(Arc::clone(&script), request));
        let connection = hyper::server::conn::http1::Builder::new();
        tokio::spawn(connection.serve_connection(TokioIo::new(stream), service));
    }
}

async fn answer(
    script: Arc<Script>,
    request: Request<Incoming>,
) -> anyhow::Result<Response<Full<Bytes>>> {
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let authorization = head
        .headers
        .get("authorization")
        .and_then(|value| value.to_str().ok());
    let (status, text) = script(head.uri.path(), std::str::from_utf8(&body)?, authorization);
    if status == SILENCE {
        return std::future::pending().await;
    }
    let mut response = Response::builder().status(status);
    if status == 307 {
        response = response.header("location", "http://127.0.0.1:1/stolen");
    }
    Ok(response.body(Full::new(Bytes::from(text)))?)
}

fn arguments(url: &str) -> ServerArgs {
    ServerArgs {
        server: Some(url.to_owned()),
        key_file: None,
        key: Some("rcl_key".to_owned()),
        token_file: None,
        ca_file: None,
        client_cert_file: None,
        client_key_file: None,
        insecure: false,
    }
}

/// Runs the bridge over `lines` and returns what it wrote, by id.
async fn bridge(arguments: &ServerArgs, lines: &str) -> HashMap<String, Value> {
    let lines = said(arguments, lines, PROBE_PATIENCE).await;
    let answers = lines.iter().map(|line| {
        let value: Value = serde_json::from_str(line).expect("one JSON value a line");
        (value["id"].to_string(), value)
    });
    answers.collect()
}

/// Runs a bridge over `lines`, which then waits for its calls as long as `grace`, and returns what it
/// wrote, by id.
async fn pumped(bridge: &Bridge, lines: &str, grace: Duration) -> HashMap<String, Value> {
    let (output, mut read) = tokio::io::duplex(1 << 20);
    let bridge = Bridge {
        calls_grace: grace.max(CALLS_GRACE),
        ..bridge.clone()
    };
    bridge
        .pump(lines.as_bytes(), output)
        .await
        .expect("it ends with the input");
    let mut text = String::new();
    tokio::io::AsyncReadExt::read_to_string(&mut read, &mut text)
        .await
        .expect("the bridge closed it");
    drop(bridge);
    let answers = text.lines().map(|line| {
        let value: Value = serde_json::from_str(line).expect("one JSON value a line");
        (value["id"].to_string(), value)
    });
    answers.collect()
}

/// Runs the bridge over `lines` and returns the lines that it wrote.
async fn said(arguments: &ServerArgs, lines: &str, probe_patience: Duration) -> Vec<String> {
    let session = Arc::new(Session::open(arguments).expect("a session"));
    let bridge = Bridge {
        probe_patience,
        ..Bridge::new(session, own_name().expect("a name"))
    };
    let (output, mut read) = tokio::io::duplex(1 << 20);
    bridge
        .pump(lines.as_bytes(), output)
        .await
        .expect("it ends with the input");
    bridge.release().await;
    let mut text = String::new();
    tokio::io::AsyncReadExt::read_to_string(&mut read, &mut text)
        .await
        .expect("the bridge closed it");
    text.lines().map(str::to_owned).collect()
}

fn echo(body: &str) -> (u16, String) {
    let message: Value = serde_json::from_str(body).expect("JSON");
    match message.get("id") {
        Some(id) => (
            200,
            json!({ "jsonrpc": "2.0", "id": id, "result": message["method"] }).to_string(),
        ),
        None => (202, String::new()),
    }
}

#[tokio::test]
async fn fifty_calls_on_one_pipe_are_answered_by_id() {
    let url = server(Arc::new(|_, body, _| echo(body))).await;
    let lines: String = (0..50)
        .map(|n| format!("{{\"id\":{n},\"method\":\"m{n}\"}}\n"))
        .collect();
    let answers = bridge(&arguments(&url), &lines).await;
    assert_eq!(answers.len(), 50);
    for n in 0..50 {
        assert_eq!(answers[&n.to_string()]["result"], format!("m{n}"));
    }
}

#[tokio::test]
async fn a_malformed_line_is_answered_and_the_bridge_goes_on() {
    let url = server(Arc::new(|_, body, _| echo(body))).await;
    let lines = "{oops\n\n{\"id\":1,\"method\":\"ping\"}\n{\"method\":\"notifications/x\"}\n";
    let answers = bridge(&arguments(&url), lines).await;
    assert_eq!(answers["null"]["error"]["code"], -32700);
    assert_eq!(answers["1"]["result"], "ping");
    assert_eq!(answers.len(), 2, "a notification is not answered");
}

#[tokio::test]
async fn a_batch_is_answered_item_by_item() {
    let url = server(Arc::new(|_, body, _| echo(body))).await;
    let lines =
        "[{\"id\":1,\"method\":\"a\"},{\"id\":2,\"method\":\"b\"},{\"method\":\"c\"}]\n[]\n";
    let answers = bridge(&arguments(&url), lines).await;
    assert_eq!(
        (&answers["1"]["result"], &answers["2"]["result"]),
        (&json!("a"), &json!("b"))
    );
    assert_eq!(answers["null"]["error"]["code"], -32700);
}

#[tokio::test]
async fn refusals_carry_the_status_and_the_bridge_goes_on() {
    let script =
        |_: &str, body: &str, _: Option<&str>| match body.contains("\"method\":\"forbidden\"") {
            true => (
                403,
                json!({ "error": { "code": "forbidden", "message": "no" } }).to_string(),
            ),
            false if body.contains("\"method\":\"unknown\"") => (401, String::new()),
            false => echo(body),
        };
    let url = server(Arc::new(script)).await;
    let lines = "{\"id\":1,\"method\":\"forbidden\"}\n{\"id\":2,\"method\":\"unknown\"}\n{\"id\":3,\"method\":\"ok\"}\n";
    let answers = bridge(&arguments(&url), lines).await;
    assert_eq!(answers["1"]["error"]["code"], -32000);
    assert_eq!(answers["1"]["error"]["message"], "HTTP 403: no (forbidden)");
    assert_eq!(answers["2"]["error"]["code"], -32001);
    assert_eq!(answers["3"]["result"], "ok");
}

#[tokio::test]
async fn a_busy_server_is_asked_again() {
    let tries = StdMutex::new(0);
    let script = move |_: &str, body: &str, _: Option<&str>| {
        let mut tries = tries.lock().expect("no panic holds it");
        *tries += 1;
        if *tries < 2 {
            (503, String::new())
        } else {
            echo(body)
        }
    };
    let url = server(Arc::new(script)).await;
    let answers = bridge(&arguments(&url), "{\"id\":1,\"method\":\"x\"}\n").await;
    assert_eq!(answers["1"]["result"], "x");
}

#[tokio::test]
async fn a_redirect_is_never_followed_with_a_key() {
    let url = server(Arc::new(|_, _, _| (307, String::new()))).await;
    let answers = bridge(&arguments(&url), "{\"id\":1,\"method\":\"x\"}\n").await;
    let message = answers["1"]["error"]["message"]
        .as_str()
        .expect("a message");
    assert!(
        message.contains("never sent on to another address"),
        "{message}"
    );
}

#[tokio::test]
async fn a_refused_key_costs_one_exchange_shared_by_all_calls() {
    let dir = tempfile::tempdir().expect("a folder");
    let token_file = dir.path().join("token");
    std::fs::write(&token_file, "the-token\n").expect("a file");
    let exchanges = Arc::new(StdMutex::new(0));
    let counted = Arc::clone(&exchanges);
    let script =
        move |path: &str, body: &str, authorization: Option<&str>| match (path, authorization) {
            ("/v1/auth/kubernetes", None) => {
                assert_eq!(body, "{\"token\":\"the-token\"}");
                *counted.lock().expect("no panic holds it") += 1;
                (201, json!({ "key": "rcl_new", "ttl": "15m0s" }).to_string())
            }
            ("/mcp", Some("Bearer rcl_new")) => echo(body),
            _ => (401, String::new()),
        };
    let url = server(Arc::new(script)).await;
    let with_token = ServerArgs {
        token_file: Some(token_file),
        ..arguments(&url)
    };
    let lines: String = (0..20)
        .map(|n| format!("{{\"id\":{n},\"method\":\"m\"}}\n"))
        .collect();
    let answers = bridge(&with_token, &lines).await;
    assert!(
        answers.values().all(|answer| answer["result"] == "m"),
        "{answers:?}"
    );
    assert_eq!(*exchanges.lock().expect("no panic holds it"), 1);
}

#[tokio::test]
async fn agents_that_this_process_works_on_are_released_and_no_others() {
    let released = Arc::new(StdMutex::new(Vec::new()));
    let seen = Arc::clone(&released);
    let script = move |_: &str, body: &str, _: Option<&str>| {
        let call: Value = serde_json::from_str(body).expect("JSON");
        let agent = call["params"]["arguments"]["agent_id"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        if call["params"]["name"] == "agent_release" {
            seen.lock().expect("no panic holds it").push(agent.clone());
        }
        let held_elsewhere = agent == "busy";
        let result = json!({ "content": [], "isError": held_elsewhere });
        (
            200,
            json!({ "jsonrpc": "2.0", "id": call["id"], "result": result }).to_string(),
        )
    };
    let url = server(Arc::new(script)).await;
    let resume = |id: u32, agent: &str| {
        let arguments = json!({ "agent_id": agent });
        let params = json!({ "name": "agent_resume", "arguments": arguments });
        json!({ "id": id, "method": "tools/call", "params": params }).to_string()
    };
    let bound = r#"{"id":3,"method":"tools/call","params":{"name":"agent_resume"}}"#;
    let other = |id: u32, tool: &str, agent: &str| resume(id, agent).replace("agent_resume", tool);
    let lines = [
        resume(1, "mine"),
        resume(2, "busy"),
        bound.to_owned(),
        // Another process of the session resumed it, and this one works on.
        other(4, "record_turn", "ours"),
        other(5, "agent_context", "looked-at"),
    ];
    let lines = lines.map(|line| line + "\n").concat();
    bridge(&arguments(&url), &lines).await;
    // The one without a name is that of the key.
    assert_eq!(
        *released.lock().expect("no panic holds it"),
        ["", "mine", "ours"]
    );
}

/// A request of the revision without a handshake.
fn stateless(id: u32, method: &str) -> String {
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" });
    let params = json!({ "_meta": meta });
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

#[tokio::test]
async fn a_json_rpc_error_passes_as_it_came() {
    let error = "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,\"message\":\"no\"}}";
    let url = server(Arc::new(move |_, _, _| (404, error.to_owned()))).await;
    let lines = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}\n";
    let found = said(&arguments(&url), lines, PROBE_PATIENCE).await;
    assert_eq!(found, [error]);
}

#[tokio::test]
async fn a_refusal_is_told_in_the_words_of_each_revision() {
    let envelope = json!({ "error": { "code": "forbidden", "message": "no" } }).to_string();
    let url = server(Arc::new(move |_, _, _| (403, envelope.clone()))).await;
    let lines = format!(
        "{}\n{{\"id\":2,\"method\":\"x\"}}\n",
        stateless(1, "tools/list")
    );
    let answers = bridge(&arguments(&url), &lines).await;
    let data = json!({ "status": 403, "code": "forbidden" });
    let expected = json!({ "code": -32603, "message": "no", "data": data });
    assert_eq!(answers["1"]["error"], expected);
    assert_eq!(answers["2"]["error"]["code"], -32000);
}

#[tokio::test]
async fn ids_beyond_what_a_float_holds_come_back_as_they_were() {
    let refuse = |_: &str, _: &str, _: Option<&str>| (403, String::new());
    let url = server(Arc::new(refuse)).await;
    for id in [
        "123456789012345678901234567890",
        "1e400",
        "0.10",
        "\"\\u0061\"",
    ] {
        let lines = format!("{{\"id\":{id},\"method\":\"x\"}}\n");
        let found = said(&arguments(&url), &lines, PROBE_PATIENCE).await;
        assert!(found[0].contains(&format!("\"id\":{id},")), "{found:?}");
    }
}

#[tokio::test]
async fn a_message_reaches_the_server_as_it_was_written() {
    let bodies = Arc::new(StdMutex::new(Vec::new()));
    let seen = Arc::clone(&bodies);
    let script = move |_: &str, body: &str, _: Option<&str>| {
        seen.lock()
            .expect("no panic holds it")
            .push(body.to_owned());
        (202, String::new())
    };
    let url = server(Arc::new(script)).await;
    let line = "{\"method\":\"x\",  \"params\":{\"n\":1.000000000000000000001}}";
    bridge(&arguments(&url), &format!(" {line}\r\n")).await;
    assert_eq!(*bodies.lock().expect("no panic holds it"), [line]);
}

#[tokio::test]
async fn a_line_that_is_too_long_is_answered_and_the_bridge_goes_on() {
    let url = server(Arc::new(|_, body, _| echo(body))).await;
    let long = "x".repeat(lines::MAX_LINE_BYTES + 1);
    let lines = format!("{long}\n{{\"id\":1,\"method\":\"m\"}}\n");
    let answers = bridge(&arguments(&url), &lines).await;
    assert_eq!(answers["null"]["error"]["code"], -32700);
    assert_eq!(answers["1"]["result"], "m");
}

#[tokio::test]
async fn a_call_that_is_called_off_is_never_answered_and_nothing_is_passed_on() {
    let bodies = Arc::new(StdMutex::new(Vec::new()));
    let seen = Arc::clone(&bodies);
    let script = move |_: &str, body: &str, _: Option<&str>| {
        seen.lock()
            .expect("no panic holds it")
            .push(body.to_owned());
        match body.contains("tools/call") {
            true => (SILENCE, String::new()),
            false => echo(body),
        }
    };
    let url = server(Arc::new(script)).await;
    let cancel = "{\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}";
    let lines = format!(
        "{}\n{cancel}\n{}\n",
        stateless(1, "tools/call"),
        stateless(2, "tools/list")
    );
    let answers = bridge(&arguments(&url), &lines).await;
    assert_eq!(answers.keys().collect::<Vec<_>>(), ["2"]);
    let bodies = bodies.lock().expect("no panic holds it");
    assert!(
        bodies.iter().all(|body| !body.contains("cancelled")),
        "{bodies:?}"
    );
}

#[tokio::test]
async fn with_a_handshake_a_cancellation_is_passed_on() {
    let bodies = Arc::new(StdMutex::new(Vec::new()));
    let seen = Arc::clone(&bodies);
    let script = move |_: &str, body: &str, _: Option<&str>| {
        seen.lock()
            .expect("no panic holds it")
            .push(body.to_owned());
        echo(body)
    };
    let url = server(Arc::new(script)).await;
    let cancel = "{\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}";
    let lines = format!("{{\"id\":1,\"method\":\"tools/call\"}}\n{cancel}\n");
    let answers = bridge(&arguments(&url), &lines).await;
    assert_eq!(answers["1"]["result"], "tools/call");
    assert!(
        bodies
            .lock()
            .expect("no panic holds it")
            .contains(&cancel.to_owned())
    );
}

#[tokio::test]
async fn a_probe_is_answered_before_the_client_gives_up() {
    let url = server(Arc::new(|_, _, _| (SILENCE, String::new()))).await;
    let lines = format!("{}\n", stateless(1, "server/discover"));
    let found = said(&arguments(&url), &lines, Duration::from_millis(1)).await;
    let found: Value = serde_json::from_str(&found[0]).expect("JSON");
    assert_eq!(found["error"]["code"], -32603, "{found}");
}

/// A server that hangs up on each request the first time it comes, without an answer, and answers it
/// after that. Keeps what came.
async fn forgetful(listener: TcpListener, came: Arc<StdMutex<Vec<String>>>) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    while let Ok((mut stream, _)) = listener.accept().await {
        let came = Arc::clone(&came);
        tokio::spawn(async move {
            let (mut seen, mut chunk) = (Vec::new(), [0u8; 4096]);
            let body = loop {
                let count = stream.read(&mut chunk).await.unwrap_or_default();
                seen.extend_from_slice(&chunk[..count]);
                let text = String::from_utf8_lossy(&seen).into_owned();
                let whole = text
                    .split_once("\r\n\r\n")
                    .filter(|(_, body)| body.ends_with('}'));
                match whole {
                    Some((_, body)) => break body.to_owned(),
                    None if count == 0 => return,
                    None => {}
                }
            };
            let first = {
                let mut came = came.lock().expect("no panic holds it");
                let first = !came.contains(&body);
                came.push(body.clone());
                first
            };
            if !first {
                let (_, answer) = echo(&body);
                let head = format!(
                    "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                    answer.len()
                );
                let _ = stream.write_all((head + &answer).as_bytes()).await;
            }
        });
    }
}

#[tokio::test]
async fn a_call_lost_with_its_connection_is_sent_again_only_where_that_is_safe() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let came = Arc::new(StdMutex::new(Vec::new()));
    tokio::spawn(forgetful(listener, Arc::clone(&came)));
    let call = |id: u32, tool: &str| {
        json!({ "id": id, "method": "tools/call", "params": { "name": tool } }).to_string()
    };
    let lines = [
        call(1, "recall"),
        call(2, "record_turn"),
        call(3, "remember"),
        call(4, "new_tool"),
    ];
    let mut arguments = arguments(&url);
    arguments.insecure = true;
    let session = Session::open(&arguments)
        .expect("a session")
        .patient(PATIENCE);
    let bridge = Bridge::new(Arc::new(session), own_name().expect("a name"));
    let answers = pumped(&bridge, &(lines.join("\n") + "\n"), Duration::from_secs(60)).await;
    for id in ["1", "3"] {
        assert_eq!(answers[id]["result"], "tools/call", "{answers:?}");
    }
    for id in ["2", "4"] {
        assert_eq!(answers[id]["error"]["code"], -32000, "{answers:?}");
    }
    let came = came.lock().expect("no panic holds it");
    let times = |line: &String| came.iter().filter(|body| *body == line).count();
    assert_eq!(lines.each_ref().map(times), [2, 1, 2, 1]);
}

#[tokio::test]
async fn a_bridge_that_starts_before_its_server_loses_no_call() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let arguments = arguments(&format!("http://{address}"));
    let session = Session::open(&arguments)
        .expect("a session")
        .patient(PATIENCE);
    let bridge = Bridge::new(Arc::new(session), own_name().expect("a name"));
    // A tool that is not idempotent: what was never sent may be sent again all the same.
    let line = "{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"record_turn\"}}\n";
    let late = async {
        // Long enough for the first try to be refused.
        tokio::time::sleep(Duration::from_millis(100)).await;
        let listener = TcpListener::bind(address).await.expect("the same port");
        let script: Arc<Script> = Arc::new(|_, body, _| echo(body));
        serve(listener, script).await;
    };
    let answers = tokio::select! {
        answers = pumped(&bridge, line, Duration::from_secs(60)) => answers,
        () = late => unreachable!("it serves on"),
    };
    assert_eq!(answers["1"]["result"], "tools/call", "{answers:?}");
}

#[tokio::test]
async fn a_server_that_stays_away_is_named_once_patience_ends() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    drop(listener);
    let session = Session::open(&arguments(&url)).expect("a session");
    let bridge = Bridge::new(
        Arc::new(session.patient(Duration::ZERO)),
        own_name().expect("a name"),
    );
    let answers = pumped(&bridge, "{\"id\":1,\"method\":\"ping\"}\n", Duration::ZERO).await;
    let message = answers["1"]["error"]["message"].as_str().expect("text");
    assert!(message.contains("cannot be reached"), "{message}");
}

#[tokio::test]
async fn an_error_that_names_no_call_is_passed_on_under_the_id_of_its_call() {
    let nameless =
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"a lone surrogate"}}"#;
    let url = server(Arc::new(move |_, _, _| (400, nameless.to_owned()))).await;
    let deep = "[".repeat(200) + &"]".repeat(200);
    let lines = format!(
        "{{\"id\":1,\"method\":\"x\",\"params\":\"\\ud800\"}}\n{{\"id\":2,\"method\":\"x\",\"params\":{deep}}}\n"
    );
    let answers = bridge(&arguments(&url), &lines).await;
    for id in ["1", "2"] {
        assert_eq!(
            answers[id]["error"]["message"], "a lone surrogate",
            "{answers:?}"
        );
    }
    assert_eq!(answers.len(), 2);
}
