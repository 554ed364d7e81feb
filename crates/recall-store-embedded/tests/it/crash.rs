//! `kill -9` while eight writers write.

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use recall_store::{Revision, Store};
use recall_store_embedded::EmbeddedStore;

/// Enough to catch a write acknowledged too early; `cargo xtask bench` runs two hundred.
const ROUNDS: usize = 12;

#[tokio::test(flavor = "multi_thread")]
async fn every_acknowledged_write_survives_kill_9() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut acknowledged = HashSet::new();
    for round in 0..ROUNDS {
        acknowledged.extend(write_until_killed(dir.path(), round, 40 * (round + 1)));
        let store = EmbeddedStore::open(dir.path()).expect("it opens after a kill");
        let page = store
            .events(
                &"crash".parse().expect("a namespace"),
                Revision(0),
                u32::MAX,
            )
            .await
            .expect("the log reads");
        let stored: HashSet<String> = page.entries.into_iter().map(|entry| entry.id).collect();
        let lost: Vec<_> = acknowledged.difference(&stored).collect();
        assert!(
            lost.is_empty(),
            "round {round}: {} acknowledged writes lost: {lost:?}",
            lost.len()
        );
    }
    assert!(
        acknowledged.len() > ROUNDS * 20,
        "the writers hardly wrote: {}",
        acknowledged.len()
    );
}

/// Runs the writer until it has acknowledged `count` writes, kills it, and returns all that it
/// acknowledged, those printed between the decision and the kill included.
fn write_until_killed(dir: &Path, round: usize, count: usize) -> Vec<String> {
    let mut writer = Command::new(hammer())
        .arg(dir)
        .arg(round.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the example `hammer` is built with the tests");
    let mut lines = BufReader::new(writer.stdout.take().expect("stdout is piped")).lines();
    let mut ids: Vec<String> = lines.by_ref().take(count).map_while(Result::ok).collect();
    writer.kill().expect("it runs");
    ids.extend(lines.map_while(Result::ok));
    writer.wait().expect("it was started");
    ids
}

fn hammer() -> PathBuf {
    let mut path = std::env::current_exe().expect("a test has a path");
    path.pop();
    if path.ends_with("deps") {
        path.pop();
    }
    path.join("examples").join("hammer")
}
