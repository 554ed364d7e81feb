//! Minting on an admin's word, and the bootstrap key.

use std::sync::PoisonError;

use jiff::Timestamp;
use recall_store::{Batch, Precondition};
use secrecy::{ExposeSecret, SecretString};

use crate::error::Error;
use crate::keys::{CONFLICT_TRIES, Inner, Keys, Minted, Spec, too_many_conflicts, write_of};
use crate::record::{KeyId, KeyRecord, Reach, check_texts};
use crate::text::{KeyHash, hash, id_of, new_key};

const BOOTSTRAP_NOTE: &str = "bootstrap admin key";

impl Keys {
    /// Mints a key. It is stored before it is shown.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] naming the field, [`Error::Store`] when it could not be stored; no key is
    /// handed out then.
    pub async fn mint(&self, spec: Spec) -> Result<Minted, Error> {
        check_texts(
            spec.agent.as_deref(),
            spec.session.as_deref(),
            spec.note.as_deref(),
        )?;
        for _ in 0..CONFLICT_TRIES {
            let (key, record) = self.inner.draft(&spec)?;
            let write = write_of(&record, &hash(key.expose_secret()), Precondition::Absent)?;
            let batch = Batch {
                records: vec![write],
                ..Batch::default()
            };
            match self.inner.store.commit(&self.inner.space, batch).await {
                Ok(_) => {
                    self.inner.metrics.minted();
                    return Ok(Minted { key, record });
                }
                // The id is taken: draw another.
                Err(recall_store::Error::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(too_many_conflicts())
    }

    /// A new key text that nothing knows yet, for a file from which it is registered.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] without randomness.
    pub fn generate(&self) -> Result<SecretString, Error> {
        let spec = Spec {
            reach: Reach::Admin,
            agent: None,
            session: None,
            note: None,
            ttl: None,
        };
        self.inner.draft(&spec).map(|(key, _)| key)
    }

    /// Says that this key will be [registered](Self::bootstrap) once the store can be asked. Until then
    /// whoever shows it is told that the store is away, and not that the key is unknown.
    pub fn await_bootstrap(&self, key: &SecretString) {
        self.set_awaited(Some(hash(key.expose_secret())));
    }

    /// Whether a key is still to be registered.
    #[must_use]
    pub fn awaits_bootstrap(&self) -> bool {
        let awaited = self.inner.awaited.read();
        awaited.unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn set_awaited(&self, key: Option<KeyHash>) {
        let awaited = self.inner.awaited.write();
        *awaited.unwrap_or_else(PoisonError::into_inner) = key;
    }

    /// Registers a key chosen by an operator as an admin key, unless its id is known already.
    /// Repeating it changes nothing; a revoked key stays revoked.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if the text has not the form of a key.
    pub async fn bootstrap(&self, key: &SecretString) -> Result<KeyRecord, Error> {
        let text = key.expose_secret();
        let id = id_of(text).ok_or_else(|| Error::Invalid("not a key".to_owned()))?;
        let record = KeyRecord {
            note: Some(BOOTSTRAP_NOTE.to_owned()),
            ..blank(id, Reach::Admin, self.inner.clock.now())
        };
        let write = write_of(&record, &hash(text), Precondition::Absent)?;
        let batch = Batch {
            records: vec![write],
            ..Batch::default()
        };
        match self.inner.store.commit(&self.inner.space, batch).await {
            Ok(_) | Err(recall_store::Error::Conflict { .. }) => {
                self.set_awaited(None);
                Ok(record)
            }
            Err(error) => Err(error.into()),
        }
    }
}

impl Inner {
    /// A key and its record, not stored yet.
    pub(crate) fn draft(&self, spec: &Spec) -> Result<(SecretString, KeyRecord), Error> {
        let now = self.clock.now();
        let random = |error: getrandom::Error| {
            recall_store::Error::unavailable(format!("no randomness: {error}"))
        };
        let id = KeyId::generate(now).map_err(random)?;
        let key = new_key(&id).map_err(random)?;
        let ends = |ttl| now.checked_add(ttl).unwrap_or(Timestamp::MAX);
        let record = KeyRecord {
            agent: spec.agent.clone(),
            session: spec.session.clone(),
            note: spec.note.clone(),
            ttl: spec.ttl,
            expires_at: spec.ttl.map(ends),
            ..blank(id, spec.reach.clone(), now)
        };
        Ok((key, record))
    }
}

fn blank(id: KeyId, reach: Reach, now: Timestamp) -> KeyRecord {
    KeyRecord {
        id,
        reach,
        agent: None,
        session: None,
        note: None,
        created_at: now,
        ttl: None,
        expires_at: None,
        revoked_at: None,
        pod: None,
    }
}
