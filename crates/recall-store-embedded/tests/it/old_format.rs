//! A directory that format 1 wrote is brought to today's, whole or not at all.

use std::fs;
use std::path::Path;

use recall_store::{Batch, Namespace, Revision, Store};
use recall_store_embedded::{EmbeddedStore, FORMAT};
use redb::{Database, ReadableDatabase, TableDefinition, TableHandle};

use crate::ids::events;

const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");

/// Writes what format 1 wrote: a namespace of so many events, each id in a table of its own.
fn write_format_1(dir: &Path, count: u64) {
    let file = Database::create(dir.join("recall.redb")).expect("a new file");
    let write = file.begin_write().expect("a transaction");
    write_tables(&write, count).expect("it is written");
    write.commit().expect("a commit");
    mark(dir, 1);
}

fn write_tables(write: &redb::WriteTransaction, count: u64) -> Result<(), redb::Error> {
    write.open_table(META)?.insert("format", 1)?;
    let namespaces = TableDefinition::<&str, u32>::new("namespaces");
    write.open_table(namespaces)?.insert("n", 0)?;
    let heads = TableDefinition::<u32, (u64, u64)>::new("heads");
    write.open_table(heads)?.insert(0, (count, 0))?;
    let log = TableDefinition::<(u32, u64), (&str, &[u8])>::new("events");
    let mut log = write.open_table(log)?;
    let ids = TableDefinition::<(u32, &str), u64>::new("event_ids");
    let mut ids = write.open_table(ids)?;
    for (event, revision) in events(0..count).iter().zip(1..) {
        log.insert((0, revision), (event.id.as_str(), &*event.body))?;
        ids.insert((0, event.id.as_str()), revision)?;
    }
    let records = TableDefinition::<(u32, u8, &str), (u64, &[u8])>::new("records");
    write.open_table(records)?;
    let leases = TableDefinition::<(u32, &str), (u64, &str, i64, bool)>::new("leases");
    write.open_table(leases)?;
    Ok(())
}

fn mark(dir: &Path, format: u64) {
    let marker = serde_json::json!({"format": format});
    fs::write(dir.join("store.json"), marker.to_string()).expect("it can be written");
}

/// The format in the database and in the file beside it, and whether the old table is there.
fn found(dir: &Path) -> (u64, u64, bool) {
    let file = Database::open(dir.join("recall.redb")).expect("it is closed");
    let read = file.begin_read().expect("a snapshot");
    let meta = read.open_table(META).expect("the table");
    let inside = meta
        .get("format")
        .expect("a row")
        .expect("a format")
        .value();
    let old = read
        .list_tables()
        .expect("names")
        .any(|table| table.name() == "event_ids");
    let marker = fs::read(dir.join("store.json")).expect("it is there");
    let marker: serde_json::Value = serde_json::from_slice(&marker).expect("JSON");
    (inside, marker["format"].as_u64().expect("a number"), old)
}

async fn goes_on(dir: &Path, count: u64) {
    let store = EmbeddedStore::open(dir).expect("it opens");
    let ns: Namespace = "n".parse().expect("a namespace");
    let page = store.events(&ns, Revision(0), u32::MAX).await;
    let entries = page.expect("the log reads").entries;
    let read: Vec<_> = entries
        .iter()
        .map(|entry| (&entry.id, &entry.body))
        .collect();
    let written = events(0..count);
    let written: Vec<_> = written
        .iter()
        .map(|event| (&event.id, &event.body))
        .collect();
    assert_eq!(read, written);
    let conditional = Batch {
        events: events(count..count + 1),
        expect: Some(Revision(count)),
        ..Batch::default()
    };
    store.commit(&ns, conditional).await.expect("a commit");
    let again = Batch {
        events: events(0..count + 2),
        ..Batch::default()
    };
    let done = store.commit(&ns, again).await.expect("a commit");
    let places: Vec<_> = (1..=count + 2).map(Revision).collect();
    assert_eq!(done.events, places);
}

#[tokio::test]
async fn an_old_directory_is_opened_and_goes_on() {
    let dir = tempfile::tempdir().expect("a folder");
    write_format_1(dir.path(), 1_000);
    assert_eq!(found(dir.path()), (1, 1, true));
    goes_on(dir.path(), 1_000).await;
    assert_eq!(found(dir.path()), (FORMAT, FORMAT, false));
}

#[tokio::test]
async fn a_crash_after_the_database_was_brought_up_is_made_good() {
    let dir = tempfile::tempdir().expect("a folder");
    write_format_1(dir.path(), 100);
    drop(EmbeddedStore::open(dir.path()).expect("it opens"));
    // The file beside the database is written last.
    mark(dir.path(), 1);
    assert_eq!(found(dir.path()), (FORMAT, 1, false));
    goes_on(dir.path(), 100).await;
    assert_eq!(found(dir.path()), (FORMAT, FORMAT, false));
}

/// A crash in the middle of bringing it up leaves format 1 as it was, which the next start finds.
#[tokio::test]
async fn a_crash_before_that_leaves_the_old_one() {
    let dir = tempfile::tempdir().expect("a folder");
    write_format_1(dir.path(), 100);
    let file = Database::open(dir.path().join("recall.redb")).expect("it is closed");
    let half = file.begin_write().expect("a transaction");
    let ids = TableDefinition::<(u32, &str), u64>::new("event_ids");
    half.delete_table(ids).expect("it is there");
    // Neither committed nor aborted: the file is as a kill would leave it now.
    let copy = tempfile::tempdir().expect("a folder");
    for name in ["recall.redb", "store.json"] {
        let (from, to) = (dir.path().join(name), copy.path().join(name));
        fs::copy(from, to).expect("it can be copied");
    }
    drop(half);
    goes_on(copy.path(), 100).await;
    assert_eq!(found(copy.path()), (FORMAT, FORMAT, false));
}
