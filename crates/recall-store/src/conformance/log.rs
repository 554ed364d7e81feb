//! What the event log promises.

use std::sync::Arc;

use bytes::Bytes;

use super::namespace;
use crate::{Batch, Error, LogEntry, Namespace, NewEvent, Revision, Store};

pub(super) async fn checks(store: &Arc<dyn Store>) {
    an_empty_log_has_revision_zero(store).await;
    events_come_back_in_order_and_byte_for_byte(store).await;
    an_id_is_appended_once(store).await;
    pages_join_without_gap_or_repetition(store).await;
    namespaces_see_only_their_own_events(store).await;
    names_that_differ_in_case_or_by_a_sign_are_apart(store).await;
    concurrent_appends_are_all_there(store).await;
    limits_are_refused_whole(store).await;
    if store.capabilities().conditional_append {
        an_unexpected_revision_is_a_conflict(store).await;
        of_racing_conditional_appends_one_wins(store).await;
        a_conditional_append_is_not_repeated(store).await;
        ids_appended_conditionally_are_known(store).await;
    }
}

fn event(id: &str, body: &str) -> NewEvent {
    NewEvent {
        id: id.to_owned(),
        body: Bytes::copy_from_slice(body.as_bytes()),
    }
}

fn batch(events: Vec<NewEvent>) -> Batch {
    Batch {
        events,
        ..Batch::default()
    }
}

fn json(body: &[u8]) -> serde_json::Value {
    serde_json::from_slice(body).expect("a body is JSON")
}

async fn all(store: &Arc<dyn Store>, ns: &Namespace) -> Vec<LogEntry> {
    let mut entries: Vec<LogEntry> = Vec::new();
    loop {
        let after = entries.last().map_or(Revision(0), |last| last.revision);
        let page = store.events(ns, after, 7).await.expect("a page");
        if page.entries.is_empty() {
            return entries;
        }
        entries.extend(page.entries);
    }
}

async fn an_empty_log_has_revision_zero(store: &Arc<dyn Store>) {
    let ns = namespace("empty");
    assert_eq!(store.revision(&ns).await.expect("a revision"), Revision(0));
    let page = store.events(&ns, Revision(0), 10).await.expect("a page");
    assert_eq!((page.entries, page.revision), (Vec::new(), Revision(0)));
}

async fn events_come_back_in_order_and_byte_for_byte(store: &Arc<dyn Store>) {
    let ns = namespace("order");
    let bodies = [
        r#"{"text":"a \"quoted\" line\n"}"#,
        r#"{"n":-0.5,"b":true}"#,
        r#"{"s":"日本 \u0000 🦀"}"#,
    ];
    for (at, body) in bodies.iter().enumerate() {
        let done = store
            .commit(&ns, batch(vec![event(&format!("e{at}"), body)]))
            .await
            .expect("a commit");
        assert_eq!(done.revision, Revision(at as u64 + 1));
        assert_eq!(done.events, [done.revision]);
    }
    let read = all(store, &ns).await;
    for (entry, body) in read.iter().zip(bodies) {
        match store.capabilities().exclusive {
            true => assert_eq!(entry.body, body),
            // Remote stores keep members, not spelling.
            false => assert_eq!(json(&entry.body), json(body.as_bytes())),
        }
    }
    assert_eq!(
        read.iter()
            .map(|entry| entry.id.as_str())
            .collect::<Vec<_>>(),
        ["e0", "e1", "e2"]
    );
}

