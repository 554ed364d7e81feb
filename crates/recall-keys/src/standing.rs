//! Whether a key, or any key of a pod, still stands.

use jiff::{SignedDuration, Timestamp};
use recall_identity::PodRef;
use recall_store::{Namespace, RecordKind};

use crate::error::Error;
use crate::keys::{Keys, open};
use crate::record::{KeyId, Reach};

/// An end as far off as this is none.
const FAR: SignedDuration = SignedDuration::from_hours(24);

/// How a key stands now; the greater says more of whoever holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// Expired, revoked or erased.
    Dead,
    /// Good for more than a day to come, or for ever: that says little of whoever holds it.
    Lasting,
    /// Good until its end, which is near.
    Passing,
}

/// How the fixed keys of a namespace stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FixedStanding {
    /// One is in the keys file of this server.
    Here,
    /// None is, but another server over the store may have one in its own.
    Unknown,
    /// None is, and there is no other server.
    Gone,
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

impl FixedStanding {
    /// `here` says that this server has one, `alone` that there is no other server.
    fn of(here: bool, alone: bool) -> Self {
        match (here, alone) {
            (true, _) => Self::Here,
            (false, true) => Self::Gone,
            (false, false) => Self::Unknown,
        }
    }
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
        Ok(match record.revoked_at {
            Some(_) => Standing::Dead,
            None => standing(record.expires_at, inner.clock.now()),
        })
    }

    /// How the fixed keys of a namespace stand: all of them together, since none has an id.
    #[must_use]
    pub fn fixed_standing(&self, namespace: &Namespace) -> FixedStanding {
        let inner = &self.inner;
        let here = inner
            .fixed
            .values()
            .any(|grant| matches!(&grant.reach, Reach::Namespace(reached) if reached == namespace));
        FixedStanding::of(here, inner.store.capabilities().exclusive)
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

/// How a key stands that was not revoked and ends at `end`.
pub(crate) fn standing(end: Option<Timestamp>, now: Timestamp) -> Standing {
    let far = now.checked_add(FAR).unwrap_or(Timestamp::MAX);
    match end {
        Some(end) if end <= now => Standing::Dead,
        Some(end) if end <= far => Standing::Passing,
        _ => Standing::Lasting,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn that_a_server_has_no_fixed_key_proves_its_end_only_where_there_is_no_other() {
        assert_eq!(FixedStanding::of(true, true), FixedStanding::Here);
        assert_eq!(FixedStanding::of(true, false), FixedStanding::Here);
        assert_eq!(FixedStanding::of(false, true), FixedStanding::Gone);
        assert_eq!(FixedStanding::of(false, false), FixedStanding::Unknown);
    }
}
