//! What leases and fences promise.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::namespace;
use crate::{Acquired, Batch, Epoch, Error, Fence, Grant, Namespace, NewEvent, Revision, Store};

const TTL: Duration = Duration::from_secs(600);

pub(super) async fn checks(store: &Arc<dyn Store>) {
    a_lease_has_one_holder(store).await;
    epochs_only_grow(store).await;
    renewal_is_for_the_holder_alone(store).await;
    of_racing_acquires_one_wins(store).await;
    leases_of_other_namespaces_and_names_are_apart(store).await;
    a_fenced_write_needs_the_current_epoch(store).await;
}

/// A store without leases says so instead of pretending.
pub(super) async fn refused(store: &Arc<dyn Store>) {
    let ns = namespace("no-leases");
    let refusal = store
        .acquire(&ns, "a", "me", TTL)
        .await
        .expect_err("there are no leases");
    assert!(matches!(refusal, Error::Unsupported(_)), "{refusal}");
}

async fn grant(store: &Arc<dyn Store>, ns: &Namespace, name: &str, holder: &str) -> Grant {
    match store
        .acquire(ns, name, holder, TTL)
        .await
        .expect("an answer")
    {
        Acquired::Granted(grant) => grant,
        Acquired::Held(by) => panic!("{name} is held by {by:?}"),
    }
}

async fn a_lease_has_one_holder(store: &Arc<dyn Store>) {
    let ns = namespace("lease");
    assert_eq!(store.inspect(&ns, "a").await.expect("an answer"), None);
    let mine = grant(store, &ns, "a", "me").await;
    assert_eq!((mine.name.as_str(), mine.holder.as_str()), ("a", "me"));
    for holder in ["you", "me"] {
        let answer = store
            .acquire(&ns, "a", holder, TTL)
            .await
            .expect("an answer");
        let Acquired::Held(by) = answer else {
            panic!("{holder} was granted a held lease")
        };
        assert_eq!((by.holder.as_str(), by.epoch), ("me", mine.epoch));
    }
    let state = store
        .inspect(&ns, "a")
        .await
        .expect("an answer")
        .expect("it was granted");
    assert!(state.live);
    assert_eq!(state.grant.holder, "me");
}

async fn epochs_only_grow(store: &Arc<dyn Store>) {
    let ns = namespace("epochs");
    let mut last = Epoch(0);
    for holder in ["a", "b", "a"] {
        let grant = grant(store, &ns, "l", holder).await;
        assert!(grant.epoch > last, "{:?} after {last:?}", grant.epoch);
        last = grant.epoch;
        assert!(
            store
                .release(&ns, "l", grant.epoch)
                .await
                .expect("an answer")
        );
        let state = store
            .inspect(&ns, "l")
            .await
            .expect("an answer")
            .expect("it was granted");
        assert!(!state.live, "a released lease is not live");
    }
    assert!(
        !store.release(&ns, "l", Epoch(1)).await.expect("an answer"),
        "a stale release does nothing"
    );
    assert!(
        !store
            .release(&ns, "never", Epoch(1))
            .await
            .expect("an answer")
    );
}

async fn renewal_is_for_the_holder_alone(store: &Arc<dyn Store>) {
    let ns = namespace("renew");
    let first = grant(store, &ns, "l", "a").await;
    let renewed = store.renew(&ns, &first, TTL * 2).await.expect("a renewal");
    assert!(renewed.expires_at > first.expires_at);
    assert!(renewed.epoch >= first.epoch);
    assert!(
        store
            .release(&ns, "l", renewed.epoch)
            .await
            .expect("an answer")
    );
    let second = grant(store, &ns, "l", "b").await;
    let refusal = store
        .renew(&ns, &renewed, TTL)
        .await
        .expect_err("the lease was passed on");
    assert!(matches!(refusal, Error::Fenced { .. }), "{refusal}");
    let never = Grant {
        name: "never".to_owned(),
        ..second
    };
    let refusal = store
        .renew(&ns, &never, TTL)
        .await
        .expect_err("it was never granted");
    assert!(matches!(refusal, Error::Fenced { .. }), "{refusal}");
}

async fn of_racing_acquires_one_wins(store: &Arc<dyn Store>) {
    let ns = namespace("acquire-race");
    for round in 0..10 {
        let racers = (0..8).map(|racer| {
            let (store, ns) = (Arc::clone(store), ns.clone());
            let (name, holder) = (format!("l{round}"), format!("h{racer}"));
            tokio::spawn(async move { store.acquire(&ns, &name, &holder, TTL).await })
        });
        let mut granted = 0;
        for racer in racers.collect::<Vec<_>>() {
            let answer = racer.await.expect("no racer panics").expect("an answer");
            granted += usize::from(matches!(answer, Acquired::Granted(_)));
        }
        assert_eq!(granted, 1, "round {round}");
    }
}

async fn leases_of_other_namespaces_and_names_are_apart(store: &Arc<dyn Store>) {
    let (a, b) = (namespace("apart:a"), namespace("apart:b"));
    grant(store, &a, "l", "x").await;
    grant(store, &b, "l", "y").await;
    grant(store, &a, "L", "z").await;
}

async fn a_fenced_write_needs_the_current_epoch(store: &Arc<dyn Store>) {
    let ns = namespace("fence");
    let under = |epoch, id: &str| Batch {
        events: vec![NewEvent {
            id: id.to_owned(),
            body: Bytes::from_static(b"{}"),
        }],
        fence: Some(Fence {
            lease: "l".to_owned(),
            epoch,
        }),
        ..Batch::default()
    };
    let never = store
        .commit(&ns, under(Epoch(1), "a"))
        .await
        .expect_err("nobody holds it");
    assert!(matches!(never, Error::Fenced { .. }), "{never}");
    let first = grant(store, &ns, "l", "a").await;
    store
        .commit(&ns, under(first.epoch, "b"))
        .await
        .expect("the holder writes");
    assert!(
        store
            .release(&ns, "l", first.epoch)
            .await
            .expect("an answer")
    );
    let released = store
        .commit(&ns, under(first.epoch, "c"))
        .await
        .expect_err("it was released");
    assert!(matches!(released, Error::Fenced { .. }), "{released}");
    let second = grant(store, &ns, "l", "b").await;
    let stale = store
        .commit(&ns, under(first.epoch, "d"))
        .await
        .expect_err("the epoch is past");
    let Error::Fenced { held, current } = stale else {
        panic!("{stale}")
    };
    assert_eq!((held, current), (first.epoch, second.epoch));
    store
        .commit(&ns, under(second.epoch, "e"))
        .await
        .expect("the new holder writes");
    assert_eq!(store.revision(&ns).await.expect("a revision"), Revision(2));
}
