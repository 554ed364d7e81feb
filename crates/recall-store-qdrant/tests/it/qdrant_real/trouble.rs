//! A store that is away, comes back, or refuses the key.

use std::sync::Arc;

use recall_store::{Revision, Store, SystemClock};
use recall_store_qdrant::{Config, OpenError};
use recall_store_rows::conformance::{append, ids};
use secrecy::SecretString;

use super::Real;

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_was_killed_comes_back_with_everything_it_acknowledged() {
    let Some(mut real) = Real::start_own(&[]) else {
        return;
    };
    let store = real.store();
    append(&store, &["m-1".to_owned()]).await.expect("written");
    real.db.kill().expect("it runs");
    let error = append(&store, &["m-2".to_owned()])
        .await
        .expect_err("it is away");
    assert_eq!(error.code(), "store_unavailable");
    let error = store.ping().await.expect_err("it is away");
    assert_eq!(error.code(), "store_unavailable");
    real.db.restart().expect("it starts");
    store.ping().await.expect("it is back");
    // The same write again: once, whether or not the first got through.
    append(&store, &["m-2".to_owned()]).await.expect("written");
    let mut seen = ids(&store).await;
    seen.sort();
    assert_eq!(seen, ["m-1", "m-2"]);
}

/// Four writers, a crash in the middle: what was answered is there after it.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_by_a_crash_under_load() {
    let Some(mut real) = Real::start_own(&[]) else {
        return;
    };
    let store = Arc::new(real.store());
    append(&*store, &["m-first".to_owned()])
        .await
        .expect("written");
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                let mut acknowledged = Vec::new();
                for n in 0..1000 {
                    let id = format!("m-{writer}-{n}");
                    if append(&*store, std::slice::from_ref(&id)).await.is_err() {
                        break;
                    }
                    acknowledged.push(id);
                }
                acknowledged
            })
        })
        .collect();
    while ids(&*store).await.len() < 40 {
        tokio::task::yield_now().await;
    }
    real.db.kill().expect("it runs");
    let mut acknowledged = vec!["m-first".to_owned()];
    for writer in writers {
        acknowledged.extend(writer.await.expect("a writer ends"));
    }
    real.db.restart().expect("it starts");
    let seen = ids(&real.store()).await;
    let lost: Vec<_> = acknowledged
        .iter()
        .filter(|id| !seen.contains(id))
        .collect();
    assert!(lost.is_empty(), "{lost:?}");
    assert!(acknowledged.len() >= 40);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_key_opens_and_a_wrong_one_is_the_operators_trouble() {
    let Some(real) = Real::start_own(&["--api-key", "right"]) else {
        return;
    };
    let open = |key: Option<&str>| {
        let config = Config {
            key: key.map(SecretString::from),
            ..real.config()
        };
        recall_store_qdrant::open(&config, Arc::new(SystemClock)).expect("a store")
    };
    let right = open(Some("right"));
    right.ping().await.expect("the key is right");
    let written = append(&right, &["m-1".to_owned()]).await.expect("written");
    assert_eq!(written, Revision(1));
    for wrong in [None, Some("wrong")] {
        let error = open(wrong).ping().await.expect_err("the key is wrong");
        assert_eq!(error.code(), "store_unavailable");
        assert!(error.to_string().contains("--backend-key-file"), "{error}");
    }
}

#[tokio::test]
async fn what_cannot_work_is_refused_before_it_is_tried() {
    let config = |url: &str, prefix: &str| Config {
        url: url.to_owned(),
        key: None,
        prefix: prefix.to_owned(),
        freshness: std::time::Duration::ZERO,
        leases: false,
    };
    let open = |config: Config| {
        recall_store_qdrant::open(&config, Arc::new(SystemClock)).expect_err("refused")
    };
    assert!(matches!(open(config("db", "p")), OpenError::Url(_)));
    let error = open(config("http://db:1", "a/b"));
    assert!(matches!(error, OpenError::Rows(_)), "{error}");
}
