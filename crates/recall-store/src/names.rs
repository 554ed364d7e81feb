//! Names that come from outside, parsed once.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The longest namespace, in bytes (Memory API §3.1).
pub const MAX_NAMESPACE_BYTES: usize = 128;
/// The longest agent id, in bytes (Memory API §7.2).
pub const MAX_AGENT_ID_BYTES: usize = 128;

/// Why a name was refused. The text is fit for the caller who sent it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// No characters at all.
    #[error("{what}: empty")]
    Empty {
        /// Which name it is.
        what: &'static str,
    },
    /// Longer than allowed.
    #[error("{what}: {got} bytes, at most {limit} are allowed")]
    TooLong {
        /// Which name it is.
        what: &'static str,
        /// Its length in bytes.
        got: usize,
        /// The most that is allowed.
        limit: usize,
    },
    /// A character that names may not hold at that place.
    #[error("{what}: {found:?} at byte {at} is not allowed; use {allowed}")]
    Character {
        /// Which name it is.
        what: &'static str,
        /// The character found.
        found: char,
        /// Its byte offset.
        at: usize,
        /// What is allowed, in words.
        allowed: &'static str,
    },
}

/// The name of one memory: what a key reaches. 1–128 ASCII bytes, first a letter or digit, then
/// letters, digits and `_ - . :`. Names are compared whole and by exact bytes.
///
/// ```
/// use recall_store::Namespace;
///
/// let ns: Namespace = "agents:demo-1".parse()?;
/// assert_eq!(ns.as_str(), "agents:demo-1");
/// assert!("../x".parse::<Namespace>().is_err());
/// # Ok::<(), recall_store::NameError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Namespace(Arc<str>);

impl Namespace {
    /// The server's own namespace for its key records. No outside string parses to it, because no
    /// namespace may begin with `_`.
    #[must_use]
    pub fn keys() -> Self {
        Self(Arc::from("_keys"))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is one of the server's own namespaces, which hold no memory.
    #[must_use]
    pub fn is_internal(&self) -> bool {
        self.0.starts_with('_')
    }
}

impl FromStr for Namespace {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        check("namespace", text, MAX_NAMESPACE_BYTES, "_-.:", true)?;
        Ok(Self(Arc::from(text)))
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Namespace({:?})", &*self.0)
    }
}

/// The name of one agent within a namespace: 1–128 of `A-Z a-z 0-9 . _ -`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AgentId(Arc<str>);

impl AgentId {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for AgentId {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        check("agent_id", text, MAX_AGENT_ID_BYTES, "._-", false)?;
        Ok(Self(Arc::from(text)))
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AgentId({:?})", &*self.0)
    }
}

fn check(
    what: &'static str,
    text: &str,
    limit: usize,
    signs: &'static str,
    strict_first: bool,
) -> Result<(), NameError> {
    if text.is_empty() {
        return Err(NameError::Empty { what });
    }
    for (at, found) in text.char_indices() {
        let letter = found.is_ascii_alphanumeric();
        if letter || (signs.contains(found) && (at > 0 || !strict_first)) {
            continue;
        }
        let allowed = match (strict_first, at) {
            (true, 0) => "an ASCII letter or digit first",
            (true, _) => "ASCII letters, digits and _ - . :",
            (false, _) => "ASCII letters, digits and . _ -",
        };
        return Err(NameError::Character {
            what,
            found,
            at,
            allowed,
        });
    }
    if text.len() > limit {
        return Err(NameError::TooLong {
            what,
            got: text.len(),
            limit,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn namespace_rule() {
        for good in [
            "a",
            "A",
            "1",
            "a:b:c",
            "agents:demo-1",
            "a..b",
            "a_b",
            &"x".repeat(128),
        ] {
            assert_eq!(good.parse::<Namespace>().expect(good).as_str(), good);
        }
        for bad in [
            "",
            "_a",
            "-a",
            ".a",
            ":a",
            "a b",
            "a/b",
            "é",
            "a\0",
            "a\n",
            "a%",
            "a\\b",
            &"x".repeat(129),
        ] {
            assert!(bad.parse::<Namespace>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn refusal_names_the_character_and_its_place() {
        let refusal = "ab c"
            .parse::<Namespace>()
            .expect_err("a blank")
            .to_string();
        assert_eq!(
            refusal,
            "namespace: ' ' at byte 2 is not allowed; use ASCII letters, digits and _ - . :"
        );
    }

    #[test]
    fn the_keys_namespace_cannot_be_named_from_outside() {
        assert!(Namespace::keys().as_str().parse::<Namespace>().is_err());
        assert!(Namespace::keys().is_internal());
    }

    proptest! {
        #[test]
        fn parsing_never_panics_and_keeps_the_bytes(text in ".{0,140}") {
            if let Ok(ns) = text.parse::<Namespace>() {
                prop_assert_eq!(ns.as_str(), text.as_str());
                prop_assert!(!ns.is_internal());
            }
            if let Ok(agent) = text.parse::<AgentId>() {
                prop_assert_eq!(agent.as_str(), text.as_str());
            }
        }
    }
}
