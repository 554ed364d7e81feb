//! The process of a client: it sends what it is told to send. It can be paused and killed as a
//! container can, also between being told and sending.

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, Command};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use parking_lot::Mutex;
use recall_testkit::process::Process;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::http::Client;

/// An answer that does not come in so long is not waited for.
const PATIENCE: Duration = Duration::from_secs(4);
/// What makes the program a hand.
pub const WORD: &str = "hand";

/// A request to send.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Ask {
    /// Where to.
    pub url: String,
    /// The key to show; none if empty.
    pub key: String,
    /// The body.
    pub body: Value,
}

/// What came back.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Heard {
    /// An answer: its status and body.
    Answer(u16, Value),
    /// None, for this reason. The request may have arrived.
    Nothing(String),
}

/// A client's process while it runs.
#[derive(Debug)]
pub struct Hand {
    process: Body,
    stdin: ChildStdin,
    heard: mpsc::Receiver<Heard>,
}

/// The process as faults see it.
#[derive(Debug, Clone)]
pub struct Body(Arc<Mutex<Process>>);

impl Body {
    /// Pauses it, or lets it go on.
    pub fn pause(&self, paused: bool) {
        let mut process = self.0.lock();
        if process.is_running() {
            // It may end between the two calls; then there is nothing to pause.
            let _ = process.signal(if paused { "STOP" } else { "CONT" });
        }
    }

    /// Kills it.
    pub fn kill(&self) {
        // A process that has ended is as good.
        let _ = self.0.lock().kill();
    }
}

impl Hand {
    /// Starts one.
    ///
    /// # Errors
    ///
    /// If this program cannot be started again.
    pub fn start(program: &std::path::Path) -> anyhow::Result<Self> {
        let (process, stdin, stdout) = Process::piped("a client", Command::new(program).arg(WORD))?;
        let (tell, heard) = mpsc::channel(8);
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let Ok(answer) = serde_json::from_str(&line) else {
                    return;
                };
                if tell.blocking_send(answer).is_err() {
                    return;
                }
            }
        });
        Ok(Self {
            process: Body(Arc::new(Mutex::new(process))),
            stdin,
            heard,
        })
    }

    /// The process, for faults.
    #[must_use]
    pub fn body(&self) -> Body {
        self.process.clone()
    }

    /// Has it send a request; `None` if the process is dead, in which case it may have sent it.
    pub async fn ask(&mut self, ask: &Ask) -> Option<Heard> {
        let line = serde_json::to_string(ask).ok()?;
        // One short line at a time fits the pipe, so that a paused process blocks nobody here.
        writeln!(self.stdin, "{line}").ok()?;
        self.heard.recv().await
    }
}

impl Drop for Hand {
    fn drop(&mut self) {
        self.process.kill();
    }
}

/// Is a hand until standard input ends.
///
/// # Errors
///
/// If it is told what it does not understand.
pub async fn serve() -> anyhow::Result<()> {
    let http = Client::default();
    for line in std::io::stdin().lines() {
        let ask: Ask = serde_json::from_str(&line?).context("a request")?;
        let bearer = format!("Bearer {}", ask.key);
        let headers = [("authorization", bearer.as_str())];
        let headers = headers.get(usize::from(ask.key.is_empty())..);
        let sent = http.send(
            "POST",
            &ask.url,
            headers.unwrap_or_default(),
            ask.body.to_string(),
        );
        let heard = match tokio::time::timeout(PATIENCE, sent).await {
            Ok(Ok(answer)) => Heard::Answer(answer.status, answer.json()),
            Ok(Err(error)) => Heard::Nothing(format!("{error:#}")),
            Err(_) => Heard::Nothing(format!("no answer in {PATIENCE:?}")),
        };
        let mut out = std::io::stdout().lock();
        writeln!(out, "{}", serde_json::to_string(&heard)?)?;
        out.flush()?;
    }
    Ok(())
}
