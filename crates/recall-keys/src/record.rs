//! What is kept of a key.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use jiff::Timestamp;
use recall_identity::PodRef;
use recall_store::{AgentId, NameError, Namespace};
use serde::{Deserialize, Serialize};

/// The longest `session` of a key, in bytes.
pub const MAX_SESSION_BYTES: usize = 256;
/// The longest `note` of a key, in bytes.
pub const MAX_NOTE_BYTES: usize = 1024;

const DIGITS: usize = 16;

/// The public half of a key: 16 lower-case hex digits. The first eight are the second it was minted
/// in, so that listing by id is listing by age.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct KeyId([u8; DIGITS]);

impl KeyId {
    /// An id for a key minted now.
    pub(crate) fn generate(now: Timestamp) -> Result<Self, getrandom::Error> {
        let mut random = [0u8; 4];
        getrandom::fill(&mut random)?;
        // Past 2106 the seconds wrap; only the order of a listing depends on them.
        let seconds = now.as_second() & i64::from(u32::MAX);
        let seconds = (seconds as u32).to_be_bytes();
        let mut digits = [0; DIGITS];
        let (minted, drawn) = digits.split_at_mut(DIGITS / 2);
        // Each half is twice its bytes long.
        _ = hex::encode_to_slice(seconds, minted);
        _ = hex::encode_to_slice(random, drawn);
        Ok(Self(digits))
    }

    /// The digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        // They are ASCII.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl FromStr for KeyId {
    type Err = crate::Error;

    fn from_str(text: &str) -> Result<Self, crate::Error> {
        let hex = text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        match <[u8; DIGITS]>::try_from(text.as_bytes()) {
            Ok(digits) if hex => Ok(Self(digits)),
            Ok(_) | Err(_) => Err(crate::Error::NotFound),
        }
    }
}

impl TryFrom<String> for KeyId {
    type Error = crate::Error;

    fn try_from(text: String) -> Result<Self, crate::Error> {
        text.parse()
    }
}

impl From<KeyId> for String {
    fn from(id: KeyId) -> Self {
        id.as_str().to_owned()
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("KeyId").field(&self.as_str()).finish()
    }
}

/// The pod a key was minted for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodBinding {
    /// The pod.
    pub pod: PodRef,
    /// The pod's service account.
    pub service_account: String,
}

/// A key without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRecord {
    /// The public half.
    pub id: KeyId,
    /// What it reaches.
    pub reach: Reach,
    /// Fixes the agent that the key may name.
    pub agent: Option<String>,
    /// Fixes the session that the key may name.
    pub session: Option<String>,
    /// The minter's own words.
    pub note: Option<String>,
    /// When it was minted.
    pub created_at: Timestamp,
    /// How long it lives from minting or renewal; `None` is for ever.
    pub ttl: Option<Duration>,
    /// The instant from which it is refused.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked, if it was.
    pub revoked_at: Option<Timestamp>,
    /// The pod it was minted for, if any.
    pub pod: Option<PodBinding>,
}

impl KeyRecord {
    /// Whether the key itself may extend its life; pod keys need the pod's token.
    #[must_use]
    pub fn renewable(&self) -> bool {
        self.expires_at.is_some() && self.pod.is_none()
    }

    /// Whether the key is good at `now`.
    #[must_use]
    pub fn live(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| now < end)
    }
}

/// What a key lets its holder do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// Manage keys; no memory.
    Admin,
    /// Exactly this memory.
    Namespace(Namespace),
}

/// A checked key: what the request may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The key's id; `None` for a static key.
    pub key: Option<KeyId>,
    /// What it reaches.
    pub reach: Reach,
    /// The only agent it may name, if fixed.
    pub agent: Option<String>,
    /// The only session it may name, if fixed.
    pub session: Option<String>,
    /// The UID of the pod it was minted for, if any.
    pub pod_uid: Option<String>,
}

/// The stored form. Flat, with the member names of the published layout; ours are the `pod_*` and
/// `service_account` members and `revoked_at`.
#[derive(Serialize, Deserialize)]
pub(crate) struct Stored {
    key_id: KeyId,
    kind: String,
    hash: String,
    namespace: String,
    created_at: Timestamp,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    admin: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ttl_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    revoked_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pod_uid: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pod_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pod_namespace: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    service_account: Option<String>,
}

impl Stored {
    pub(crate) fn new(record: &KeyRecord, hash: &[u8; 32]) -> Self {
        let namespace = match &record.reach {
            Reach::Admin => String::new(),
            Reach::Namespace(ns) => ns.as_str().to_owned(),
        };
        let pod = record.pod.as_ref();
        Self {
            key_id: record.id,
            kind: "key".to_owned(),
            hash: hex::encode(hash),
            namespace,
            created_at: record.created_at,
            admin: record.reach == Reach::Admin,
            agent: record.agent.clone(),
            session: record.session.clone(),
            note: record.note.clone(),
            expires_at: record.expires_at,
            ttl_ms: record
                .ttl
                .map(|ttl| u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX)),
            revoked_at: record.revoked_at,
            pod_uid: pod.map(|binding| binding.pod.uid.clone()),
            pod_name: pod.map(|binding| binding.pod.name.clone()),
            pod_namespace: pod.map(|binding| binding.pod.namespace.clone()),
            service_account: pod.map(|binding| binding.service_account.clone()),
        }
    }

    /// The record and the hash of its key.
    pub(crate) fn open(self) -> Result<(KeyRecord, [u8; 32]), String> {
        let mut hash = [0u8; 32];
        hex::decode_to_slice(&self.hash, &mut hash).map_err(|error| format!("hash: {error}"))?;
        let reach = match self.admin {
            true => Reach::Admin,
            false => Reach::Namespace(
                self.namespace
                    .parse()
                    .map_err(|error: NameError| error.to_string())?,
            ),
        };
        let pod = match (
            self.pod_uid,
            self.pod_name,
            self.pod_namespace,
            self.service_account,
        ) {
            (Some(uid), Some(name), Some(namespace), Some(service_account)) => Some(PodBinding {
                pod: PodRef {
                    namespace,
                    name,
                    uid,
                },
                service_account,
            }),
            (None, None, None, None) => None,
            _ => return Err("the pod is only half named".to_owned()),
        };
        let record = KeyRecord {
            id: self.key_id,
            reach,
            agent: self.agent,
            session: self.session,
            note: self.note,
            created_at: self.created_at,
            ttl: self.ttl_ms.map(Duration::from_millis),
            expires_at: self.expires_at,
            revoked_at: self.revoked_at,
            pod,
        };
        Ok((record, hash))
    }
}

/// Checks what a minter may put on a key.
pub(crate) fn check_texts(
    agent: Option<&str>,
    session: Option<&str>,
    note: Option<&str>,
) -> Result<(), crate::Error> {
    if let Some(agent) = agent {
        let _: AgentId = agent.parse().map_err(|error: NameError| {
            crate::Error::Invalid(error.to_string().replacen("agent_id", "agent", 1))
        })?;
    }
    for (what, text, limit) in [
        ("session", session, MAX_SESSION_BYTES),
        ("note", note, MAX_NOTE_BYTES),
    ] {
        let got = text.map_or(0, str::len);
        if got > limit {
            let text = format!("{what}: {got} bytes, at most {limit} are allowed");
            return Err(crate::Error::Invalid(text));
        }
        if text.is_some_and(|text| text.chars().any(char::is_control)) {
            return Err(crate::Error::Invalid(format!(
                "{what}: control characters are not allowed"
            )));
        }
    }
    Ok(())
}
