//! `recall connect` where the way to the server breaks.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use recall_testkit::process::Process;
use recall_testkit::{NewToken, Route};

use super::simulated::{Cluster, until};
use super::*;

/// How often a call of each tool came.
type Came = Arc<Mutex<HashMap<String, u32>>>;

/// A server that hangs up on each call the first time it comes and answers it the second time.
fn forgetful(came: Came) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, came) = (stream.expect("a connection"), Arc::clone(&came));
            std::thread::spawn(move || forget_or_answer(stream, &came));
        }
    });
    url
}

fn forget_or_answer(mut stream: TcpStream, came: &Came) -> Option<()> {
    let (mut seen, mut chunk) = (Vec::new(), [0u8; 4096]);
    let call: Value = loop {
        let count = stream.read(&mut chunk).ok().filter(|count| *count > 0)?;
        seen.extend_from_slice(&chunk[..count]);
        let text = String::from_utf8_lossy(&seen).into_owned();
        let body = text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned());
        if let Some(Ok(call)) = body.map(|body| serde_json::from_str(&body)) {
            break call;
        }
    };
    let tool = call["params"]["name"].as_str()?.to_owned();
    let times = {
        let mut came = came.lock().expect("no panic holds it");
        let times = came.entry(tool).or_default();
        *times += 1;
        *times
    };
    if times > 1 {
        let answer = json!({ "jsonrpc": "2.0", "id": call["id"], "result": {} }).to_string();
        let length = answer.len();
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
        stream.write_all((head + &answer).as_bytes()).ok()?;
    }
    Some(())
}

/// What the tools say of themselves is what the bridge goes by: a call that was lost on its way is
/// sent again if the tool only reads or is idempotent, and never else.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_call_is_sent_again_exactly_where_its_tool_is_idempotent() {
    for surface in ["--surface=typed", "--surface=text"] {
        let running = Running::start(&[surface]);
        let key = running.key("team:a").await;
        let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
        let tools = running.post("/mcp", &key, &list).await.json()["result"]["tools"].clone();
        let tools = tools.as_array().expect("tools");
        let came = Came::default();
        let url = forgetful(Arc::clone(&came));
        let mut bridge = Command::new(programs::folder().expect("built").join("recall"))
            .arg("connect")
            .env_clear()
            .env("RECALL_URL", url)
            .env("RECALL_API_KEY", &key)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut input = bridge.stdin.take().expect("a pipe");
        for (id, tool) in tools.iter().enumerate() {
            let params = json!({ "name": tool["name"], "arguments": {} });
            let call =
                json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
            writeln!(input, "{call}").expect("it reads");
        }
        let lines = std::io::BufRead::lines(std::io::BufReader::new(
            bridge.stdout.take().expect("a pipe"),
        ));
        let answered = lines.take(tools.len()).map(|line| {
            let answer: Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
            (
                answer["id"].as_u64().expect("an id"),
                answer.get("result").is_some(),
            )
        });
        let answered: HashMap<u64, bool> = answered.collect();
        drop(input);
        assert!(bridge.wait().expect("it ends").success());
        let came = came.lock().expect("no panic holds it").clone();
        for (id, tool) in (0..).zip(tools) {
            let hints = &tool["annotations"];
            let safe = hints["readOnlyHint"] == true || hints["idempotentHint"] == true;
            let name = tool["name"].as_str().expect("a name");
            assert_eq!(came[name], if safe { 2 } else { 1 }, "{name}");
            assert_eq!(answered[&id], safe, "{name}");
        }
    }
}

/// A program that speaks MCP through `recall connect`.
struct Bridge {
    process: std::process::Child,
    input: Option<std::process::ChildStdin>,
    lines: std::io::Lines<std::io::BufReader<std::process::ChildStdout>>,
}

impl Bridge {
    fn start(url: &str, key: &str) -> Self {
        Self::with(url, "RECALL_API_KEY", key)
    }

    /// With a key, or the file of a token.
    fn with(url: &str, credential: &str, value: &str) -> Self {
        let mut process = Command::new(programs::folder().expect("built").join("recall"))
            .arg("connect")
            .env_clear()
            .env("RECALL_URL", url)
            .env(credential, value)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let output = process.stdout.take().expect("a pipe");
        Self {
            input: process.stdin.take(),
            lines: std::io::BufRead::lines(std::io::BufReader::new(output)),
            process,
        }
    }

    /// Calls a tool; whether it did what was asked.
    fn tool(&mut self, name: &str, arguments: &Value) -> bool {
        let params = json!({ "name": name, "arguments": arguments });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let input = self.input.as_mut().expect("it is open");
        writeln!(input, "{call}").expect("it reads");
        let line = self.lines.next().expect("an answer").expect("a line");
        let answer: Value = serde_json::from_str(&line).expect("JSON");
        answer["result"]["isError"] == false
    }

    /// Sends it a signal, such as `STOP`.
    fn signal(&self, name: &str) {
        let pid = self.process.id().to_string();
        let sent = Command::new("kill")
            .args([&format!("-{name}"), &pid])
            .status();
        assert!(sent.expect("a program").success());
    }

    /// Closes its input, as a client does that is done.
    fn close(mut self) {
        drop(self.input.take());
        assert!(self.process.wait().expect("it ends").success());
    }
}

