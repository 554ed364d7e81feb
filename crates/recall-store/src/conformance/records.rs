//! What records promise.

use std::sync::Arc;

use bytes::Bytes;

use super::namespace;
use crate::{
    Batch, Error, Namespace, NewEvent, Precondition, Record, RecordKind, RecordWrite, Revision,
    Store,
};

pub(super) async fn checks(store: &Arc<dyn Store>) {
    an_absent_record_is_none(store).await;
    a_record_is_replaced_and_its_version_grows(store).await;
    an_erased_record_is_gone_and_its_version_never_returns(store).await;
    preconditions_hold_or_nothing_is_written(store).await;
    of_racing_updates_none_is_lost(store).await;
    listing_pages_by_prefix_and_kind(store).await;
    records_of_other_namespaces_are_invisible(store).await;
    bodies_and_keys_survive_as_they_are(store).await;
}

fn write(
    kind: RecordKind,
    key: &str,
    body: Option<&str>,
    precondition: Precondition,
) -> RecordWrite {
    let body = body.map(|body| Bytes::copy_from_slice(body.as_bytes()));
    RecordWrite {
        kind,
        key: key.to_owned(),
        body,
        precondition,
    }
}

fn batch(records: Vec<RecordWrite>) -> Batch {
    Batch {
        records,
        ..Batch::default()
    }
}

async fn put(store: &Arc<dyn Store>, ns: &Namespace, kind: RecordKind, key: &str, body: &str) {
    let write = write(kind, key, Some(body), Precondition::None);
    store.commit(ns, batch(vec![write])).await.expect("a put");
}

async fn get(
    store: &Arc<dyn Store>,
    ns: &Namespace,
    kind: RecordKind,
    key: &str,
) -> Option<Record> {
    store.get(ns, kind, key).await.expect("a get")
}

async fn an_absent_record_is_none(store: &Arc<dyn Store>) {
    assert_eq!(
        get(store, &namespace("absent"), RecordKind::Turn, "a").await,
        None
    );
}

async fn a_record_is_replaced_and_its_version_grows(store: &Arc<dyn Store>) {
    let ns = namespace("replace");
    put(store, &ns, RecordKind::Turn, "a", "1").await;
    let first = get(store, &ns, RecordKind::Turn, "a")
        .await
        .expect("it was put");
    put(store, &ns, RecordKind::Turn, "a", "2").await;
    let second = get(store, &ns, RecordKind::Turn, "a")
        .await
        .expect("it was put");
    assert_eq!(
        (first.body.as_ref(), second.body.as_ref()),
        (&b"1"[..], &b"2"[..])
    );
    assert!(second.version > first.version);
}

async fn an_erased_record_is_gone_and_its_version_never_returns(store: &Arc<dyn Store>) {
    let ns = namespace("erase");
    put(store, &ns, RecordKind::Key, "a", "1").await;
    let before = get(store, &ns, RecordKind::Key, "a")
        .await
        .expect("it was put");
    let erase = write(
        RecordKind::Key,
        "a",
        None,
        Precondition::Version(before.version),
    );
    store
        .commit(&ns, batch(vec![erase]))
        .await
        .expect("an erasure");
    assert_eq!(get(store, &ns, RecordKind::Key, "a").await, None);
    put(store, &ns, RecordKind::Key, "a", "1").await;
    let after = get(store, &ns, RecordKind::Key, "a")
        .await
        .expect("it was put again");
    assert!(after.version > before.version);
}

