//! The in-memory adapter keeps the port's promises.

use std::sync::Arc;
use std::time::Duration;

use recall_store::{Acquired, Clock, Error, ManualClock, MemoryStore, Store, conformance};

#[tokio::test(flavor = "multi_thread")]
async fn memory_store_conforms() {
    conformance::run(|| async { Arc::new(MemoryStore::new()) as Arc<dyn Store> }).await;
}

#[tokio::test]
async fn an_expired_lease_passes_on_and_its_holder_cannot_renew() {
    let clock = ManualClock::new(jiff::Timestamp::UNIX_EPOCH);
    let store = MemoryStore::with_clock(Arc::new(clock.clone()));
    let ns = "n".parse().expect("a namespace");
    let ttl = Duration::from_secs(60);
    let Acquired::Granted(first) = store.acquire(&ns, "l", "a", ttl).await.expect("an answer")
    else {
        panic!("it is free")
    };
    assert_eq!(first.expires_at, clock.now() + ttl);
    clock.advance(ttl);
    let lost = store
        .renew(&ns, &first, ttl)
        .await
        .expect_err("it has run out");
    assert!(matches!(lost, Error::Fenced { .. }));
    let Acquired::Granted(second) = store.acquire(&ns, "l", "b", ttl).await.expect("an answer")
    else {
        panic!("it has run out")
    };
    assert!(second.epoch > first.epoch);
}
