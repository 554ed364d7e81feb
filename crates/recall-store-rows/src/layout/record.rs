//! Records as rows: agents' and keys where the published server has them, the rest on a shelf of
//! their own.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use recall_store::{AgentId, Namespace, Record, RecordKind, Version};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::{VERSION, WRITES, text};
use crate::embed::{embed, unit};
use crate::names::Names;
use crate::rows::{Fields, NewRow};

/// Turns and actions share a page in these numbers.
const PAGE: u64 = 64;
/// Digits of a number in a key of the port.
const DIGITS: usize = 12;

/// Which collection a record lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Shelf {
    /// The agents' records that the published server knows.
    Agents,
    /// The keys of the server.
    Keys,
    /// Records that are ours alone.
    Ours,
}

impl Shelf {
    pub(crate) fn collection(self, names: &Names, ns: &Namespace) -> String {
        match self {
            Self::Agents => names.agents(ns),
            Self::Keys => names.keys(),
            Self::Ours => names.records(ns),
        }
    }
}

/// Where a record lies.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) shelf: Shelf,
    pub(crate) id: String,
}

/// A record to lay down.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    pub(crate) kind: RecordKind,
    pub(crate) key: String,
    pub(crate) body: Bytes,
    pub(crate) version: Version,
    /// What the anchor of a batch says about the rest of it.
    pub(crate) journal: Option<String>,
}

/// What a key of the published layout is made of.
enum Parts<'a> {
    Head { agent: &'a str },
    Numbered { agent: &'a str, number: u64 },
    Named { agent: &'a str, name: &'a str },
    Key { id: &'a str },
}

/// Reads a key of the port as one of the published layout, if it is one.
fn parts<'a>(ns: &Namespace, kind: RecordKind, key: &'a str) -> Option<Parts<'a>> {
    if kind == RecordKind::Key {
        return (*ns == Namespace::keys()).then_some(Parts::Key { id: key });
    }
    let is_agent = |agent: &str| agent.parse::<AgentId>().is_ok();
    if kind == RecordKind::WorkingStateHead {
        return is_agent(key).then_some(Parts::Head { agent: key });
    }
    let (agent, rest) = key.split_once(':').filter(|(agent, _)| is_agent(agent))?;
    match kind {
        RecordKind::WorkingState | RecordKind::Turn | RecordKind::Action => {
            let plain = rest.len() == DIGITS && rest.bytes().all(|byte| byte.is_ascii_digit());
            let number = rest.parse().ok().filter(|_| plain)?;
            Some(Parts::Numbered { agent, number })
        }
        RecordKind::Output | RecordKind::Pointer if !rest.is_empty() => {
            Some(Parts::Named { agent, name: rest })
        }
        _ => None,
    }
}

/// Where the record of this kind and key lies.
pub(crate) fn place(ns: &Namespace, kind: RecordKind, key: &str) -> Place {
    let (shelf, id) = match parts(ns, kind, key) {
        None => (Shelf::Ours, format!("{}:{key}", kind.number())),
        Some(Parts::Key { id }) => (Shelf::Keys, format!("key:{id}")),
        Some(Parts::Head { agent }) => (Shelf::Agents, format!("{agent}:ws:head")),
        Some(Parts::Numbered { agent, number }) => {
            (Shelf::Agents, format!("{agent}:{}:{number}", short(kind)))
        }
        Some(Parts::Named { agent, name }) => {
            (Shelf::Agents, format!("{agent}:{}:{name}", short(kind)))
        }
    };
    Place { shelf, id }
}

/// The word of a kind in ids.
fn short(kind: RecordKind) -> &'static str {
    match kind {
        RecordKind::WorkingState | RecordKind::WorkingStateHead => "ws",
        RecordKind::Turn => "turn",
        RecordKind::Output => "out",
        RecordKind::Pointer => "ptr",
        RecordKind::Action => "act",
        RecordKind::Key
        | RecordKind::Pin
        | RecordKind::Server
        | RecordKind::Session
        | RecordKind::Vector
        | RecordKind::Reading => "",
    }
}

