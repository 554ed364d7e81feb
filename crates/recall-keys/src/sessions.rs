//! The sessions that admins wrote on keys, and how they stand by all of them.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};
use recall_store::Namespace;
use tokio::sync::Mutex;

use crate::error::Error;
use crate::keys::{Inner, Keys, MAX_LISTED, open};
use crate::record::{KeyRecord, Reach};
use crate::standing::{Standing, standing};

/// For how long what was read of the sessions is taken for what is there. Keys have no index by
/// session, so all of them are read, once for all sessions that are asked about within this time.
const FRESH: SignedDuration = SignedDuration::from_secs(5);

/// The sessions as they were last read.
#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<Option<Known>>);

#[derive(Debug)]
struct Known {
    at: Timestamp,
    /// When the keys of each end that were not revoked.
    ends: HashMap<(Namespace, String), Vec<Option<Timestamp>>>,
}

impl Known {
    /// A clock that was set back tells nothing of the age.
    fn is_fresh(&self, now: Timestamp) -> bool {
        let age = now.duration_since(self.at);
        !age.is_negative() && age < FRESH
    }

    fn add(&mut self, key: KeyRecord) {
        if let KeyRecord {
            reach: Reach::Namespace(namespace),
            session: Some(name),
            pod: None,
            revoked_at: None,
            expires_at,
            ..
        } = key
        {
            let ends = self.ends.entry((namespace, name)).or_default();
            ends.push(expires_at);
        }
    }
}

impl Keys {
    /// How a session that admins wrote on keys stands: by the key of it that says most of its holder.
    /// Another key may have been minted or revoked in the last five seconds.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] when the store cannot be asked.
    pub async fn session_standing(
        &self,
        namespace: &Namespace,
        name: &str,
    ) -> Result<Standing, Error> {
        let inner = &self.inner;
        let now = inner.clock.now();
        let mut known = inner.sessions.0.lock().await;
        if !known.as_ref().is_some_and(|known| known.is_fresh(now)) {
            *known = Some(inner.read_sessions(now).await?);
        }
        let session = (namespace.clone(), name.to_owned());
        let ends = known.as_ref().and_then(|known| known.ends.get(&session));
        let standings = ends.into_iter().flatten().map(|end| standing(*end, now));
        Ok(standings.max().unwrap_or(Standing::Dead))
    }
}

impl Inner {
    async fn read_sessions(&self, now: Timestamp) -> Result<Known, Error> {
        let mut known = Known {
            at: now,
            ends: HashMap::new(),
        };
        let mut after = None;
        loop {
            let page = self.page(after.as_deref(), MAX_LISTED).await?;
            for record in &page.records {
                known.add(open(record)?.0);
            }
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(known),
            }
        }
    }
}
