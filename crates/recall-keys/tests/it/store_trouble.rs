//! A store that is away, or that another replica writes.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use recall_store::{
    Acquired, Batch, BoxFuture, Capabilities, Committed, Epoch, LeaseState, LogPage, Namespace,
    Record, RecordKind, RecordPage, Revision,
};

use secrecy::SecretString;

use super::*;

/// The in-memory store behind a switch, said to be shared with others.
#[derive(Debug, Default)]
struct Switched {
    inner: MemoryStore,
    away: AtomicBool,
    /// How often records were read.
    read: AtomicUsize,
}

impl Switched {
    fn reach(&self) -> Result<&MemoryStore, recall_store::Error> {
        match self.away.load(Ordering::SeqCst) {
            true => Err(recall_store::Error::unavailable("switched off")),
            false => Ok(&self.inner),
        }
    }
}

type Answer<'a, T> = BoxFuture<'a, Result<T, recall_store::Error>>;

impl Store for Switched {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            exclusive: false,
            ..self.inner.capabilities()
        }
    }
    fn commit<'a>(&'a self, ns: &'a Namespace, batch: Batch) -> Answer<'a, Committed> {
        Box::pin(async move { self.reach()?.commit(ns, batch).await })
    }
    fn events<'a>(&'a self, ns: &'a Namespace, after: Revision, limit: u32) -> Answer<'a, LogPage> {
        Box::pin(async move { self.reach()?.events(ns, after, limit).await })
    }
    fn revision<'a>(&'a self, ns: &'a Namespace) -> Answer<'a, Revision> {
        Box::pin(async move { self.reach()?.revision(ns).await })
    }
    fn get<'a>(
        &'a self,
        ns: &'a Namespace,
        kind: RecordKind,
        key: &'a str,
    ) -> Answer<'a, Option<Record>> {
        self.read.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move { self.reach()?.get(ns, kind, key).await })
    }
    fn list<'a>(
        &'a self,
        ns: &'a Namespace,
        kind: RecordKind,
        prefix: &'a str,
        after: Option<&'a str>,
        limit: u32,
    ) -> Answer<'a, RecordPage> {
        Box::pin(async move { self.reach()?.list(ns, kind, prefix, after, limit).await })
    }
    fn acquire<'a>(
        &'a self,
        ns: &'a Namespace,
        name: &'a str,
        holder: &'a str,
        ttl: Duration,
    ) -> Answer<'a, Acquired> {
        Box::pin(async move { self.reach()?.acquire(ns, name, holder, ttl).await })
    }
    fn renew<'a>(
        &'a self,
        ns: &'a Namespace,
        grant: &'a recall_store::Grant,
        ttl: Duration,
    ) -> Answer<'a, recall_store::Grant> {
        Box::pin(async move { self.reach()?.renew(ns, grant, ttl).await })
    }
    fn release<'a>(&'a self, ns: &'a Namespace, name: &'a str, epoch: Epoch) -> Answer<'a, bool> {
        Box::pin(async move { self.reach()?.release(ns, name, epoch).await })
    }
    fn inspect<'a>(&'a self, ns: &'a Namespace, name: &'a str) -> Answer<'a, Option<LeaseState>> {
        Box::pin(async move { self.reach()?.inspect(ns, name).await })
    }
    fn namespaces<'a>(
        &'a self,
        after: Option<&'a Namespace>,
        limit: u32,
    ) -> Answer<'a, Vec<Namespace>> {
        Box::pin(async move { self.reach()?.namespaces(after, limit).await })
    }
    fn ping(&self) -> Answer<'_, ()> {
        Box::pin(async move { self.reach()?.ping().await })
    }
}

#[tokio::test]
async fn a_store_that_is_away_is_never_a_refusal() {
    let store = Arc::new(Switched::default());
    let bench = Bench::with(Arc::clone(&store) as Arc<dyn Store>, Vec::new());
    let known = bench.mint(None).await;
    let unseen = bench.mint(None).await;
    bench.check(&known).await.expect("it is good and cached");
    store.away.store(true, Ordering::SeqCst);
    bench
        .check(&known)
        .await
        .expect("a key that was checked just now is trusted for a while");
    refused(bench.check(&unseen).await, "store_unavailable");
    let mint = bench
        .keys
        .mint_for_pod(&caller("a", "p", "u1"), Duration::from_secs(900))
        .await;
    refused(mint, "store_unavailable");
    refused(
        bench.keys.revoke(&known.record.id).await,
        "store_unavailable",
    );
    store.away.store(false, Ordering::SeqCst);
    bench
        .check(&unseen)
        .await
        .expect("it is good once the store is back");
}

#[tokio::test]
async fn a_pod_that_goes_while_the_store_is_away_is_refused_all_the_same() {
    let store = Arc::new(Switched::default());
    let bench = Bench::with(store.clone(), Vec::new());
    let minted = bench
        .keys
        .mint_for_pod(&caller("a", "p", "u1"), Duration::from_secs(900))
        .await
        .expect("a key");
    bench.check(&minted).await.expect("it is good");
    store.away.store(true, Ordering::SeqCst);
    refused(bench.keys.pod_gone("u1").await, "store_unavailable");
    refused(bench.check(&minted).await, "unauthenticated");
    store.away.store(false, Ordering::SeqCst);
    assert_eq!(bench.keys.pod_gone("u1").await.expect("its keys").len(), 1);
}

#[tokio::test]
async fn a_bootstrap_key_that_waits_for_the_store_is_never_called_unknown() {
    let store = Arc::new(Switched::default());
    let bench = Bench::with(store.clone(), Vec::new());
    let (good, bad) = (
        "rcl_00000000000000aa_0123456789abcdef0123456789abcdef",
        "rcl_00000000000000aa_ffffffffffffffffffffffffffffffff",
    );
    let key = SecretString::from(good);
    bench.keys.await_bootstrap(&key);
    store.away.store(true, Ordering::SeqCst);
    refused(bench.keys.bootstrap(&key).await, "store_unavailable");
    // The store is back, and the key is tried again in a moment.
    store.away.store(false, Ordering::SeqCst);
    assert!(bench.keys.awaits_bootstrap());
    refused(bench.keys.verify(good).await, "store_unavailable");
    refused(bench.keys.verify(bad).await, "unauthenticated");
    bench.keys.bootstrap(&key).await.expect("it is registered");
    assert!(!bench.keys.awaits_bootstrap());
    bench.keys.verify(good).await.expect("it is good");
    refused(bench.keys.verify(bad).await, "unauthenticated");
}

/// Whoever uses a key never waits for the store as long as the store answers.
#[tokio::test]
async fn a_key_in_use_is_read_again_before_it_must_be() {
    let store = Arc::new(Switched::default());
    let bench = Bench::with(store.clone(), Vec::new());
    let known = bench.mint(None).await;
    bench.check(&known).await.expect("it is good");
    let read = || store.read.load(Ordering::SeqCst);
    let (at_first, began) = (read(), Instant::now());
    let mut last = began;
    while read() == at_first {
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "it is never read again"
        );
        // What is spawned runs in this runtime, when this waits.
        tokio::time::sleep(Duration::from_millis(1)).await;
        let before = read();
        bench.check(&known).await.expect("it is good");
        // A test that was not let run for a while comes too late for this.
        let in_time = last.elapsed() < Duration::from_millis(100);
        assert!(!in_time || read() == before, "its user had to wait");
        last = Instant::now();
    }
}
