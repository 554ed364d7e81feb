//! What a limit keeps of a search.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::rebuild::{act, written};
use super::support::{World, run};
use crate::Operation::{Recall, Remember};

/// The statements on a page of this length, in order.
async fn page(world: &World, query: &str, as_of: Option<&str>, limit: usize) -> Vec<Value> {
    let mut args = json!({"query": query, "limit": limit});
    if let Some(as_of) = as_of {
        args["as_of"] = json!(as_of);
    }
    let rows = world.ask(Recall, args).await;
    let rows = rows.as_array().expect("rows").iter();
    rows.map(|row| row["event_id"].clone()).collect()
}

/// Whether the rows of a page are rows of another in the same order.
fn is_within(lesser: &[Value], greater: &[Value]) -> bool {
    let mut rest = greater.iter();
    lesser.iter().all(|row| rest.any(|other| other == row))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_greater_limit_adds_rows_and_moves_none(acts in proptest::collection::vec(act(), 1..40)) {
        run(async {
            let world = written(acts).await;
            for query in ["tea shoes", "ann likes red tea", "did bob say tea today?", "may 2026"] {
                for as_of in [None, Some("2026-05-29T12:00:00Z")] {
                    let all = page(&world, query, as_of, 1000).await;
                    let mut before = Vec::new();
                    for limit in 1..=all.len() {
                        let rows = page(&world, query, as_of, limit).await;
                        assert_eq!(rows.len(), limit, "{query} {as_of:?}");
                        assert!(is_within(&before, &rows), "{query} {as_of:?}: {before:?} {rows:?}");
                        before = rows;
                    }
                    assert_eq!(before, all, "{query} {as_of:?}");
                }
            }
        });
    }
}

/// On the page statements stand before notes, whichever matches better.
#[tokio::test]
async fn one_row_is_the_best_be_it_a_note_and_on_a_longer_page_statements_come_first() {
    let world = World::open();
    world.say("ann", "works_at", json!("the harbour")).await;
    let note = json!({"text": "A harbour festival is near the harbour.", "statements": []});
    world.ask(Remember, note).await;
    let values = |limit: usize| world.values(json!({"query": "harbour festival", "limit": limit}));
    let note = json!("A harbour festival is near the harbour.");
    assert_eq!(values(1).await, std::slice::from_ref(&note));
    for limit in [2, 10] {
        assert_eq!(values(limit).await, [json!("the harbour"), note.clone()]);
    }
}
