//! Event ids: made from what an event says, so that a repeated write is no second event.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use crate::time;

/// The id of an event.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum EventId {
    /// `m-` and the hash as 24 hexadecimal digits.
    Hash([u8; 12]),
    /// Any other id that a log holds.
    Other(Arc<str>),
}

impl EventId {
    /// The id of a statement of `value_key` (empty for a withdrawal of everything) at an instant.
    pub(crate) fn of(
        subject: &str,
        predicate: &str,
        value_key: &str,
        retraction: bool,
        at: Timestamp,
    ) -> Self {
        let act = if retraction { "retract" } else { "assert" };
        let parts = [subject, predicate, value_key, act, &time::full(at)];
        let digest = Sha256::digest(parts.join("\0").as_bytes());
        let mut id = [0; 12];
        for (to, from) in id.iter_mut().zip(digest.iter()) {
            *to = *from;
        }
        Self::Hash(id)
    }

    pub(crate) fn parse(text: &str) -> Self {
        let mut id = [0; 12];
        let hash = text
            .strip_prefix("m-")
            .filter(|hex| hex.bytes().all(|byte| !byte.is_ascii_uppercase()))
            .is_some_and(|hex| hex::decode_to_slice(hex, &mut id).is_ok());
        match hash {
            true => Self::Hash(id),
            false => Self::Other(Arc::from(text)),
        }
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hash(id) => {
                let mut digits = [0; 24];
                hex::encode_to_slice(id, &mut digits).map_err(|_| fmt::Error)?;
                f.write_str("m-")?;
                f.write_str(std::str::from_utf8(&digits).map_err(|_| fmt::Error)?)
            }
            Self::Other(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests;
