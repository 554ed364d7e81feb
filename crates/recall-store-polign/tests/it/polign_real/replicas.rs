//! Several replicas on one database: what one acknowledged, the others see at once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use recall_store::{
    Batch, Error, Namespace, NewEvent, Precondition, RecordKind, RecordWrite, Revision, Store,
    Version,
};
use serde_json::json;

use super::{Real, put_row};

pub(crate) fn ns() -> Namespace {
    "team:blue".parse().expect("a namespace")
}

/// An event as our servers write them: with the moment of its recording.
pub(crate) fn event(id: &str) -> NewEvent {
    let body = json!({ "subject": "user", "text": id, "observed_ms": 1_700_000_000_000u64, "recorded_at": "x" });
    NewEvent {
        id: id.to_owned(),
        body: Bytes::from(body.to_string()),
    }
}

pub(crate) async fn append(store: &dyn Store, ids: &[String]) -> Result<Revision, Error> {
    let events = ids.iter().map(|id| event(id)).collect();
    let batch = Batch {
        events,
        ..Batch::default()
    };
    store.commit(&ns(), batch).await.map(|done| done.revision)
}

pub(crate) async fn ids(store: &dyn Store) -> Vec<String> {
    let mut ids = Vec::new();
    let mut after = Revision(0);
    store.revision(&ns()).await.expect("a revision");
    loop {
        let page = store.events(&ns(), after, 500).await.expect("a page");
        let Some(last) = page.entries.last() else {
            return ids;
        };
        after = last.revision;
        ids.extend(page.entries.into_iter().map(|entry| entry.id));
    }
}

fn sorted(mut ids: Vec<String>) -> Vec<String> {
    ids.sort();
    ids
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_replica_acknowledged_the_next_read_on_another_sees() {
    let Some(real) = Real::start(&[]) else { return };
    let stores = [real.store(), real.store()];
    for (reader, store) in stores.iter().enumerate() {
        assert_eq!(
            store.revision(&ns()).await.expect("a revision"),
            Revision(0),
            "{reader}"
        );
    }
    for n in 0..200 {
        let (writer, reader) = (&stores[n % 2], &stores[(n + 1) % 2]);
        append(writer, &[format!("m-{n}")]).await.expect("written");
        let seen = reader.revision(&ns()).await.expect("a revision");
        assert_eq!(seen, Revision(n as u64 + 1), "stale after write {n}");
    }
    assert_eq!(sorted(ids(&stores[0]).await), sorted(ids(&stores[1]).await));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_is_far_behind_catches_up_whole() {
    let Some(real) = Real::start(&[]) else { return };
    let (a, b) = (real.store(), real.store());
    a.revision(&ns()).await.expect("a revision");
    b.revision(&ns()).await.expect("a revision");
    for round in 0..4 {
        let many: Vec<String> = (0..200).map(|n| format!("m-{round}-{n}")).collect();
        append(&a, &many).await.expect("written");
    }
    assert_eq!(b.revision(&ns()).await.expect("a revision"), Revision(800));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_joins_or_leaves_takes_nothing_with_it() {
    let Some(real) = Real::start(&[]) else { return };
    let stay = real.store();
    append(&stay, &["m-0".to_owned()]).await.expect("written");
    for round in 1..3 {
        let guest = real.store();
        append(&guest, &[format!("m-first-{round}")])
            .await
            .expect("written");
        assert_eq!(ids(&stay).await.len() as u64, 2 * round);
        append(&guest, &[format!("m-last-{round}")])
            .await
            .expect("written");
        guest.close().await.expect("closed");
        // Whether or not it was noticed that the guest left.
        assert_eq!(ids(&stay).await.len() as u64, 2 * round + 1);
    }
}

/// What another program wrote: no head moves, and it is seen within the freshness.
#[tokio::test(flavor = "multi_thread")]
async fn a_strangers_write_is_seen_within_the_freshness() {
    let Some(real) = Real::start(&[]) else { return };
    let store = real.store();
    append(&store, &["m-ours".to_owned()])
        .await
        .expect("written");
    assert_eq!(
        store.revision(&ns()).await.expect("a revision"),
        Revision(1)
    );
    let now = jiff::Timestamp::now();
    let collection = "recall_lexical_v1__team_blue_a39b2560";
    for (n, observed) in [now, now - jiff::SignedDuration::from_hours(24 * 365)]
        .into_iter()
        .enumerate()
    {
        let metadata =
            json!({ "subject": "user", "text": "x", "observed_ms": observed.as_millisecond() });
        put_row(&real, collection, &format!("m-theirs-{n}"), metadata).await;
    }
    let began = Instant::now();
    let mut seen = Vec::new();
    // The back-dated one may take longer.
    while began.elapsed() < Duration::from_secs(60) && !seen.contains(&"m-theirs-1".to_owned()) {
        seen = ids(&store).await;
        let fresh = seen.contains(&"m-theirs-0".to_owned());
        assert!(
            fresh || began.elapsed() < Duration::from_secs(2),
            "not seen after 2 s: {seen:?}"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(sorted(seen), ["m-ours", "m-theirs-0", "m-theirs-1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_racing_updates_on_two_replicas_none_is_lost() {
    let Some(real) = Real::start(&[]) else { return };
    let stores: Vec<Arc<dyn Store>> = vec![Arc::new(real.store()), Arc::new(real.store())];
    let put = |body: String, precondition| Batch {
        records: vec![RecordWrite {
            kind: RecordKind::Session,
            key: "n".to_owned(),
            body: Some(body.into()),
            precondition,
        }],
        ..Batch::default()
    };
    stores[0]
        .commit(&ns(), put("0".to_owned(), Precondition::Absent))
        .await
        .expect("written");
    let counters = (0..6).map(|n| {
        let store = Arc::clone(&stores[n % 2]);
        tokio::spawn(async move {
            let mut added = 0;
            while added < 5 {
                let record = store
                    .get(&ns(), RecordKind::Session, "n")
                    .await
                    .expect("a get")
                    .expect("there");
                let count: u64 = std::str::from_utf8(&record.body)
                    .expect("text")
                    .parse()
                    .expect("a number");
                let update = put(
                    (count + 1).to_string(),
                    Precondition::Version(record.version),
                );
                match store.commit(&ns(), update).await {
                    Ok(_) => added += 1,
                    Err(Error::Conflict { .. }) => {}
                    Err(other) => panic!("{other}"),
                }
            }
        })
    });
    for counter in counters.collect::<Vec<_>>() {
        counter.await.expect("no counter fails");
    }
    let record = stores[1]
        .get(&ns(), RecordKind::Session, "n")
        .await
        .expect("a get")
        .expect("there");
    assert_eq!(record.body, "30");
    assert!(record.version > Version(0));
}
