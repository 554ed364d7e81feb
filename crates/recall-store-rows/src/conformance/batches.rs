//! A batch is whole, also when the process that wrote it died half-way.

use bytes::Bytes;
use recall_store::{Batch, Precondition, RecordKind, RecordWrite, Store};
use serde_json::json;

use super::{Open, ns};

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

pub(super) async fn what_a_dead_process_left_out_is_written_by_the_next_reader(open: &Open<'_>) {
    let first = open();
    first
        .commit(&ns(), turn(1, Precondition::Absent))
        .await
        .expect("written");
    // As if it had died between the two.
    let shelf = first.names().agents(&ns());
    let gone = first.rows().delete(&shelf, vec!["coder:turn:1".to_owned()]);
    gone.await.expect("removed");
    let next = open();
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
pub(super) async fn a_leftover_of_a_failed_batch_is_in_nobodys_way(open: &Open<'_>) {
    let store = open();
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
