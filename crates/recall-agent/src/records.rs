//! How an agent's records are named and read.

use bytes::Bytes;
use recall_store::{AgentId, Namespace, Precondition, Record, RecordKind, RecordWrite, Store};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::error::{Error, damaged};

/// A record by its kind and key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) kind: RecordKind,
    pub(crate) key: String,
}

/// The records of one agent. An agent id holds none of `:`, `#` and `@`, so no two agents share a
/// prefix.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Names<'a>(pub(crate) &'a AgentId);

impl Names<'_> {
    pub(crate) fn head(self) -> Place {
        self.at(RecordKind::Session, self.0.to_string())
    }

    pub(crate) fn working_state(self) -> Place {
        self.at(RecordKind::WorkingStateHead, self.0.to_string())
    }

    pub(crate) fn version(self, version: u64) -> Place {
        self.at(RecordKind::WorkingState, self.numbered(version))
    }

    pub(crate) fn turn(self, seq: u64) -> Place {
        self.at(RecordKind::Turn, self.numbered(seq))
    }

    /// Which turn a message became.
    pub(crate) fn message(self, message_id: &str) -> Place {
        let digest = hex::encode(Sha256::digest(message_id.as_bytes()));
        self.at(RecordKind::Turn, format!("{}#{digest}", self.0))
    }

    pub(crate) fn output(self, reference: &str) -> Place {
        self.at(RecordKind::Output, format!("{}:{reference}", self.0))
    }

    /// Outputs in the order in which they were stored, without their contents.
    pub(crate) fn stored(self, number: u64) -> Place {
        self.at(RecordKind::Output, format!("{}@{number:012}", self.0))
    }

    pub(crate) fn pointer(self, name: &str) -> Place {
        self.at(RecordKind::Pointer, format!("{}:{name}", self.0))
    }

    pub(crate) fn action(self, seq: u64) -> Place {
        self.at(RecordKind::Action, self.numbered(seq))
    }

    /// What the keys of a kind start with.
    pub(crate) fn prefix(self) -> String {
        format!("{}:", self.0)
    }

    fn numbered(self, number: u64) -> String {
        format!("{}:{number:012}", self.0)
    }

    fn at(self, kind: RecordKind, key: String) -> Place {
        Place { kind, key }
    }

    /// A write of an object, with the members that tell what it is and under which epoch it came.
    pub(crate) fn write(
        self,
        place: Place,
        object: &impl Serialize,
        epoch: u64,
        precondition: Precondition,
    ) -> Result<RecordWrite, Error> {
        let unwritable = |error: serde_json::Error| Error::refused(error.to_string());
        let mut body = serde_json::to_value(object).map_err(unwritable)?;
        if let Value::Object(members) = &mut body {
            members.insert("recall_agent".to_owned(), self.0.as_str().into());
            members.insert("record".to_owned(), word(place.kind).into());
            members.insert("epoch".to_owned(), epoch.into());
        }
        let body = serde_json::to_vec(&body).map_err(unwritable)?;
        Ok(RecordWrite {
            kind: place.kind,
            key: place.key,
            body: Some(Bytes::from(body)),
            precondition,
        })
    }
}

/// What the published layout calls a kind.
fn word(kind: RecordKind) -> &'static str {
    match kind {
        RecordKind::WorkingStateHead => "working_state_head",
        RecordKind::WorkingState => "working_state",
        RecordKind::Turn => "turn",
        RecordKind::Output => "output",
        RecordKind::Pointer => "pointer",
        RecordKind::Action => "action",
        RecordKind::Session => "session",
        RecordKind::Key
        | RecordKind::Pin
        | RecordKind::Server
        | RecordKind::Vector
        | RecordKind::Reading => "server",
    }
}

/// Reads an object back.
pub(crate) fn read<T: DeserializeOwned>(record: &Record) -> Result<T, Error> {
    serde_json::from_slice(&record.body)
        .map_err(|error| damaged(format!("record {} of an agent: {error}", record.key)))
}

/// Records of one kind after the key `after`, at most `limit`.
pub(crate) async fn list<T: DeserializeOwned>(
    store: &dyn Store,
    ns: &Namespace,
    kind: RecordKind,
    prefix: &str,
    after: Option<String>,
    limit: u64,
) -> Result<Vec<T>, Error> {
    let mut found = Vec::new();
    let mut after = after;
    while (found.len() as u64) < limit {
        let wanted = (limit - found.len() as u64).min(u64::from(PAGE)) as u32;
        let page = store
            .list(ns, kind, prefix, after.as_deref(), wanted)
            .await?;
        for record in &page.records {
            found.push(read(record)?);
        }
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    Ok(found)
}

/// Rows of one request to the store.
const PAGE: u32 = 500;
