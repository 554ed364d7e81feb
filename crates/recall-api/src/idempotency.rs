//! `Idempotency-Key`: the same write sent twice is done once and answered twice.
//!
//! Answers are kept in the memory of the server that gave them. After a restart, or on another
//! replica, a write is done again, which changes nothing: stating and withdrawing are idempotent
//! themselves. What the key adds is the first answer.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName};
use moka::future::Cache;
use recall_keys::Grant;
use recall_store::Revision;
use sha2::{Digest, Sha256};

use crate::auth;
use crate::error::ApiError;

static IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// How long an answer is kept.
const KEPT: Duration = Duration::from_secs(24 * 3600);
/// How much of all answers is kept; the least used go first.
const MAX_KEPT_BYTES: u64 = 32 * 1024 * 1024;
/// What an entry takes beside its answer, about.
const ENTRY_BYTES: usize = 256;
/// The longest key.
const MAX_KEY_BYTES: usize = 128;

/// The answer of a write.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
    pub(crate) body: Bytes,
    pub(crate) revision: Option<Revision>,
    request: [u8; 32],
}

impl Kept {
    pub(crate) fn new(body: impl Into<Bytes>, revision: Option<Revision>) -> Self {
        Self {
            body: body.into(),
            revision,
            request: [0; 32],
        }
    }
}

/// What a client calls its write, and what the write is.
#[derive(Debug, Clone)]
pub(crate) struct Stamp {
    name: (String, String),
    request: [u8; 32],
}

impl Stamp {
    /// The stamp of a request; `None` if it has none.
    ///
    /// # Errors
    ///
    /// 400 for a key that is none.
    pub(crate) fn of(
        headers: &HeaderMap,
        grant: &Grant,
        path: &str,
        body: &[u8],
    ) -> Result<Option<Self>, ApiError> {
        let Some(key) = headers.get(&IDEMPOTENCY_KEY) else {
            return Ok(None);
        };
        let plain = |text: &&str| {
            let graphic = text.bytes().all(|byte| byte.is_ascii_graphic());
            graphic && (1..=MAX_KEY_BYTES).contains(&text.len())
        };
        let key = key.to_str().ok().filter(plain).ok_or_else(|| {
            ApiError::invalid(
                "Idempotency-Key: must be 1 to 128 printable characters without blanks",
            )
        })?;
        if headers.get_all(&IDEMPOTENCY_KEY).iter().nth(1).is_some() {
            return Err(ApiError::invalid("Idempotency-Key: was given twice"));
        }
        let holder = match &grant.key {
            Some(id) => id.as_str(),
            None => auth::namespace(grant)?.as_str(),
        };
        let request = Sha256::new()
            .chain_update(path)
            .chain_update([0])
            .chain_update(body);
        Ok(Some(Self {
            name: (holder.to_owned(), key.to_owned()),
            request: request.finalize().into(),
        }))
    }
}

/// Answers of writes, by who sent them under which key. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct Answers(Cache<(String, String), Arc<Kept>>);

impl Default for Answers {
    fn default() -> Self {
        let weigh = |name: &(String, String), kept: &Arc<Kept>| {
            let bytes = name.0.len() + name.1.len() + kept.body.len() + ENTRY_BYTES;
            u32::try_from(bytes).unwrap_or(u32::MAX)
        };
        Self(
            Cache::builder()
                .max_capacity(MAX_KEPT_BYTES)
                .weigher(weigh)
                .time_to_live(KEPT)
                .build(),
        )
    }
}

impl Answers {
    /// The answer of a write, done now unless it was done before, and whether it was. Those who send
    /// it at the same time wait for the one. A refusal is not kept: the next try is a new one.
    pub(crate) async fn once(
        &self,
        stamp: Option<Stamp>,
        write: impl Future<Output = Result<Kept, ApiError>>,
    ) -> Result<(Kept, bool), ApiError> {
        let Some(Stamp { name, request }) = stamp else {
            return write.await.map(|kept| (kept, false));
        };
        let mut done = false;
        let write = async {
            done = true;
            let kept = write.await?;
            Ok(Arc::new(Kept { request, ..kept }))
        };
        let kept = self.0.try_get_with(name, write).await;
        let kept = kept.map_err(|error: Arc<ApiError>| ApiError::clone(&error))?;
        match kept.request == request {
            true => Ok((Kept::clone(&kept), !done)),
            false => Err(ApiError::key_reused()),
        }
    }
}

impl fmt::Debug for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answers").finish_non_exhaustive()
    }
}
