//! The members of an event's body, without a tree of owned names: bodies are written with each statement
//! and read by the thousand when a memory is loaded.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use serde_json::Value as Json;

/// All that a body may hold. Others are skipped.
const NAMES: [&str; 17] = [
    "confidence",
    "evidence",
    "evidence_id",
    "kind",
    "observed_at",
    "observed_ms",
    "predicate",
    "recorded_at",
    "replaced_by",
    "replaces",
    "retraction",
    "role",
    "session",
    "source",
    "subject",
    "value",
    "written_by",
];

/// Members by name.
#[derive(Debug, Default)]
pub(super) struct Members(Vec<(&'static str, Json)>);

impl Members {
    /// Reads a JSON object.
    ///
    /// # Errors
    ///
    /// If it is none, or has bytes after it.
    pub(super) fn read(body: &[u8]) -> Result<Self, serde_json::Error> {
        let mut reader = serde_json::Deserializer::from_slice(body);
        let members = reader.deserialize_map(Known)?;
        reader.end()?;
        Ok(members)
    }

    /// The last member of a name.
    pub(super) fn get(&self, name: &str) -> Option<&Json> {
        let found = self.0.iter().rev().find(|(known, _)| *known == name);
        found.map(|(_, value)| value)
    }

    /// Adds a member that is not there yet.
    pub(super) fn put(&mut self, name: &'static str, value: Json) {
        self.0.push((name, value));
    }

    /// The object, its members by name.
    pub(super) fn write(mut self) -> Vec<u8> {
        self.0.sort_unstable_by_key(|(name, _)| *name);
        // Writing strings, numbers and flags to memory does not fail.
        serde_json::to_vec(&self).unwrap_or_default()
    }
}

impl Serialize for Members {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// Reads the members that [`NAMES`] lists.
struct Known;

impl<'de> Visitor<'de> for Known {
    type Value = Members;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
        let mut members = Members(Vec::with_capacity(NAMES.len()));
        while let Some(name) = map.next_key_seed(Name)? {
            match name {
                Some(name) => members.put(name, map.next_value()?),
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(members)
    }
}

/// Reads a name as one of [`NAMES`].
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Option<&'static str>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_str(self)
    }
}

impl Visitor<'_> for Name {
    type Value = Option<&'static str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        let at = NAMES.binary_search(&name).ok();
        Ok(at.and_then(|at| NAMES.get(at)).copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_in_order() {
        assert!(NAMES.is_sorted());
    }

    #[test]
    fn the_last_of_two_members_of_a_name_counts_and_unknown_ones_are_skipped() {
        let body = br#"{"kind":"fact","other":{"kind":"x"},"ki\u006ed":"preference"}"#;
        let members = Members::read(body).expect("an object");
        assert_eq!(members.get("kind"), Some(&Json::from("preference")));
        assert_eq!(members.get("other"), None);
    }

    #[test]
    fn only_a_whole_object_is_read() {
        for body in ["", "[]", "null", "{", "{} {}", "{\"kind\":}"] {
            assert!(Members::read(body.as_bytes()).is_err(), "{body}");
        }
    }

    #[test]
    fn members_are_written_by_name() {
        let mut members = Members::default();
        members.put("value", 7.into());
        members.put("kind", "fact".into());
        assert_eq!(members.write(), br#"{"kind":"fact","value":7}"#);
    }
}
