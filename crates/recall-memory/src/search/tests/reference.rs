//! The ranks of the synthetic set against those of an independent implementation.

use jiff::Timestamp;
use serde::Deserialize;

use super::synthetic::{Conversation, conversation};
use crate::search::{Index, NewItem, Query};

const SET: &str = include_str!("../testdata/synthetic.json");
const RANKS: &str = include_str!("../testdata/ranks.jsonl");
const COMPARED: usize = 20;

/// The best thirty of the other implementation.
#[derive(Deserialize)]
struct Expected {
    q: String,
    ids: Vec<String>,
    scores: Vec<f32>,
}

pub(super) fn index_of(set: &Conversation) -> Index {
    let mut index = Index::default();
    for item in &set.items {
        index.insert(&NewItem {
            text: &item.text,
            speaker: Some(&item.speaker),
            assistant: item.speaker == "assistant",
            session: Some(&item.session),
            observed_at: format!("{}T00:00:00Z", item.observed_at).parse().unwrap(),
        });
    }
    index
}

#[test]
fn the_committed_set_is_the_generated_one() {
    assert_eq!(
        serde_json::from_str::<Conversation>(SET).unwrap(),
        conversation()
    );
}

/// Run by hand after the generator has changed; the ranks must be made anew then.
#[test]
#[ignore = "writes the committed set"]
fn write_the_set() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/src/search/testdata/synthetic.json"
    );
    std::fs::write(path, serde_json::to_string(&conversation()).unwrap() + "\n").unwrap();
}

#[test]
fn ranks_and_scores_equal_the_reference() {
    let set = conversation();
    let index = index_of(&set);
    let mut questions = 0;
    for line in RANKS.lines() {
        let expected: Expected = serde_json::from_str(line).unwrap();
        let query = Query {
            text: &expected.q,
            limit: 30,
            now: Timestamp::UNIX_EPOCH,
        };
        let hits = index.search(&query, &|_| true);
        compare(
            &expected,
            &hits
                .iter()
                .map(|hit| (id_of(&set, hit.item), hit.score))
                .collect::<Vec<_>>(),
        );
        questions += 1;
    }
    assert_eq!(questions, set.queries.len());
}

fn id_of(set: &Conversation, item: u32) -> &str {
    &set.items[item as usize].id
}

/// Ids must be equal; where two scores differ by no more than rounding, their items may swap.
fn compare(expected: &Expected, hits: &[(&str, f32)]) {
    let q = &expected.q;
    assert_eq!(
        hits.len().min(COMPARED),
        expected.ids.len().min(COMPARED),
        "{q}"
    );
    for (place, &(id, score)) in hits.iter().enumerate().take(COMPARED) {
        let wanted = expected.scores[place];
        let near = |other: f32| (other - wanted).abs() <= 1e-5 * wanted.max(1.0);
        assert!(
            near(score),
            "{q}: place {place} scores {score}, not {wanted}"
        );
        let tied = expected
            .ids
            .iter()
            .zip(&expected.scores)
            .filter(|&(_, &other)| near(other));
        assert!(
            tied.into_iter().any(|(other, _)| other == id),
            "{q}: place {place} is {id}, not {}",
            expected.ids[place]
        );
    }
}
