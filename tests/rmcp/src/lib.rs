//! What the tests with the official Rust SDK need: a server that is running, a key, and both ways to
//! its `/mcp`.

use std::io::{Read, Write};
use std::path::Path;
use std::process::Stdio;

use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess, UnixSocketHttpClient};
use serde_json::{Value, json};
use tokio::net::{TcpStream, UnixListener};
use tokio::process::Command;

/// A variable that the chore which runs these tests sets.
///
/// # Panics
///
/// If it is not set: nothing is skipped in silence.
#[must_use]
pub fn setting(name: &str) -> String {
    std::env::var(name)
        .unwrap_or_else(|_| panic!("{name} is not set: run cargo xtask test --only rmcp"))
}

/// The address of the server with texts, such as `http://127.0.0.1:8080`.
#[must_use]
pub fn url() -> String {
    setting("RECALL_TEST_TEXT_URL")
}

/// A key for a memory that nobody else uses.
///
/// # Panics
///
/// If the server does not mint one.
#[must_use]
pub fn key(namespace: &str) -> String {
    let admin = std::fs::read_to_string(setting("RECALL_TEST_ADMIN_KEY_FILE")).expect("a file");
    let (url, body) = (url(), json!({ "namespace": namespace }).to_string());
    let host = url.strip_prefix("http://").expect("plain HTTP");
    let mut stream = std::net::TcpStream::connect(host).expect("it listens");
    write!(
        stream,
        "POST /v1/keys HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\
         Content-Length: {}\r\n\r\n{body}",
        admin.trim(),
        body.len()
    )
    .expect("it takes a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let (_, body) = answer.split_once("\r\n\r\n").expect("a head");
    let record: Value = serde_json::from_str(body).expect("JSON");
    record["key"].as_str().expect("a key").to_owned()
}

/// The SDK's own HTTP, which it speaks over a socket in `dir` that leads to the server.
///
/// # Panics
///
/// If the socket cannot be made.
#[must_use]
pub fn http(dir: &Path, key: &str) -> StreamableHttpClientTransport<UnixSocketHttpClient> {
    let socket = dir.join("server.sock");
    let listener = UnixListener::bind(&socket).expect("a socket");
    tokio::spawn(relay(listener));
    let uri = format!("{}/mcp", url());
    let client = UnixSocketHttpClient::new(&socket.display().to_string(), &uri);
    let config = StreamableHttpClientTransportConfig::with_uri(uri).auth_header(key);
    StreamableHttpClientTransport::with_client(client, config)
}

async fn relay(listener: UnixListener) {
    let url = url();
    let host = url.strip_prefix("http://").expect("plain HTTP").to_owned();
    while let Ok((mut near, _)) = listener.accept().await {
        let host = host.clone();
        tokio::spawn(async move {
            let mut far = TcpStream::connect(host).await.expect("it listens");
            // Either side may hang up; the SDK tells what it misses.
            let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
        });
    }
}

/// `recall connect` as a process of the client's.
///
/// # Panics
///
/// If it does not start.
#[must_use]
pub fn bridge(key: &str) -> TokioChildProcess {
    let mut command = Command::new(setting("RECALL_TEST_PROGRAM"));
    command
        .arg("connect")
        .env_clear()
        .env("RECALL_URL", url())
        .env("RECALL_API_KEY", key);
    let builder = TokioChildProcess::builder(command).stderr(Stdio::inherit());
    builder.spawn().expect("it starts").0
}
