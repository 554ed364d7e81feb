//! One namespace in memory: its view, how the view keeps up with the log, and the writes that wait.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use recall_store::{LogPage, Namespace, Revision, Store};
use tokio::sync::Semaphore;

use crate::embedding::Shelf;
use crate::limits::PAGE_EVENTS;
use crate::plan::Quota;
use crate::registry::Registry;
use crate::view::{Builder, View, decode};
use crate::writer::Queue;

/// A namespace that is in memory, or on its way there.
pub(crate) struct Space {
    pub(crate) ns: Namespace,
    pub(crate) store: Arc<dyn Store>,
    registry: Arc<Registry>,
    freshness: Duration,
    pub(crate) quota: Quota,
    /// The bytes of what is kept in the namespace beside its memory.
    pub(crate) beside: Arc<AtomicU64>,
    view: RwLock<Option<View>>,
    /// Held by whoever talks to the store about this namespace's log, so that all others wait for
    /// one answer.
    follow: tokio::sync::Mutex<()>,
    /// How many checks against the store were begun, and the number of the last that succeeded.
    begun: AtomicU64,
    succeeded: AtomicU64,
    checked: Mutex<Option<Instant>>,
    /// The outcome of a commit is unknown, so the log must be asked even if it is ours alone.
    doubtful: AtomicBool,
    pub(crate) queue: Queue,
    /// Vectors beside the view, where a model makes them.
    pub(crate) shelf: Shelf,
    ledger: Arc<Ledger>,
    /// What the ledger counts for this namespace.
    counted: Mutex<(usize, usize)>,
    used: AtomicU64,
}

/// Views built from their logs at once. Each holds its events twice meanwhile, beyond what views may
/// take, and nothing is gained by more than keep processors and a distant store busy.
const LOADS_AT_ONCE: usize = 8;
/// Of what a view takes, this part is added for what the allocator takes beside it: it rounds sizes up
/// (measured with jemalloc over memories of a thousand facts: 0.80 MB each, of which 0.68 are counted).
const ROUNDING: usize = 6;

/// What all views take together.
#[derive(Debug)]
pub(crate) struct Ledger {
    bytes: AtomicUsize,
    items: AtomicUsize,
    loads: AtomicU64,
    loading: Semaphore,
}

impl Default for Ledger {
    fn default() -> Self {
        Self {
            bytes: AtomicUsize::new(0),
            items: AtomicUsize::new(0),
            loads: AtomicU64::new(0),
            loading: Semaphore::new(LOADS_AT_ONCE),
        }
    }
}

impl Ledger {
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn items(&self) -> usize {
        self.items.load(Ordering::Relaxed)
    }

    pub(crate) fn loads(&self) -> u64 {
        self.loads.load(Ordering::Relaxed)
    }

    fn change(&self, from: (usize, usize), to: (usize, usize)) {
        for (total, from, to) in [(&self.bytes, from.0, to.0), (&self.items, from.1, to.1)] {
            total.fetch_add(to, Ordering::Relaxed);
            total.fetch_sub(from, Ordering::Relaxed);
        }
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        self.ledger.change(*self.counted.get_mut(), (0, 0));
    }
}

impl fmt::Debug for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Space")
            .field("ns", &self.ns)
            .finish_non_exhaustive()
    }
}

impl Space {
    pub(crate) fn new(
        ns: Namespace,
        store: Arc<dyn Store>,
        registry: Arc<Registry>,
        freshness: Duration,
        (quota, beside): (Quota, Arc<AtomicU64>),
        ledger: Arc<Ledger>,
    ) -> Self {
        Self {
            ns,
            store,
            registry,
            freshness,
            quota,
            beside,
            view: RwLock::new(None),
            follow: tokio::sync::Mutex::new(()),
            begun: AtomicU64::new(0),
            succeeded: AtomicU64::new(0),
            checked: Mutex::new(None),
            doubtful: AtomicBool::new(false),
            queue: Queue::default(),
            shelf: Shelf::default(),
            ledger,
            counted: Mutex::default(),
            used: AtomicU64::new(0),
        }
    }

