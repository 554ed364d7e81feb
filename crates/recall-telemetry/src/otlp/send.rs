//! Sending batches of spans, on a thread of its own.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use super::endpoint::Endpoint;
use super::span::Batch;

/// Spans of one batch.
const BATCH: usize = 512;
/// How long a span waits for others.
const PERIOD: Duration = Duration::from_secs(2);
/// How long the thread sleeps before it looks for more than one span: to be woken for each would cost
/// each request as much as its span. The queue holds what comes meanwhile.
const GATHERING: Duration = Duration::from_millis(50);
/// A collector that takes longer does not get the batch.
const TIMEOUT: Duration = Duration::from_secs(5);
/// How often at most it is said that a collector cannot be reached.
const COMPLAIN: Duration = Duration::from_secs(60);

/// What the sending thread is handed.
#[derive(Debug)]
pub(super) enum Parcel {
    /// A finished span, as a collector takes it.
    Span(String),
    /// Send what there is, and say so.
    Flush(SyncSender<()>),
}

/// Sends what comes until nobody can send any more. `lost` counts what did not get into the queue.
pub(super) fn for_ever(
    queue: &Receiver<Parcel>,
    lost: &AtomicU64,
    endpoint: &Endpoint,
    version: &str,
) {
    let mut sender = Sender {
        endpoint,
        lost,
        batch: Batch::new(version),
        oldest: None,
        complained: None,
    };
    loop {
        match queue.recv_timeout(PERIOD) {
            Ok(parcel) => {
                sender.take(parcel);
                std::thread::park_timeout(GATHERING);
                queue.try_iter().for_each(|parcel| sender.take(parcel));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return sender.send(),
        }
        if sender.oldest.is_some_and(|at| at.elapsed() >= PERIOD) {
            sender.send();
        }
    }
}

struct Sender<'a> {
    lost: &'a AtomicU64,
    endpoint: &'a Endpoint,
    batch: Batch,
    /// Since when the first of the batch waits.
    oldest: Option<Instant>,
    complained: Option<Instant>,
}

impl Sender<'_> {
    fn take(&mut self, parcel: Parcel) {
        match parcel {
            Parcel::Span(span) => {
                self.oldest.get_or_insert_with(Instant::now);
                self.batch.push(&span);
                if self.batch.count() >= BATCH {
                    self.send();
                }
            }
            Parcel::Flush(done) => {
                self.send();
                // Whoever asked may have gone.
                let _ = done.send(());
            }
        }
    }

    fn send(&mut self) {
        self.oldest = None;
        let count = self.batch.count();
        if count == 0 {
            return;
        }
        let sent = post(self.endpoint, self.batch.end());
        self.batch.clear();
        let lost = self.lost.load(Ordering::Relaxed);
        let trouble = match sent {
            Err(error) => Some((error.to_string(), count as u64 + lost)),
            Ok(()) if lost > 0 => Some(("more came than could be sent".to_owned(), lost)),
            Ok(()) => None,
        };
        let silent = self.complained.is_some_and(|at| at.elapsed() < COMPLAIN);
        if let Some((error, spans)) = trouble
            && !silent
        {
            self.complained = Some(Instant::now());
            self.lost.fetch_sub(lost, Ordering::Relaxed);
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
