//! What is kept of an agent, as it goes over the wire and into the records.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The agent's note to whoever carries on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct WorkingState {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) goal: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) plan: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) progress: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) focus: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) decisions: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) open_questions: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) notes: String,
    #[serde(skip_serializing_if = "zero")]
    pub(crate) step: u64,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) last_milestone: String,
    pub(crate) version: u64,
    #[serde(skip_serializing_if = "zero")]
    pub(crate) turn_seq: u64,
    #[serde(skip_serializing_if = "zero")]
    pub(crate) action_seq: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) updated_at: Option<Timestamp>,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Turn {
    pub(crate) seq: u64,
    pub(crate) role: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) name: String,
    pub(crate) content: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) message_id: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) brief: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) output_ref: String,
    pub(crate) at: Timestamp,
}

/// A kept content without the content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OutputRef {
    #[serde(rename = "ref")]
    pub(crate) reference: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) tool: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) summary: String,
    #[serde(default)]
    pub(crate) tokens: u64,
    pub(crate) at: Timestamp,
}

/// A kept content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Output {
    #[serde(flatten)]
    pub(crate) head: OutputRef,
    pub(crate) content: String,
}

/// Where a piece of work lives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pointer {
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) fields: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) note: String,
    pub(crate) at: Timestamp,
}

/// What running a tool once more would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Class {
    /// Nothing: it only reads.
    Pure,
    /// Nothing more, given the same key.
    Idempotent,
    /// It could happen twice.
    External,
}

/// How far a tool call came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    Started,
    Done,
    Failed,
    Abandoned,
    Unknown,
}

impl Status {
    pub(crate) fn open(self) -> bool {
        matches!(self, Self::Started | Self::Unknown)
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Abandoned => "abandoned",
            Self::Unknown => "unknown",
        }
    }
}

/// One tool call, noted before it ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Action {
    pub(crate) seq: u64,
    pub(crate) tool: String,
    pub(crate) class: Class,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) args: String,
    /// What an idempotent tool is given so that a repetition does nothing more.
    pub(crate) key: String,
    pub(crate) status: Status,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) result: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) error: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) args_ref: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) result_ref: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) resolution: String,
    pub(crate) epoch: u64,
    pub(crate) started_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ended_at: Option<Timestamp>,
}

fn zero(number: &u64) -> bool {
    *number == 0
}
