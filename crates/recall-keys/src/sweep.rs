//! Erasing keys that can never be good again.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use recall_store::{Batch, Precondition, Record, RecordKind, RecordWrite};

use crate::error::Error;
use crate::keys::{Keys, open};
use crate::pod::pin_of;
use crate::record::{KeyRecord, Reach};

/// How long a dead pod key stays listed. They are many and tell little.
const KEEP_POD_KEYS: Duration = Duration::from_secs(60);
/// How long a dead key that somebody minted stays listed, for those who ask what became of it.
const KEEP_MINTED_KEYS: Duration = Duration::from_secs(24 * 3600);
/// A pod that was given no key for this long is forgotten once its last key is erased.
const KEEP_PINS: Duration = Duration::from_secs(48 * 3600);
const PAGE: u32 = 1000;

impl Keys {
    /// Erases dead keys and forgotten pods once; answers how many records went.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] when the store cannot be asked; what was erased until then stays erased.
    pub async fn sweep(&self) -> Result<usize, Error> {
        let erased = self.sweep_keys().await? + self.sweep_pins().await?;
        self.inner.metrics.purged(erased);
        Ok(erased)
    }

    /// Sweeps now and every `period` until the future is dropped. A failed sweep is logged and tried
    /// again next time.
    pub async fn sweep_for_ever(self, period: Duration) {
        loop {
            match self.sweep().await {
                Ok(0) => {}
                Ok(erased) => tracing::debug!(erased, "dead keys were erased"),
                Err(error) => tracing::warn!(%error, "dead keys could not be erased"),
            }
            tokio::time::sleep(period).await;
        }
    }

    async fn sweep_keys(&self) -> Result<usize, Error> {
        let now = self.inner.clock.now();
        let mut live = BTreeMap::new();
        let (mut erased, mut after) = (0, None);
        loop {
            let page = self.inner.page(after.as_deref(), PAGE).await?;
            let next = page.next.clone();
            let mut dead = Vec::new();
            for stored in page.records {
                let (key, version) = (stored.key.clone(), stored.version);
                let (record, _) = open(&stored)?;
                if record.live(now) {
                    *live.entry(tenant_of(&record)).or_default() += 1;
                }
                if due(&record, now) {
                    dead.push(erasure(
                        RecordKind::Key,
                        key,
                        Precondition::Version(version),
                    ));
                }
            }
            erased += self.erase(dead).await?;
            match next {
                Some(next) => after = Some(next),
                None => {
                    self.inner.metrics.live(&live);
                    return Ok(erased);
                }
            }
        }
    }

    async fn sweep_pins(&self) -> Result<usize, Error> {
        let inner = &self.inner;
        let now = inner.clock.now();
        let (mut erased, mut after) = (0, None);
        loop {
            let page = inner
                .store
                .list(&inner.space, RecordKind::Pin, "", after.as_deref(), PAGE)
                .await?;
            let next = page.next.clone();
            let mut dead = Vec::new();
            for record in page.records {
                if self.forgotten(&record, now).await? {
                    let version = Precondition::Version(record.version);
                    dead.push(erasure(RecordKind::Pin, record.key, version));
                }
            }
            erased += self.erase(dead).await?;
            match next {
                Some(next) => after = Some(next),
                None => return Ok(erased),
            }
        }
    }

    /// Whether a pod was silent for long and none of its keys is left: a key that is renewed over
    /// and over keeps its pod pinned.
    async fn forgotten(&self, record: &Record, now: Timestamp) -> Result<bool, Error> {
        let pin = pin_of(&record.body)?;
        if !past(pin.touched_at, KEEP_PINS, now) {
            return Ok(false);
        }
        let inner = &self.inner;
        for id in &pin.keys {
            if inner
                .store
                .get(&inner.space, RecordKind::Key, id.as_str())
                .await?
                .is_some()
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A page of erasures in one commit; if anything moved meanwhile, the page waits for the next
    /// sweep.
    async fn erase(&self, records: Vec<RecordWrite>) -> Result<usize, Error> {
        let count = records.len();
        if count == 0 {
            return Ok(0);
        }
        let batch = Batch {
            records,
            ..Batch::default()
        };
        match self.inner.store.commit(&self.inner.space, batch).await {
            Ok(_) => Ok(count),
            Err(recall_store::Error::Conflict { .. }) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }
}

fn erasure(kind: RecordKind, key: String, precondition: Precondition) -> RecordWrite {
    RecordWrite {
        kind,
        key,
        body: None,
        precondition,
    }
}

/// The tenant that a key belongs to: what stands before the colon. Empty for an admin's key.
fn tenant_of(record: &KeyRecord) -> String {
    let namespace = match &record.reach {
        Reach::Admin => "",
        Reach::Namespace(namespace) => namespace.as_str(),
    };
    let tenant = namespace
        .split_once(':')
        .map_or(namespace, |(tenant, _)| tenant);
    tenant.to_owned()
}

fn due(record: &KeyRecord, now: Timestamp) -> bool {
    // A revoked admin key may still stand in a file that registers unknown keys at each start: its
    // record is what keeps it revoked.
    if record.reach == Reach::Admin && record.revoked_at.is_some() {
        return false;
    }
    let keep = if record.pod.is_some() {
        KEEP_POD_KEYS
    } else {
        KEEP_MINTED_KEYS
    };
    let died = [record.revoked_at, record.expires_at]
        .into_iter()
        .flatten()
        .min();
    died.is_some_and(|died| past(died, keep, now))
}

fn past(since: Timestamp, keep: Duration, now: Timestamp) -> bool {
    since.checked_add(keep).is_ok_and(|end| end <= now)
}
