//! An offline look at tokens before the API server is asked: what is forged, expired or meant for
//! somebody else is refused without a review.
//!
//! [`Prechecked`] stands before another [`Authenticate`] and only ever refuses. It makes no
//! [`Caller`](crate::Caller): a signature says who issued a token and for what, and nothing about
//! now. What it cannot know:
//!
//! * whether the pod, the service account or the namespace still exist: a token outlives them,
//! * whether the token was invalidated, or the issuer's key was withdrawn a moment ago,
//! * what the pod's labels are, its phase and its UID today,
//! * the right time, where the clock of this host is wrong: it then refuses tokens that the API
//!   server would accept.
//!
//! While the issuer's keys cannot be read, every token that looks right is passed on to the review.
//!
//! A process has one provider of cryptography for the `jsonwebtoken` crate. Where none is installed
//! by the time of the first check, this module installs `rust_crypto`; with another one installed
//! before, it uses that.

mod keys;

use std::fmt;
use std::future::Future;
use std::sync::Once;
use std::time::Duration;

use jsonwebtoken::crypto::rust_crypto;
use jsonwebtoken::{Header, Validation};
use serde::de::IgnoredAny;
use tokio::time::{Instant, timeout};

use crate::authenticate::{Authenticate, Authenticating};
use crate::error::Error;
use crate::token::check_shape;
use crate::trouble::Trouble;
use keys::{Key, Keys};

/// Keys are read again after this, so that one that was withdrawn is not trusted for long.
const MAX_AGE: Duration = Duration::from_secs(300);
/// An unknown key is looked for at most this often: tokens can name any number of them.
const MIN_PAUSE: Duration = Duration::from_secs(10);
/// The time that a reading of the keys may take.
const PATIENCE: Duration = Duration::from_secs(3);

/// Where the issuer's keys are read.
pub trait KeySource: Send + Sync + 'static {
    /// The keys, as the text of a JSON web key set.
    ///
    /// # Errors
    ///
    /// [`Trouble`] if they cannot be read.
    fn keys(&self) -> impl Future<Output = Result<String, Trouble>> + Send;
}

/// How a token may be signed: what API servers use. Shared secrets and no signature at all are not
/// among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Algorithm {
    /// RSA with SHA-256.
    Rs256,
    /// The curve P-256 with SHA-256.
    Es256,
    /// The curve P-384 with SHA-384.
    Es384,
}

/// What a token must say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// Who issued it, byte for byte: the API server's `--service-account-issuer`.
    pub issuer: String,
    /// Whom it is meant for, byte for byte; others may be named beside.
    pub audience: String,
    /// How it may be signed.
    pub algorithms: Vec<Algorithm>,
}

impl Expected {
    /// Tokens of `issuer` for `audience`, signed in any of the ways that API servers use.
    #[must_use]
    pub fn new(issuer: impl Into<String>, audience: impl Into<String>) -> Self {
        Self {
            issuer: issuer.into(),
            audience: audience.into(),
            algorithms: vec![Algorithm::Rs256, Algorithm::Es256, Algorithm::Es384],
        }
    }
}

/// Refuses what is certainly no good token and passes on the rest.
pub struct Prechecked<A, S> {
    inner: A,
    source: S,
    expected: Expected,
    state: tokio::sync::Mutex<State>,
}

#[derive(Default)]
struct State {
    keys: Keys,
    read: Option<Instant>,
    tried: Option<Instant>,
}

/// What is known of the key that a token names.
enum Found {
    Key(Key),
    /// The issuer has no such key.
    NoSuchKey,
    /// The issuer could not be asked.
    Unknown,
}

impl<A: Authenticate, S: KeySource> Prechecked<A, S> {
    /// Checks against `expected`, with the keys of `source`, before `inner` is asked.
    #[must_use]
    pub fn new(inner: A, source: S, expected: Expected) -> Self {
        install_provider();
        Self {
            inner,
            source,
            expected,
            state: tokio::sync::Mutex::default(),
        }
    }

