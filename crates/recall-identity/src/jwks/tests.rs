//! Tokens signed by keys that the tests make.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{EncodingKey, encode, get_current_timestamp};
use parking_lot::Mutex;
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, PublicKeyData};
use serde_json::{Value, json};

use super::*;
use crate::trouble::TroubleKind;

const ISSUER: &str = "https://kubernetes.default.svc";

/// Counts who gets through; everybody does.
#[derive(Clone, Default)]
struct Passed(Arc<AtomicUsize>);

impl Authenticate for Passed {
    fn authenticate<'a>(&'a self, _: &'a str) -> Authenticating<'a> {
        self.0.fetch_add(1, Ordering::SeqCst);
        // The review would say something else; here it only has to be told apart.
        Box::pin(async { Err(Error::PodGone) })
    }
}

/// Keys that the test changes; none for an issuer that cannot be asked.
#[derive(Clone, Default)]
struct Published(Arc<Mutex<Option<String>>>, Arc<AtomicUsize>);

impl KeySource for Published {
    async fn keys(&self) -> Result<String, Trouble> {
        self.1.fetch_add(1, Ordering::SeqCst);
        let keys = self.0.lock().clone();
        keys.ok_or_else(|| Trouble::new(TroubleKind::Unreachable, "gone"))
    }
}

struct Signer {
    kid: &'static str,
    pair: KeyPair,
}

impl Signer {
    fn new(kid: &'static str) -> Self {
        let pair = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
        Self { kid, pair }
    }

    fn jwk(&self) -> Value {
        // The point without compression: a 4, x and y.
        let point = self.pair.der_bytes();
        let (x, y) = point[1..].split_at(32);
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let (x, y) = (text(x), text(y));
        json!({ "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": self.kid, "x": x, "y": y })
    }

    fn sign(&self, claims: &Value) -> String {
        let mut header = Header::new(jsonwebtoken::Algorithm::ES256);
        header.kid = Some(self.kid.to_owned());
        let key = EncodingKey::from_ec_der(self.pair.serialized_der());
        encode(&header, claims, &key).unwrap()
    }
}

struct Bench {
    passed: Passed,
    published: Published,
    checked: Prechecked<Passed, Published>,
}

impl Bench {
    fn new(signers: &[&Signer]) -> Self {
        let (passed, published) = (Passed::default(), Published::default());
        let expected = Expected::new(ISSUER, "recall");
        let checked = Prechecked::new(passed.clone(), published.clone(), expected);
        let bench = Self {
            passed,
            published,
            checked,
        };
        bench.publish(signers);
        bench
    }

    fn publish(&self, signers: &[&Signer]) {
        let keys: Vec<Value> = signers.iter().map(|signer| signer.jwk()).collect();
        *self.published.0.lock() = Some(json!({ "keys": keys }).to_string());
    }

    /// Whether a token gets as far as its review.
    async fn passes(&self, token: &str) -> bool {
        let before = self.passed.0.load(Ordering::SeqCst);
        let outcome = self.checked.authenticate(token).await;
        let passed = self.passed.0.load(Ordering::SeqCst) > before;
        let expected = if passed {
            Error::PodGone
        } else {
            Error::Rejected
        };
        assert_eq!(outcome, Err(expected));
        passed
    }
}

fn claims(change: impl FnOnce(&mut Value)) -> Value {
    let now = get_current_timestamp();
    let mut claims = json!({ "iss": ISSUER, "aud": ["recall"], "exp": now + 600, "nbf": now });
    change(&mut claims);
    claims
}

#[tokio::test]
async fn only_tokens_of_the_issuer_for_the_audience_in_their_time_pass() {
    let signer = Signer::new("one");
    let bench = Bench::new(&[&signer]);
    let now = get_current_timestamp();
    let check = async |claims: Value, expected: bool| {
        assert_eq!(
            bench.passes(&signer.sign(&claims)).await,
            expected,
            "{claims}"
        );
    };
    check(claims(|_| ()), true).await;
    check(claims(|c| c["aud"] = json!(["other", "recall"])), true).await;
    check(claims(|c| c["exp"] = json!(now - 30)), true).await;
    check(claims(|c| c["exp"] = json!(now - 120)), false).await;
    check(claims(|c| c["nbf"] = json!(now + 120)), false).await;
    check(claims(|c| c["aud"] = json!(["vault"])), false).await;
    check(claims(|c| c["aud"] = json!("Recall")), false).await;
    check(claims(|c| c["iss"] = json!("https://elsewhere")), false).await;
    for missing in ["iss", "aud", "exp"] {
        let claims = claims(|c| drop(c.as_object_mut().unwrap().remove(missing)));
        check(claims, false).await;
    }
}

