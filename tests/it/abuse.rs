//! Clients that want to hurt: what each costs is bounded, and the others are served meanwhile.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::*;

/// What HTTP/2 begins with, and the client's own settings, which are none.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00";
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// A well-behaved client is answered within this, however busy the machine is.
const PROMPT: Duration = Duration::from_secs(5);
/// What abuse may add to the memory of the server at most.
const MAX_GROWTH: u64 = 96 * 1024 * 1024;
/// The longest of the server's own patience with slow clients, and room for a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a frame is short");
    let mut bytes = length.to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// `GET path` in HPACK without a table.
fn get(path: &str) -> Vec<u8> {
    // :method GET, :scheme http, then :path and :authority as plain texts.
    let mut block = vec![0x82, 0x86, 0x04, u8::try_from(path.len()).expect("short")];
    block.extend(path.bytes());
    block.extend([0x01, 9]);
    block.extend(b"localhost");
    block
}

struct Abused {
    running: Running,
    key: String,
    idle_memory: u64,
    idle_files: usize,
}

impl Abused {
    async fn start() -> Self {
        let running = Running::start(&[]);
        let key = running.key("team:a").await;
        let mut abused = Self {
            running,
            key,
            idle_memory: 0,
            idle_files: 0,
        };
        abused.is_served().await;
        abused.idle_memory = abused.memory();
        abused.idle_files = abused.files();
        abused
    }

    fn connect(&self) -> TcpStream {
        let host = self
            .running
            .server
            .url
            .strip_prefix("http://")
            .expect("plain HTTP");
        TcpStream::connect(host).expect("it listens")
    }

    fn proc(&mut self, name: &str) -> String {
        format!("/proc/{}/{name}", self.running.server.process().pid())
    }

    /// Resident bytes.
    fn memory(&mut self) -> u64 {
        let status = std::fs::read_to_string(self.proc("status")).expect("it runs");
        let line = status
            .lines()
            .find(|line| line.starts_with("VmRSS:"))
            .expect("a line");
        let kilobytes: u64 = line
            .split_whitespace()
            .nth(1)
            .and_then(|n| n.parse().ok())
            .expect("a number");
        kilobytes * 1024
    }

    /// Open descriptors.
    fn files(&mut self) -> usize {
        std::fs::read_dir(self.proc("fd")).expect("it runs").count()
    }

    /// Others are answered, and soon.
    async fn is_served(&self) {
        for n in 0..10 {
            let began = Instant::now();
            let kept = json!({ "text": format!("note {n}") });
            assert_eq!(
                self.running
                    .post("/v1/remember", &self.key, &kept)
                    .await
                    .status,
                200
            );
            let found = self.running.post("/v1/recall", &self.key, &json!({})).await;
            assert_eq!(found.status, 200);
            let took = began.elapsed();
            assert!(took < PROMPT, "{took:?}");
        }
    }

    fn grew_little(&mut self) {
        let grown = self.memory().saturating_sub(self.idle_memory);
        assert!(grown < MAX_GROWTH, "{grown} bytes");
    }

    /// Everything that was opened is closed again.
    async fn is_left_alone(&mut self) {
        let began = Instant::now();
        // The keep-alive connection of the well-behaved client may have been made anew.
        while self.files() > self.idle_files + 4 {
            let open = self.files();
            assert!(
                began.elapsed() < PATIENCE,
                "{open} descriptors, {} at first",
                self.idle_files
            );
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        assert!(self.running.server.process().is_running());
    }
}

/// Sends until the server hangs up, takes no more, or everything is sent; answers how much was taken.
fn pour(stream: &mut TcpStream, parts: impl Iterator<Item = Vec<u8>>) -> usize {
    let limit = Some(Duration::from_secs(2));
    stream.set_write_timeout(limit).expect("it is settable");
    let mut taken = 0;
    for part in parts {
        if stream.write_all(&part).is_err() {
            break;
        }
        taken += part.len();
    }
    taken
}

/// Whether the server hung up: what it says until then is read.
fn is_hung_up_on(stream: &mut TcpStream) -> bool {
    let limit = Some(Duration::from_secs(20));
    stream.set_read_timeout(limit).expect("it is settable");
    let mut heard = [0u8; 64 * 1024];
    loop {
        match stream.read(&mut heard) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => {
                return ![ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&error.kind());
            }
        }
    }
}

