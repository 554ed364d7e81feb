//! The load generator: keep-alive connections on one thread, as a closed loop or at a pace.
//!
//! In a closed loop each connection sends one request, waits for its whole answer and sends the next.
//! So the rate is what the server gives to so many callers, and no caller waits for another one's
//! answer. At a pace a request is sent whenever one is due, on any connection that waits for no answer,
//! whether the server keeps up or not.

use std::collections::{BTreeMap, VecDeque};
use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};

use super::http;
use crate::shell::say;

/// A server that answers nothing for so long has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// How much to ask of a server.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    pub(super) connections: usize,
    /// No request is sent after this.
    pub(super) time: Duration,
    /// Nor after so many.
    pub(super) count: u64,
    /// Requests a second; `None` is a closed loop.
    pub(super) pace: Option<f64>,
}

impl Load {
    /// A closed loop of so many requests, however long they take.
    pub(super) fn of(count: u64, connections: usize) -> Self {
        Self {
            connections,
            time: Duration::MAX,
            count,
            pace: None,
        }
    }

    /// A closed loop for so long.
    pub(super) fn during(time: Duration, connections: usize) -> Self {
        Self {
            time,
            ..Self::of(u64::MAX, connections)
        }
    }
}

/// What a server gave.
#[derive(Debug, Default)]
pub(super) struct Measured {
    /// From the first request to the last answer.
    pub(super) elapsed: Duration,
    /// Of each answer, in microseconds, ascending.
    pub(super) latencies: Vec<u32>,
    /// Answers that are not 2xx, by status.
    pub(super) refused: BTreeMap<u16, u64>,
    /// The first of them.
    pub(super) refusal: Option<String>,
    /// Requests that were due while every connection waited for an answer.
    pub(super) unsent: u64,
}

