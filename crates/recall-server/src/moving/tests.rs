//! Out of one store and into another, and what is refused on the way.

use bytes::Bytes;
use recall_store::{Batch, MemoryStore, NewEvent, Precondition, RecordKind, RecordWrite, Store};

use super::*;

const NOW: jiff::Timestamp = jiff::Timestamp::UNIX_EPOCH;

fn record(kind: RecordKind, key: &str, body: &'static [u8]) -> RecordWrite {
    RecordWrite {
        kind,
        key: key.to_owned(),
        body: Some(Bytes::from_static(body)),
        precondition: Precondition::None,
    }
}

async fn filled() -> MemoryStore {
    let store = MemoryStore::new();
    let events = (0..1200).map(|n| NewEvent {
        id: format!("m-{n}"),
        body: Bytes::from(format!(r#"{{"text":"é {n}","value":{n}}}"#)),
    });
    let batch = Batch {
        events: events.collect(),
        records: vec![
            record(RecordKind::Turn, "a:000000000001", br#"{"seq":1}"#),
            record(
                RecordKind::Session,
                "a",
                br#"{"hold":{"epoch":7},"turn_seq":1}"#,
            ),
            record(RecordKind::Output, "a:x", b"\xff\x00"),
        ],
        ..Batch::default()
    };
    let ns = "team:a".parse().expect("a namespace");
    store.commit(&ns, batch).await.expect("written");
    let key = Batch {
        records: vec![record(RecordKind::Key, "0f", br#"{"hash":"00"}"#)],
        ..Batch::default()
    };
    let keys = Namespace::keys();
    store.commit(&keys, key).await.expect("written");
    store
}

async fn exported(store: &dyn Store, choice: &Choice) -> String {
    let mut to = Vec::new();
    export(store, NOW, choice, &mut to).await.expect("exported");
    String::from_utf8(to).expect("text")
}

async fn imported(text: &str, choice: &Choice) -> Result<MemoryStore, String> {
    let store = MemoryStore::new();
    let done = import(&store, choice, &mut text.as_bytes()).await;
    done.map(|_| store).map_err(|failure| failure.to_string())
}

fn with_keys() -> Choice {
    Choice {
        keys: true,
        ..Choice::default()
    }
}

#[tokio::test]
async fn a_round_trip_is_equal() {
    let first = exported(&filled().await, &with_keys()).await;
    let store = imported(&first, &Choice::default()).await.expect("whole");
    assert_eq!(exported(&store, &with_keys()).await, first);
    let end = r#"{"end":{"namespaces":2,"events":1200,"records":4}}"#;
    assert_eq!(first.lines().last(), Some(end));
    assert_eq!(first.lines().count(), 1 + 2 + 1200 + 4 + 1);
}

#[tokio::test]
async fn the_format_is_as_documented() {
    let text = exported(&filled().await, &Choice::default()).await;
    let lines: Vec<&str> = text.lines().collect();
    let expected = [
        (
            0,
            r#"{"recall_export":{"version":1,"at":"1970-01-01T00:00:00Z"}}"#,
        ),
        (1, r#"{"namespace":"team:a"}"#),
        (
            2,
            r#"{"event":{"id":"m-0","body":{"text":"é 0","value":0}}}"#,
        ),
        (
            1202,
            r#"{"record":{"kind":"turn","key":"a:000000000001","body":{"seq":1}}}"#,
        ),
        (
            1203,
            r#"{"record":{"kind":"output","key":"a:x","body64":"/wA="}}"#,
        ),
        // Who held an agent stays behind.
        (
            1204,
            r#"{"record":{"kind":"agent_head","key":"a","body":{"turn_seq":1}}}"#,
        ),
    ];
    for (at, line) in expected {
        assert_eq!(lines.get(at), Some(&line));
    }
}

#[tokio::test]
async fn a_full_namespace_is_merged_into_only_by_word() {
    let text = exported(&filled().await, &Choice::default()).await;
    let store = filled().await;
    let refusal = import(&store, &Choice::default(), &mut text.as_bytes()).await;
    assert!(refusal.expect_err("full").to_string().contains("--merge"));
    let merge = Choice {
        merge: true,
        ..Choice::default()
    };
    import(&store, &merge, &mut text.as_bytes())
        .await
        .expect("merged");
    assert_eq!(exported(&store, &Choice::default()).await, text);
}

#[tokio::test]
async fn what_is_not_a_whole_export_is_refused_by_line() {
    let whole = exported(&filled().await, &Choice::default()).await;
    let cut = whole.lines().take(700).collect::<Vec<_>>().join("\n");
    let newer = whole.replacen("\"version\":1", "\"version\":2", 1);
    let short = whole.replacen("\"events\":1200", "\"events\":1201", 1);
    for (text, expected) in [
        ("", "line 1"),
        ("{}", "line 1"),
        (cut.as_str(), "line 701 of the export: the export ends here"),
        (newer.as_str(), "version 2"),
        (short.as_str(), "other totals"),
        (
            whole
                .replacen("\"kind\":\"turn\"", "\"kind\":\"tune\"", 1)
                .as_str(),
            "line 1203",
        ),
        (
            whole
                .replacen("\"id\":\"m-5\"", "\"di\":\"m-5\"", 1)
                .as_str(),
            "line 8",
        ),
        (whole.replacen("team:a", "team a", 1).as_str(), "line 2"),
    ] {
        let refusal = imported(text, &Choice::default())
            .await
            .expect_err("not whole");
        assert!(refusal.contains(expected), "{refusal}");
    }
}

#[test]
fn flags_of_a_move_and_of_the_store() {
    let choose = |arguments: &[&str], exports| {
        let chosen = super::choose(arguments.iter().map(OsString::from), exports);
        chosen.map_err(|error| error.to_string())
    };
    let (choice, rest) = choose(
        &[
            "--namespace",
            "a",
            "--data-dir=d",
            "--namespace=b",
            "--keys",
        ],
        true,
    )
    .expect("good");
    assert_eq!((choice.namespaces.len(), choice.keys), (2, true));
    assert_eq!(rest, ["--data-dir=d"]);
    assert!(choose(&["--merge"], false).expect("good").0.merge);
    // Left to the settings, which refuse it.
    assert_eq!(
        choose(&["--merge"], true).expect("passed on").1,
        ["--merge"]
    );
    assert!(choose(&["--namespace=_keys"], true).is_err());
    assert!(
        choose(&["--help"], true)
            .expect_err("help")
            .contains("Usage")
    );
}
