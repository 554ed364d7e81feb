//! How many small records the store itself makes durable a second for so many callers, each of which
//! waits for its own: what a write over HTTP is measured against. Prints the records a second.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use recall_store::{Batch, Namespace, Precondition, RecordKind, RecordWrite, Store};
use recall_store_embedded::EmbeddedStore;

/// About what a turn takes.
const BODY: [u8; 300] = [b'x'; 300];
const TIME: Duration = Duration::from_secs(2);

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let usage = "usage: append DIR CALLERS";
    let dir = arguments.next().expect(usage);
    let callers: u64 = arguments
        .next()
        .and_then(|text| text.parse().ok())
        .expect(usage);
    let dir = Path::new(&dir).join("append");
    // Each run begins with an empty folder; there is none to remove the first time.
    let _ = std::fs::remove_dir_all(&dir);
    let store = Arc::new(EmbeddedStore::open(&dir).expect("the store opens"));
    let began = Instant::now();
    let tasks: Vec<_> = (0..callers)
        .map(|caller| tokio::spawn(append(Arc::clone(&store), caller, began)))
        .collect();
    let mut appended = 0;
    for task in tasks {
        appended += task.await.expect("no caller fails");
    }
    let rate = appended as f64 / began.elapsed().as_secs_f64();
    writeln!(std::io::stdout(), "{rate:.0}").expect("stdout is open");
}

/// One record after another, each waited for; answers how many.
async fn append(store: Arc<EmbeddedStore>, caller: u64, began: Instant) -> u64 {
    let ns: Namespace = "bench".parse().expect("a namespace");
    let mut count = 0;
    while began.elapsed() < TIME {
        count += 1;
        let record = RecordWrite {
            kind: RecordKind::Turn,
            key: format!("agent-{caller}:{count:012}"),
            body: Some(BODY.to_vec().into()),
            precondition: Precondition::None,
        };
        let batch = Batch {
            records: vec![record],
            ..Batch::default()
        };
        store.commit(&ns, batch).await.expect("a commit");
    }
    count
}