async fn preconditions_hold_or_nothing_is_written(store: &Arc<dyn Store>) {
    let ns = namespace("preconditions");
    put(store, &ns, RecordKind::Action, "there", "1").await;
    let version = get(store, &ns, RecordKind::Action, "there")
        .await
        .expect("it was put")
        .version;
    let stale = crate::Version(version.0 + 7);
    let refused = [
        ("there", Precondition::Absent),
        ("there", Precondition::Version(stale)),
        ("gone", Precondition::Version(version)),
    ];
    for (key, precondition) in refused {
        let mixed = Batch {
            events: vec![NewEvent {
                id: "e".to_owned(),
                body: Bytes::from_static(b"{}"),
            }],
            records: vec![
                write(RecordKind::Action, "other", Some("x"), Precondition::None),
                write(RecordKind::Action, key, Some("x"), precondition),
            ],
            ..Batch::default()
        };
        let refusal = store
            .commit(&ns, mixed)
            .await
            .expect_err("the precondition does not hold");
        assert!(
            matches!(refusal, Error::Conflict { .. }),
            "{key} {precondition:?}: {refusal}"
        );
        assert_eq!(get(store, &ns, RecordKind::Action, "other").await, None);
        assert_eq!(store.revision(&ns).await.expect("a revision"), Revision(0));
    }
    let holding = vec![
        write(
            RecordKind::Action,
            "there",
            Some("2"),
            Precondition::Version(version),
        ),
        write(RecordKind::Action, "new", Some("1"), Precondition::Absent),
    ];
    store.commit(&ns, batch(holding)).await.expect("both hold");
    assert_eq!(
        get(store, &ns, RecordKind::Action, "there")
            .await
            .expect("there")
            .body,
        "2"
    );
}

async fn of_racing_updates_none_is_lost(store: &Arc<dyn Store>) {
    let ns = namespace("counter");
    put(store, &ns, RecordKind::Session, "n", "0").await;
    let counters = (0..8).map(|_| {
        let (store, ns) = (Arc::clone(store), ns.clone());
        tokio::spawn(async move {
            let mut added = 0;
            while added < 10 {
                let read = get(&store, &ns, RecordKind::Session, "n")
                    .await
                    .expect("it is there");
                let n: u64 = std::str::from_utf8(&read.body)
                    .expect("text")
                    .parse()
                    .expect("a number");
                let next = (n + 1).to_string();
                let update = write(
                    RecordKind::Session,
                    "n",
                    Some(&next),
                    Precondition::Version(read.version),
                );
                match store.commit(&ns, batch(vec![update])).await {
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
    assert_eq!(
        get(store, &ns, RecordKind::Session, "n")
            .await
            .expect("there")
            .body,
        "80"
    );
}

async fn listing_pages_by_prefix_and_kind(store: &Arc<dyn Store>) {
    let ns = namespace("listing");
    for key in ["a:1", "a:2", "a:3", "a", "b:1", "a;"] {
        put(store, &ns, RecordKind::Pointer, key, key).await;
    }
    put(store, &ns, RecordKind::Output, "a:0", "another kind").await;
    let mut keys = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let page = store
            .list(&ns, RecordKind::Pointer, "a:", after.as_deref(), 2)
            .await
            .expect("a page");
        assert!(page.records.len() <= 2);
        keys.extend(page.records.into_iter().map(|record| record.key));
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    assert_eq!(keys, ["a:1", "a:2", "a:3"]);
    let all = store
        .list(&ns, RecordKind::Pointer, "", None, 100)
        .await
        .expect("a page");
    let keys: Vec<_> = all
        .records
        .iter()
        .map(|record| record.key.as_str())
        .collect();
    assert_eq!(keys, ["a", "a:1", "a:2", "a:3", "a;", "b:1"]);
    assert_eq!(all.next, None);
}

async fn records_of_other_namespaces_are_invisible(store: &Arc<dyn Store>) {
    let (a, b) = (namespace("records:a"), namespace("records:a:b"));
    put(store, &a, RecordKind::Turn, "k", "a").await;
    assert_eq!(get(store, &b, RecordKind::Turn, "k").await, None);
    let page = store
        .list(&b, RecordKind::Turn, "", None, 10)
        .await
        .expect("a page");
    assert!(page.records.is_empty());
}

async fn bodies_and_keys_survive_as_they_are(store: &Arc<dyn Store>) {
    let ns = namespace("bytes");
    let long_key = "k".repeat(crate::MAX_RECORD_KEY_BYTES);
    let long_body = "b".repeat(300_000);
    for (key, body) in [
        ("a/b c:ü\u{1F980}", "{}"),
        (&long_key, "x"),
        ("big", &long_body),
        ("empty", ""),
    ] {
        put(store, &ns, RecordKind::Output, key, body).await;
        let read = get(store, &ns, RecordKind::Output, key)
            .await
            .expect("it was put");
        assert_eq!(
            (read.key.as_str(), read.body.as_ref()),
            (key, body.as_bytes())
        );
    }
}
