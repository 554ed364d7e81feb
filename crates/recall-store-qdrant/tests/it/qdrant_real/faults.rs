//! A store that is slow, busy, broken, or whose answers get lost.

use std::time::{Duration, Instant};

use recall_store::{Acquired, Error, Revision, Store};
use recall_store_rows::RowStore;
use recall_store_rows::conformance::{append, ids, ns};

use super::Real;

async fn started() -> Option<(Real, RowStore)> {
    let real = Real::start_own(&[])?;
    let store = real.store();
    append(&store, &["m-0".to_owned()]).await.expect("written");
    Some((real, store))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_moment_of_trouble_is_not_noticed_and_a_long_one_is_told_with_its_wait() {
    let Some((real, store)) = started().await else {
        return;
    };
    // 14: unavailable, 8: resource exhausted.
    real.db
        .trouble("upsert 14 1\nupsert 8 1 retry-after=1")
        .expect("ordered");
    let third = append(&store, &["m-1".to_owned()]).await;
    assert_eq!(third.expect("the third try"), Revision(2));
    real.db
        .trouble("upsert 8 3 retry-after=7")
        .expect("ordered");
    let error = append(&store, &["m-2".to_owned()])
        .await
        .expect_err("three times busy");
    let Error::Unavailable { retry_after, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(*retry_after, Some(Duration::from_secs(7)));
    let well = append(&store, &["m-2".to_owned()]).await;
    assert_eq!(well.expect("it is well again"), Revision(3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_whose_answer_was_lost_is_one_event() {
    let Some((real, store)) = started().await else {
        return;
    };
    real.db.trouble("upsert 14 1 lose").expect("ordered");
    append(&store, &["m-1".to_owned()])
        .await
        .expect("the second try");
    // The client itself tries each of our three tries twice.
    real.db.trouble("upsert 14 6 lose").expect("ordered");
    append(&store, &["m-2".to_owned()])
        .await
        .expect_err("never an answer");
    append(&store, &["m-2".to_owned()])
        .await
        .expect("sent again");
    let mut seen = ids(&store).await;
    seen.sort();
    assert_eq!(seen, ["m-0", "m-1", "m-2"]);
}

/// A lease whose grant got lost on the way is ours all the same: the token tells.
#[tokio::test(flavor = "multi_thread")]
async fn a_lease_whose_answer_was_lost_is_ours() {
    let Some((real, store)) = started().await else {
        return;
    };
    let ttl = Duration::from_secs(60);
    // The collection of leases is made first.
    store
        .acquire(&ns(), "other", "me", ttl)
        .await
        .expect("an answer");
    real.db.trouble("upsert 14 1 lose").expect("ordered");
    let mine = store
        .acquire(&ns(), "coder", "me", ttl)
        .await
        .expect("an answer");
    assert!(matches!(mine, Acquired::Granted(_)), "{mine:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_try_does_not_mend_is_told_at_once() {
    let Some((real, store)) = started().await else {
        return;
    };
    // 3: invalid argument. A second try would meet no fault any more.
    real.db.trouble("upsert 3 1").expect("ordered");
    let error = append(&store, &["m-1".to_owned()])
        .await
        .expect_err("refused");
    assert_eq!(error.code(), "store_unavailable");
    append(&store, &["m-1".to_owned()])
        .await
        .expect("it is well again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_store_is_waited_for() {
    let Some((real, store)) = started().await else {
        return;
    };
    real.db.trouble("slow 2000").expect("ordered");
    let began = Instant::now();
    append(&store, &["m-1".to_owned()])
        .await
        .expect("slow, but well");
    assert!(began.elapsed() >= Duration::from_secs(2));
    real.db.trouble("").expect("ordered");
    assert_eq!(ids(&store).await, ["m-0", "m-1"]);
}
