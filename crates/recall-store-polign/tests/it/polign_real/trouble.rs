//! A store that is away, comes back, or refuses the key.

use std::sync::Arc;

use recall_store::{Revision, Store, SystemClock};
use recall_store_polign::{Config, OpenError};
use secrecy::SecretString;

use super::Real;
use recall_store_rows::conformance::{append, ids};

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_was_killed_comes_back_with_everything_it_acknowledged() {
    let Some(mut real) = Real::start(&[]) else {
        return;
    };
    let store = real.store();
    append(&store, &["m-1".to_owned()]).await.expect("written");
    real.db.kill().expect("it runs");
    let error = append(&store, &["m-2".to_owned()])
        .await
        .expect_err("it is away");
    assert_eq!(error.code(), "store_unavailable");
    assert_eq!(
        store.ping().await.expect_err("it is away").code(),
        "store_unavailable"
    );
    real.db.restart().expect("it starts");
    store.ping().await.expect("it is back");
    // The same write again: once, whether or not the first got through.
    append(&store, &["m-2".to_owned()]).await.expect("written");
    let mut seen = ids(&store).await;
    seen.sort();
    assert_eq!(seen, ["m-1", "m-2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_key_opens_and_a_wrong_one_is_the_operators_trouble() {
    let key = format!("plgn_{}_{}", "a".repeat(16), "b".repeat(64));
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), &key).expect("written");
    let path = file.path().to_str().expect("a path");
    let Some(real) = Real::start(&["-require-data-key", "-bootstrap-key-file", path]) else {
        return;
    };
    let open = |key: Option<String>| {
        let config = Config {
            key: key.map(SecretString::from),
            ..real.config()
        };
        recall_store_polign::open(&config, Arc::new(SystemClock)).expect("a store")
    };
    let right = open(Some(key.clone()));
    right.ping().await.expect("the key is right");
    assert_eq!(
        append(&right, &["m-1".to_owned()]).await.expect("written"),
        Revision(1)
    );
    for wrong in [None, Some(key.replace('b', "c"))] {
        let error = open(wrong).ping().await.expect_err("the key is wrong");
        assert_eq!(error.code(), "store_unavailable");
        assert!(error.to_string().contains("key"), "{error}");
    }
}

#[tokio::test]
async fn what_cannot_work_is_refused_before_it_is_tried() {
    let config = |url: &str, prefix: &str| Config {
        url: url.to_owned(),
        key: None,
        prefix: prefix.to_owned(),
        freshness: std::time::Duration::ZERO,
    };
    let open = |config: Config| {
        recall_store_polign::open(&config, Arc::new(SystemClock)).expect_err("refused")
    };
    assert!(matches!(open(config("db", "p")), OpenError::Url(_)));
    assert!(matches!(
        open(config("http://db:1", "a/b")),
        OpenError::Rows(_)
    ));
}
