//! Whether a key, or any key of a pod, still stands.

use jiff::{SignedDuration, Timestamp};
use recall_identity::PodRef;
use recall_store::RecordKind;

use crate::error::Error;
use crate::keys::{Keys, open};
use crate::record::KeyId;

/// An end as far off as this is none.
const FAR: SignedDuration = SignedDuration::from_hours(24);

/// How a key stands now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Good for more than a day to come, or for ever: that says little of whoever holds it.
    Lasting,
    /// Good until its end, which is near.
    Passing,
    /// Expired, revoked or erased.
    Dead,
}

/// How a pod stands by its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PodStanding {
    /// It has a live key.
    Live,
    /// Its keys have ended; it may be given new ones.
    Silent,
    /// It is known to be gone, or was never here.
    Gone,
}

impl Keys {
    /// How a stored key stands, by its id.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] when the store cannot be asked.
    pub async fn standing(&self, id: &KeyId) -> Result<Standing, Error> {
        let inner = &self.inner;
        let stored = inner
            .store
            .get(&inner.space, RecordKind::Key, id.as_str())
            .await?;
        let Some(stored) = stored else {
            return Ok(Standing::Dead);
        };
        let (record, _) = open(&stored)?;
        let now = inner.clock.now();
        let far = now.checked_add(FAR).unwrap_or(Timestamp::MAX);
        Ok(match (record.live(now), record.expires_at) {
            (false, _) => Standing::Dead,
            (true, Some(end)) if end <= far => Standing::Passing,
            (true, _) => Standing::Lasting,
        })
    }

    /// The pod of this UID, if one of its keys is still kept.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] when the store cannot be asked.
    pub async fn pod_of(&self, uid: &str) -> Result<Option<PodRef>, Error> {
        let inner = &self.inner;
        let (Some(pin), _) = inner.pin(uid).await? else {
            return Ok(None);
        };
        for id in pin.keys.iter().rev() {
            let kind = RecordKind::Key;
            if let Some(stored) = inner.store.get(&inner.space, kind, id.as_str()).await?
                && let Some(binding) = open(&stored)?.0.pod
            {
                return Ok(Some(binding.pod));
            }
        }
        Ok(None)
    }

    /// How a pod stands, by its UID.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] when the store cannot be asked.
    pub async fn pod_standing(&self, uid: &str) -> Result<PodStanding, Error> {
        let (Some(pin), _) = self.inner.pin(uid).await? else {
            return Ok(PodStanding::Gone);
        };
        // The newest is the one most likely to live.
        for id in pin.keys.iter().rev() {
            if self.standing(id).await? != Standing::Dead {
                return Ok(PodStanding::Live);
            }
        }
        Ok(PodStanding::Silent)
    }
}
