//! `recall connect`: MCP on standard input and output, passed to the server message by message.

mod failure;
mod headers;
mod lines;
mod message;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex as StdMutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, StatusCode};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, BufReader};
use tokio::sync::{Mutex, Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;

use crate::args::{ConnectArgs, ServerArgs};
use crate::output::say;
use crate::session::{Repeat, Session};

use lines::{Line, read_line, write_lines};
use message::Message;

/// Calls under way at once; more wait their turn.
const CONCURRENT: usize = 64;
/// Calls under way are given this long once the input ends, and then releases their time: clients
/// end a bridge by force after 2 s.
const CALLS_GRACE: Duration = Duration::from_millis(1100);
const RELEASE_GRACE: Duration = Duration::from_millis(700);
/// A client that asks what the server is gives up at 10 s.
const PROBE_PATIENCE: Duration = Duration::from_secs(8);

/// How long a call waits for a server that cannot be reached: a restart takes seconds, and clients
/// give up on a call after a minute.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs the bridge until the input ends or the process is told to stop.
pub(crate) async fn run(server: &ServerArgs, arguments: &ConnectArgs) -> anyhow::Result<()> {
    let session = Arc::new(Session::open(server)?.patient(PATIENCE));
    if arguments.eager {
        session.prepare().await?;
    }
    let bridge = Bridge::new(session, own_name()?);
    let outcome = tokio::select! {
        outcome = bridge.pump(tokio::io::stdin(), tokio::io::stdout()) => outcome,
        () = terminated() => Ok(()),
    };
    bridge.release().await;
    outcome
}

async fn terminated() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
}

static PROCESS: HeaderName = HeaderName::from_static("recall-process");
static LEAVES: HeaderName = HeaderName::from_static("recall-leaves");

/// A name that no other process has.
fn own_name() -> anyhow::Result<HeaderValue> {
    let mut random = [0u8; 16];
    getrandom::fill(&mut random).map_err(|error| anyhow::anyhow!("no randomness: {error}"))?;
    let name = format!("{:032x}", u128::from_ne_bytes(random));
    Ok(HeaderValue::try_from(name)?)
}

#[derive(Debug, Clone)]
struct Bridge {
    session: Arc<Session>,
    /// Agents that this very process works on; `None` is the one that the key is for.
    held: Arc<Mutex<BTreeSet<Option<String>>>>,
    /// The name that this process has for itself: the server goes by it to tell whether another
    /// process of the session still works on an agent when this one ends.
    name: HeaderValue,
    /// Calls that the client may call off, by id: those of the revision without a handshake, where
    /// that ends the call. In the others it is a message like any other.
    under_way: Arc<StdMutex<HashMap<String, oneshot::Sender<()>>>>,
    probe_patience: Duration,
    calls_grace: Duration,
}

impl Bridge {
    fn new(session: Arc<Session>, name: HeaderValue) -> Self {
        Self {
            name,
            session,
            held: Arc::default(),
            under_way: Arc::default(),
            probe_patience: PROBE_PATIENCE,
            calls_grace: CALLS_GRACE,
        }
    }

    /// Reads lines, answers each as soon as its call returns, in any order.
    async fn pump(
        &self,
        input: impl AsyncRead + Unpin,
        output: impl AsyncWrite + Unpin + Send + 'static,
    ) -> anyhow::Result<()> {
        let (answers, queue) = mpsc::channel(CONCURRENT);
        let writer = tokio::spawn(write_lines(output, queue));
        let places = Arc::new(Semaphore::new(CONCURRENT));
        let mut calls = JoinSet::new();
        let mut input = BufReader::new(input);
        while let Some(line) = read_line(&mut input).await? {
            while calls.try_join_next().is_some() {}
            for message in messages(&line) {
                if self.calls_off(&message) {
                    continue;
                }
                let place = Arc::clone(&places).acquire_owned().await?;
                let (bridge, answers) = (self.clone(), answers.clone());
                let called_off = self.register(&message);
                calls.spawn(async move {
                    if let Some(answer) = bridge.answer(message, called_off).await {
                        let _ = answers.send(answer).await;
                    }
                    drop(place);
                });
            }
        }
        drop(answers);
        let finished = async { while calls.join_next().await.is_some() {} };
        if tokio::time::timeout(self.calls_grace, finished)
            .await
            .is_err()
        {
            say("recall connect: calls still under way were given up");
            calls.abort_all();
        }
        writer.await.context("standard output")?
    }

    /// Ends the call that a message calls off, if it is one that ends by it.
    fn calls_off(&self, message: &Result<Message, String>) -> bool {
        let Ok(Message {
            cancels: Some(id), ..
        }) = message
        else {
            return false;
        };
        let call = self.under_way().remove(id);
        call.is_some_and(|call| call.send(()).is_ok())
    }