    async fn check(&self, token: &str) -> Result<(), Error> {
        check_shape(token)?;
        let header = jsonwebtoken::decode_header(token).map_err(|_| Error::Rejected)?;
        let algorithm = self.allowed(&header).ok_or(Error::Rejected)?;
        let kid = header.kid.as_deref().ok_or(Error::Rejected)?;
        match self.key(kid).await {
            Found::Key(key) => self.verify(token, algorithm, &key),
            Found::NoSuchKey => Err(Error::Rejected),
            Found::Unknown => Ok(()),
        }
    }

    fn allowed(&self, header: &Header) -> Option<jsonwebtoken::Algorithm> {
        let allowed = self.expected.algorithms.iter();
        let mut allowed = allowed.map(|algorithm| algorithm.theirs());
        allowed.find(|algorithm| *algorithm == header.alg)
    }

    fn verify(
        &self,
        token: &str,
        algorithm: jsonwebtoken::Algorithm,
        key: &Key,
    ) -> Result<(), Error> {
        let mut validation = Validation::new(algorithm);
        validation.validate_nbf = true;
        validation.set_issuer(&[&self.expected.issuer]);
        validation.set_audience(&[&self.expected.audience]);
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        match jsonwebtoken::decode::<IgnoredAny>(token, key, &validation) {
            Ok(_) => Ok(()),
            Err(error) => {
                tracing::debug!(%error, "a token was refused before its review");
                Err(Error::Rejected)
            }
        }
    }

    /// Keys are read when they are old and when one is named that is not among them. Others who ask
    /// meanwhile wait for the same reading.
    async fn key(&self, kid: &str) -> Found {
        let mut state = self.state.lock().await;
        let known = state.keys.get(kid);
        let young = state.read.is_some_and(|at| at.elapsed() < MAX_AGE);
        if let (Some(key), true) = (&known, young) {
            return Found::Key(key.clone());
        }
        let due = state.tried.is_none_or(|at| at.elapsed() >= MIN_PAUSE);
        if due {
            self.read_keys(&mut state).await;
        }
        let current = state.read.is_some() && state.read == state.tried;
        match state.keys.get(kid).or(known) {
            Some(key) => Found::Key(key),
            None if current => Found::NoSuchKey,
            None => Found::Unknown,
        }
    }

    async fn read_keys(&self, state: &mut State) {
        let now = Instant::now();
        state.tried = Some(now);
        let reading = timeout(PATIENCE, self.source.keys()).await;
        match reading.map(|read| read.map(|text| Keys::parse(&text))) {
            Ok(Ok(Some(keys))) => {
                state.keys = keys;
                state.read = Some(now);
            }
            Ok(Ok(None)) => tracing::warn!("the issuer's keys make no sense"),
            Ok(Err(trouble)) => tracing::warn!(
                kind = trouble.kind.code(),
                detail = %trouble.detail,
                "the issuer's keys could not be read"
            ),
            Err(_) => tracing::warn!("the issuer's keys were not read in time"),
        }
    }
}

impl<A: Authenticate, S: KeySource> Authenticate for Prechecked<A, S> {
    fn authenticate<'a>(&'a self, token: &'a str) -> Authenticating<'a> {
        Box::pin(async move {
            self.check(token).await?;
            self.inner.authenticate(token).await
        })
    }
}

impl Algorithm {
    fn theirs(self) -> jsonwebtoken::Algorithm {
        match self {
            Self::Rs256 => jsonwebtoken::Algorithm::RS256,
            Self::Es256 => jsonwebtoken::Algorithm::ES256,
            Self::Es384 => jsonwebtoken::Algorithm::ES384,
        }
    }
}

/// With the features of two providers turned on, which another crate of the program may do, and none
/// installed, `jsonwebtoken` panics.
fn install_provider() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Somebody else may have installed one: that one serves.
        let _ = rust_crypto::DEFAULT_PROVIDER.install_default();
    });
}

impl<A: fmt::Debug, S> fmt::Debug for Prechecked<A, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prechecked")
            .field("inner", &self.inner)
            .field("expected", &self.expected)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
