//! Sending batches of spans, on a thread of its own.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use super::endpoint::Endpoint;
use super::outbox::Outbox;
use super::span::Batch;

/// A collector that takes longer does not get the batch.
const TIMEOUT: Duration = Duration::from_secs(5);
/// How often at most it is said that spans were dropped.
const COMPLAIN: Duration = Duration::from_secs(60);

/// Sends what comes until the process ends.
pub(super) fn for_ever(outbox: &Outbox, endpoint: &Endpoint, version: &str) {
    let mut complaints = Complaints::default();
    let mut empty = Batch::new(version);
    loop {
        let mut due = outbox.wait(empty);
        complaints.dropped(due.lost, "more came than could be sent");
        let count = due.batch.count() as u64;
        if count > 0
            && let Err(error) = post(endpoint, due.batch.end())
        {
            complaints.dropped(count, &error.to_string());
        }
        for done in due.flushes {
            // Whoever asked may have gone.
            let _ = done.send(());
        }
        due.batch.clear();
        empty = due.batch;
    }
}

/// What was dropped and not yet said.
#[derive(Debug, Default)]
struct Complaints {
    spans: u64,
    last: Option<Instant>,
}

impl Complaints {
    fn dropped(&mut self, spans: u64, error: &str) {
        self.spans += spans;
        let silent = self.last.is_some_and(|at| at.elapsed() < COMPLAIN);
        if spans > 0 && !silent {
            self.last = Some(Instant::now());
            let spans = std::mem::take(&mut self.spans);
            tracing::warn!(error, spans, "traces could not be sent and are dropped");
        }
    }
}

fn post(endpoint: &Endpoint, body: &str) -> std::io::Result<()> {
    use std::io::{Error, ErrorKind};
    let unknown = || Error::new(ErrorKind::NotFound, "the collector's host is unknown");
    let address = endpoint.authority.to_socket_addrs()?.next();
    let mut stream = TcpStream::connect_timeout(&address.ok_or_else(unknown)?, TIMEOUT)?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        endpoint.path,
        endpoint.authority,
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    // Only the status line is looked at.
    let mut answer = [0u8; 12];
    stream.read_exact(&mut answer)?;
    match answer.strip_prefix(b"HTTP/1.1 ") {
        Some([b'2', ..]) => Ok(()),
        _ => Err(Error::other("the collector refused the batch")),
    }
}
