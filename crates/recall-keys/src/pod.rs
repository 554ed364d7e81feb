//! Keys of pods: minted on proof, bounded in number, renewed on fresh proof, pinned to one agent.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use recall_identity::Caller;
use recall_store::{AgentId, Batch, Namespace, Precondition, RecordKind, RecordWrite, Version};
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};

use crate::cache::Entry;
use crate::error::Error;
use crate::keys::{
    CONFLICT_TRIES, Inner, Keys, Minted, Spec, open, too_many_conflicts, unchanged, write_of,
};
use crate::metrics::Cause;
use crate::record::{Grant, KeyId, KeyRecord, PodBinding, Reach};
use crate::text::{KeyHash, hash};

/// What a pod first became, and the keys it has. One record a pod UID; writing it under a
/// precondition is what makes the cap and the pin hold across replicas.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pin {
    /// `<tenant>:<agent>`.
    pub(crate) namespace: String,
    /// The cluster it runs in, where several share the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cluster: Option<String>,
    pub(crate) pod_namespace: String,
    pub(crate) pod_name: String,
    /// The newest last.
    pub(crate) keys: Vec<KeyId>,
    /// When a key was last minted or renewed.
    pub(crate) touched_at: Timestamp,
}

impl Keys {
    /// Mints a key for a verified pod. The oldest of its keys is revoked beyond the cap.
    ///
    /// # Errors
    ///
    /// [`Error::IdentityChanged`] if the pod's UID was another agent before: its keys are revoked
    /// then. [`Error::PodGone`] if it went meanwhile. [`Error::Invalid`] if tenant and agent make no namespace.
    pub async fn mint_for_pod(&self, caller: &Caller, ttl: Duration) -> Result<Minted, Error> {
        let ttl = self.inner.config.lifetime(ttl);
        let spec = spec_for(caller, ttl)?;
        let Reach::Namespace(namespace) = &spec.reach else {
            return Err(Error::Unauthenticated);
        };
        for _ in 0..CONFLICT_TRIES {
            let (pin, version) = self.inner.pin(&caller.pod.uid).await?;
            if let Some(pin) = &pin
                && pin.namespace != namespace.as_str()
            {
                self.inner
                    .revoke_all(&pin.keys, Cause::IdentityChanged)
                    .await?;
                return Err(Error::IdentityChanged);
            }
            let (key, mut record) = self.inner.draft(&spec)?;
            record.pod = Some(binding(caller));
            let hash = hash(key.expose_secret());
            let mut keys = pin.map_or_else(Vec::new, |pin| pin.keys);
            keys.push(record.id);
            let displaced = self.inner.displace(&mut keys).await?;
            let pin = Pin {
                namespace: namespace.as_str().to_owned(),
                cluster: self.inner.config.cluster.clone(),
                pod_namespace: caller.pod.namespace.clone(),
                pod_name: caller.pod.name.clone(),
                keys,
                touched_at: record.created_at,
            };
            let mut records = vec![
                pin_write(&caller.pod.uid, &pin, unchanged(version))?,
                write_of(&record, &hash, Precondition::Absent)?,
            ];
            records.extend(displaced.iter().map(|(write, ..)| write.clone()));
            if !self.commit_records(records).await? {
                continue;
            }
            self.inner.metrics.minted();
            self.inner
                .metrics
                .revoked(Cause::Displaced, displaced.len());
            for (_, record, hash) in displaced {
                self.inner
                    .cache
                    .changed(Entry::new(record, hash, Instant::now()));
            }
            // It may have gone between the look at it and this write, with nothing to revoke yet.
            if self.inner.gone.contains(&caller.pod.uid) {
                self.pod_gone(&caller.pod.uid).await?;
                return Err(Error::PodGone);
            }
            return Ok(Minted { key, record });
        }
        Err(too_many_conflicts())
    }

    /// Extends the key that `grant` stands for, on the proof that its pod is still there; never past
    /// the longest life that is configured.
    ///
    /// # Errors
    ///
    /// [`Error::OtherPod`] or [`Error::PodGone`] if the proof is of another pod,
    /// [`Error::IdentityChanged`] if the pod is another agent now (the key is revoked then).
    pub async fn renew_for_pod(&self, grant: &Grant, caller: &Caller) -> Result<KeyRecord, Error> {
        let id = grant.key.as_ref().ok_or(Error::NeverExpires)?;
        let namespace = namespace_of(caller)?;
        let renewed = self
            .inner
            .update(id, |record, now| {
                same_pod(record, caller)?;
                if record.reach != Reach::Namespace(namespace.clone()) {
                    return Err(Error::IdentityChanged);
                }
                record.extend(now)?;
                if let Some(last) = self.inner.config.last_moment(record.created_at) {
                    record.expires_at = record.expires_at.map(|end| end.min(last));
                }
                Ok(())
            })
            .await;
        if matches!(renewed, Err(Error::IdentityChanged)) {
            let ids = std::slice::from_ref(id);
            self.inner.revoke_all(ids, Cause::IdentityChanged).await?;
        }
        renewed
    }

