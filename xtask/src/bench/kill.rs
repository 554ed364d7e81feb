//! `kill -9` while callers write over HTTP; then every write that was acknowledged is looked up.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

use anyhow::{Context, ensure};

use super::http;
use super::requests::{self, Dice};
use super::sides::{address, mint, start_ours};
use crate::shell::say;
use crate::test::read_line;

const WRITERS: usize = 8;
/// Writes that are acknowledged before a kill: at least so many, and up to so many more.
const FEWEST: u64 = 20;
const SPREAD: u64 = 400;

/// What came of it.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) rounds: u32,
    pub(super) acknowledged: usize,
    pub(super) lost: usize,
}

/// Kills and looks up, so many times, on one data directory.
pub(super) fn run(
    dir: &Path,
    admin_key_file: &Path,
    rounds: u32,
    seed: u64,
) -> anyhow::Result<Outcome> {
    let flags = ["--surface=typed".to_owned()];
    let start = || start_ours("kill", dir, admin_key_file, &flags);
    let admin = read_line(admin_key_file)?;
    let mut dice = Dice::new(seed);
    let next = AtomicU64::new(0);
    let mut all = Vec::new();
    let mut lost = 0;
    let mut key = None;
    let mut last: Vec<u64> = Vec::new();
    for round in 0..rounds {
        let mut server = start()?;
        let key: &String = match &mut key {
            Some(key) => key,
            empty => empty.insert(mint(&server.url, &admin)?),
        };
        let at = address(&server.url)?;
        lost += missing(at, key, &last)?;
        let enough = FEWEST + dice.below(SPREAD);
        last = write_until(at, key, &next, enough, || server.process().kill())?;
        all.extend_from_slice(&last);
        if (round + 1) % 50 == 0 {
            say(&format!("  {} kills, {} writes", round + 1, all.len()));
        }
    }
    let server = start()?;
    let key = key.context("at least one round")?;
    // Everything once more: a later kill must not undo an earlier write.
    lost += missing(address(&server.url)?, &key, &all)?;
    Ok(Outcome {
        rounds,
        acknowledged: all.len(),
        lost,
    })
}

/// Writes on several connections, kills once enough is acknowledged, and answers all that was.
fn write_until(
    server: SocketAddr,
    key: &str,
    next: &AtomicU64,
    enough: u64,
    kill: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<Vec<u64>> {
    let (to, acknowledged) = sync_channel(1024);
    std::thread::scope(|scope| {
        for _ in 0..WRITERS {
            let to = to.clone();
            scope.spawn(move || write_on(server, key, next, &to));
        }
        drop(to);
        let mut numbers = Vec::new();
        while (numbers.len() as u64) < enough {
            let number = acknowledged.recv_timeout(Duration::from_secs(30));
            numbers.push(number.context("the server stopped to acknowledge writes")?);
        }
        kill()?;
        numbers.extend(acknowledged);
        Ok(numbers)
    })
}

/// Writes until the server is gone.
fn write_on(server: SocketAddr, key: &str, next: &AtomicU64, to: &SyncSender<u64>) {
    let Ok(mut caller) = Caller::connect(server) else {
        return;
    };
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        match caller.call("/v1/remember", key, &requests::statement(number)) {
            Ok((200, _)) if to.send(number).is_ok() => {}
            Ok(_) | Err(_) => return,
        }
    }
}

/// How many of these statements the server does not hold.
fn missing(server: SocketAddr, key: &str, numbers: &[u64]) -> anyhow::Result<usize> {
    let mut caller = Caller::connect(server)?;
    let mut missing = 0;
    for number in numbers {
        let body = format!(r#"{{"subject":"s{number}","predicate":"prefers_editor"}}"#);
        let (status, answer) = caller.call("/v1/recall", key, &body)?;
        ensure!(status == 200, "a look-up was answered {status}: {answer}");
        if !answer.contains(&format!(r#""v{number}""#)) {
            say(&format!("  LOST: the acknowledged write {number}"));
            missing += 1;
        }
    }
    Ok(missing)
}

/// One keep-alive connection, one call at a time.
struct Caller {
    stream: TcpStream,
    received: Vec<u8>,
}

impl Caller {
    fn connect(server: SocketAddr) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(server)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        Ok(Self {
            stream,
            received: Vec::new(),
        })
    }

    fn call(&mut self, path: &str, key: &str, body: &str) -> anyhow::Result<(u16, String)> {
        let mut request = Vec::new();
        requests::post(&mut request, path, key, body);
        self.stream.write_all(&request)?;
        let mut buffer = [0; 4096];
        loop {
            let length = self.stream.read(&mut buffer)?;
            ensure!(length > 0, "the server closed the connection");
            self.received
                .extend_from_slice(buffer.get(..length).unwrap_or_default());
            if let Some(answer) = http::answer(&self.received) {
                let body = self.received.get(answer.body..answer.length);
                let body = String::from_utf8_lossy(body.unwrap_or_default()).into_owned();
                self.received.drain(..answer.length);
                return Ok((answer.status, body));
            }
        }
    }
}