    /// Makes sure that the view holds every write that was acknowledged before this call.
    ///
    /// # Errors
    ///
    /// The store's own; the view then stays as it was.
    pub(crate) async fn current(&self) -> Result<(), recall_store::Error> {
        let known = self.view.read().as_ref().map(View::revision);
        if known.is_some() && !self.doubtful.load(Ordering::Acquire) {
            let current = self.store.capabilities().exclusive || self.is_fresh();
            // Callers who take turns wait for one another though each of them asks nobody.
            if current || self.store.revision_at_hand(&self.ns) == known {
                return Ok(());
            }
        }
        // A check that began after this call answers it too; one that began before may not.
        let seen = self.begun.load(Ordering::Acquire);
        let _turn = self.follow.lock().await;
        if self.succeeded.load(Ordering::Acquire) > seen && self.view.read().is_some() {
            return Ok(());
        }
        let number = self.begun.fetch_add(1, Ordering::AcqRel) + 1;
        let started = Instant::now();
        self.follow_log().await?;
        self.doubtful.store(false, Ordering::Release);
        *self.checked.lock() = Some(started);
        self.succeeded.store(number, Ordering::Release);
        Ok(())
    }

    /// Reads what the log has and the view lacks, although the view may look current.
    pub(crate) async fn catch_up(&self) -> Result<(), recall_store::Error> {
        self.doubt();
        self.current().await
    }

    /// The next call asks the log before it trusts the view.
    pub(crate) fn doubt(&self) {
        self.doubtful.store(true, Ordering::Release);
    }

    /// Looks at the view. It must have been brought up to date before.
    pub(crate) fn read<T>(&self, look: impl FnOnce(&View) -> T) -> Result<T, recall_store::Error> {
        self.glance(|view| view.map(look))
            .ok_or_else(|| recall_store::Error::unavailable("the namespace is not loaded"))
    }

    /// Looks at the view as it is, if it is there.
    pub(crate) fn glance<T>(&self, look: impl FnOnce(Option<&View>) -> T) -> T {
        look(self.view.read().as_ref())
    }

    /// Changes the view.
    pub(crate) fn update(&self, change: impl FnOnce(&mut View)) {
        if let Some(view) = &mut *self.view.write() {
            change(view);
            self.measure(view);
        }
    }

    /// When it was last used, as a count of uses.
    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    pub(crate) fn touch(&self, use_no: u64) {
        self.used.store(use_no, Ordering::Relaxed);
    }

    fn is_fresh(&self) -> bool {
        let checked = *self.checked.lock();
        checked.is_some_and(|at| !self.freshness.is_zero() && at.elapsed() < self.freshness)
    }

    async fn follow_log(&self) -> Result<(), recall_store::Error> {
        let known = self.view.read().as_ref().map(View::revision);
        match known {
            None => self.build().await,
            Some(known) => self.follow_tail(known).await,
        }
    }

    async fn follow_tail(&self, known: Revision) -> Result<(), recall_store::Error> {
        let latest = self.store.revision(&self.ns).await?;
        if latest < known {
            return self.build().await;
        }
        let mut known = known;
        while known < latest {
            let page = self.page(known).await?;
            let Some(last) = page.entries.last() else {
                break;
            };
            known = last.revision;
            let placed = page
                .entries
                .iter()
                .map(decode)
                .collect::<Result<Vec<_>, _>>()?;
            let revisions = page.entries.iter().map(|entry| entry.revision);
            self.update(|view| {
                // The writer may have applied some of them while the page was under way.
                let seen = view.revision();
                let new = placed
                    .into_iter()
                    .zip(revisions)
                    .filter(|(_, at)| *at > seen);
                view.apply(new.map(|(placed, _)| placed));
                view.set_revision(seen.max(known));
            });
        }
        Ok(())
    }

    /// Builds the view from the whole log, off the threads that serve requests.
    async fn build(&self) -> Result<(), recall_store::Error> {
        // It is never closed.
        let _place = self.ledger.loading.acquire().await.ok();
        let mut builder = Builder::new(Arc::clone(&self.registry));
        loop {
            let page = self.page(builder.revision()).await?;
            let done = page
                .entries
                .last()
                .is_none_or(|last| last.revision >= page.revision);
            builder = work(move || builder.page(&page.entries).map(|()| builder)).await??;
            if done {
                break;
            }
        }
        let view = work(move || builder.finish()).await?;
        self.ledger.loads.fetch_add(1, Ordering::Relaxed);
        self.measure(&view);
        *self.view.write() = Some(view);
        Ok(())
    }

    async fn page(&self, after: Revision) -> Result<LogPage, recall_store::Error> {
        self.store.events(&self.ns, after, PAGE_EVENTS).await
    }

    fn measure(&self, view: &View) {
        let bytes = size_of::<Self>() + view.bytes() + self.shelf.bytes();
        let bytes = bytes + bytes / ROUNDING;
        let now = (bytes, view.indexed());
        let mut counted = self.counted.lock();
        self.ledger.change(*counted, now);
        *counted = now;
    }
}

async fn work<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, recall_store::Error> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|_| recall_store::Error::unavailable("loading the namespace was interrupted"))
}
