//! The handle: mint, verify, renew, revoke, list.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use recall_store::{
    Batch, Clock, Namespace, Precondition, Record, RecordKind, RecordWrite, Store, Version,
};
use secrecy::{ExposeSecret, SecretString};
use subtle::ConstantTimeEq;

use crate::cache::{Cache, Entry};
use crate::error::Error;
use crate::gone::GonePods;
use crate::metrics::{Cause, Metrics, Verdict};
use crate::record::{Grant, KeyId, KeyRecord, Reach, Stored};
use crate::sessions::Sessions;
use crate::text::{KeyHash, StaticKey, hash, id_of};

/// The most keys of one listing page.
pub const MAX_LISTED: u32 = 1000;

/// How often a write that met a concurrent one is decided again before the store is called
/// unavailable. Each round somebody else got through, so more than a few mean a fault.
pub(crate) const CONFLICT_TRIES: u32 = 16;

/// How keys behave.
#[derive(Debug, Clone)]
pub struct Config {
    /// How long a key that was checked may be trusted while the store cannot be asked.
    pub auth_cache_ttl: Duration,
    /// Live keys of one pod; beyond it the oldest is revoked.
    pub max_keys_per_pod: u32,
    /// The longest life of a pod's key, renewals included; `None` is without end.
    pub max_pod_key_lifetime: Option<Duration>,
    /// The cluster that pods come from, where several share the store.
    pub cluster: Option<String>,
}

impl Config {
    /// A lifetime asked for, within the longest.
    pub(crate) fn lifetime(&self, asked: Duration) -> Duration {
        self.max_pod_key_lifetime
            .map_or(asked, |longest| asked.min(longest))
    }

    /// When a pod's key that was made at `created` ends, however often it is renewed.
    pub(crate) fn last_moment(&self, created: Timestamp) -> Option<Timestamp> {
        let longest = self.max_pod_key_lifetime?;
        Some(created.checked_add(longest).unwrap_or(Timestamp::MAX))
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            auth_cache_ttl: Duration::from_secs(30),
            max_keys_per_pod: 8,
            max_pod_key_lifetime: None,
            cluster: None,
        }
    }
}

/// What an admin asks for when minting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// What the key reaches.
    pub reach: Reach,
    /// Fixes the agent.
    pub agent: Option<String>,
    /// Fixes the session.
    pub session: Option<String>,
    /// A remark.
    pub note: Option<String>,
    /// How long it lives; `None` is for ever.
    pub ttl: Option<Duration>,
}

/// A new key: the only moment at which it can be read.
#[derive(Debug)]
pub struct Minted {
    /// The whole key text.
    pub key: SecretString,
    /// What is kept of it.
    pub record: KeyRecord,
}

/// Which keys a listing or a revocation is about. Empty means all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Keys that reach exactly this namespace.
    pub namespace: Option<Namespace>,
    /// Keys whose namespace starts with this tenant and a colon.
    pub tenant: Option<String>,
    /// Keys fixed to this agent.
    pub agent: Option<String>,
    /// Keys minted for this pod.
    pub pod_uid: Option<String>,
    /// Only live keys (`true`) or only dead ones (`false`).
    pub live: Option<bool>,
}

impl Filter {
    /// Whether it lets everything through.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn admits(&self, record: &KeyRecord, now: Timestamp) -> bool {
        let namespace = match &record.reach {
            Reach::Admin => None,
            Reach::Namespace(ns) => Some(ns),
        };
        let tenant = namespace
            .and_then(|ns| ns.as_str().split_once(':'))
            .map(|(tenant, _)| tenant);
        let pod_uid = record.pod.as_ref().map(|binding| &binding.pod.uid);
        self.namespace
            .as_ref()
            .is_none_or(|wanted| namespace == Some(wanted))
            && self
                .tenant
                .as_deref()
                .is_none_or(|wanted| tenant == Some(wanted))
            && self
                .agent
                .as_ref()
                .is_none_or(|wanted| record.agent.as_ref() == Some(wanted))
            && self
                .pod_uid
                .as_ref()
                .is_none_or(|wanted| pod_uid == Some(wanted))
            && self.live.is_none_or(|wanted| record.live(now) == wanted)
    }
}

/// A piece of a listing, oldest key first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyPage {
    /// The keys.
    pub keys: Vec<KeyRecord>,
    /// Pass it as `after` for the next page; `None` on the last.
    pub next: Option<String>,
}

/// A handle to the keys of one server. Cheap to clone.
#[derive(Clone)]
pub struct Keys {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) config: Config,
    pub(crate) space: Namespace,
    pub(crate) cache: Cache,
    pub(crate) metrics: Metrics,
    pub(crate) gone: GonePods,
    pub(crate) sessions: Sessions,
    pub(crate) fixed: HashMap<KeyHash, Arc<Grant>>,
    /// A key that is good and not in the store yet.
    pub(crate) awaited: RwLock<Option<KeyHash>>,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys")
            .field("config", &self.inner.config)
            .finish_non_exhaustive()
    }
}