/// Requests that are called off as soon as they are made (CVE-2023-44487).
#[tokio::test(flavor = "multi_thread")]
async fn a_rapid_reset_ends_its_connection() {
    let mut abused = Abused::start().await;
    let mut streams: Vec<_> = (0..8).map(|_| abused.connect()).collect();
    for stream in &mut streams {
        let requests = (0..20_000u32).map(|n| {
            let stream = n * 2 + 1;
            let mut both = frame(HEADERS, END_HEADERS | END_STREAM, stream, &get("/healthz"));
            both.extend(frame(RST_STREAM, 0, stream, &8u32.to_be_bytes()));
            both
        });
        stream.write_all(PREFACE).expect("it is taken");
        pour(stream, requests);
    }
    abused.is_served().await;
    abused.grew_little();
    for stream in &mut streams {
        assert!(
            is_hung_up_on(stream),
            "it serves on who resets twenty thousand requests"
        );
    }
    drop(streams);
    abused.is_left_alone().await;
}

/// Every frame asks for an answer that the client does not take.
#[tokio::test(flavor = "multi_thread")]
async fn floods_of_settings_and_pings_cost_no_memory() {
    let mut abused = Abused::start().await;
    let mut streams = Vec::new();
    for (kind, payload) in [
        (SETTINGS, &b""[..]),
        (PING, b"12345678"),
        (SETTINGS, b"\x00\x03\x00\x00\x00\x64"),
    ] {
        for _ in 0..3 {
            let mut stream = abused.connect();
            stream.write_all(PREFACE).expect("it is taken");
            pour(
                &mut stream,
                (0..200_000).map(|_| frame(kind, 0, 0, payload)),
            );
            streams.push(stream);
        }
    }
    abused.is_served().await;
    abused.grew_little();
    drop(streams);
    abused.is_left_alone().await;
}

/// A head that never ends (CVE-2024-27316).
#[tokio::test(flavor = "multi_thread")]
async fn a_head_of_endless_continuations_is_cut_off() {
    let mut abused = Abused::start().await;
    let mut streams: Vec<_> = (0..8).map(|_| abused.connect()).collect();
    for stream in &mut streams {
        stream.write_all(PREFACE).expect("it is taken");
        stream
            .write_all(&frame(HEADERS, 0, 1, &get("/healthz")))
            .expect("it is taken");
        // A header of a few bytes, named anew each time.
        let more = (0..50_000u32).map(|n| {
            let name = format!("x-{n:06}");
            let mut block = vec![0x00, u8::try_from(name.len()).expect("short")];
            block.extend(name.bytes());
            block.extend([1, b'v']);
            frame(CONTINUATION, 0, 1, &block)
        });
        pour(stream, more);
    }
    abused.is_served().await;
    abused.grew_little();
    for stream in &mut streams {
        assert!(is_hung_up_on(stream), "a head has an end");
    }
    drop(streams);
    abused.is_left_alone().await;
}

/// Reads the next frame: its kind, its flags and what it holds.
fn next_frame(stream: &mut TcpStream) -> std::io::Result<(u8, u8, Vec<u8>)> {
    let mut head = [0u8; 9];
    stream.read_exact(&mut head)?;
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
    let mut payload = vec![0u8; length as usize];
    stream.read_exact(&mut payload)?;
    Ok((head[3], head[4], payload))
}

