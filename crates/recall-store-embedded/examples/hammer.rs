//! Writes events until it is killed, and prints each id once it is acknowledged. The crash test
//! starts it, kills it in mid-write and looks for every printed id.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use recall_store::{Batch, NewEvent, Store};
use recall_store_embedded::EmbeddedStore;

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let (dir, round) = (
        arguments.next().expect("DIR"),
        arguments.next().expect("ROUND"),
    );
    let store = Arc::new(EmbeddedStore::open(Path::new(&dir)).expect("the store opens"));
    let writers: Vec<_> = (0..8)
        .map(|writer| tokio::spawn(write_on(Arc::clone(&store), format!("{round}-{writer}"))))
        .collect();
    for writer in writers {
        writer.await.expect("a writer ends only with the process");
    }
}

async fn write_on(store: Arc<EmbeddedStore>, name: String) {
    let ns = "crash".parse().expect("a namespace");
    for n in 0.. {
        let id = format!("{name}-{n}");
        let event = NewEvent {
            id: id.clone(),
            body: vec![b'x'; 400].into(),
        };
        let batch = Batch {
            events: vec![event],
            ..Batch::default()
        };
        store.commit(&ns, batch).await.expect("a commit");
        // One write call a line, so that a kill never tears a line in two.
        std::io::stdout()
            .write_all(format!("{id}\n").as_bytes())
            .expect("stdout is a pipe");
    }
}
