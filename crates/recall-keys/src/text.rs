//! Keys as text: `rcl_<id>_<secret>`, and the files that hold them.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use recall_store::Namespace;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};

use crate::record::KeyId;

const SECRET_BYTES: usize = 24;
/// 24 bytes in base64url.
const SECRET_CHARS: usize = 32;

/// The SHA-256 of a whole key text: what is stored and compared.
pub(crate) type KeyHash = [u8; 32];

pub(crate) fn hash(key: &str) -> KeyHash {
    Sha256::digest(key.as_bytes()).into()
}

/// A new secret under an id.
pub(crate) fn new_key(id: &KeyId) -> Result<SecretString, getrandom::Error> {
    let mut secret = [0u8; SECRET_BYTES];
    getrandom::fill(&mut secret)?;
    Ok(format!("rcl_{id}_{}", URL_SAFE_NO_PAD.encode(secret)).into())
}

/// The id within a key text, if the text has the form of a key. The secret may hold `_` itself.
pub(crate) fn id_of(key: &str) -> Option<KeyId> {
    let (id, secret) = key.strip_prefix("rcl_")?.split_once('_')?;
    let well_formed = secret.len() == SECRET_CHARS
        && secret
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    well_formed.then(|| id.parse().ok()).flatten()
}

/// Why a key file was refused. Never holds a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyFileError {
    /// A bootstrap file holds exactly one key.
    #[error("the file must hold one line of the form rcl_<16 hex digits>_<32 characters>")]
    NotAKey,
    /// A line of a keys file is not `<key> <namespace>`.
    #[error("line {line}: {reason}")]
    Line {
        /// Counted from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
}

/// Reads the content of a bootstrap key file: one key, with blank space around it allowed.
///
/// # Errors
///
/// [`KeyFileError::NotAKey`] for anything else.
pub fn parse_bootstrap_key(content: &str) -> Result<SecretString, KeyFileError> {
    let key = content.trim();
    match id_of(key) {
        Some(_) => Ok(key.to_owned().into()),
        None => Err(KeyFileError::NotAKey),
    }
}

/// A key from a file: any text, reaching one namespace, without end.
#[derive(Debug, Clone)]
pub struct StaticKey {
    /// The key text.
    pub key: SecretString,
    /// What it reaches.
    pub namespace: Namespace,
}

/// Reads a keys file: lines of `<key> <namespace>`; blank lines and lines that start with `#` are
/// left out.
///
/// # Errors
///
/// [`KeyFileError::Line`] naming the first line that is none of these, or that repeats a key.
pub fn parse_static_keys(content: &str) -> Result<Vec<StaticKey>, KeyFileError> {
    let mut keys: Vec<StaticKey> = Vec::new();
    for (at, line) in content.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let refusal = |reason: String| KeyFileError::Line {
            line: at + 1,
            reason,
        };
        let mut words = line.split_whitespace();
        let (Some(key), Some(namespace), None) = (words.next(), words.next(), words.next()) else {
            return Err(refusal("expected `<key> <namespace>`".to_owned()));
        };
        let namespace = namespace
            .parse()
            .map_err(|error| refusal(format!("{error}")))?;
        if keys.iter().any(|known| known.key.expose_secret() == key) {
            return Err(refusal("this key stands in the file twice".to_owned()));
        }
        keys.push(StaticKey {
            key: key.to_owned().into(),
            namespace,
        });
    }
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_new_key_names_its_id() {
        let id: KeyId = "00112233445566ff".parse().expect("an id");
        let key = new_key(&id).expect("randomness");
        assert_eq!(id_of(key.expose_secret()), Some(id));
    }

    #[test]
    fn what_has_not_the_form_of_a_key() {
        let secret = "a".repeat(32);
        for bad in [
            String::new(),
            "rcl_".to_owned(),
            format!("rcl_00112233445566FF_{secret}"),
            format!("rcl_00112233445566f_{secret}"),
            format!("rcl_00112233445566ff_{secret}a"),
            format!("rcl_00112233445566ff_{}é", "a".repeat(30)),
            format!("RCL_00112233445566ff_{secret}"),
            format!(" rcl_00112233445566ff_{secret}"),
        ] {
            assert_eq!(id_of(&bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_secret_may_hold_underscores() {
        let key = format!("rcl_00112233445566ff_{}", "_".repeat(32));
        assert!(id_of(&key).is_some());
    }

    #[test]
    fn static_keys_name_the_bad_line() {
        let keys = parse_static_keys("# a comment\n\nsecret-1 team:a\n secret-2\tteam:b \n")
            .expect("a file");
        let namespaces: Vec<_> = keys.iter().map(|key| key.namespace.as_str()).collect();
        assert_eq!(namespaces, ["team:a", "team:b"]);
        for (content, line) in [
            ("x", 1),
            ("# c\nk n extra", 2),
            ("k _bad", 1),
            ("k a\nk b", 2),
        ] {
            let Err(KeyFileError::Line { line: found, .. }) = parse_static_keys(content) else {
                panic!("{content:?} was taken")
            };
            assert_eq!(found, line, "{content:?}");
        }
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in "\\PC{0,80}") {
            let _ = (id_of(&text), parse_bootstrap_key(&text), parse_static_keys(&text));
        }
    }
}
