//! Any question at any time to a memory with a past: what is found is told as the contract has it.

#![no_main]

use std::sync::Arc;

use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;
use recall_fuzz::{config, run};
use recall_memory::{Args, Error, Memory, Operation, Surface, Writer};
use recall_store::{ManualClock, MemoryStore};
use serde_json::json;

const KEPT: [(&str, &str); 8] = [
    ("2024-02-29T23:59:59Z", "Ann moved to Oslo in March 2021."),
    (
        "2025-10-07T08:00:00Z",
        "The release v1.2.3 shipped on 2025-10-06.",
    ),
    (
        "2025-12-31T23:00:00-05:00",
        "Bob: I start on Monday, two weeks from now.",
    ),
    ("2026-01-01T00:00:00Z", "東京タワーへ行きました。"),
    ("2026-03-08T12:00:00Z", "แมวชอบนอนกลางวัน"),
    (
        "2026-05-05T05:05:05Z",
        "snake_case_name calls camelCaseName in src/lib.rs",
    ),
    (
        "2026-06-15T10:00:00Z",
        "Die Straße war naß, said émile@example.com.",
    ),
    (
        "2026-11-28T22:00:00Z",
        "Last weekend we saw the 3rd film of the summer.",
    ),
];

const ASKED: [(Surface, Operation, &str); 4] = [
    (Surface::Text, Operation::Recall, "question"),
    (Surface::Text, Operation::History, "question"),
    (Surface::Typed, Operation::Recall, "query"),
    (Surface::Typed, Operation::Explain, "query"),
];

fuzz_target!(|input: (i64, u8, &str)| {
    let (seconds, limit, text) = input;
    // Any second of the years that a time may have.
    let span = Timestamp::MAX.as_second() - FIRST;
    let now = Timestamp::from_second(FIRST + seconds.rem_euclid(span)).expect("a time");
    run(async {
        let store = Arc::new(MemoryStore::new());
        let clock = Arc::new(ManualClock::new(now));
        let memory = |surface| Memory::new(store.clone(), clock.clone(), config(surface));
        let (ns, writer) = (
            "team:a".parse().expect("a namespace"),
            Writer {
                key_id: "k".to_owned(),
                session: None,
            },
        );
        for (at, text) in KEPT {
            clock.set(at.parse().expect("a time"));
            let args = json!({"text": text}).to_string();
            let args = Args::parse(args.as_bytes()).expect("arguments");
            let kept = memory(Surface::Text)
                .call(&ns, &writer, Operation::Remember, args)
                .await;
            kept.expect("a text is kept");
        }
        clock.set(now);
        for (surface, operation, field) in ASKED {
            let args = json!({field: text, "limit": limit}).to_string();
            let args = Args::parse(args.as_bytes()).expect("arguments");
            let answer = match memory(surface).call(&ns, &writer, operation, args).await {
                Ok(answer) => answer,
                Err(Error::Invalid(_) | Error::Refused(_)) => continue,
                Err(error) => panic!("{operation:?} {text:?} at {now}: {error}"),
            };
            serde_json::from_slice::<serde_json::Value>(&answer.json).expect("JSON");
            let seen = answer.coverage;
            let told = seen.left_out + answer.items;
            assert!(
                told <= seen.considered.max(answer.items),
                "{text:?} at {now}: {seen:?}"
            );
        }
    });
});

/// The first second of the year 1.
const FIRST: i64 = -62_135_596_800;
