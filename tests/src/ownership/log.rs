//! What a run did and what it was told: a line of JSON each.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;

use anyhow::Context;
use serde::{Deserialize, Serialize};

/// One thing that one actor did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Who: a process in a pod, or one with a key.
    pub actor: String,
    /// The agent, with its namespace.
    pub agent: String,
    /// The session that the actor belongs to.
    pub session: String,
    /// The epoch that the session was last told, if it was told one.
    pub epoch: Option<u64>,
    /// When it was about to begin, in microseconds since the start: not later than it really began.
    pub began: u64,
    /// When its outcome was known: not earlier than it really was. Of an unknown outcome, when it
    /// was given up.
    pub ended: u64,
    /// What.
    pub did: Did,
}

/// What was done, and the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Did {
    /// Took the agent, or tried to.
    Take(Answer<Taken>),
    /// Recorded a turn; no two attempts but repetitions of one message share a content.
    Turn(String, Answer<u64>),
    /// Changed the working state; the notes are nobody else's. The answer is the version.
    State(String, Answer<u64>),
    /// Kept an output; the content is nobody else's. The answer is the reference.
    Output(String, Answer<String>),
    /// Began an action; its arguments are nobody else's.
    Begin(String, Class, Answer<Begun>),
    /// Ran the tool of an action, or was about to.
    Run(String, Class),
    /// Ended the action of this number with this result.
    End(u64, String, Answer<()>),
    /// Read the newest turns.
    Read(Answer<Vec<(u64, String)>>),
    /// Gave the agent back.
    Release(Answer<bool>),
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer<T> {
    /// It was done.
    Done(T),
    /// It was not done.
    Refused(String),
    /// It may have been done, at any time since it began, or never.
    Unknown(String),
}

impl<T> Answer<T> {
    /// The answer to what was done.
    pub fn done(&self) -> Option<&T> {
        match self {
            Self::Done(answer) => Some(answer),
            Self::Refused(_) | Self::Unknown(_) => None,
        }
    }
}

/// What running a tool once more would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Nothing.
    Pure,
    /// Nothing more, given the same key.
    Idempotent,
    /// It would happen twice.
    External,
}

/// What a taker was told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// Its epoch.
    pub epoch: u64,
    /// The last turn; an `agent_acquire` does not tell it.
    pub turn_seq: Option<u64>,
    /// The unfinished actions.
    pub pending: Vec<Pending>,
    /// Whether it took what others left: such a call settles actions.
    pub settles: bool,
}

/// An unfinished action as a taker sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// Its number.
    pub seq: u64,
    /// Its arguments.
    pub job: String,
    /// Its class.
    pub class: Class,
    /// `started` or `unknown`.
    pub status: String,
    /// Its key.
    pub key: String,
    /// What the briefing says about it.
    pub advice: String,
}

impl Pending {
    /// Whether the briefing warns of running it again.
    #[must_use]
    pub fn warned(&self) -> bool {
        self.advice.contains("Do not run it again")
    }
}

/// An action that was begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begun {
    /// Its number.
    pub seq: u64,
    /// Its key.
    pub key: String,
    /// The epoch it was begun under.
    pub epoch: u64,
}

/// Writes a log.
///
/// # Errors
///
/// If the file cannot be written.
pub fn write(path: &Path, log: &[Entry]) -> anyhow::Result<()> {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
    for entry in log {
        writeln!(file, "{}", serde_json::to_string(entry)?)?;
    }
    Ok(file.flush()?)
}

/// Reads a log back.
///
/// # Errors
///
/// If it is none.
pub fn read(path: &Path) -> anyhow::Result<Vec<Entry>> {
    let file =
        std::fs::File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let lines = BufReader::new(file).lines();
    lines
        .map(|line| Ok(serde_json::from_str(&line?)?))
        .collect()
}