impl Keys {
    /// Keys kept in `store`, beside the fixed ones of a keys file.
    #[must_use]
    pub fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        config: Config,
        fixed: Vec<StaticKey>,
        metrics: Metrics,
    ) -> Self {
        let fixed = fixed
            .into_iter()
            .map(|StaticKey { key, namespace }| {
                let reach = Reach::Namespace(namespace);
                let grant = Grant {
                    key: None,
                    reach,
                    agent: None,
                    session: None,
                    pod_uid: None,
                };
                (hash(key.expose_secret()), Arc::new(grant))
            })
            .collect();
        let exclusive = store.capabilities().exclusive;
        let cache = Cache::new(exclusive, config.auth_cache_ttl);
        let space = Namespace::keys();
        Self {
            inner: Arc::new(Inner {
                store,
                clock,
                config,
                space,
                cache,
                metrics,
                gone: GonePods::new(),
                sessions: Sessions::default(),
                fixed,
                awaited: RwLock::default(),
            }),
        }
    }

    /// Checks a key. A hit in the cache costs a hash and no store access.
    ///
    /// # Errors
    ///
    /// [`Error::Unauthenticated`] for a key that is not good now, [`Error::Store`] when that cannot
    /// be told.
    pub async fn verify(&self, key: &str) -> Result<Arc<Grant>, Error> {
        let verdict = self.inner.verify(key).await;
        self.inner.metrics.verified(match &verdict {
            Ok(_) => Verdict::Accepted,
            Err(Error::Store(_)) => Verdict::Unknown,
            Err(_) => Verdict::Refused,
        });
        verdict
    }

    /// Extends a key by its own lifetime, on the word of the key itself.
    ///
    /// # Errors
    ///
    /// [`Error::RenewWithToken`] for a key minted for a pod, [`Error::NeverExpires`],
    /// [`Error::Unauthenticated`] once it is expired or revoked.
    pub async fn renew(&self, grant: &Grant) -> Result<KeyRecord, Error> {
        if grant.pod_uid.is_some() {
            return Err(Error::RenewWithToken);
        }
        let id = grant.key.as_ref().ok_or(Error::NeverExpires)?;
        self.inner
            .update(id, |record, now| {
                if record.pod.is_some() {
                    return Err(Error::RenewWithToken);
                }
                record.extend(now)
            })
            .await
    }

    /// Revokes one key. Repeating it changes nothing.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] for an unknown id.
    pub async fn revoke(&self, id: &KeyId) -> Result<(), Error> {
        self.inner
            .update(id, |record, now| {
                record.revoked_at.get_or_insert(now);
                Ok(())
            })
            .await?;
        self.inner.metrics.revoked(Cause::Asked, 1);
        Ok(())
    }

    /// Revokes every live key that the filter admits; answers how many.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for a filter that would revoke everything.
    pub async fn revoke_matching(&self, filter: &Filter) -> Result<u64, Error> {
        if filter.is_empty() {
            let text = "name at least one of tenant, namespace, agent, pod_uid";
            return Err(Error::Invalid(text.to_owned()));
        }
        let live = Filter {
            live: Some(true),
            ..filter.clone()
        };
        let (mut count, mut after) = (0, None);
        loop {
            let page = self.list(&live, after.as_deref(), MAX_LISTED).await?;
            for record in &page.keys {
                self.revoke(&record.id).await?;
                count += 1;
            }
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(count),
            }
        }
    }

    /// Lists keys, oldest first, live and dead ones that were not purged yet.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] when the store cannot be asked.
    pub async fn list(
        &self,
        filter: &Filter,
        after: Option<&str>,
        limit: u32,
    ) -> Result<KeyPage, Error> {
        let limit = limit.clamp(1, MAX_LISTED);
        let now = self.inner.clock.now();
        let mut keys = Vec::new();
        let mut after = after.map(str::to_owned);
        loop {
            let page = self.inner.page(after.as_deref(), limit).await?;
            let end = page.next.clone();
            for record in page.records {
                let (key, _) = open(&record)?;
                if !filter.admits(&key, now) {
                    continue;
                }
                if keys.len() == limit as usize {
                    let next = keys
                        .last()
                        .map(|key: &KeyRecord| key.id.as_str().to_owned());
                    return Ok(KeyPage { keys, next });
                }
                keys.push(key);
            }
            match end {
                Some(next) => after = Some(next),
                None => return Ok(KeyPage { keys, next: None }),
            }
        }
    }
}

