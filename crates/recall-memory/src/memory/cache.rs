//! The views in memory, the least used of which give way.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use recall_store::{Namespace, Store};

use super::{Config, Stats};
use crate::plan::Quota;
use crate::registry::Registry;
use crate::space::{Ledger, Space};

/// Every namespace that is in memory.
pub(super) struct Cache {
    store: Arc<dyn Store>,
    registry: Arc<Registry>,
    limit: usize,
    freshness: Duration,
    pub(super) quota: Quota,
    /// What is kept beside the memory of a namespace, in bytes. It outlasts the view.
    beside: Mutex<HashMap<Namespace, Arc<AtomicU64>>>,
    spaces: Mutex<HashMap<Namespace, Arc<Space>>>,
    uses: AtomicU64,
    evictions: AtomicU64,
    ledger: Arc<Ledger>,
}

impl Cache {
    pub(super) fn new(store: Arc<dyn Store>, config: Config) -> Self {
        Self {
            store,
            registry: Arc::new(config.registry),
            limit: config.view_memory,
            freshness: config.freshness,
            quota: config.quota,
            beside: Mutex::default(),
            spaces: Mutex::default(),
            uses: AtomicU64::new(0),
            evictions: AtomicU64::new(0),
            ledger: Arc::default(),
        }
    }

    /// The namespace's space. As long as it is held, it stays.
    pub(super) fn space(&self, ns: &Namespace) -> Arc<Space> {
        let use_no = self.uses.fetch_add(1, Ordering::Relaxed);
        let mut spaces = self.spaces.lock();
        let space = match spaces.get(ns) {
            Some(space) => Arc::clone(space),
            None => {
                let space = Arc::new(Space::new(
                    ns.clone(),
                    Arc::clone(&self.store),
                    Arc::clone(&self.registry),
                    self.freshness,
                    (self.quota, self.beside(ns)),
                    Arc::clone(&self.ledger),
                ));
                spaces.insert(ns.clone(), Arc::clone(&space));
                space
            }
        };
        space.touch(use_no);
        space
    }

    /// The counter of what is kept beside the memory of a namespace.
    pub(super) fn beside(&self, ns: &Namespace) -> Arc<AtomicU64> {
        if self.quota.bytes.is_none() {
            return Arc::default();
        }
        Arc::clone(self.beside.lock().entry(ns.clone()).or_default())
    }

    /// Lets idle views go, least used first, until the rest fits.
    pub(super) fn shrink(&self) {
        if self.ledger.bytes() <= self.limit {
            return;
        }
        let mut spaces = self.spaces.lock();
        let mut idle: Vec<(u64, Namespace)> = spaces
            .values()
            .filter(|space| Arc::strong_count(space) == 1)
            .map(|space| (space.used(), space.ns.clone()))
            .collect();
        idle.sort_unstable_by_key(|(used, _)| *used);
        for (_, ns) in idle {
            if self.ledger.bytes() <= self.limit {
                break;
            }
            spaces.remove(&ns);
            self.store.forget(&ns);
            self.evictions.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The spaces that are in memory.
    pub(super) fn spaces(&self) -> Vec<Arc<Space>> {
        self.spaces.lock().values().cloned().collect()
    }

    pub(super) fn stats(&self) -> Stats {
        let views = self.spaces.lock().len();
        Stats {
            views,
            bytes: self.ledger.bytes(),
            loads: self.ledger.loads(),
            evictions: self.evictions.load(Ordering::Relaxed),
            items: self.ledger.items(),
            ..Stats::default()
        }
    }
}
