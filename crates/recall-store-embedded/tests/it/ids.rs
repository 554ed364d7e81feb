//! The index of event ids follows the log when somebody needs it, and holds nobody up.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use recall_store::{Batch, Error, Namespace, NewEvent, Revision, Store};
use recall_store_embedded::EmbeddedStore;

pub(crate) fn events(range: std::ops::Range<u64>) -> Vec<NewEvent> {
    let event = |n| NewEvent {
        id: format!("e{n}"),
        body: Bytes::from_static(br#"{"k":1}"#),
    };
    range.map(event).collect()
}

fn ns(name: &str) -> Namespace {
    name.parse().expect("a namespace")
}

/// Appends events that nobody looks up, so that the index knows none of them.
async fn vouched(store: &EmbeddedStore, ns: &Namespace, range: std::ops::Range<u64>) {
    for start in range.clone().step_by(4096) {
        let batch = Batch {
            events: events(start..(start + 4096).min(range.end)),
            expect: Some(Revision(start)),
            ..Batch::default()
        };
        store.commit(ns, batch).await.expect("a commit");
    }
}

async fn looked_up(
    store: &EmbeddedStore,
    ns: &Namespace,
    range: std::ops::Range<u64>,
) -> Vec<Revision> {
    let batch = Batch {
        events: events(range),
        ..Batch::default()
    };
    store.commit(ns, batch).await.expect("a commit").events
}

fn places(range: std::ops::Range<u64>) -> Vec<Revision> {
    range.map(|n| Revision(n + 1)).collect()
}

/// How far the index of a closed store knows the log of its only namespace.
fn indexed(dir: &Path) -> (u64, u64) {
    use redb::{ReadableDatabase, ReadableTableMetadata};
    let file = redb::Database::open(dir.join("recall.redb")).expect("it is closed");
    let read = file.begin_read().expect("a snapshot");
    let definition = redb::TableDefinition::<u32, u64>::new("indexed");
    let known = read.open_table(definition).expect("the table");
    let definition = redb::TableDefinition::<(u32, u64, u64), ()>::new("event_places");
    let rows = read.open_table(definition).expect("the table");
    let known = known.get(0).expect("a row").map_or(0, |row| row.value());
    (known, rows.len().expect("a count"))
}

#[tokio::test]
async fn a_long_log_is_indexed_once_somebody_has_to_know() {
    let dir = tempfile::tempdir().expect("a folder");
    let ns = ns("long");
    // More than two slices.
    let end = 10_000;
    let store = EmbeddedStore::open(dir.path()).expect("it opens");
    vouched(&store, &ns, 0..end).await;
    drop(store);
    assert_eq!(indexed(dir.path()), (0, 0), "nobody asked");

    let store = EmbeddedStore::open(dir.path()).expect("it opens");
    let found = looked_up(&store, &ns, end - 3..end + 2).await;
    assert_eq!(found, places(end - 3..end + 2));
    assert_eq!(looked_up(&store, &ns, 0..4).await, places(0..4));
    let revision = store.revision(&ns).await.expect("a revision");
    assert_eq!(revision, Revision(end + 2));
    drop(store);
    assert_eq!(indexed(dir.path()), (end + 2, end + 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn others_write_while_a_log_is_indexed() {
    let dir = tempfile::tempdir().expect("a folder");
    let store = Arc::new(EmbeddedStore::open(dir.path()).expect("it opens"));
    let (long, short) = (ns("long"), ns("short"));
    let end = 40_000;
    vouched(&store, &long, 0..end).await;
    let importing = tokio::spawn({
        let (store, long) = (Arc::clone(&store), long.clone());
        async move { looked_up(&store, &long, end - 1..end + 1).await }
    });
    let mut between = 0;
    while !importing.is_finished() {
        vouched(&store, &short, between..between + 1).await;
        between += 1;
    }
    let found = importing.await.expect("it is imported");
    assert_eq!(found, places(end - 1..end + 1));
    assert!(between >= 3, "only {between} writes in between");
}

#[tokio::test(flavor = "multi_thread")]
async fn imports_meet_writers_of_the_same_log() {
    let dir = tempfile::tempdir().expect("a folder");
    let store = Arc::new(EmbeddedStore::open(dir.path()).expect("it opens"));
    let ns = ns("both");
    vouched(&store, &ns, 0..9_000).await;
    let importers: Vec<_> = (0..4)
        .map(|_| {
            let (store, ns) = (Arc::clone(&store), ns.clone());
            tokio::spawn(async move { looked_up(&store, &ns, 8_990..9_050).await })
        })
        .collect();
    let writer = tokio::spawn({
        let (store, ns) = (Arc::clone(&store), ns.clone());
        async move {
            let mut written = 0_u64;
            while written < 50 {
                let at = store.revision(&ns).await.expect("a revision");
                let event = NewEvent {
                    id: format!("w{written}"),
                    body: Bytes::from_static(b"{}"),
                };
                let batch = Batch {
                    events: vec![event],
                    expect: Some(at),
                    ..Batch::default()
                };
                match store.commit(&ns, batch).await {
                    Ok(_) => written += 1,
                    Err(Error::Conflict { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        }
    });
    let mut answers = Vec::new();
    for importer in importers {
        answers.push(importer.await.expect("it is imported"));
    }
    tokio::time::timeout(Duration::from_secs(60), writer)
        .await
        .expect("a writer gets its turn")
        .expect("it ends");
    assert!(
        answers.windows(2).all(|two| two[0] == two[1]),
        "{answers:?}"
    );
    let page = store
        .events(&ns, Revision(0), u32::MAX)
        .await
        .expect("the log reads");
    let mut ids: Vec<_> = page.entries.into_iter().map(|entry| entry.id).collect();
    assert_eq!(ids.len(), 9_000 + 50 + 50);
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 9_000 + 50 + 50, "no id twice");
}