impl Measured {
    pub(super) fn rate(&self) -> f64 {
        self.latencies.len() as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// The latency that this share of the answers kept within, in milliseconds.
    pub(super) fn percentile(&self, share: f64) -> f64 {
        let last = self.latencies.len().saturating_sub(1);
        let at = (last as f64 * share).round() as usize;
        self.latencies
            .get(at)
            .map_or(0.0, |micros| f64::from(*micros) / 1000.0)
    }

    /// Tells how many answers were not 2xx.
    pub(super) fn served_only(self) -> Self {
        if !self.refused.is_empty() {
            say(&format!(
                "  the published server refused, by status: {:?}",
                self.refused
            ));
        }
        self
    }

    /// Fails if any answer was not 2xx.
    pub(super) fn all_served(self) -> anyhow::Result<Self> {
        ensure!(
            self.refused.is_empty(),
            "answers other than 2xx, by status: {:?}; the first: {}",
            self.refused,
            self.refusal.unwrap_or_default()
        );
        Ok(self)
    }
}

/// Puts a load on `server`; `write` appends the request of a number, counted from 0.
pub(super) fn run(
    server: SocketAddr,
    load: Load,
    write: &mut dyn FnMut(u64, &mut Vec<u8>),
) -> anyhow::Result<Measured> {
    ensure!(server.ip().is_loopback(), "{server} is not on loopback");
    let mut poll = Poll::new()?;
    let mut connections = Vec::new();
    for number in 0..load.connections {
        let mut stream = TcpStream::from_std(connect(server)?);
        poll.registry()
            .register(&mut stream, Token(number), Interest::READABLE)?;
        connections.push(Connection::new(stream));
    }
    let mut run = Run {
        load,
        write,
        sent: 0,
        began: Instant::now(),
        idle: (0..load.connections).collect(),
        measured: Measured::default(),
    };
    let mut events = Events::with_capacity(load.connections);
    loop {
        run.send_due(&mut connections)?;
        if run.over() && run.idle.len() == connections.len() {
            break;
        }
        let until_due = run.until_due();
        poll.poll(&mut events, Some(until_due.unwrap_or(PATIENCE)))?;
        ensure!(
            until_due.is_some() || !events.is_empty(),
            "{server} did not answer in {PATIENCE:?}"
        );
        for event in &events {
            let number = event.token().0;
            let connection = connections.get_mut(number);
            run.receive(number, connection.context("a connection of ours")?)?;
        }
    }
    run.measured.elapsed = run.began.elapsed();
    run.measured.latencies.sort_unstable();
    Ok(run.measured)
}

fn connect(server: SocketAddr) -> anyhow::Result<std::net::TcpStream> {
    let stream = std::net::TcpStream::connect(server)?;
    stream.set_nodelay(true)?;
    stream.set_nonblocking(true)?;
    Ok(stream)
}

struct Connection {
    stream: TcpStream,
    request: Vec<u8>,
    received: Vec<u8>,
    sent_at: Instant,
}

impl Connection {
    fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            request: Vec::new(),
            received: Vec::new(),
            sent_at: Instant::now(),
        }
    }

    /// Takes in what is there.
    fn fill(&mut self) -> anyhow::Result<()> {
        let mut buffer = [0; 16 * 1024];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => anyhow::bail!("the server closed a connection"),
                Ok(length) => {
                    self.received
                        .extend_from_slice(buffer.get(..length).unwrap_or_default());
                    // A short read has emptied the socket.
                    if length < buffer.len() {
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

struct Run<'a> {
    load: Load,
    write: &'a mut dyn FnMut(u64, &mut Vec<u8>),
    /// Sent, or due and not sent.
    sent: u64,
    began: Instant,
    /// The connections that wait for no answer.
    idle: VecDeque<usize>,
    measured: Measured,
}

impl Run<'_> {
    /// Whether nothing more is sent.
    fn over(&self) -> bool {
        self.sent >= self.load.count || self.began.elapsed() >= self.load.time
    }

    /// Sends what is due by now.
    fn send_due(&mut self, connections: &mut [Connection]) -> anyhow::Result<()> {
        let due = self.load.pace.map(|pace| {
            let due = self.began.elapsed().as_secs_f64() * pace;
            due as u64
        });
        while !self.over() && due.is_none_or(|due| self.sent < due) {
            let Some(number) = self.idle.pop_front() else {
                if let Some(due) = due {
                    self.measured.unsent += due - self.sent;
                    self.sent = due;
                }
                return Ok(());
            };
            let connection = connections.get_mut(number);
            self.send(connection.context("a connection of ours")?)?;
        }
        Ok(())
    }

    /// How long until a request is due; `None` if that is not a matter of time.
    fn until_due(&self) -> Option<Duration> {
        let pace = self.load.pace.filter(|_| !self.over())?;
        let due = Duration::from_secs_f64((self.sent + 1) as f64 / pace);
        Some(due.saturating_sub(self.began.elapsed()))
    }

    fn send(&mut self, connection: &mut Connection) -> anyhow::Result<()> {
        connection.request.clear();
        (self.write)(self.sent, &mut connection.request);
        self.sent += 1;
        connection.sent_at = Instant::now();
        // A request is a few hundred bytes and the socket's buffer is empty, so it fits at once.
        connection
            .stream
            .write_all(&connection.request)
            .context("a request cannot be sent")
    }

    fn receive(&mut self, number: usize, connection: &mut Connection) -> anyhow::Result<()> {
        connection.fill()?;
        let Some(answer) = http::answer(&connection.received) else {
            return Ok(());
        };
        let micros = connection.sent_at.elapsed().as_micros();
        if (200..300).contains(&answer.status) {
            let micros = u32::try_from(micros).unwrap_or(u32::MAX);
            self.measured.latencies.push(micros);
        } else {
            *self.measured.refused.entry(answer.status).or_default() += 1;
            let body = connection.received.get(answer.body..answer.length);
            let text = || String::from_utf8_lossy(body.unwrap_or_default()).into_owned();
            self.measured.refusal.get_or_insert_with(text);
        }
        connection.received.drain(..answer.length);
        if self.load.pace.is_none() && !self.over() {
            return self.send(connection);
        }
        self.idle.push_back(number);
        Ok(())
    }
}
