//! The lines of an export.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use recall_store::{NewEvent, Precondition, Record, RecordKind, RecordWrite};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Totals;

/// The version of the format that is written and read.
pub(crate) const VERSION: u32 = 1;

/// One line. Unknown members are refused: they may mean something.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Line {
    /// The first.
    RecallExport(Start),
    /// What follows is of this namespace.
    Namespace(String),
    Event(Event),
    Record(Kept),
    /// The last: without it the export is not whole.
    End(Totals),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Start {
    pub(crate) version: u32,
    pub(crate) at: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Event {
    id: String,
    body: Value,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Kept {
    kind: String,
    key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body64: Option<String>,
}

impl Event {
    pub(crate) fn of(id: String, body: &Bytes) -> Result<Self, String> {
        let body = serde_json::from_slice(body).map_err(|error| format!("event {id}: {error}"))?;
        Ok(Self { id, body })
    }

    pub(crate) fn new_event(self) -> NewEvent {
        NewEvent {
            id: self.id,
            body: Bytes::from(self.body.to_string()),
        }
    }
}

impl Kept {
    /// A record without what only its own store can mean: who holds an agent, under which epoch.
    pub(crate) fn of(kind: RecordKind, record: Record) -> Self {
        let mut body: Option<Value> = serde_json::from_slice(&record.body).ok();
        if let (RecordKind::Session, Some(Value::Object(head))) = (kind, &mut body) {
            head.remove("hold");
        }
        let body64 = body.is_none().then(|| STANDARD.encode(&record.body));
        Self {
            kind: word(kind).to_owned(),
            key: record.key,
            body,
            body64,
        }
    }

    pub(crate) fn write(self) -> Result<RecordWrite, String> {
        let kind = RecordKind::ALL
            .into_iter()
            .find(|kind| word(*kind) == self.kind);
        let body = match (self.body, self.body64) {
            (Some(body), None) => Bytes::from(body.to_string()),
            (None, Some(coded)) => STANDARD
                .decode(coded)
                .map_err(|error| format!("body64: {error}"))?
                .into(),
            _ => return Err("a record has one of body and body64".to_owned()),
        };
        Ok(RecordWrite {
            kind: kind.ok_or_else(|| format!("a record of unknown kind {:?}", self.kind))?,
            key: self.key,
            body: Some(body),
            precondition: Precondition::None,
        })
    }
}

/// The name of a kind in an export.
fn word(kind: RecordKind) -> &'static str {
    match kind {
        RecordKind::Key => "key",
        RecordKind::Pin => "pin",
        RecordKind::Server => "server",
        RecordKind::WorkingStateHead => "working_state_head",
        RecordKind::WorkingState => "working_state",
        RecordKind::Turn => "turn",
        RecordKind::Output => "output",
        RecordKind::Pointer => "pointer",
        RecordKind::Action => "action",
        RecordKind::Session => "agent_head",
        RecordKind::Vector => "vector",
        RecordKind::Reading => "reading",
    }
}