/// The word of a kind in `record`.
fn word(kind: RecordKind) -> &'static str {
    match kind {
        RecordKind::WorkingStateHead => "working_state_head",
        RecordKind::WorkingState => "working_state",
        RecordKind::Turn => "turn",
        RecordKind::Output => "output",
        RecordKind::Pointer => "pointer",
        RecordKind::Action => "action",
        RecordKind::Key
        | RecordKind::Pin
        | RecordKind::Server
        | RecordKind::Session
        | RecordKind::Vector
        | RecordKind::Reading => "",
    }
}

/// The ids of numbered records after `after`, if that is what a listing asks for: their numbers have
/// no gaps, so they are read by id instead of searched.
pub(crate) fn numbered(
    kind: RecordKind,
    prefix: &str,
    after: Option<&str>,
    limit: u32,
) -> Option<Vec<String>> {
    let (agent, sign) = prefix.split_at(prefix.len().checked_sub(1)?);
    let by_number = match kind {
        RecordKind::WorkingState | RecordKind::Turn | RecordKind::Action => sign == ":",
        RecordKind::Output => sign == "@",
        _ => false,
    };
    if !by_number || agent.parse::<AgentId>().is_err() {
        return None;
    }
    let last: u64 = match after {
        None => 0,
        Some(after) => {
            let digits = after.strip_prefix(prefix)?;
            let plain = digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse().ok().filter(|_| plain)?
        }
    };
    let keys = (1..=u64::from(limit))
        .map(|step| format!("{prefix}{:0DIGITS$}", last.saturating_add(step)));
    Some(keys.collect())
}

/// What finds all records of a kind whose keys begin with `prefix`: collections and filters.
pub(crate) fn listing(ns: &Namespace, kind: RecordKind, prefix: &str) -> Vec<(Shelf, Fields)> {
    let equal = |name: &str, value: Value| (name.to_owned(), value);
    let ours = (
        Shelf::Ours,
        Fields::from_iter([equal("kind", kind.number().into())]),
    );
    if kind == RecordKind::Key && *ns == Namespace::keys() {
        return vec![(Shelf::Keys, Fields::new())];
    }
    if word(kind).is_empty() {
        return vec![ours];
    }
    let whole = prefix
        .split_once(':')
        .filter(|(agent, _)| agent.parse::<AgentId>().is_ok());
    let mut agents = Fields::from_iter([equal("record", word(kind).into())]);
    if let Some((agent, _)) = whole {
        agents.insert("recall_agent".to_owned(), agent.into());
    }
    vec![(Shelf::Agents, agents), ours]
}

/// The rows of a record: most are one.
pub(crate) fn rows(ns: &Namespace, written: &Written) -> Vec<NewRow> {
    let place = place(ns, written.kind, &written.key);
    let object: Option<Fields> = serde_json::from_slice(&written.body).ok();
    let mut rows = Vec::new();
    let (mut metadata, values) = match (place.shelf, object) {
        (Shelf::Keys, Some(object)) if flat(&object) => {
            rows.extend(revocation(&written.key, &object));
            (object, unit())
        }
        (Shelf::Agents, Some(object)) => {
            let subject = ["content", "goal", "tool", "name"];
            let subject = subject
                .iter()
                .find_map(|name| text(&object, name))
                .unwrap_or_default();
            let vector = embed(subject.get(..256).unwrap_or(subject));
            (agent_row(ns, written, object), vector)
        }
        (shelf, _) => {
            let mut metadata = raw(&written.body);
            if shelf == Shelf::Agents {
                metadata.insert("record".to_owned(), word(written.kind).into());
                let agent = written.key.split(':').next().unwrap_or_default();
                metadata.insert("recall_agent".to_owned(), agent.into());
            }
            metadata.insert("kind".to_owned(), written.kind.number().into());
            metadata.insert("key".to_owned(), written.key.as_str().into());
            let values = match shelf {
                Shelf::Ours => vec![1.0],
                Shelf::Agents | Shelf::Keys => unit(),
            };
            (metadata, values)
        }
    };
    metadata.insert(VERSION.to_owned(), written.version.0.into());
    if let Some(journal) = &written.journal {
        metadata.insert("journal".to_owned(), journal.as_str().into());
    }
    rows.insert(
        0,
        NewRow {
            id: place.id,
            values,
            metadata,
        },
    );
    rows
}

