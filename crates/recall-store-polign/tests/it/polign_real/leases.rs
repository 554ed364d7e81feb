//! The holes in polign_db's leases, each closed.

use std::time::Duration;

use recall_store::{Acquired, Epoch, Error, Fence, Grant, Namespace, Store};
use serde_json::json;

use super::{Real, post};

const TTL: Duration = Duration::from_secs(600);
const LEASES: &str = "/v1/collections/recall_lexical_v1__team_blue_a39b2560_agents/leases";

fn ns() -> Namespace {
    "team:blue".parse().expect("a namespace")
}

async fn grant(store: &dyn Store, holder: &str) -> Grant {
    match store
        .acquire(&ns(), "coder", holder, TTL)
        .await
        .expect("an answer")
    {
        Acquired::Granted(grant) => grant,
        Acquired::Held(by) => panic!("held by {by:?}"),
    }
}

async fn current(store: &dyn Store) -> (String, Epoch) {
    let state = store
        .inspect(&ns(), "coder")
        .await
        .expect("an answer")
        .expect("it was held");
    assert!(state.live);
    (state.grant.holder, state.grant.epoch)
}

fn lost(outcome: Result<Grant, Error>) {
    let error = outcome.expect_err("the lease is another's");
    assert!(matches!(error, Error::Fenced { .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_a_renewal_long_after_a_takeover_takes_nothing() {
    let Some(real) = Real::start(&[]) else { return };
    let store = real.store();
    let old = grant(&store, "old").await;
    assert!(
        store
            .release(&ns(), "coder", old.epoch)
            .await
            .expect("an answer")
    );
    let mut new = grant(&store, "new").await;
    // More renewals than the store remembers epochs: it would grant the old epoch again.
    for _ in 0..15 {
        new = store.renew(&ns(), &new, TTL).await.expect("it is ours");
    }
    lost(store.renew(&ns(), &old, TTL).await);
    assert_eq!(current(&store).await, ("new".to_owned(), new.epoch));
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_renewals_with_made_up_epochs_take_nothing() {
    let Some(real) = Real::start(&[]) else { return };
    let store = real.store();
    let mine = grant(&store, "me").await;
    for epoch in [0, 1, mine.epoch.0 + 1, mine.epoch.0 + 6, u64::MAX] {
        let made_up = Grant {
            epoch: Epoch(epoch),
            holder: "you".to_owned(),
            ..mine.clone()
        };
        if made_up.epoch != mine.epoch {
            lost(store.renew(&ns(), &made_up, TTL).await);
        }
    }
    assert_eq!(current(&store).await, ("me".to_owned(), mine.epoch));
}

/// The epoch of a holder stays through its renewals; the store's own does not.
#[tokio::test(flavor = "multi_thread")]
async fn a_renewal_keeps_the_epoch_and_any_replica_may_make_it() {
    let Some(real) = Real::start(&[]) else { return };
    let (a, b) = (real.store(), real.store());
    let mine = grant(&a, "me").await;
    for store in [&a, &b, &a] {
        let renewed = store.renew(&ns(), &mine, TTL).await.expect("it is ours");
        assert_eq!((renewed.epoch, renewed.holder.as_str()), (mine.epoch, "me"));
    }
}

/// The published server takes and respects the same leases.
#[tokio::test(flavor = "multi_thread")]
async fn a_lease_of_the_published_server_is_respected_and_ours_by_it() {
    let Some(real) = Real::start(&[]) else { return };
    let store = real.store();
    let acquire = format!("{LEASES}/coder/acquire");
    let (status, theirs) = post(
        &real,
        &acquire,
        json!({ "holder": "host:12:ab", "ttl_ms": 60000 }),
    )
    .await;
    assert_eq!(status, 200);
    let Acquired::Held(by) = store
        .acquire(&ns(), "coder", "me", TTL)
        .await
        .expect("an answer")
    else {
        panic!("it is held")
    };
    assert_eq!((by.holder.as_str(), by.epoch.0), ("host:12:ab", 1));
    let release = json!({ "holder": "host:12:ab", "epoch": theirs["epoch"] });
    post(&real, &format!("{LEASES}/coder/release"), release).await;
    let mine = grant(&store, "me").await;
    assert!(mine.epoch > by.epoch);
    let (status, _) = post(&real, &acquire, json!({ "holder": "host:12:ab" })).await;
    assert_eq!(status, 409);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_under_a_lease_that_ran_out_is_refused() {
    let Some(real) = Real::start(&[]) else { return };
    let store = real.store();
    let short = Duration::from_secs(5);
    let Acquired::Granted(mine) = store
        .acquire(&ns(), "coder", "me", short)
        .await
        .expect("an answer")
    else {
        panic!("it is free")
    };
    let fence = Fence {
        lease: "coder".to_owned(),
        epoch: mine.epoch,
    };
    let batch = recall_store::Batch {
        fence: Some(fence),
        ..recall_store::Batch::default()
    };
    store
        .commit(&ns(), batch.clone())
        .await
        .expect("it is held");
    tokio::time::sleep(short + Duration::from_millis(300)).await;
    let error = store.commit(&ns(), batch).await.expect_err("it ran out");
    assert!(matches!(error, Error::Fenced { .. }), "{error}");
    lost(store.renew(&ns(), &mine, TTL).await);
}