async fn an_id_is_appended_once(store: &Arc<dyn Store>) {
    let ns = namespace("once");
    let first = store
        .commit(&ns, batch(vec![event("a", r#"{"n":1}"#)]))
        .await
        .expect("a commit");
    let again = store
        .commit(
            &ns,
            batch(vec![
                event("a", r#"{"n":2}"#),
                event("b", r#"{"n":3}"#),
                event("b", r#"{"n":4}"#),
            ]),
        )
        .await
        .expect("a commit");
    assert_eq!(again.events, [first.revision, Revision(2), Revision(2)]);
    assert_eq!(again.revision, Revision(2));
    let bodies: Vec<_> = all(store, &ns)
        .await
        .into_iter()
        .map(|entry| entry.body)
        .collect();
    assert_eq!(
        bodies,
        [
            Bytes::from_static(br#"{"n":1}"#),
            Bytes::from_static(br#"{"n":3}"#)
        ]
    );
}

async fn pages_join_without_gap_or_repetition(store: &Arc<dyn Store>) {
    let ns = namespace("pages");
    let events = (0..50)
        .map(|n| event(&format!("e{n}"), r#"{"k":1}"#))
        .collect();
    store.commit(&ns, batch(events)).await.expect("a commit");
    let revisions: Vec<u64> = all(store, &ns)
        .await
        .iter()
        .map(|entry| entry.revision.0)
        .collect();
    assert_eq!(revisions, (1..=50).collect::<Vec<u64>>());
    let page = store.events(&ns, Revision(48), 100).await.expect("a page");
    assert_eq!((page.entries.len(), page.revision), (2, Revision(50)));
    let beyond = store
        .events(&ns, Revision(u64::MAX), 5)
        .await
        .expect("a page");
    assert!(beyond.entries.is_empty());
}

async fn namespaces_see_only_their_own_events(store: &Arc<dyn Store>) {
    let (a, b) = (namespace("mine"), namespace("mine:b"));
    store
        .commit(&a, batch(vec![event("x", r#"{"of":"a"}"#)]))
        .await
        .expect("a commit");
    assert_eq!(store.revision(&b).await.expect("a revision"), Revision(0));
    store
        .commit(&b, batch(vec![event("x", r#"{"of":"b"}"#)]))
        .await
        .expect("a commit");
    assert_eq!(all(store, &a).await[0].body, r#"{"of":"a"}"#);
    assert_eq!(all(store, &b).await[0].body, r#"{"of":"b"}"#);
}

async fn names_that_differ_in_case_or_by_a_sign_are_apart(store: &Arc<dyn Store>) {
    let names = [
        "a_b", "aXb", "a:b", "A_B", "a-b", "a.b", "a", "Run-1", "run-1",
    ];
    let spaces = names.map(|name| namespace(&format!("odd:{name}")));
    for (ns, name) in spaces.iter().zip(names) {
        store
            .commit(
                ns,
                batch(vec![event("id", &format!(r#"{{"of":"{name}"}}"#))]),
            )
            .await
            .expect("a commit");
    }
    for (ns, name) in spaces.iter().zip(names) {
        let read = all(store, ns).await;
        assert_eq!(read.len(), 1, "{ns}");
        assert_eq!(read[0].body, format!(r#"{{"of":"{name}"}}"#));
    }
}

async fn concurrent_appends_are_all_there(store: &Arc<dyn Store>) {
    let ns = namespace("concurrent");
    let writers = (0..16).map(|writer| {
        let (store, ns) = (Arc::clone(store), ns.clone());
        tokio::spawn(async move {
            for n in 0..20 {
                let id = format!("w{writer}-{n}");
                store
                    .commit(&ns, batch(vec![event(&id, r#"{"k":1}"#)]))
                    .await
                    .expect("a commit");
                // A write is visible to the very next read.
                let revision = store.revision(&ns).await.expect("a revision");
                let page = store
                    .events(&ns, Revision(0), u32::MAX)
                    .await
                    .expect("a page");
                assert!(
                    page.entries.iter().any(|entry| entry.id == id),
                    "{id} at {revision}"
                );
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.expect("no writer fails");
    }
    let read = all(store, &ns).await;
    assert_eq!(read.len(), 320);
    assert!(
        read.windows(2)
            .all(|two| two[0].revision.0 + 1 == two[1].revision.0)
    );
}

async fn limits_are_refused_whole(store: &Arc<dyn Store>) {
    let ns = namespace("limits");
    let long = "x".repeat(crate::MAX_EVENT_ID_BYTES + 1);
    let mixed = batch(vec![
        event("good", r#"{"k":1}"#),
        event(&long, r#"{"k":1}"#),
    ]);
    let refusal = store
        .commit(&ns, mixed)
        .await
        .expect_err("an id that is too long");
    assert!(matches!(refusal, Error::TooLarge { .. }), "{refusal}");
    assert_eq!(store.revision(&ns).await.expect("a revision"), Revision(0));
    let longest = "x".repeat(crate::MAX_EVENT_ID_BYTES);
    store
        .commit(&ns, batch(vec![event(&longest, r#"{"k":1}"#)]))
        .await
        .expect("an id at the limit");
}

async fn an_unexpected_revision_is_a_conflict(store: &Arc<dyn Store>) {
    let ns = namespace("expect");
    let expecting = |id: &str, at| Batch {
        expect: Some(Revision(at)),
        ..batch(vec![event(id, r#"{"k":1}"#)])
    };
    store
        .commit(&ns, expecting("a", 0))
        .await
        .expect("the log is empty");
    let refusal = store
        .commit(&ns, expecting("b", 0))
        .await
        .expect_err("the log has moved");
    assert!(
        matches!(
            refusal,
            Error::Conflict {
                revision: Revision(1)
            }
        ),
        "{refusal}"
    );
    assert_eq!(all(store, &ns).await.len(), 1);
    store
        .commit(&ns, expecting("b", 1))
        .await
        .expect("the log stands there");
}

/// A caller whose answer was lost sends the same again.
async fn a_conditional_append_is_not_repeated(store: &Arc<dyn Store>) {
    let ns = namespace("repeated");
    let vouched = Batch {
        expect: Some(Revision(0)),
        ..batch(vec![event("a", r#"{"k":1}"#), event("b", r#"{"k":2}"#)])
    };
    let done = store.commit(&ns, vouched.clone()).await.expect("a commit");
    assert_eq!(done.events, [Revision(1), Revision(2)]);
    let refusal = store
        .commit(&ns, vouched)
        .await
        .expect_err("the log has moved");
    assert!(matches!(refusal, Error::Conflict { .. }), "{refusal}");
    assert_eq!(all(store, &ns).await.len(), 2);
}

/// However long the log has grown by appends that nobody looked up, and whatever was looked up between.
async fn ids_appended_conditionally_are_known(store: &Arc<dyn Store>) {
    let ns = namespace("vouched");
    let named = |range: std::ops::Range<u64>| {
        let events = range.map(|n| event(&format!("e{n}"), r#"{"k":1}"#));
        events.collect::<Vec<_>>()
    };
    let mut end = 0;
    for (vouched, looked_up) in [(3, 1), (40, 2), (1, 1)] {
        let conditional = Batch {
            expect: Some(Revision(end)),
            ..batch(named(end..end + vouched))
        };
        store.commit(&ns, conditional).await.expect("a commit");
        end += vouched;
        // Everything so far again, and something new.
        let again = store
            .commit(&ns, batch(named(0..end + looked_up)))
            .await
            .expect("a commit");
        let places: Vec<_> = (1..=end + looked_up).map(Revision).collect();
        assert_eq!(again.events, places);
        end += looked_up;
    }
    let ids: Vec<_> = all(store, &ns).await.into_iter().map(|it| it.id).collect();
    let wanted: Vec<_> = (0..end).map(|n| format!("e{n}")).collect();
    assert_eq!(ids, wanted);
}

async fn of_racing_conditional_appends_one_wins(store: &Arc<dyn Store>) {
    let ns = namespace("race");
    for round in 0..10 {
        let racers = (0..8).map(|racer| {
            let (store, ns) = (Arc::clone(store), ns.clone());
            tokio::spawn(async move {
                let events = vec![event(&format!("r{round}-{racer}"), r#"{"k":1}"#)];
                store
                    .commit(
                        &ns,
                        Batch {
                            expect: Some(Revision(round)),
                            ..batch(events)
                        },
                    )
                    .await
            })
        });
        let mut won = 0;
        for racer in racers.collect::<Vec<_>>() {
            match racer.await.expect("no racer panics") {
                Ok(_) => won += 1,
                Err(Error::Conflict { .. }) => {}
                Err(other) => panic!("round {round}: {other}"),
            }
        }
        assert_eq!(won, 1, "round {round}");
    }
}