/// Two programs in one pod, or two under one key: what one still works on is not given back when the
/// other ends.
#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_one_process_takes_nothing_from_another_of_its_session() {
    let running = Running::start(&[]);
    let (key, other) = (running.key("team:a").await, running.key("team:a").await);
    let agent = json!({ "agent_id": "coder" });
    let turn = json!({ "agent_id": "coder", "role": "user", "content": "x" });
    let mut first = Bridge::start(&running.server.url, &key);
    let mut second = Bridge::start(&running.server.url, &key);
    assert!(first.tool("agent_resume", &agent));
    assert!(second.tool("agent_resume", &agent));
    second.close();
    assert!(first.tool("record_turn", &turn), "it works on");
    let mut stranger = Bridge::start(&running.server.url, &other);
    assert!(!stranger.tool("agent_resume", &agent), "it is held");
    first.close();
    assert!(
        stranger.tool("agent_resume", &agent),
        "the last one gave it back"
    );
    // A former owner that ends takes nothing from the next.
    let mut late = Bridge::start(&running.server.url, &key);
    assert!(!late.tool("agent_resume", &agent));
    late.close();
    assert!(stranger.tool("record_turn", &turn));
    stranger.close();
}

/// A key that is for one agent need not name it, and the agent is given back all the same.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_the_key_names_is_given_back_at_the_end() {
    let running = Running::start(&[]);
    let mint = async |spec: Value| {
        let minted = running
            .http
            .mint(&running.server.url, &running.admin, &spec);
        minted.await.expect("a key")
    };
    let bound = json!({ "namespace": "team:a", "agent": "coder" });
    let key = mint(bound).await;
    let other = running.key("team:a").await;
    let mut bridge = Bridge::start(&running.server.url, &key);
    assert!(bridge.tool("agent_resume", &json!({})));
    bridge.close();
    let mut next = Bridge::start(&running.server.url, &other);
    assert!(next.tool("agent_resume", &json!({ "agent_id": "coder" })));
    next.close();
}

/// A pod may start before its server, and a server is restarted under pods that go on.
#[tokio::test(flavor = "multi_thread")]
async fn a_restart_of_the_server_loses_no_call() {
    let mut running = Running::start(&[]);
    let key = running.key("team:a").await;
    let address = running
        .server
        .url
        .strip_prefix("http://")
        .expect("plain HTTP")
        .to_owned();
    let mut bridge = Command::new(programs::folder().expect("built").join("recall"))
        .arg("connect")
        .env_clear()
        .env("RECALL_URL", &running.server.url)
        .env("RECALL_API_KEY", &key)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut input = bridge.stdin.take().expect("a pipe");
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(
        bridge.stdout.take().expect("a pipe"),
    ));
    let mut call = |id: u32, text: &str| {
        let params = json!({ "name": "remember", "arguments": { "text": text } });
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        writeln!(input, "{call}").expect("it reads");
    };
    let mut answer = || {
        let line = lines.next().expect("an answer").expect("a line");
        serde_json::from_str::<Value>(&line).expect("JSON")
    };
    call(1, "before the restart");
    assert_eq!(answer()["result"]["isError"], false);
    running.server.process().stop().expect("it ends");
    call(2, "while it is away");
    let mut again = Command::new(programs::folder().expect("built").join("recall-server"));
    again
        .arg(format!("--listen={address}"))
        .arg("--admin-listen=127.0.0.1:0")
        .arg("--data-dir")
        .arg(running.dir.path().join("recall-data"));
    let log = running.dir.path().join("again.log");
    let _again = Process::start("recall-server", &mut again, &log).expect("it starts");
    let answered = answer();
    assert_eq!(answered["result"]["isError"], false, "{answered}");
    let found = running.post("/v1/recall", &key, &json!({})).await.json();
    assert_eq!(
        found["memories"].as_array().map(Vec::len),
        Some(2),
        "{found}"
    );
    drop(input);
    assert!(bridge.wait().expect("it ends").success());
}

/// Frozen until its key and the token it was made with are dead. The token in the file was renewed
/// meanwhile, as the kubelet does.
#[tokio::test(flavor = "multi_thread")]
async fn a_bridge_that_was_frozen_past_its_key_and_its_token_goes_on_with_one_exchange() {
    let cluster = Cluster::start(&["--kubernetes-key-ttl=12s"]).await;
    let old = cluster.pod("sleeper", &[]).await;
    let uid = cluster.cluster().uid(Route::Pod, "agents", "sleeper");
    let (uid, file) = (uid.expect("a pod"), cluster.dir.path().join("token"));
    std::fs::write(&file, &old).expect("written");
    let path = file.to_str().expect("a path");
    let mut bridge = Bridge::with(&cluster.server.url, "RECALL_TOKEN_FILE", path);
    assert!(bridge.tool("remember", &json!({ "text": "before the frost" })));
    bridge.signal("STOP");
    // An API server honours a token for a minute after its end; with its account made anew it ends at
    // once.
    let made = cluster.cluster();
    made.recreate_service_account("agents", "runner");
    let new = NewToken::of_pod("agents", "sleeper");
    std::fs::write(&file, made.issue_token(&new)).expect("written");
    until("the key is dead", async || {
        cluster.live_keys(&uid).await == 0
    })
    .await;
    assert_eq!(
        cluster.exchange(&old).await.status,
        401,
        "the token is dead"
    );
    let minted = async || -> u32 {
        let metrics = cluster.metrics().await;
        let count = metrics
            .lines()
            .find_map(|line| line.strip_prefix("recall_keys_minted_total "));
        count.expect("it is counted").parse().expect("a number")
    };
    let before = minted().await;
    bridge.signal("CONT");
    assert!(bridge.tool("remember", &json!({ "text": "after the thaw" })));
    assert!(bridge.tool("recall", &json!({})));
    assert_eq!(minted().await, before + 1, "one exchange");
    assert_eq!(cluster.live_keys(&uid).await, 1);
    bridge.close();
}