fn flat(object: &Fields) -> bool {
    !object
        .values()
        .any(|value| matches!(value, Value::Null | Value::Array(_) | Value::Object(_)))
        && !object.contains_key(VERSION)
        && !object.contains_key(WRITES)
}

/// The published server revokes a key by a second record, and reads ours so.
fn revocation(key: &str, object: &Fields) -> Option<NewRow> {
    let at = text(object, "revoked_at")?;
    let metadata = json!({ "key_id": key, "kind": "revoked", "revoked_at": at });
    let Value::Object(metadata) = metadata else {
        return None;
    };
    Some(NewRow {
        id: format!("revoked:{key}"),
        values: unit(),
        metadata,
    })
}

/// The ids to remove with a record.
pub(crate) fn erased_ids(place: &Place) -> Vec<String> {
    let twin = place
        .id
        .strip_prefix("key:")
        .filter(|_| place.shelf == Shelf::Keys);
    std::iter::once(place.id.clone())
        .chain(twin.map(|id| format!("revoked:{id}")))
        .collect()
}

/// The metadata of an agent's record: what the published server lists by, and the object as text.
fn agent_row(ns: &Namespace, written: &Written, mut object: Fields) -> Fields {
    let mut metadata = Map::new();
    let mut put = |name: &str, value: Value| metadata.insert(name.to_owned(), value);
    object.remove("record");
    let named = object.remove("recall_agent");
    let epoch = match written.kind {
        // An action has an epoch of its own, which is the same.
        RecordKind::Action => object.get("epoch").cloned(),
        _ => object.remove("epoch"),
    };
    put("record", word(written.kind).into());
    if let Some(epoch) = epoch {
        put("epoch", epoch);
    }
    let mut agent_is = String::new();
    match parts(ns, written.kind, &written.key) {
        Some(Parts::Head { agent }) => agent.clone_into(&mut agent_is),
        Some(Parts::Numbered { agent, number }) => {
            agent.clone_into(&mut agent_is);
            match written.kind {
                RecordKind::WorkingState => drop(put("version", number.into())),
                _ => {
                    put("seq", number.into());
                    put("page", (number.saturating_sub(1) / PAGE).to_string().into());
                }
            }
            if written.kind == RecordKind::Action {
                put("act", number.to_string().into());
                for name in ["class", "status"] {
                    put(name, text(&object, name).unwrap_or_default().into());
                }
            }
        }
        Some(Parts::Named { agent, name }) => {
            agent.clone_into(&mut agent_is);
            match written.kind {
                RecordKind::Output => {
                    put("ref", name.into());
                    put(
                        "tokens",
                        object.get("tokens").cloned().unwrap_or_else(|| 0.into()),
                    );
                }
                _ => drop(put("name", name.into())),
            }
        }
        Some(Parts::Key { .. }) | None => {}
    }
    put("recall_agent", named.unwrap_or_else(|| agent_is.into()));
    put("body", Value::Object(object).to_string().into());
    metadata
}

fn raw(body: &Bytes) -> Fields {
    let (name, text) = match std::str::from_utf8(body) {
        Ok(text) => ("body", text.to_owned()),
        Err(_) => ("body64", STANDARD.encode(body)),
    };
    Map::from_iter([(name.to_owned(), Value::from(text))])
}

