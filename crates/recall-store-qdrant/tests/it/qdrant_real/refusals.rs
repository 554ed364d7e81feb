//! What is refused in words: vectors of another model, points of another program, servers too old.

use recall_store::{Acquired, Precondition, RecordKind, RecordWrite, Store};
use recall_store::{Batch, Error};
use recall_store_rows::conformance::{append, ids, ns};
use recall_store_rows::{NewRow, RowStore};
use std::time::Duration;

use super::Real;

fn row(places: usize) -> NewRow {
    NewRow {
        id: "m-1".to_owned(),
        values: vec![0.5; places],
        metadata: serde_json::Map::new(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn vectors_of_another_model_are_refused_in_words() {
    let Some(real) = Real::start() else { return };
    let shelf = format!("{}__team_blue_a39b2560", real.db.prefix());
    // As the published server makes it with an embedding model of 1536 places.
    let theirs = real.store();
    theirs
        .rows()
        .put(&shelf, vec![row(1536)])
        .await
        .expect("made");
    let store = real.store();
    // What is there can be read, and so exported.
    assert_eq!(ids(&store).await, ["m-1"]);
    let error = append(&store, &["m-2".to_owned()])
        .await
        .expect_err("256 is not 1536");
    assert_eq!(error.code(), "store_unavailable");
    let text = error.to_string();
    for word in [
        shelf.as_str(),
        "1536",
        "256",
        "another embedding model",
        "--collection",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
}

fn key(precondition: Precondition) -> Batch {
    Batch {
        records: vec![RecordWrite {
            kind: RecordKind::Session,
            key: "coder".to_owned(),
            body: Some("{}".into()),
            precondition,
        }],
        ..Batch::default()
    }
}

/// A server that knows no update modes overwrites in silence. It must not be asked for what needs
/// them, and what does not need them works.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_conditions_serves_one_replica_and_no_leases() {
    let Some(mut real) = Real::start_own(&["--version", "1.15.4"]) else {
        return;
    };
    let error = real.store().ping().await.expect_err("it is too old");
    let text = error.to_string();
    for word in ["1.15", "--qdrant-leases", "1.17"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    real.leases = false;
    let store: RowStore = real.store();
    store.ping().await.expect("without leases it will do");
    append(&store, &["m-1".to_owned()]).await.expect("written");
    store
        .commit(&ns(), key(Precondition::Absent))
        .await
        .expect("written");
    let error = store
        .commit(&ns(), key(Precondition::Absent))
        .await
        .expect_err("it is there");
    assert!(matches!(error, Error::Conflict { .. }), "{error}");
    let error = store
        .acquire(&ns(), "coder", "me", Duration::from_secs(60))
        .await;
    assert!(
        matches!(error, Err(Error::Unsupported("leases"))),
        "{error:?}"
    );
    // A second replica: who wins a race could not be told.
    let second = real.store();
    second.ping().await.expect("it joins");
    let record = second
        .get(&ns(), RecordKind::Session, "coder")
        .await
        .expect("read");
    let version = Precondition::Version(record.expect("there").version);
    let error = second
        .commit(&ns(), key(version))
        .await
        .expect_err("it is too old");
    assert_eq!(error.code(), "store_unavailable");
    assert!(error.to_string().contains("several servers"), "{error}");
    append(&second, &["m-2".to_owned()])
        .await
        .expect("events need no condition");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_version_with_conditions_will_do() {
    let Some(real) = Real::start_own(&["--version", "1.17.0"]) else {
        return;
    };
    let store = real.store();
    let granted = store
        .acquire(&ns(), "coder", "me", Duration::from_secs(60))
        .await;
    assert!(matches!(granted, Ok(Acquired::Granted(_))), "{granted:?}");
}
