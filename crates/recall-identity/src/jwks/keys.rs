//! The issuer's keys.

use std::collections::HashMap;

use jsonwebtoken::DecodingKey;
use jsonwebtoken::jwk::{AlgorithmParameters, Jwk, PublicKeyUse};
use serde::Deserialize;

/// A key that verifies signatures.
pub(super) type Key = DecodingKey;

/// An issuer has one key, or two while it changes them.
const MAX_KEYS: usize = 64;

/// Keys by their id.
#[derive(Default)]
pub(super) struct Keys(HashMap<String, Key>);

/// The set with its keys unread: one of a kind not known here spoils only itself.
#[derive(Deserialize)]
struct Set {
    keys: Vec<serde_json::Value>,
}

impl Keys {
    /// The keys of a set that can be used here; none if it is no set.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let set: Set = serde_json::from_str(text).ok()?;
        let keys = set.keys.into_iter().take(MAX_KEYS).filter_map(|key| {
            let key: Jwk = serde_json::from_value(key).ok()?;
            usable(&key)
        });
        Some(Self(keys.collect()))
    }

    pub(super) fn get(&self, kid: &str) -> Option<Key> {
        self.0.get(kid).cloned()
    }
}

/// A public key for signatures that has an id. A shared secret is never one.
fn usable(key: &Jwk) -> Option<(String, Key)> {
    let signs = match &key.common.public_key_use {
        None | Some(PublicKeyUse::Signature) => true,
        Some(_) => false,
    };
    let public = matches!(
        key.algorithm,
        AlgorithmParameters::RSA(_) | AlgorithmParameters::EllipticCurve(_)
    );
    let kid = key.common.key_id.clone()?;
    let key = DecodingKey::from_jwk(key).ok()?;
    (signs && public).then_some((kid, key))
}
