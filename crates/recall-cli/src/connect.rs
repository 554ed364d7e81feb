//! `recall connect`: MCP on standard input and output, passed to the server message by message.

mod message;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use http::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{Mutex, Semaphore, mpsc};
use tokio::task::JoinSet;

use crate::args::{ConnectArgs, ServerArgs};
use crate::output::say;
use crate::session::Session;

use message::{Message, failure};

/// Calls under way at once; more wait their turn.
const CONCURRENT: usize = 64;
/// The longest line that is read. The server takes 4 MiB; this only bounds memory.
const MAX_LINE_BYTES: u64 = 16 * 1024 * 1024;
/// Calls under way and releases are given this long once the input ends.
const GRACE: Duration = Duration::from_millis(1500);

/// Runs the bridge until the input ends or the process is told to stop.
pub(crate) async fn run(server: &ServerArgs, arguments: &ConnectArgs) -> anyhow::Result<()> {
    let session = Arc::new(Session::open(server)?);
    if arguments.eager {
        session.prepare().await?;
    }
    let bridge = Bridge {
        session,
        held: Arc::default(),
    };
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

#[derive(Debug, Clone)]
struct Bridge {
    session: Arc<Session>,
    /// Agents resumed through this very process.
    held: Arc<Mutex<BTreeSet<String>>>,
}

impl Bridge {
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
            for message in message::split(&line) {
                let place = Arc::clone(&places).acquire_owned().await?;
                let (bridge, answers) = (self.clone(), answers.clone());
                calls.spawn(async move {
                    if let Some(answer) = bridge.answer(message).await {
                        let _ = answers.send(answer).await;
                    }
                    drop(place);
                });
            }
        }
        drop(answers);
        let finished = async { while calls.join_next().await.is_some() {} };
        if tokio::time::timeout(GRACE, finished).await.is_err() {
            say("recall connect: calls still under way were given up");
            calls.abort_all();
        }
        writer.await.context("standard output")?
    }

    async fn answer(&self, message: Result<Message, String>) -> Option<String> {
        let message = match message {
            Ok(message) => message,
            Err(why) => return Some(failure(&Value::Null, -32700, &why)),
        };
        let answer = self
            .session
            .call(Method::POST, "/mcp", message.body.clone())
            .await;
        let (code, text) = match answer {
            Ok(answer) if answer.status == StatusCode::ACCEPTED => return None,
            Ok(answer) if answer.status == StatusCode::OK => {
                self.note_agents(&message, &answer.body).await;
                return Some(one_line(&answer.body));
            }
            Ok(answer) => {
                let code = if answer.status == StatusCode::UNAUTHORIZED {
                    -32001
                } else {
                    -32000
                };
                let (name, text) = answer.error();
                (
                    code,
                    format!("HTTP {}: {text} ({name})", answer.status.as_u16()),
                )
            }
            Err(failure) => (-32000, failure.message),
        };
        match &message.id {
            Some(id) => Some(failure(id, code, &text)),
            None => {
                say(&format!(
                    "recall connect: a notification was not taken: {text}"
                ));
                None
            }
        }
    }

    /// Remembers which agents this process resumed and released.
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

    /// Lets go of what this process holds, so that the next one need not wait.
    async fn release(&self) {
        let held = std::mem::take(&mut *self.held.lock().await);
        let all = async {
            for agent in held {
                let call = json!({
                    "jsonrpc": "2.0", "id": 0, "method": "tools/call",
                    "params": { "name": "agent_release", "arguments": { "agent_id": agent } },
                });
                if let Err(failure) = self
                    .session
                    .call(Method::POST, "/mcp", Bytes::from(call.to_string()))
                    .await
                {
                    say(&format!(
                        "recall connect: agent {agent} was not released: {failure}"
                    ));
                }
            }
        };
        if tokio::time::timeout(GRACE, all).await.is_err() {
            say("recall connect: not every agent was released in time");
        }
    }
}

/// A line without its end; `None` at the end of the input. A line over the limit ends the bridge:
/// what follows it could not be told from its rest.
async fn read_line(input: &mut (impl AsyncBufReadExt + Unpin)) -> anyhow::Result<Option<Vec<u8>>> {
    use tokio::io::AsyncReadExt;
    let mut line = Vec::new();
    let count = input
        .take(MAX_LINE_BYTES)
        .read_until(b'\n', &mut line)
        .await?;
    if count as u64 == MAX_LINE_BYTES {
        anyhow::bail!("a line of more than {MAX_LINE_BYTES} bytes");
    }
    Ok((count > 0).then_some(line))
}

/// One writer, so that lines never mix.
async fn write_lines(
    mut output: impl AsyncWrite + Unpin,
    mut queue: mpsc::Receiver<String>,
) -> anyhow::Result<()> {
    while let Some(mut line) = queue.recv().await {
        line.push('\n');
        output.write_all(line.as_bytes()).await?;
        output.flush().await?;
    }
    Ok(())
}

/// JSON may hold line ends only between its tokens, where a blank says the same.
fn one_line(body: &[u8]) -> String {
    String::from_utf8_lossy(body)
        .trim_end()
        .replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests;
