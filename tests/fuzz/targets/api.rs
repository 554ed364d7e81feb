//! Any requests, one after the other, to a fresh server: each has an answer, none is a fault of the
//! server, and none brings what another namespace holds.

#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use recall_fuzz::{Server, Story, requests, run};
use recall_memory::Surface;
use recall_store::MemoryStore;

/// What the other namespace holds. No input may name it, or an answer could only echo it.
const SECRET: &str = "quartz7431";
const OTHERS: Story = Story(
    "POST /v1/remember\n\n{\"text\":\"The word is quartz7431.\"}\n--\n\
     POST /mcp\n\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"agent_resume\",\
     \"arguments\":{\"agent_id\":\"quartz7431\"}}}",
);

fuzz_target!(|input: &[u8]| {
    if contains(input, SECRET.as_bytes()) {
        return;
    }
    run(async {
        let (surface, input) = match input.strip_prefix(b"typed\n") {
            Some(input) => (Surface::Typed, input),
            None => (Surface::Text, input),
        };
        let store = Arc::new(MemoryStore::new());
        let other = Server::new(&store, Surface::Text, "team:other").await;
        other.tell(&OTHERS).await;
        let server = Server::new(&store, surface, "team:ours").await;
        for request in requests(input) {
            let asked = format!("{request:?}");
            let Some(answer) = server.call(request).await else {
                continue;
            };
            let said = String::from_utf8_lossy(&answer.body);
            assert!(answer.status < 500, "{asked}: {} {said}", answer.status);
            assert!(!said.contains(SECRET), "{asked}: {said}");
            if answer.says_json {
                let read = serde_json::from_slice::<serde_json::Value>(&answer.body);
                assert!(read.is_ok(), "{asked}: {said}");
            }
        }
    });
});

fn contains(input: &[u8], part: &[u8]) -> bool {
    input.windows(part.len()).any(|window| window == part)
}
