//! A batch is whole, also when the process that wrote it died half-way.

use bytes::Bytes;
use recall_store::{Batch, Namespace, Precondition, RecordKind, RecordWrite, Store};
use serde_json::json;

use super::{Real, delete_row};

fn ns() -> Namespace {
    "team:blue".parse().expect("a namespace")
}

fn write(
    kind: RecordKind,
    key: &str,
    body: &serde_json::Value,
    precondition: Precondition,
) -> RecordWrite {
    RecordWrite {
        kind,
        key: key.to_owned(),
        body: Some(Bytes::from(body.to_string())),
        precondition,
    }
}

fn turn(n: u64, head: Precondition) -> Batch {
    let key = format!("coder:{n:012}");
    let body = json!({ "seq": n, "content": format!("turn {n}"), "record": "turn", "recall_agent": "coder", "epoch": 1 });
    Batch {
        records: vec![
            write(RecordKind::Turn, &key, &body, Precondition::Absent),
            write(
                RecordKind::Session,
                "coder",
                &json!({ "turn_seq": n }),
                head,
            ),
        ],
        ..Batch::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_dead_process_left_out_is_written_by_the_next_reader() {
    let Some(real) = Real::start(&[]) else { return };
    real.store()
        .commit(&ns(), turn(1, Precondition::Absent))
        .await
        .expect("written");
    // As if it had died between the two.
    delete_row(
        &real,
        "recall_lexical_v1__team_blue_a39b2560_agents",
        "coder:turn:1",
    )
    .await;
    let next = real.store();
    let head = next
        .get(&ns(), RecordKind::Session, "coder")
        .await
        .expect("a get")
        .expect("there");
    assert_eq!(head.body, r#"{"turn_seq":1}"#);
    let record = next
        .get(&ns(), RecordKind::Turn, "coder:000000000001")
        .await
        .expect("a get")
        .expect("there");
    let body: serde_json::Value = serde_json::from_slice(&record.body).expect("JSON");
    assert_eq!(body["content"], "turn 1");
}

/// What a batch left before its anchor was written is nobody's: the next write of the same number
/// replaces it.
#[tokio::test(flavor = "multi_thread")]
async fn a_leftover_of_a_failed_batch_is_in_nobodys_way() {
    let Some(real) = Real::start(&[]) else { return };
    let store = real.store();
    store
        .commit(&ns(), turn(1, Precondition::Absent))
        .await
        .expect("written");
    let head = store
        .get(&ns(), RecordKind::Session, "coder")
        .await
        .expect("a get")
        .expect("there");
    let stray = turn(2, Precondition::None).records.remove(0);
    store
        .commit(
            &ns(),
            Batch {
                records: vec![stray],
                ..Batch::default()
            },
        )
        .await
        .expect("written");
    store
        .commit(&ns(), turn(2, Precondition::Version(head.version)))
        .await
        .expect("not in the way");
    let page = store
        .list(&ns(), RecordKind::Turn, "coder:", None, 10)
        .await
        .expect("a page");
    assert_eq!(page.records.len(), 2);
}
