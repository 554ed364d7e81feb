//! The names of collections: those of the published server, and ours beside them.

use recall_store::Namespace;
use sha2::{Digest, Sha256};

/// The longest prefix, in bytes. A collection is a folder of the store, and 255 bytes are what file
/// systems take; the longest suffix is that of a namespace of 128 bytes with its agents.
pub const MAX_PREFIX_BYTES: usize = 96;

/// Names every collection after one prefix.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    prefix: String,
}

impl Names {
    /// `None` if the prefix holds anything but ASCII letters, digits, `_` and `-`, or is too long.
    pub(crate) fn new(prefix: &str) -> Option<Self> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        let fits = (1..=MAX_PREFIX_BYTES).contains(&prefix.len());
        (fits && prefix.bytes().all(plain)).then(|| Self {
            prefix: prefix.to_owned(),
        })
    }

    /// The events of a namespace.
    pub(crate) fn memory(&self, ns: &Namespace) -> String {
        let readable: String = ns
            .as_str()
            .chars()
            .map(|c| match c.to_ascii_lowercase() {
                c @ ('a'..='z' | '0'..='9' | '_') => c,
                _ => '_',
            })
            .collect();
        let digest = Sha256::digest(ns.as_str().as_bytes());
        let hash = hex::encode(digest.get(..4).unwrap_or_default());
        format!("{}__{readable}_{hash}", self.prefix)
    }

    /// The agents' records of a namespace that the published server knows.
    pub(crate) fn agents(&self, ns: &Namespace) -> String {
        format!("{}_agents", self.memory(ns))
    }

    /// The records of a namespace that are ours alone.
    pub(crate) fn records(&self, ns: &Namespace) -> String {
        format!("{}_recall", self.memory(ns))
    }

    /// The server's keys.
    pub(crate) fn keys(&self) -> String {
        format!("{}__keys", self.prefix)
    }

    /// What our servers tell each other.
    pub(crate) fn servers(&self) -> String {
        format!("{}__recall", self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(ns: &str, expected: &str) {
        let names = Names::new("recall_lexical_v1").expect("a prefix");
        assert_eq!(names.memory(&ns.parse().expect("a namespace")), expected);
    }

    /// As the published server named them.
    #[test]
    fn collections_of_the_published_layout() {
        check("Team:blue.1", "recall_lexical_v1__team_blue_1_9a6166cf");
        check("a_b", "recall_lexical_v1__a_b_648fa9b3");
    }

    #[test]
    fn the_longest_names_fit_a_file_system() {
        let names = Names::new(&"p".repeat(MAX_PREFIX_BYTES)).expect("a prefix");
        let ns: Namespace = "n".repeat(128).parse().expect("a namespace");
        for name in [names.agents(&ns), names.records(&ns)] {
            assert!(name.len() <= 255, "{}", name.len());
        }
    }

    #[test]
    fn prefixes() {
        for bad in ["", "a/b", "a b", ".auth", "é", &"p".repeat(97)] {
            assert!(Names::new(bad).is_none(), "{bad}");
        }
    }
}
