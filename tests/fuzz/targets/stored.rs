//! A store whose content was damaged, or written by somebody else: everything reads it or says that
//! it cannot, in the form that every error has.

#![no_main]

use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use recall_fuzz::{Server, Story, requests, run};
use recall_memory::Surface;
use recall_store::{
    Batch, MemoryStore, Namespace, NewEvent, Precondition, RecordKind, RecordWrite, Revision, Store,
};

/// Something of every kind is written.
const LIVED: [(Surface, Story); 2] = [
    (Surface::Text, Story(include_str!("lived-text.txt"))),
    (Surface::Typed, Story(include_str!("lived-typed.txt"))),
];
/// And everything is read, and written on.
const READ: &str = include_str!("read.txt");

/// What the story left in the store.
static LEFT: LazyLock<Batch> = LazyLock::new(|| {
    run(async {
        let store = Arc::new(MemoryStore::new());
        for (surface, story) in &LIVED {
            Server::new(&store, *surface, "team:a")
                .await
                .tell(story)
                .await;
        }
        left_in(&store).await
    })
});

fn namespace() -> Namespace {
    "team:a".parse().expect("a namespace")
}

async fn left_in(store: &MemoryStore) -> Batch {
    let ns = namespace();
    let log = store.events(&ns, Revision(0), 1_000).await.expect("a log");
    let events = log.entries.into_iter().map(|entry| NewEvent {
        id: entry.id,
        body: entry.body,
    });
    let mut batch = Batch {
        events: events.collect(),
        ..Batch::default()
    };
    for kind in RecordKind::ALL {
        let page = store
            .list(&ns, kind, "", None, 1_000)
            .await
            .expect("a listing");
        batch
            .records
            .extend(page.records.into_iter().map(|record| RecordWrite {
                kind,
                key: record.key,
                body: Some(record.body),
                precondition: Precondition::None,
            }));
    }
    assert!(
        batch.events.len() > 5 && batch.records.len() > 8,
        "{batch:?}"
    );
    batch
}

/// Which body, where in it, how many bytes of it, and what stands there instead.
type Damage<'a> = (u8, u16, u8, &'a [u8]);

fuzz_target!(|damages: Vec<Damage<'_>>| {
    let mut batch = LEFT.clone();
    for damage in damages.into_iter().take(8) {
        apply(&mut batch, damage);
    }
    run(async {
        let store = Arc::new(MemoryStore::new());
        store.commit(&namespace(), batch).await.expect("a commit");
        for surface in [Surface::Text, Surface::Typed] {
            let server = Server::new(&store, surface, "team:a").await;
            for request in requests(READ.as_bytes()) {
                let asked = format!("{request:?}");
                let answer = server.call(request).await.expect("a request");
                let said = String::from_utf8_lossy(&answer.body);
                let read: serde_json::Value = serde_json::from_slice(&answer.body).expect("JSON");
                if answer.status >= 400 {
                    assert!(
                        read["error"].is_object() || read["error"].is_string(),
                        "{asked}: {said}"
                    );
                }
            }
        }
    });
});

fn apply(batch: &mut Batch, (which, at, many, bytes): Damage<'_>) {
    let bodies = batch.events.iter_mut().map(|event| &mut event.body);
    let records = batch
        .records
        .iter_mut()
        .filter_map(|record| record.body.as_mut());
    let mut bodies: Vec<&mut Bytes> = bodies.chain(records).collect();
    let which = usize::from(which) % bodies.len();
    let body = &mut bodies[which];
    let from = usize::from(at) % (body.len() + 1);
    let to = body.len().min(from + usize::from(many));
    let damaged = [&body[..from], bytes, &body[to..]].concat();
    **body = damaged.into();
}