    fn register(&self, message: &Result<Message, String>) -> Option<oneshot::Receiver<()>> {
        let message = message.as_ref().ok()?;
        message.stateless.as_ref()?;
        let id = message.id.clone()?;
        let (call_off, called_off) = oneshot::channel();
        self.under_way().insert(id, call_off);
        Some(called_off)
    }

    fn under_way(&self) -> std::sync::MutexGuard<'_, HashMap<String, oneshot::Sender<()>>> {
        // Whoever panicked left a map that still tells the truth.
        self.under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    async fn answer(
        &self,
        message: Result<Message, String>,
        called_off: Option<oneshot::Receiver<()>>,
    ) -> Option<String> {
        let message = match message {
            Ok(message) => message,
            Err(why) => return Some(failure::malformed(&why)),
        };
        let Some(called_off) = called_off else {
            return self.pass(&message).await;
        };
        let answer = tokio::select! {
            answer = self.pass(&message) => answer,
            Ok(()) = called_off => return None,
        };
        if let Some(id) = &message.id {
            self.under_way().remove(id);
        }
        answer
    }

    /// Passes a message on and its answer back.
    async fn pass(&self, message: &Message) -> Option<String> {
        let headers = message.stateless.as_ref();
        let mut headers = headers
            .map(headers::Repeated::to_headers)
            .unwrap_or_default();
        headers.insert(PROCESS.clone(), self.name.clone());
        let call = self.session.call_with(
            Method::POST,
            "/mcp",
            headers,
            message.body.clone(),
            message.repeat,
        );
        let answer = match message.probes {
            true => tokio::time::timeout(self.probe_patience, call).await,
            false => Ok(call.await),
        };
        let error = match answer {
            Ok(Ok(answer)) if answer.status == StatusCode::ACCEPTED => return None,
            Ok(Ok(answer)) if answer.status == StatusCode::OK => {
                self.note_agents(message, &answer.body).await;
                return Some(one_line(&answer.body));
            }
            Ok(Ok(answer)) if message.id.is_some() && failure::is_json_rpc(&answer.body) => {
                return Some(failure::under(message, &answer.body));
            }
            Ok(Ok(answer)) => failure::refused(message, &answer),
            Ok(Err(unsent)) => failure::unsent(message, &unsent),
            Err(_) => failure::not_ready(),
        };
        match &message.id {
            Some(id) => Some(failure::line(id, &error)),
            None => {
                say(&format!(
                    "recall connect: a notification was not taken: {}",
                    error["message"].as_str().unwrap_or_default()
                ));
                None
            }
        }
    }

    /// Remembers which agents this process works on: whoever is the last of its session gives them back,
    /// whether it resumed them or not.
    async fn note_agents(&self, message: &Message, body: &Bytes) {
        let Some((tool, agent)) = &message.agent_call else {
            return;
        };
        let answer: Value = serde_json::from_slice(body).unwrap_or_default();
        if answer["result"]["isError"] != Value::Bool(false) {
            return;
        }
        let mut held = self.held.lock().await;
        match tool.as_str() {
            "agent_release" => drop(held.remove(agent)),
            _ => drop(held.insert(agent.clone())),
        }
    }

    /// Lets go of what this process holds and no other of its session works on, so that the next
    /// owner need not wait.
    async fn release(&self) {
        let held = std::mem::take(&mut *self.held.lock().await);
        let all = async {
            for agent in held {
                let call = json!({
                    "jsonrpc": "2.0", "id": 0, "method": "tools/call",
                    "params": { "name": "agent_release", "arguments": { "agent_id": agent } },
                });
                let leaves = HeaderValue::from_static("true");
                let headers = [
                    (PROCESS.clone(), self.name.clone()),
                    (LEAVES.clone(), leaves),
                ];
                let body = Bytes::from(call.to_string());
                let call = self.session.call_with(
                    Method::POST,
                    "/mcp",
                    headers.into_iter().collect(),
                    body,
                    Repeat::Safe,
                );
                if let Err(failure) = call.await {
                    let agent = agent.as_deref().unwrap_or("of this key");
                    say(&format!(
                        "recall connect: agent {agent} was not released: {failure}"
                    ));
                }
            }
        };
        if tokio::time::timeout(RELEASE_GRACE, all).await.is_err() {
            say("recall connect: not every agent was released in time");
        }
    }
}

fn messages(line: &Line) -> Vec<Result<Message, String>> {
    match line {
        Line::Whole(line) => message::split(line),
        Line::TooLong => {
            let most = lines::MAX_LINE_BYTES;
            vec![Err(format!("this line is longer than {most} bytes"))]
        }
    }
}

/// JSON may hold line ends only between its tokens, where a blank says the same.
fn one_line(body: &[u8]) -> String {
    String::from_utf8_lossy(body)
        .trim_end()
        .replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests;