/// Reads a row back. `None` for what is no record of this kind, or one that was removed.
///
/// # Errors
///
/// What does not decode, in words.
pub(crate) fn read(
    shelf: Shelf,
    kind: RecordKind,
    id: &str,
    mut fields: Fields,
) -> Result<Option<Record>, String> {
    let version = version(id, &fields);
    fields.remove(VERSION);
    fields.remove(WRITES);
    fields.remove("journal");
    if fields.contains_key("key")
        && fields.contains_key("kind")
        && (fields.contains_key("body") || fields.contains_key("body64"))
    {
        return read_raw(kind, &fields, version);
    }
    match shelf {
        Shelf::Ours => Err(format!("record {id} has no body")),
        Shelf::Keys => {
            let Some(key) = id
                .strip_prefix("key:")
                .filter(|_| text(&fields, "kind") == Some("key"))
            else {
                return Ok(None);
            };
            let body = Value::Object(fields.clone()).to_string();
            Ok(Some(Record {
                key: key.to_owned(),
                version,
                body: Bytes::from(body),
            }))
        }
        Shelf::Agents => read_agent(kind, id, &fields, version),
    }
}

fn read_raw(kind: RecordKind, fields: &Fields, version: Version) -> Result<Option<Record>, String> {
    if fields.get("kind").and_then(Value::as_f64) != Some(f64::from(kind.number())) {
        return Ok(None);
    }
    let key = text(fields, "key").ok_or("a record without its key")?;
    let body = match (text(fields, "body"), text(fields, "body64")) {
        (Some(body), _) => Bytes::copy_from_slice(body.as_bytes()),
        (None, Some(body)) => STANDARD
            .decode(body)
            .map_err(|error| format!("record {key}: {error}"))?
            .into(),
        (None, None) => return Err(format!("record {key} has no body")),
    };
    Ok(Some(Record {
        key: key.to_owned(),
        version,
        body,
    }))
}

fn read_agent(
    kind: RecordKind,
    id: &str,
    fields: &Fields,
    version: Version,
) -> Result<Option<Record>, String> {
    if text(fields, "record") != Some(word(kind))
        || fields.get("removed") == Some(&Value::Bool(true))
    {
        return Ok(None);
    }
    let agent =
        text(fields, "recall_agent").ok_or_else(|| format!("record {id} names no agent"))?;
    let rest = id
        .strip_prefix(agent)
        .and_then(|rest| rest.strip_prefix(':'));
    let rest = rest.and_then(|rest| rest.strip_prefix(short(kind))?.strip_prefix(':'));
    let rest = rest.ok_or_else(|| format!("record {id} is not of agent {agent}"))?;
    let key = match kind {
        RecordKind::WorkingStateHead => agent.to_owned(),
        RecordKind::WorkingState | RecordKind::Turn | RecordKind::Action => {
            let number: u64 = rest
                .parse()
                .map_err(|_| format!("record {id} has no number"))?;
            format!("{agent}:{number:0DIGITS$}")
        }
        _ => format!("{agent}:{rest}"),
    };
    let body = text(fields, "body").ok_or_else(|| format!("record {id} has no body"))?;
    let mut object: Fields =
        serde_json::from_str(body).map_err(|error| format!("record {id}: {error}"))?;
    object.insert("recall_agent".to_owned(), agent.into());
    object.insert("record".to_owned(), word(kind).into());
    if let Some(epoch) = fields.get("epoch") {
        object.insert("epoch".to_owned(), whole(epoch));
    }
    Ok(Some(Record {
        key,
        version,
        body: Bytes::from(Value::Object(object).to_string()),
    }))
}

/// The store may answer a whole number as a fraction.
fn whole(number: &Value) -> Value {
    match number
        .as_u64()
        .or_else(|| number.as_f64().map(|number| number as u64))
    {
        Some(number) => number.into(),
        None => number.clone(),
    }
}

/// Which write of a record a row is. The published server's rows do not say: what they hold does.
fn version(id: &str, fields: &Fields) -> Version {
    let told = fields
        .get(VERSION)
        .map(whole)
        .and_then(|version| version.as_u64());
    Version(told.unwrap_or_else(|| {
        let content = format!("{id}\0{}", Value::Object(fields.clone()));
        let digest = Sha256::digest(content.as_bytes());
        let mut bytes = [0; 8];
        for (to, from) in bytes.iter_mut().zip(digest.iter()) {
            *to = *from;
        }
        // Below every version that a clock makes.
        u64::from_le_bytes(bytes) >> 20
    }))
}

#[cfg(test)]
mod tests;
