//! `Idempotency-Key`: the same write sent twice is done once and answered twice.
//!
//! Answers are kept in the memory of the server that gave them. After a restart, or on another
//! replica, a write is done again, which changes nothing: stating and withdrawing are idempotent
//! themselves. What the key adds is the first answer.

mod shelf;

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, HeaderName};
use parking_lot::Mutex;
use recall_keys::Grant;
use recall_store::{Namespace, Revision};
use sha2::{Digest, Sha256};

use crate::auth;
use crate::error::ApiError;

use shelf::{Entered, Outcome, Shelf};

pub(crate) static IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// The longest key.
const MAX_KEY_BYTES: usize = 128;

/// The answer of a write.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
    pub(crate) body: Bytes,
    pub(crate) revision: Option<Revision>,
    /// When a part of it that was refused for now may be tried again.
    pub(crate) retry_after: Option<Duration>,
    /// Whether it holds for now alone: the next try is a new one.
    pub(crate) passes: bool,
}

impl Kept {
    pub(crate) fn new(body: impl Into<Bytes>, revision: Option<Revision>) -> Self {
        Self {
            body: body.into(),
            revision,
            retry_after: None,
            passes: false,
        }
    }
}

/// What a client calls its write: a word that is its key's own.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Name {
    space: Namespace,
    /// The key that the write came with.
    holder: String,
    key: String,
}

/// What a client calls its write, and what the write is.
#[derive(Debug, Clone)]
pub(crate) struct Stamp {
    name: Name,
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
            Some(id) => id.as_str().to_owned(),
            // A fixed key has no id.
            None => hex::encode(Sha256::digest(auth::bearer(headers)?)),
        };
        let request = Sha256::new()
            .chain_update(path)
            .chain_update([0])
            .chain_update(body);
        Ok(Some(Self {
            name: Name {
                space: auth::namespace(grant)?.clone(),
                holder,
                key: key.to_owned(),
            },
            request: request.finalize().into(),
        }))
    }
}

/// Answers of writes, by who sent them under which key. Cheap to clone; all clones are one.
#[derive(Clone, Default)]
pub struct Answers(Arc<Mutex<Shelf>>);

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
        let entered = self.0.lock().enter(&name, request, Instant::now());
        let outcome = match entered.map_err(|_| ApiError::key_reused())? {
            Entered::Done(kept) => return Ok((kept, true)),
            Entered::UnderWay(outcome) => outcome,
        };
        let _visit = Visit {
            answers: self,
            name: &name,
            outcome: &outcome,
        };
        let mut done = false;
        let write = async {
            done = true;
            write.await
        };
        let kept = outcome.get_or_init(|| write).await.clone()?;
        Ok((kept, !done))
    }
}

/// Somebody who does a write, or waits for it.
struct Visit<'a> {
    answers: &'a Answers,
    name: &'a Name,
    outcome: &'a Outcome,
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        let mut shelf = self.answers.0.lock();
        // The shelf and this visit hold it: whoever else was there has gone, too.
        let last = Arc::strong_count(self.outcome) <= 2;
        if self.outcome.initialized() || last {
            shelf.settle(self.name, self.outcome, Instant::now());
        }
    }
}

impl fmt::Debug for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answers").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::future::{Ready, ready};

    use super::*;

    fn stamp(request: u8) -> Option<Stamp> {
        let name = Name {
            space: "a".parse().expect("a namespace"),
            holder: "k".to_owned(),
            key: "one".to_owned(),
        };
        let request = [request; 32];
        Some(Stamp { name, request })
    }

    fn answer(text: &'static str) -> Ready<Result<Kept, ApiError>> {
        ready(Ok(Kept::new(text, None)))
    }

    #[tokio::test]
    async fn a_write_that_was_called_off_leaves_its_name_free() {
        let answers = Answers::default();
        let never = answers.once(stamp(1), std::future::pending());
        let waited = tokio::time::timeout(Duration::from_millis(1), never).await;
        assert!(waited.is_err());
        let other = answers.once(stamp(2), answer("x")).await;
        assert!(other.is_ok_and(|(_, again)| !again));
    }

    #[tokio::test]
    async fn who_waits_does_the_write_of_one_who_left() {
        let answers = Answers::default();
        let never = answers.once(stamp(1), std::future::pending());
        let leaves = tokio::time::timeout(Duration::from_millis(20), never);
        let (left, stays) = tokio::join!(leaves, answers.once(stamp(1), answer("x")));
        assert!(left.is_err());
        let (kept, again) = stays.expect("it is done");
        assert_eq!((&*kept.body, again), (b"x".as_slice(), false));
        let (kept, again) = answers.once(stamp(1), answer("y")).await.expect("kept");
        assert_eq!((&*kept.body, again), (b"x".as_slice(), true));
    }

    #[tokio::test]
    async fn what_holds_for_now_alone_is_not_kept() {
        let answers = Answers::default();
        let passing = async {
            let kept = answer("x").await?;
            Ok(Kept {
                passes: true,
                ..kept
            })
        };
        assert!(answers.once(stamp(1), passing).await.is_ok());
        let (kept, again) = answers.once(stamp(1), answer("y")).await.expect("new");
        assert_eq!((&*kept.body, again), (b"y".as_slice(), false));
    }
}
