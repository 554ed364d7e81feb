use proptest::prelude::*;

use super::*;

fn ns() -> Namespace {
    "n".parse().expect("a namespace")
}

fn written(kind: RecordKind, key: &str, body: &str) -> Written {
    Written {
        kind,
        key: key.to_owned(),
        body: Bytes::copy_from_slice(body.as_bytes()),
        version: Version(7),
        journal: None,
    }
}

/// Lays a record down and reads it back.
#[track_caller]
fn check(kind: RecordKind, key: &str, body: &str, shelf: Shelf, id: &str, expected: &Value) {
    let written = written(kind, key, body);
    let rows = rows(&ns(), &written);
    let row = rows.first().expect("a row");
    let place = place(&ns(), kind, key);
    let mut metadata = Value::Object(row.metadata.clone());
    metadata.as_object_mut().expect("an object").remove(VERSION);
    assert_eq!(
        (place.shelf, row.id.as_str(), &metadata),
        (shelf, id, expected)
    );
    let back = read(place.shelf, kind, &row.id, row.metadata.clone())
        .expect("it reads")
        .expect("it is one");
    assert_eq!((back.key.as_str(), back.version), (key, Version(7)));
    assert_eq!(back.body, body);
}

#[test]
fn turns_lie_as_published() {
    check(
        RecordKind::Turn,
        "coder:000000000065",
        r#"{"content":"hello","epoch":3,"recall_agent":"coder","record":"turn","seq":65}"#,
        Shelf::Agents,
        "coder:turn:65",
        &json!({"recall_agent": "coder", "record": "turn", "epoch": 3, "seq": 65, "page": "1",
                   "body": r#"{"content":"hello","seq":65}"#}),
    );
}

#[test]
fn actions_lie_as_published() {
    check(
        RecordKind::Action,
        "coder:000000000001",
        r#"{"class":"pure","epoch":2,"recall_agent":"coder","record":"action","seq":1,"status":"started"}"#,
        Shelf::Agents,
        "coder:act:1",
        &json!({"recall_agent": "coder", "record": "action", "epoch": 2, "seq": 1, "page": "0", "act": "1",
                   "class": "pure", "status": "started",
                   "body": r#"{"class":"pure","epoch":2,"seq":1,"status":"started"}"#}),
    );
}

#[test]
fn states_outputs_and_pointers_lie_as_published() {
    let body = r#"{"epoch":1,"recall_agent":"a","record":"working_state_head","version":2}"#;
    let metadata = json!({"recall_agent": "a", "record": "working_state_head", "epoch": 1, "body": r#"{"version":2}"#});
    check(
        RecordKind::WorkingStateHead,
        "a",
        body,
        Shelf::Agents,
        "a:ws:head",
        &metadata,
    );
    let body = r#"{"epoch":1,"recall_agent":"a","record":"working_state","version":2}"#;
    let metadata = json!({"recall_agent": "a", "record": "working_state", "epoch": 1, "version": 2, "body": r#"{"version":2}"#});
    check(
        RecordKind::WorkingState,
        "a:000000000002",
        body,
        Shelf::Agents,
        "a:ws:2",
        &metadata,
    );
    let body = r#"{"epoch":1,"recall_agent":"a","record":"output","ref":"out-1-1","tokens":9}"#;
    let metadata = json!({"recall_agent": "a", "record": "output", "epoch": 1, "ref": "out-1-1", "tokens": 9,
                          "body": r#"{"ref":"out-1-1","tokens":9}"#});
    check(
        RecordKind::Output,
        "a:out-1-1",
        body,
        Shelf::Agents,
        "a:out:out-1-1",
        &metadata,
    );
    let body = r#"{"epoch":1,"name":"repo","recall_agent":"a","record":"pointer"}"#;
    let metadata = json!({"recall_agent": "a", "record": "pointer", "epoch": 1, "name": "repo", "body": r#"{"name":"repo"}"#});
    check(
        RecordKind::Pointer,
        "a:repo",
        body,
        Shelf::Agents,
        "a:ptr:repo",
        &metadata,
    );
}

#[test]
fn what_is_ours_alone_lies_apart() {
    check(
        RecordKind::Session,
        "a",
        r#"{"turn_seq":1}"#,
        Shelf::Ours,
        "10:a",
        &json!({"kind": 10, "key": "a", "body": r#"{"turn_seq":1}"#}),
    );
}

#[test]
fn a_revoked_key_is_two_records() {
    let keys = Namespace::keys();
    let body = r#"{"key_id":"0f","kind":"key","revoked_at":"2026-01-01T00:00:00Z"}"#;
    let rows = rows(&keys, &written(RecordKind::Key, "0f", body));
    let ids: Vec<_> = rows.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids, ["key:0f", "revoked:0f"]);
    assert_eq!(erased_ids(&place(&keys, RecordKind::Key, "0f")), ids);
}

#[test]
fn a_pointer_that_the_published_server_removed_is_none() {
    let fields = json!({"record": "pointer", "recall_agent": "a", "name": "p", "removed": true, "body": "{}"});
    let Value::Object(fields) = fields else {
        panic!("an object")
    };
    assert_eq!(
        read(Shelf::Agents, RecordKind::Pointer, "a:ptr:p", fields),
        Ok(None)
    );
}

#[test]
fn numbered_listings_know_their_ids() {
    let keys = numbered(RecordKind::Turn, "a:", Some("a:000000000009"), 2).expect("by number");
    assert_eq!(keys, ["a:000000000010", "a:000000000011"]);
    let first = numbered(RecordKind::Output, "a@", None, 1).expect("by number");
    assert_eq!(first, ["a@000000000001"]);
    for (kind, prefix, after) in [
        (RecordKind::Turn, "", None),
        (RecordKind::Turn, "a:", Some("a:1")),
        (RecordKind::Pointer, "a:", None),
        (RecordKind::Output, "a:", None),
    ] {
        assert_eq!(numbered(kind, prefix, after, 2), None, "{kind:?} {prefix}");
    }
}

proptest! {
    /// Every key of every kind has one place, and comes back from it.
    #[test]
    fn any_record_comes_back(
        at in 0usize..RecordKind::ALL.len(), key in ".{0,40}", body in prop::collection::vec(any::<u8>(), 0..60)
    ) {
        let kind = RecordKind::ALL[at];
        let written = Written { kind, key: key.clone(), body: body.into(), version: Version(1), journal: None };
        let rows = rows(&ns(), &written);
        let place = place(&ns(), kind, &key);
        let back = read(place.shelf, kind, &place.id, rows[0].metadata.clone()).expect("it reads").expect("it is one");
        prop_assert_eq!((back.key, back.body), (written.key, written.body));
    }

    #[test]
    fn keys_of_two_records_never_share_a_place(a in "[a:@#0-9]{1,16}", b in "[a:@#0-9]{1,16}") {
        for kind in RecordKind::ALL {
            let same = place(&ns(), kind, &a) == place(&ns(), kind, &b);
            prop_assert_eq!(same, a == b, "{:?}", kind);
        }
    }
}
