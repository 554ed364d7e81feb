//! Pods that are gone: their keys are refused at once, whatever the store and the cache say.

use std::time::Duration;

use recall_identity::PodRef;
use recall_store::{Precondition, Record, RecordKind, RecordWrite};

use crate::error::Error;
use crate::keys::Keys;
use crate::metrics::Cause;
use crate::pod::{Pin, pin_of};
use crate::record::KeyRecord;

/// How long a pod is known to be gone. Its keys are revoked in the store within seconds; this has to
/// outlast a store that is away, and trust in a cached key ends before that.
const REMEMBERED: Duration = Duration::from_secs(900);
/// Pods known to be gone at most; about 150 bytes each.
const CAPACITY: u64 = 50_000;
const PAGE: u32 = 1000;

/// The UIDs of pods that went lately.
pub(crate) struct GonePods(moka::sync::Cache<String, ()>);

impl GonePods {
    pub(crate) fn new() -> Self {
        let builder = moka::sync::Cache::builder();
        Self(
            builder
                .max_capacity(CAPACITY)
                .time_to_live(REMEMBERED)
                .build(),
        )
    }

    pub(crate) fn contains(&self, uid: &str) -> bool {
        self.0.contains_key(uid)
    }
}

/// Some of the pods that have keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodPage {
    /// The pods.
    pub pods: Vec<PodRef>,
    /// Pass it as `after` for the next page; `None` on the last.
    pub next: Option<String>,
}

impl Keys {
    /// From now on this process refuses every key of a pod, even if the store cannot be asked.
    pub fn refuse_pod(&self, uid: &str) {
        self.inner.gone.0.insert(uid.to_owned(), ());
    }

    /// Revokes every key of a pod for all replicas and forgets what it was; answers those that were
    /// live. For a pod that is gone: a later one of the same name has another UID.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] when the store cannot be asked; this process refuses the keys all the same.
    pub async fn pod_gone(&self, uid: &str) -> Result<Vec<KeyRecord>, Error> {
        self.refuse_pod(uid);
        let (Some(pin), Some(version)) = self.inner.pin(uid).await? else {
            return Ok(Vec::new());
        };
        let revoked = self.inner.revoke_all(&pin.keys, Cause::PodGone).await?;
        let erase = RecordWrite {
            kind: RecordKind::Pin,
            key: uid.to_owned(),
            body: None,
            precondition: Precondition::Version(version),
        };
        // A conflict means that a key was minted in between. Whoever minted it on this replica finds
        // the pod gone right after; the pin of another one is found at the next look at all pins.
        self.commit_records(vec![erase]).await?;
        Ok(revoked)
    }

    /// The pods that have keys, of the cluster that this server stands in.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] when the store cannot be asked.
    pub async fn pods(&self, after: Option<&str>) -> Result<PodPage, Error> {
        let inner = &self.inner;
        let listing = inner
            .store
            .list(&inner.space, RecordKind::Pin, "", after, PAGE);
        let page = listing.await?;
        let mut pods = Vec::new();
        for record in page.records {
            let pin = pin_of(&record.body)?;
            // Another cluster's pods are not ours to judge.
            if pin.cluster == inner.config.cluster {
                pods.push(pod_of(record, pin));
            }
        }
        let next = page.next;
        Ok(PodPage { pods, next })
    }
}

fn pod_of(record: Record, pin: Pin) -> PodRef {
    PodRef {
        namespace: pin.pod_namespace,
        name: pin.pod_name,
        uid: record.key,
    }
}
