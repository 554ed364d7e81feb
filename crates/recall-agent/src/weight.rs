//! How many bytes the agents of a namespace take, and whether they may take more.
//!
//! What agents keep counts towards the bytes of their namespace, together with its memory. Each
//! agent's head tells what its records take; the sum is in the counter that memory goes by too.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use recall_store::{Namespace, Record, RecordKind, RecordWrite};
use tokio::time::Instant;

use crate::agents::{Agents, Inner};
use crate::error::Error;
use crate::head::Head;
use crate::records::{Place, read};

/// What a record takes beside its content and its key, in bytes.
const RECORD_BYTES: u64 = 128;
/// Heads read with one request to the store.
const PAGE: u32 = 500;
/// How old a sum may be where other servers write as well.
const MAX_AGE: Duration = Duration::from_secs(10);
/// Namespaces whose sums are remembered.
const REMEMBERED: u64 = 10_000;

/// When the sum of each namespace was taken last.
pub(crate) type Weighed = moka::sync::Cache<Namespace, Arc<tokio::sync::Mutex<Option<Instant>>>>;

/// An empty memory of sums.
pub(crate) fn weighed() -> Weighed {
    moka::sync::Cache::new(REMEMBERED)
}

/// What a change of records comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Growth {
    /// By how many bytes the records grow.
    pub(crate) bytes: i64,
    /// Whether a record is new; else it only changes what is there.
    pub(crate) adds: bool,
}

impl Growth {
    /// `found` are the records of `places` before the change.
    pub(crate) fn of(writes: &[RecordWrite], places: &[Place], found: &[Option<Record>]) -> Self {
        let mut growth = Self {
            bytes: 0,
            adds: false,
        };
        for write in writes {
            let before = places
                .iter()
                .zip(found)
                .find(|(place, _)| place.kind == write.kind && place.key == write.key)
                .and_then(|(_, found)| found.as_ref());
            let size = |length: usize| {
                i64::try_from(RECORD_BYTES as usize + write.key.len() + length).unwrap_or(i64::MAX)
            };
            let after = write.body.as_ref().map_or(0, |body| size(body.len()));
            growth.bytes += after - before.map_or(0, |before| size(before.body.len()));
            growth.adds |= before.is_none() && write.body.is_some();
        }
        growth
    }
}

/// Bytes that a write takes. Given back unless it is kept.
#[derive(Debug)]
pub(crate) struct Taken {
    beside: Arc<AtomicU64>,
    bytes: i64,
}

impl Taken {
    /// The write was done.
    pub(crate) fn keep(mut self) {
        self.bytes = 0;
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let (beside, bytes) = (&self.beside, self.bytes);
        change(beside, |before| Some(before.saturating_add_signed(-bytes)));
    }
}

/// Changes a counter unless the change refuses; answers whether it did.
fn change(counter: &AtomicU64, to: impl Fn(u64) -> Option<u64>) -> bool {
    let changed = counter.fetch_update(Ordering::AcqRel, Ordering::Acquire, to);
    changed.is_ok()
}

impl Agents {
    /// Makes sure that what the agents of a namespace take is counted beside its memory. Does nothing
    /// where bytes are not bounded.
    ///
    /// # Errors
    ///
    /// [`recall_store::Error`] if the agents cannot be listed.
    pub async fn weigh(&self, ns: &Namespace) -> Result<(), recall_store::Error> {
        self.inner.weigh(ns).await
    }
}

impl Inner {
    async fn weigh(&self, ns: &Namespace) -> Result<(), recall_store::Error> {
        if self.memory.quota().bytes.is_none() {
            return Ok(());
        }
        let at = self.weighed.get_with(ns.clone(), Arc::default);
        let mut at = at.lock().await;
        let alone = self.store.capabilities().exclusive;
        if at.is_some_and(|at| alone || at.elapsed() < MAX_AGE) {
            return Ok(());
        }
        let beside = self.memory.beside(ns);
        // What is written meanwhile is counted once the next sum is taken, if it is counted twice now.
        let (mut sum, mut after) = (0_u64, None::<String>);
        loop {
            let page = self
                .store
                .list(ns, RecordKind::Session, "", after.as_deref(), PAGE)
                .await?;
            for record in &page.records {
                sum += read::<Head>(record).map_or(0, |head| head.bytes);
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        beside.store(sum, Ordering::Release);
        *at = Some(Instant::now());
        Ok(())
    }

    /// Takes the bytes of a write, if its namespace has room for them.
    pub(crate) async fn take_room(
        &self,
        ns: &Namespace,
        growth: Growth,
    ) -> Result<Option<Taken>, Error> {
        let Some(most) = self.memory.quota().room(growth.adds) else {
            return Ok(None);
        };
        self.weigh(ns).await?;
        let memory = match growth.bytes > 0 {
            true => self.memory.usage(ns).await?.bytes,
            // What frees is never refused.
            false => 0,
        };
        let beside = self.memory.beside(ns);
        let fits = change(&beside, |before| {
            let after = before.saturating_add_signed(growth.bytes);
            (growth.bytes <= 0 || memory.saturating_add(after) <= most).then_some(after)
        });
        match fits {
            true => Ok(Some(Taken {
                beside,
                bytes: growth.bytes,
            })),
            false => {
                let held = memory.saturating_add(beside.load(Ordering::Acquire));
                Err(Error::Memory(recall_memory::Error::Full(format!(
                    "the namespace is full: its memory and its agents hold {held} of {most} bytes, and \
                     this takes {} more; ask the operator for more",
                    growth.bytes
                ))))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use recall_store::{Precondition, Version};

    use super::*;

    fn place(key: &str) -> Place {
        Place {
            kind: RecordKind::Output,
            key: key.to_owned(),
        }
    }

    fn write(key: &str, body: Option<&'static str>) -> RecordWrite {
        RecordWrite {
            kind: RecordKind::Output,
            key: key.to_owned(),
            body: body.map(|body| Bytes::from_static(body.as_bytes())),
            precondition: Precondition::None,
        }
    }

    #[track_caller]
    fn check(write: RecordWrite, before: Option<&'static str>, bytes: i64, adds: bool) {
        let found = before.map(|body| Record {
            key: "k".to_owned(),
            version: Version(1),
            body: Bytes::from_static(body.as_bytes()),
        });
        let growth = Growth::of(&[write], &[place("k")], &[found]);
        assert_eq!(growth, Growth { bytes, adds });
    }

    #[test]
    fn a_change_grows_by_what_it_adds_to_what_was_there() {
        check(write("k", Some("12345")), None, 134, true);
        check(write("k", Some("12345")), Some("123"), 2, false);
        check(write("k", Some("1")), Some("123"), -2, false);
        check(write("k", None), Some("123"), -132, false);
        check(write("other", Some("12345")), Some("123"), 138, true);
    }
}
