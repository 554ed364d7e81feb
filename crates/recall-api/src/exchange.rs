//! The token exchange: who checks tokens, who may ask how often, and which callers share a key.

mod flights;
mod limits;
mod waits;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::StatusCode;
use recall_identity::{Authenticate, Caller, TokenHash};
use recall_keys::{Keys, Minted};
use secrecy::{ExposeSecret, SecretString};

use crate::error::ApiError;
use flights::Flights;
pub(crate) use limits::Limits;
pub use limits::{ExchangeLimits, Peer};
use waits::Waits;

/// The token exchange. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct Exchange {
    inner: Arc<Inner>,
}

struct Inner {
    authenticator: Arc<dyn Authenticate>,
    key_ttl: Duration,
    limits: Limits,
    flights: Flights,
    waits: Waits,
}

/// A key, and who it was minted for.
pub(crate) struct Granted {
    pub(crate) caller: Caller,
    pub(crate) minted: Minted,
}

/// A refusal, with what is known of who was refused.
#[derive(Debug, Clone)]
pub(crate) struct Refused {
    pub(crate) caller: Option<Caller>,
    pub(crate) error: ApiError,
}

impl Exchange {
    /// An exchange that asks `authenticator` who holds a token, mints keys for `key_ttl`, and holds
    /// its callers to `limits`.
    #[must_use]
    pub fn new(
        authenticator: Arc<dyn Authenticate>,
        key_ttl: Duration,
        limits: ExchangeLimits,
    ) -> Self {
        let inner = Inner {
            authenticator,
            key_ttl,
            limits: Limits::new(limits),
            flights: Flights::default(),
            waits: Waits::default(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Lets a request from this source pass, before anything else about it is looked at.
    pub(crate) fn admit(&self, source: Option<Peer>) -> Result<(), ApiError> {
        self.inner.limits.source(source)
    }

    /// A key for whoever holds `token`. Those who bring the same token while it is looked at get the
    /// same key: only its hash is kept, so it cannot be handed out later.
    pub(crate) async fn mint(&self, keys: &Keys, token: &str) -> Result<Arc<Granted>, Refused> {
        let start = || {
            let (inner, keys) = (Arc::clone(&self.inner), keys.clone());
            let token = SecretString::from(token);
            async move { inner.mint(&keys, token.expose_secret()).await }
        };
        let flight = self.inner.flights.join(TokenHash::of(token), start);
        flight.await
    }

    /// How long whoever holds `token` waited to be claimed, once that is over.
    pub(crate) fn waited(
        &self,
        token: &str,
        outcome: &Result<Arc<Granted>, Refused>,
    ) -> Option<Duration> {
        let (token, now) = (TokenHash::of(token), Instant::now());
        match outcome {
            Ok(_) => self.inner.waits.ended(token, now),
            Err(refused) => {
                if refused.error.code == "sandbox_unclaimed" {
                    self.inner.waits.began(token, now);
                }
                None
            }
        }
    }

    /// Who holds `token`, for a renewal.
    pub(crate) async fn caller(&self, token: &str) -> Result<Caller, Refused> {
        self.inner.caller(token).await
    }
}

impl Inner {
    async fn caller(&self, token: &str) -> Result<Caller, Refused> {
        let caller = self.authenticator.authenticate(token).await;
        let caller = caller.map_err(|error| Refused {
            caller: None,
            error: error.into(),
        })?;
        match self.limits.caller(&caller) {
            Ok(()) => Ok(caller),
            Err(error) => Err(refused(caller, error)),
        }
    }

    async fn mint(&self, keys: &Keys, token: &str) -> Result<Arc<Granted>, Refused> {
        let caller = self.caller(token).await?;
        match keys.mint_for_pod(&caller, self.key_ttl).await {
            Ok(minted) => Ok(Arc::new(Granted { caller, minted })),
            // The name was built from labels that the cluster vouches for: valid, but not allowed.
            Err(recall_keys::Error::Invalid(message)) => {
                let error = ApiError::new(StatusCode::FORBIDDEN, "bad_label", message);
                Err(refused(caller, error))
            }
            Err(error) => Err(refused(caller, error.into())),
        }
    }
}

pub(crate) fn refused(caller: Caller, error: ApiError) -> Refused {
    let caller = Some(caller);
    Refused { caller, error }
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange")
            .field("key_ttl", &self.inner.key_ttl)
            .field("limits", &self.inner.limits)
            .finish_non_exhaustive()
    }
}