#[tokio::test]
async fn unsigned_resigned_and_wrongly_signed_tokens_are_refused() {
    let (signer, forger) = (Signer::new("one"), Signer::new("one"));
    let bench = Bench::new(&[&signer]);
    let good = signer.sign(&claims(|_| ()));
    assert!(bench.passes(&good).await);
    let parts: Vec<&str> = good.split('.').collect();
    let [_, payload, signature] = parts[..] else {
        panic!("three parts")
    };
    let header = |header: Value| URL_SAFE_NO_PAD.encode(header.to_string());
    let none = header(json!({ "alg": "none", "kid": "one" }));
    let shared = header(json!({ "alg": "HS256", "kid": "one" }));
    let nameless = header(json!({ "alg": "ES256" }));
    for forged in [
        forger.sign(&claims(|_| ())),
        format!("{none}.{payload}."),
        format!("{none}.{payload}.{signature}"),
        format!("{shared}.{payload}.{signature}"),
        format!("{nameless}.{payload}.{signature}"),
        format!("{}.{payload}", parts[0]),
        format!("{}.{payload}.AAAA", parts[0]),
        "!!.##.%%".to_owned(),
        "a.b.c".to_owned(),
    ] {
        assert!(!bench.passes(&forged).await, "{forged}");
    }
}

#[tokio::test]
async fn a_token_signed_with_the_public_key_as_a_secret_is_refused() {
    let signer = Signer::new("one");
    let bench = Bench::new(&[&signer]);
    let mut header = Header::new(jsonwebtoken::Algorithm::HS256);
    header.kid = Some("one".to_owned());
    let secret = EncodingKey::from_secret(signer.pair.der_bytes()).unwrap();
    let forged = encode(&header, &claims(|_| ()), &secret).unwrap();
    assert!(!bench.passes(&forged).await);
}

#[tokio::test(start_paused = true)]
async fn a_new_key_is_found_and_an_old_one_forgotten() {
    let (old, new) = (Signer::new("old"), Signer::new("new"));
    let bench = Bench::new(&[&old]);
    let (old_token, new_token) = (old.sign(&claims(|_| ())), new.sign(&claims(|_| ())));
    assert!(bench.passes(&old_token).await);
    bench.publish(&[&old, &new]);
    tokio::time::advance(MIN_PAUSE).await;
    assert!(
        bench.passes(&new_token).await,
        "an unknown key is looked for"
    );
    bench.publish(&[&new]);
    tokio::time::advance(MAX_AGE).await;
    // The keys are old: they are read again, and the old one is no longer among them.
    assert!(bench.passes(&new_token).await);
    assert!(!bench.passes(&old_token).await);
}

#[tokio::test(start_paused = true)]
async fn keys_are_not_read_for_every_token_that_names_an_unknown_one() {
    let (signer, forger) = (Signer::new("one"), Signer::new("made up"));
    let bench = Bench::new(&[&signer]);
    let forged = forger.sign(&claims(|_| ()));
    for _ in 0..100 {
        assert!(!bench.passes(&forged).await);
    }
    assert_eq!(bench.published.1.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn while_the_issuer_cannot_be_asked_the_review_decides() {
    let signer = Signer::new("one");
    let bench = Bench::new(&[]);
    *bench.published.0.lock() = None;
    let token = signer.sign(&claims(|_| ()));
    assert!(bench.passes(&token).await, "no keys at all");
    *bench.published.0.lock() = Some("<html>".to_owned());
    tokio::time::advance(MIN_PAUSE).await;
    assert!(bench.passes(&token).await, "nonsense instead of keys");
    bench.publish(&[&signer]);
    tokio::time::advance(MIN_PAUSE).await;
    assert!(bench.passes(&token).await);
    *bench.published.0.lock() = None;
    tokio::time::advance(MAX_AGE).await;
    assert!(bench.passes(&token).await, "old keys serve on");
    let expired = claims(|c| c["exp"] = json!(get_current_timestamp() - 120));
    assert!(!bench.passes(&signer.sign(&expired)).await);
}

#[test]
fn keys_that_cannot_be_used_spoil_only_themselves() {
    install_provider();
    let good = Signer::new("one").jwk();
    let set = json!({ "keys": [
        good,
        { "kty": "oct", "kid": "secret", "k": "c2VjcmV0" },
        { "kty": "EC", "crv": "P-521", "kid": "big", "x": "AA", "y": "AA" },
        { "kty": "FUTURE", "kid": "new" },
        { "kty": "RSA", "use": "enc", "kid": "enc", "n": "AQAB", "e": "AQAB" },
        5,
    ] });
    let keys = Keys::parse(&set.to_string()).unwrap();
    let known = |kid: &str| keys.get(kid).is_some();
    assert!(known("one"));
    for unusable in ["secret", "new", "enc"] {
        assert!(!known(unusable), "{unusable}");
    }
    assert!(Keys::parse("[]").is_none());
}
