use std::sync::Arc;

use bytes::Bytes;
use proptest::prelude::*;
use recall_store::LogEntry;
use serde_json::json;

use super::*;
use crate::json::Json;

/// A log entry: pair, value (0 is everything), whether it withdraws, and when.
type Row = (u8, u8, bool, u8);

const PAIRS: [(&str, &str); 5] = [
    ("ann", "likes"),
    ("ann", "dislikes"),
    ("ann", "lives_in"),
    ("ann", "gave_away"),
    ("ann", "owns"),
];

fn entry(no: usize, (pair, value, retraction, second): Row) -> LogEntry {
    let (subject, predicate) = PAIRS[pair as usize % PAIRS.len()];
    let withdraws = retraction || value == 0;
    let mut body = json!({
        "kind": "fact", "source": "user_stated", "subject": subject, "predicate": predicate,
        "retraction": withdraws, "confidence": 1,
        "observed_at": format!("2026-01-01T00:00:{second:02}Z"),
        "recorded_at": format!("2026-02-01T00:00:{no:02}Z"),
    });
    if value > 0 {
        body["value"] = json!(format!("v{value}"));
    }
    LogEntry {
        revision: Revision(no as u64 + 1),
        id: format!("m-{no:024x}"),
        body: Bytes::from(body.to_string()),
    }
}

fn registry() -> Arc<Registry> {
    Arc::new(Registry::open())
}

fn built(entries: &[LogEntry]) -> View {
    let mut builder = Builder::new(registry());
    builder.page(entries).unwrap();
    builder.finish()
}

fn followed(entries: &[LogEntry], at_a_time: usize) -> View {
    let mut view = View::new(registry());
    for page in entries.chunks(at_a_time) {
        view.apply(page.iter().map(|entry| decode(entry).unwrap()));
    }
    view
}

/// Everything believed, with what it replaced, and how many items the index has.
fn dump(view: &View) -> Vec<String> {
    let mut lines = Vec::new();
    for pair in (0..view.pair_count()).filter_map(|no| view.pair(no)) {
        for belief in pair.believed.iter() {
            let mut json = Json::default();
            json.object(|json| view.card(pair, belief).unwrap().write(json));
            lines.push(String::from_utf8(json.into_bytes()).unwrap());
            assert_ne!(
                belief.item,
                crate::fold::NO_ITEM,
                "a belief that no search finds"
            );
        }
    }
    lines.sort();
    lines.push(format!("{} held, {} indexed", view.held(), view.indexed()));
    lines
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn belief_does_not_depend_on_the_order_in_which_events_arrive(
        rows in proptest::collection::vec((0..5_u8, 0..4_u8, any::<bool>(), 0..6_u8), 1..30),
        seed in any::<u64>(),
    ) {
        let entries: Vec<_> = rows.iter().enumerate().map(|(no, row)| entry(no, *row)).collect();
        let whole = dump(&built(&entries));
        prop_assert_eq!(&dump(&followed(&entries, 1)), &whole);
        prop_assert_eq!(&dump(&followed(&entries, 7)), &whole);
        let mut shuffled = entries;
        let count = shuffled.len() as u64;
        for at in 0..shuffled.len() {
            shuffled.swap(at, ((seed >> (at % 48)) % count) as usize);
        }
        prop_assert_eq!(&dump(&built(&shuffled)), &whole);
        prop_assert_eq!(&dump(&followed(&shuffled, 1)), &whole);
        prop_assert_eq!(&dump(&followed(&shuffled, 3)), &whole);
    }
}

#[test]
fn at_one_instant_the_withdrawal_comes_last() {
    let rows = [(0, 1, true, 5), (0, 1, false, 5)];
    let entries: Vec<_> = rows
        .iter()
        .enumerate()
        .map(|(no, row)| entry(no, *row))
        .collect();
    assert_eq!(followed(&entries, 1).held(), 0);
}

#[test]
fn a_definition_that_comes_late_folds_its_pairs_again() {
    let fact = |no: u64, value: &str| {
        let body = json!({
            "kind": "fact", "source": "user_stated", "subject": "ann", "predicate": "shoe_size",
            "value": value, "observed_at": format!("2026-01-0{no}T00:00:00Z"),
        });
        (format!("m-{no:024x}"), body)
    };
    let definition = json!({
        "kind": "fact", "source": "tool_result", "subject": "recall:registry",
        "predicate": "registry_change", "observed_at": "2026-01-01T00:00:00Z",
        "value": r#"{"name":"shoe_size","auto":true,"cardinality":"single","value_type":"string","description":""}"#,
    });
    let mut view = View::new(registry());
    let mut take = |(id, body): (String, serde_json::Value)| {
        view.apply([Placed::decode(&id, body.to_string().as_bytes()).unwrap()]);
        view.held()
    };
    assert_eq!(take(fact(1, "42")), 1);
    assert_eq!(take(fact(2, "43")), 2, "an unknown predicate loses nothing");
    assert_eq!(
        take(("m-0".to_owned(), definition)),
        1,
        "it is single-valued"
    );
}

#[test]
fn a_small_fact_takes_about_a_kilobyte_at_most() {
    let entries: Vec<_> = (0..2_000)
        .map(|no| {
            let body = json!({
                "kind": "fact", "source": "user_stated", "subject": format!("person {}", no / 5),
                "predicate": (["likes", "owns", "lives_in", "email", "goal"][no % 5]),
                "value": format!("something worth {no}"), "observed_at": "2026-01-01T00:00:00Z",
            });
            LogEntry {
                revision: Revision(no as u64 + 1),
                id: format!("m-{no:024x}"),
                body: Bytes::from(body.to_string()),
            }
        })
        .collect();
    let bytes = built(&entries).bytes() / entries.len();
    assert!((300..1_200).contains(&bytes), "{bytes} bytes a fact");
}