/// A client that says that it takes nothing, or a byte, and is there: it answers every ping.
#[tokio::test(flavor = "multi_thread")]
async fn answers_of_http_2_that_are_never_taken_end_their_connection() {
    const ACK: u8 = 1;
    const GOAWAY: u8 = 7;
    let mut abused = Abused::start().await;
    let mut clients = Vec::new();
    for window in [0u32, 1, 20_000] {
        let mut stream = abused.connect();
        // The initial window of each stream.
        let mut settings = vec![0, 4];
        settings.extend(window.to_be_bytes());
        stream.write_all(PREFACE).expect("it is taken");
        stream
            .write_all(&frame(SETTINGS, 0, 0, &settings))
            .expect("it is taken");
        for n in 0..50u32 {
            let head = frame(
                HEADERS,
                END_HEADERS | END_STREAM,
                n * 2 + 1,
                &get("/openapi.json"),
            );
            stream.write_all(&head).expect("it is taken");
        }
        clients.push(std::thread::spawn(move || {
            stream
                .set_read_timeout(Some(PATIENCE))
                .expect("it is settable");
            let began = Instant::now();
            while let Ok((kind, flags, payload)) = next_frame(&mut stream) {
                assert!(began.elapsed() < PATIENCE, "{window}: it is held for ever");
                assert_ne!(
                    kind, GOAWAY,
                    "{window}: nothing was wrong with what was sent"
                );
                if kind == PING && flags & ACK == 0 {
                    let _ = stream.write_all(&frame(PING, ACK, 0, &payload));
                }
            }
            assert!(
                began.elapsed() < PATIENCE,
                "{window}: it was not hung up on"
            );
        }));
    }
    abused.is_served().await;
    abused.grew_little();
    for client in clients {
        client.join().expect("the server hung up");
    }
    abused.is_left_alone().await;
}

/// Many requests in one go, none waiting for the answer of the one before.
#[tokio::test(flavor = "multi_thread")]
async fn pipelined_requests_are_answered_in_their_order() {
    let mut abused = Abused::start().await;
    let mut stream = abused.connect();
    let requests: String = (0..500)
        .map(|n| format!("GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-Id: n{n}\r\n\r\n"))
        .chain(["GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".to_owned()])
        .collect();
    stream.write_all(requests.as_bytes()).expect("it is taken");
    let mut answers = String::new();
    stream.read_to_string(&mut answers).expect("it ends");
    let ids = answers
        .lines()
        .filter_map(|line| line.strip_prefix("x-request-id: n"));
    let ids: Vec<usize> = ids.filter_map(|id| id.parse().ok()).collect();
    assert_eq!(ids, (0..500).collect::<Vec<_>>());
    abused.is_left_alone().await;
}

/// Each of these holds a connection and gives nothing for it: heads and bodies that never end, answers
/// that are never taken, and connections on which nothing is said.
#[tokio::test(flavor = "multi_thread")]
async fn who_is_slow_in_any_way_is_hung_up_on_and_nobody_waits() {
    const EACH: usize = 40;
    // They are hung up on after 15 s.
    const TAKEN: Duration = Duration::from_secs(10);
    let mut abused = Abused::start().await;
    let authorization = format!("Authorization: Bearer {}\r\n", abused.key);
    let ask = "GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n";
    let ways = [
        (
            "a head",
            "POST /v1/recall HTTP/1.1\r\nHost: x\r\nX-Slow: ".to_owned(),
        ),
        (
            "a body",
            format!(
                "POST /v1/recall HTTP/1.1\r\nHost: x\r\n{authorization}Content-Length: 1000\r\n\r\n{{"
            ),
        ),
        (
            "a body in pieces",
            format!(
                "POST /mcp HTTP/1.1\r\nHost: x\r\n{authorization}Transfer-Encoding: chunked\r\n\r\n1\r\n{{\r\n"
            ),
        ),
        ("answers", ask.repeat(200)),
        ("nothing", String::new()),
        ("a preface", "PRI * HTTP/2.0\r\n".to_owned()),
        (
            "HTTP/2 without a request",
            String::from_utf8_lossy(PREFACE).into_owned(),
        ),
    ];
    let mut streams = Vec::new();
    for (_, said) in &ways {
        for _ in 0..EACH {
            let mut stream = abused.connect();
            pour(&mut stream, [said.clone().into_bytes()].into_iter());
            streams.push(stream);
        }
    }
    // They are taken one after another, by a server that may have little of the processors.
    let began = Instant::now();
    while abused.files() <= abused.idle_files + EACH * ways.len() / 2 {
        assert!(began.elapsed() < TAKEN, "most of them are not held");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    abused.is_served().await;
    abused.grew_little();
    // Nothing is closed from this side.
    abused.is_left_alone().await;
    abused.is_served().await;
    drop(streams);
}
