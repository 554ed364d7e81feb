//! Several replicas on one database: what one acknowledged, the others see at once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use recall_store::{
    Batch, Error, NewEvent, Precondition, RecordKind, RecordWrite, Revision, Store, Version,
};
use serde_json::json;

use super::{Open, ns};
use crate::store::RowStore;
use crate::{NewRow, PLACES};

/// An event as our servers write them: with the moment of its recording.
pub fn event(id: &str) -> NewEvent {
    let body = json!({ "subject": "user", "text": id, "observed_ms": 1_700_000_000_000u64, "recorded_at": "x" });
    NewEvent {
        id: id.to_owned(),
        body: Bytes::from(body.to_string()),
    }
}

/// Appends events of these ids.
///
/// # Errors
///
/// As the store.
pub async fn append(store: &dyn Store, ids: &[String]) -> Result<Revision, Error> {
    let events = ids.iter().map(|id| event(id)).collect();
    let batch = Batch {
        events,
        ..Batch::default()
    };
    store.commit(&ns(), batch).await.map(|done| done.revision)
}

/// All ids in the order in which the store numbers them.
///
/// # Panics
///
/// If the store cannot be asked.
pub async fn ids(store: &dyn Store) -> Vec<String> {
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

pub(super) async fn what_one_replica_acknowledged_the_next_read_on_another_sees(open: &Open<'_>) {
    let stores = [open(), open()];
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

pub(super) async fn a_reader_that_is_far_behind_catches_up_whole(open: &Open<'_>) {
    let (a, b) = (open(), open());
    a.revision(&ns()).await.expect("a revision");
    b.revision(&ns()).await.expect("a revision");
    for round in 0..4 {
        let many: Vec<String> = (0..200).map(|n| format!("m-{round}-{n}")).collect();
        append(&a, &many).await.expect("written");
    }
    assert_eq!(b.revision(&ns()).await.expect("a revision"), Revision(800));
}

pub(super) async fn a_replica_that_joins_or_leaves_takes_nothing_with_it(open: &Open<'_>) {
    let stay = open();
    append(&stay, &["m-0".to_owned()]).await.expect("written");
    for round in 1..3 {
        let guest = open();
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

async fn write_as_a_stranger(store: &RowStore, n: usize, observed: jiff::Timestamp) {
    let metadata =
        json!({ "subject": "user", "text": "x", "observed_ms": observed.as_millisecond() });
    let row = NewRow {
        id: format!("m-theirs-{n}"),
        values: vec![0.5; PLACES],
        metadata: metadata.as_object().cloned().unwrap_or_default(),
    };
    let collection = store.names().memory(&ns());
    let written = store.rows().put(&collection, vec![row]).await;
    written.expect("written");
}

/// What another program wrote: no head moves, and it is seen within the freshness.
pub(super) async fn a_strangers_write_is_seen_within_the_freshness(open: &Open<'_>) {
    let store = open();
    append(&store, &["m-ours".to_owned()])
        .await
        .expect("written");
    assert_eq!(
        store.revision(&ns()).await.expect("a revision"),
        Revision(1)
    );
    let now = jiff::Timestamp::now();
    for (n, observed) in [now, now - jiff::SignedDuration::from_hours(24 * 365)]
        .into_iter()
        .enumerate()
    {
        write_as_a_stranger(&store, n, observed).await;
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

/// What can be told at once is as strict as what is asked for: a stranger's write is in it within the
/// freshness, though nobody waits for that, and nothing is told any more once there is another replica.
pub(super) async fn a_lone_replica_tells_at_once_and_no_more_than_it_may(open: &Open<'_>) {
    let store = open();
    assert_eq!(store.revision_at_hand(&ns()), None, "nothing was asked yet");
    append(&store, &["m-ours".to_owned()])
        .await
        .expect("written");
    let asked = store.revision(&ns()).await.expect("a revision");
    assert_eq!(store.revision_at_hand(&ns()), Some(asked));
    write_as_a_stranger(&store, 0, jiff::Timestamp::now()).await;
    let began = Instant::now();
    let (mut at_once, mut waited) = (0, 0);
    loop {
        let revision = match store.revision_at_hand(&ns()) {
            Some(revision) => {
                at_once += 1;
                revision
            }
            None => {
                waited += 1;
                store.revision(&ns()).await.expect("a revision")
            }
        };
        if revision > asked {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(2), "not seen");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(
        at_once > waited,
        "told at once {at_once} times, {waited} not"
    );

    let other = open();
    for n in 0..20 {
        append(&other, &[format!("m-other-{n}")])
            .await
            .expect("written");
        let told = store.revision_at_hand(&ns());
        let asked = store.revision(&ns()).await.expect("a revision");
        assert!(told.is_none_or(|told| told == asked), "{told:?}, {asked:?}");
    }
}

pub(super) async fn of_racing_updates_on_two_replicas_none_is_lost(open: &Open<'_>) {
    let stores: Vec<Arc<dyn Store>> = vec![Arc::new(open()), Arc::new(open())];
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