impl Inner {
    async fn verify(self: &Arc<Self>, key: &str) -> Result<Arc<Grant>, Error> {
        if !self.fixed.is_empty()
            && let Some(grant) = self.fixed.get(&hash(key))
        {
            return Ok(Arc::clone(grant));
        }
        let id = id_of(key).ok_or(Error::Unauthenticated)?;
        let entry = match self.cache.get(&id, || self.load(&id)).await {
            Err(Error::Unauthenticated) if self.awaits(key) => {
                let reason = "the bootstrap key is not registered yet";
                return Err(recall_store::Error::unavailable(reason).into());
            }
            found => found?,
        };
        if !entry.is_key(&hash(key)) {
            return Err(Error::Unauthenticated);
        }
        let pod = entry.grant.pod_uid.as_deref();
        if pod.is_some_and(|uid| self.gone.contains(uid)) {
            return Err(Error::Unauthenticated);
        }
        if self.cache.ages(&entry) {
            self.read_ahead(id);
        }
        let now = self.clock.now();
        if entry.record.live(now) {
            return Ok(Arc::clone(&entry.grant));
        }
        // What looks expired may have been renewed while it was being cached: refuse on fresh data
        // alone.
        let fresh = self.cache.anew(&id, || self.load(&id)).await?;
        match fresh.record.live(now) {
            true => Ok(Arc::clone(&fresh.grant)),
            false => Err(Error::Unauthenticated),
        }
    }

    /// Reads a key again while nobody waits for it. If that fails, whoever comes when it must be read is
    /// told.
    fn read_ahead(self: &Arc<Self>, id: KeyId) {
        let this = Arc::clone(self);
        tokio::spawn(async move { this.cache.anew(&id, || this.load(&id)).await.map(drop) });
    }

    fn awaits(&self, key: &str) -> bool {
        let awaited = self.awaited.read().unwrap_or_else(PoisonError::into_inner);
        awaited.is_some_and(|awaited| awaited.ct_eq(&hash(key)).into())
    }

    async fn load(&self, id: &KeyId) -> Result<Entry, Error> {
        let began = Instant::now();
        let record = self
            .store
            .get(&self.space, RecordKind::Key, id.as_str())
            .await?;
        let (record, hash) = open(&record.ok_or(Error::Unauthenticated)?)?;
        Ok(Entry::new(record, hash, began))
    }

    pub(crate) async fn page(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<recall_store::RecordPage, Error> {
        Ok(self
            .store
            .list(&self.space, RecordKind::Key, "", after, limit)
            .await?)
    }

    /// Reads a key, lets `change` alter it, writes it if nobody else did meanwhile, and makes the
    /// change known to this process at once.
    pub(crate) async fn update(
        &self,
        id: &KeyId,
        change: impl Fn(&mut KeyRecord, Timestamp) -> Result<(), Error>,
    ) -> Result<KeyRecord, Error> {
        for _ in 0..CONFLICT_TRIES {
            let stored = self
                .store
                .get(&self.space, RecordKind::Key, id.as_str())
                .await?;
            let stored = stored.ok_or(Error::NotFound)?;
            let version = stored.version;
            let (before, hash) = open(&stored)?;
            let mut record = before.clone();
            change(&mut record, self.clock.now())?;
            if record == before {
                return Ok(record);
            }
            let write = write_of(&record, &hash, Precondition::Version(version))?;
            let batch = Batch {
                records: vec![write],
                ..Batch::default()
            };
            match self.store.commit(&self.space, batch).await {
                Ok(_) => {
                    self.cache
                        .changed(Entry::new(record.clone(), hash, Instant::now()));
                    return Ok(record);
                }
                Err(recall_store::Error::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(too_many_conflicts())
    }
}

impl KeyRecord {
    /// Sets the end to a lifetime from now, if the key is still good.
    pub(crate) fn extend(&mut self, now: Timestamp) -> Result<(), Error> {
        let ttl = self.ttl.ok_or(Error::NeverExpires)?;
        if !self.live(now) {
            return Err(Error::Unauthenticated);
        }
        self.expires_at = Some(now.checked_add(ttl).unwrap_or(Timestamp::MAX));
        Ok(())
    }
}

pub(crate) fn too_many_conflicts() -> Error {
    Error::Store(recall_store::Error::unavailable(
        "the key kept changing while it was written",
    ))
}

pub(crate) fn open(record: &Record) -> Result<(KeyRecord, KeyHash), Error> {
    let damaged =
        |what: String| recall_store::Error::Damaged(format!("key {}: {what}", record.key));
    let stored: Stored =
        serde_json::from_slice(&record.body).map_err(|error| damaged(error.to_string()))?;
    Ok(stored.open().map_err(damaged)?)
}

pub(crate) fn write_of(
    record: &KeyRecord,
    hash: &KeyHash,
    precondition: Precondition,
) -> Result<RecordWrite, Error> {
    let body = serde_json::to_vec(&Stored::new(record, hash))
        .map_err(|error| Error::Invalid(error.to_string()))?;
    Ok(RecordWrite {
        kind: RecordKind::Key,
        key: record.id.as_str().to_owned(),
        body: Some(body.into()),
        precondition,
    })
}

/// The precondition that matches what was read.
pub(crate) fn unchanged(version: Option<Version>) -> Precondition {
    version.map_or(Precondition::Absent, Precondition::Version)
}
