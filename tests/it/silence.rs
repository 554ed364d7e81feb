//! HTTP/1 connections that are silent between requests.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::*;

/// Long enough to be taken for silent.
const SILENCE: Duration = Duration::from_millis(400);
/// Nothing here takes so long.
const PATIENCE: Duration = Duration::from_secs(10);

struct Caller(TcpStream);

impl Caller {
    fn connect(running: &Running) -> Self {
        let host = running.server.url.strip_prefix("http://");
        let stream = TcpStream::connect(host.expect("plain HTTP")).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream.set_nodelay(true).expect("no delay");
        Self(stream)
    }

    fn say(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).expect("it is taken");
    }

    /// Reads so many answers and checks that each is the health check's.
    #[track_caller]
    fn hears(&mut self, count: usize) {
        let mut heard = String::new();
        let mut some = [0u8; 4096];
        while heard.matches("\r\n\r\nok\n").count() < count {
            let read = self.0.read(&mut some).expect("an answer in time");
            assert!(read > 0, "it was hung up on after {heard:?}");
            heard.push_str(&String::from_utf8_lossy(&some[..read]));
        }
        assert_eq!(
            heard.matches("HTTP/1.1 200 OK\r\n").count(),
            count,
            "{heard}"
        );
    }
}

fn ask(more: &str) -> String {
    format!("GET /healthz HTTP/1.1\r\nHost: x\r\n{more}\r\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn who_was_silent_is_answered_as_before() {
    let running = Running::start(&[]);
    let mut caller = Caller::connect(&running);
    caller.say(&ask(""));
    caller.hears(1);
    tokio::time::sleep(SILENCE).await;
    // Longer than what is read at the end of a silence.
    let long = format!("X-Long: {}\r\n", "x".repeat(20_000));
    caller.say(&ask(&long));
    caller.hears(1);
    tokio::time::sleep(SILENCE).await;
    caller.say(&ask("").repeat(3));
    caller.hears(3);
    tokio::time::sleep(SILENCE).await;
    let request = ask("");
    let (one, rest) = request.split_at(1);
    caller.say(one);
    tokio::time::sleep(SILENCE).await;
    caller.say(rest);
    caller.hears(1);
    // The begin of a head lies behind a whole request.
    let (begin, end) = request.split_at(10);
    caller.say(&format!("{request}{begin}"));
    caller.hears(1);
    tokio::time::sleep(SILENCE).await;
    caller.say(end);
    caller.hears(1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_takes_long_is_no_silence() {
    let running = Running::start(&["--surface=typed"]);
    let key = running.key("team:a").await;
    let mut caller = Caller::connect(&running);
    let body = r#"{"subject":"user","predicate":"prefers_editor","value":"helix"}"#;
    let head = format!(
        "POST /v1/remember HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    caller.say(&head);
    for byte in body.as_bytes().chunks(20) {
        tokio::time::sleep(SILENCE).await;
        caller.0.write_all(byte).expect("it is taken");
    }
    let mut heard = [0u8; 4096];
    let read = caller.0.read(&mut heard).expect("an answer in time");
    let heard = String::from_utf8_lossy(&heard[..read]);
    assert!(heard.starts_with("HTTP/1.1 200 OK\r\n"), "{heard}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_silent_are_hung_up_on_at_once_when_the_server_stops() {
    let mut running = Running::start(&[]);
    let mut callers: Vec<Caller> = (0..20).map(|_| Caller::connect(&running)).collect();
    for caller in &mut callers {
        caller.say(&ask(""));
        caller.hears(1);
    }
    tokio::time::sleep(SILENCE).await;
    let began = Instant::now();
    assert_eq!(running.server.process().stop().expect("it ends"), 0);
    // Requests under way would be given ten seconds.
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "{:?}",
        began.elapsed()
    );
    for caller in &mut callers {
        assert_eq!(caller.0.read(&mut [0; 16]).expect("the end"), 0);
    }
}