    pub(crate) async fn commit_records(&self, records: Vec<RecordWrite>) -> Result<bool, Error> {
        let batch = Batch {
            records,
            ..Batch::default()
        };
        match self.inner.store.commit(&self.inner.space, batch).await {
            Ok(_) => Ok(true),
            Err(recall_store::Error::Conflict { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

impl Inner {
    pub(crate) async fn pin(&self, uid: &str) -> Result<(Option<Pin>, Option<Version>), Error> {
        let Some(record) = self.store.get(&self.space, RecordKind::Pin, uid).await? else {
            return Ok((None, None));
        };
        Ok((Some(pin_of(&record.body)?), Some(record.version)))
    }

    /// Cuts a pod's keys to the cap, dead ones first, then the oldest; returns the revocations to
    /// write.
    async fn displace(
        &self,
        keys: &mut Vec<KeyId>,
    ) -> Result<Vec<(RecordWrite, KeyRecord, KeyHash)>, Error> {
        let cap = self.config.max_keys_per_pod.max(1) as usize;
        if keys.len() <= cap {
            return Ok(Vec::new());
        }
        let now = self.clock.now();
        let mut displaced = Vec::new();
        let old = keys.len() - cap;
        for id in keys.drain(..old) {
            let stored = self
                .store
                .get(&self.space, RecordKind::Key, id.as_str())
                .await?;
            let Some(stored) = stored else { continue };
            let version = stored.version;
            let (mut record, hash) = open(&stored)?;
            if record.live(now) {
                record.revoked_at = Some(now);
                let write = write_of(&record, &hash, Precondition::Version(version))?;
                displaced.push((write, record, hash));
            }
        }
        Ok(displaced)
    }

    /// Revokes these keys; answers those that were live until now.
    pub(crate) async fn revoke_all(
        &self,
        keys: &[KeyId],
        cause: Cause,
    ) -> Result<Vec<KeyRecord>, Error> {
        let now = self.clock.now();
        let mut revoked = Vec::new();
        for id in keys {
            let update = self.update(id, |record, at| {
                if record.live(at) {
                    record.revoked_at = Some(at);
                }
                Ok(())
            });
            match update.await {
                Ok(record) if record.revoked_at.is_some_and(|at| at >= now) => revoked.push(record),
                Ok(_) | Err(Error::NotFound) => {}
                Err(error) => return Err(error),
            }
        }
        self.metrics.revoked(cause, revoked.len());
        Ok(revoked)
    }
}

/// Reads a pin.
pub(crate) fn pin_of(body: &[u8]) -> Result<Pin, Error> {
    serde_json::from_slice(body).map_err(|error| {
        let what = format!("the pin of a pod cannot be read: {error}");
        recall_store::Error::Damaged(what).into()
    })
}

fn spec_for(caller: &Caller, ttl: Duration) -> Result<Spec, Error> {
    let pod = &caller.pod;
    let note = format!(
        "kubernetes {}/{} pod {}",
        pod.namespace, caller.service_account, pod.name
    );
    Ok(Spec {
        reach: Reach::Namespace(namespace_of(caller)?),
        agent: Some(caller.agent.clone()),
        session: Some(pod.name.clone()),
        note: Some(note),
        ttl: Some(ttl),
    })
}

/// `<tenant>:<agent>`. A tenant may not hold the separator, so that no two pairs make one name.
fn namespace_of(caller: &Caller) -> Result<Namespace, Error> {
    if caller.tenant.contains(':') {
        return Err(Error::Invalid("a tenant may not hold ':'".to_owned()));
    }
    let agent: AgentId = caller.agent.parse()?;
    Ok(format!("{}:{agent}", caller.tenant).parse()?)
}

fn binding(caller: &Caller) -> PodBinding {
    PodBinding {
        pod: caller.pod.clone(),
        service_account: caller.service_account.clone(),
    }
}

fn same_pod(record: &KeyRecord, caller: &Caller) -> Result<(), Error> {
    let Some(binding) = &record.pod else {
        return Err(Error::OtherPod);
    };
    let (ours, theirs) = (&binding.pod, &caller.pod);
    if ours.uid == theirs.uid {
        return Ok(());
    }
    let replaced = ours.namespace == theirs.namespace && ours.name == theirs.name;
    Err(if replaced {
        Error::PodGone
    } else {
        Error::OtherPod
    })
}

fn pin_write(uid: &str, pin: &Pin, precondition: Precondition) -> Result<RecordWrite, Error> {
    let body = serde_json::to_vec(pin).map_err(|error| Error::Invalid(error.to_string()))?;
    Ok(RecordWrite {
        kind: RecordKind::Pin,
        key: uid.to_owned(),
        body: Some(body.into()),
        precondition,
    })
}
