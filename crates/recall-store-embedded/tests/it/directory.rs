//! What happens to a data directory that is held, damaged, half-made or from the future.

use std::fs;
use std::path::Path;

use bytes::Bytes;
use recall_store::{Batch, NewEvent, Store};
use recall_store_embedded::{EmbeddedStore, FORMAT, OpenError};

async fn filled(dir: &Path) {
    let store = EmbeddedStore::open(dir).expect("it opens");
    let ns = "n".parse().expect("a namespace");
    let events = (0..200)
        .map(|n| NewEvent {
            id: format!("e{n}"),
            body: Bytes::from(vec![b'x'; 300]),
        })
        .collect();
    store
        .commit(
            &ns,
            Batch {
                events,
                ..Batch::default()
            },
        )
        .await
        .expect("a commit");
}

fn refusal(dir: &Path) -> OpenError {
    EmbeddedStore::open(dir)
        .map(drop)
        .expect_err("it must not open")
}

#[tokio::test]
async fn the_second_process_is_told_who_holds_the_directory() {
    let dir = tempfile::tempdir().expect("a folder");
    let first = EmbeddedStore::open(dir.path()).expect("it opens");
    let text = refusal(dir.path()).to_string();
    assert!(
        text.contains(&format!("process {}", std::process::id())),
        "{text}"
    );
    assert!(text.contains("over HTTP"), "{text}");
    drop(first);
    EmbeddedStore::open(dir.path()).expect("it is free again");
}

#[tokio::test]
async fn damage_is_named_and_never_taken_for_an_empty_store() {
    type Damage = fn(&Path);
    let damages: [(&str, Damage); 7] = [
        ("gone", |file| fs::remove_file(file).expect("it is there")),
        ("emptied", |file| fs::write(file, "").expect("it is there")),
        ("halved", |file| truncate(file, 2)),
        ("cut to a fragment", |file| truncate(file, 1000)),
        ("overwritten with text", |file| {
            fs::write(file, "not a database").expect("it is there")
        }),
        ("flipped in the header", |file| flip(file, 0..64)),
        ("flipped all over", |file| flip(file, 4096..usize::MAX)),
    ];
    for (name, damage) in damages {
        let dir = tempfile::tempdir().expect("a folder");
        filled(dir.path()).await;
        let file = dir.path().join("recall.redb");
        damage(&file);
        let before = fs::read(&file).ok();
        let error = refusal(dir.path());
        assert!(
            matches!(error, OpenError::Damaged { .. }),
            "{name}: {error}"
        );
        assert!(error.to_string().contains("Restore"), "{name}: {error}");
        if name != "flipped all over" {
            assert_eq!(
                before,
                fs::read(&file).ok(),
                "{name}: a refused file must stay as it is"
            );
        }
    }
}

fn truncate(file: &Path, parts: u64) {
    let whole = fs::metadata(file).expect("it is there").len();
    let opened = fs::OpenOptions::new()
        .write(true)
        .open(file)
        .expect("it is there");
    opened.set_len(whole / parts).expect("it can be cut");
}

fn flip(file: &Path, range: std::ops::Range<usize>) {
    let mut bytes = fs::read(file).expect("it is there");
    let end = range.end.min(bytes.len());
    for byte in &mut bytes[range.start..end] {
        *byte ^= 0x5a;
    }
    fs::write(file, bytes).expect("it can be written");
}

#[tokio::test]
async fn a_newer_format_is_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    filled(dir.path()).await;
    let marker = serde_json::json!({"format": FORMAT + 1});
    fs::write(dir.path().join("store.json"), marker.to_string()).expect("it can be written");
    let error = refusal(dir.path());
    assert!(
        matches!(error, OpenError::NewerFormat { found, .. } if found == FORMAT + 1),
        "{error}"
    );
    assert!(error.to_string().contains("upgrade Recall"), "{error}");
}

#[tokio::test]
async fn a_creation_that_was_cut_short_is_finished() {
    let dir = tempfile::tempdir().expect("a folder");
    filled(dir.path()).await;
    fs::remove_file(dir.path().join("store.json")).expect("it is there");
    let store = EmbeddedStore::open(dir.path()).expect("the database says what it is");
    let revision = store
        .revision(&"n".parse().expect("a namespace"))
        .await
        .expect("a revision");
    assert_eq!(revision.0, 200);
    drop(store);
    assert!(dir.path().join("store.json").exists());
}

#[cfg(unix)]
#[tokio::test]
async fn the_directory_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let parent = tempfile::tempdir().expect("a folder");
    let dir = parent.path().join("made/here");
    filled(&dir).await;
    let mode = fs::metadata(&dir)
        .expect("it was made")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700);
    for file in ["recall.redb", "store.json", "holder.json"] {
        let mode = fs::metadata(dir.join(file))
            .expect(file)
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
}
