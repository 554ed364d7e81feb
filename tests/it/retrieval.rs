//! The committed conversations, remembered and asked about as a client does.

use super::*;

const EVIDENCE: &str =
    include_str!("../../crates/recall-memory/src/search/testdata/evidence.jsonl");

/// The share of the evidence in the best ten, in percent, over all questions, with what was missed.
async fn found(running: &Running, talk: &Value, unnamed: bool) -> (usize, Vec<String>) {
    let name = talk["conv"].as_str().expect("a name");
    let key = running.key(&format!("{name}.{unnamed}")).await;
    let said = |item: &Value| {
        let part = |key: &str| item[key].as_str().expect("a string").to_owned();
        format!("{}: {}", part("speaker"), part("text"))
    };
    let items = talk["items"].as_array().expect("items");
    for item in items {
        let day = item["observed_at"].as_str().expect("a day");
        let mut write = json!({"text": said(item), "observed_at": format!("{day}T00:00:00Z")});
        if !unnamed {
            write["session"] = item["session"].clone();
        }
        assert_eq!(running.post("/v1/remember", &key, &write).await.status, 200);
    }
    let questions = talk["queries"].as_array().expect("questions");
    let mut missed = Vec::new();
    for question in questions {
        let ask = json!({"question": question["q"]});
        let answer = running.post("/v1/recall", &key, &ask).await.json();
        let rows = answer["memories"].as_array().expect("rows");
        let best: Vec<_> = rows
            .iter()
            .take(10)
            .map(|row| row["text"].as_str())
            .collect();
        let gold = question["gold"].as_array().expect("gold");
        let of = |id: &Value| items.iter().find(|item| item["id"] == *id).map(said);
        if !gold.iter().all(|id| best.contains(&of(id).as_deref())) {
            missed.push(format!("{name}: {}", question["q"]));
        }
    }
    (questions.len(), missed)
}

/// Named sessions, and runs of writes that nobody named.
#[tokio::test(flavor = "multi_thread")]
async fn of_a_hundred_questions_ninety_five_are_answered_in_the_best_ten() {
    let running = Running::start(&["--surface=text"]);
    for unnamed in [false, true] {
        let (mut asked, mut missed) = (0, Vec::new());
        for line in EVIDENCE.lines() {
            let talk: Value = serde_json::from_str(line).expect("a line is a conversation");
            let (questions, none) = found(&running, &talk, unnamed).await;
            asked += questions;
            missed.extend(none);
        }
        assert!(asked >= 30);
        assert!(missed.len() * 20 <= asked, "{missed:#?}");
    }
}

/// The lines of the example in docs/retrieval.md, in order.
#[tokio::test(flavor = "multi_thread")]
async fn the_example_of_the_retrieval_page_is_true() {
    let page = include_str!("../../docs/retrieval.md");
    let example = page
        .split("```recall\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    let running = Running::start(&["--surface=text"]);
    let key = running.key("team:a").await;
    let (mut rows, mut checked) = (Vec::new(), 0);
    for line in example.expect("an example").lines() {
        let (kind, text) = line.split_once(' ').expect("a sign and a text");
        match kind {
            "+" => {
                let named = text
                    .strip_prefix('[')
                    .and_then(|rest| rest.split_once("] "));
                let write = match named {
                    Some((session, text)) => json!({"text": text, "session": session}),
                    None => json!({"text": text}),
                };
                let kept = running.post("/v1/remember", &key, &write).await;
                assert_eq!(kept.status, 200);
            }
            "?" => {
                let found = running
                    .post("/v1/recall", &key, &json!({"question": text}))
                    .await
                    .json();
                let memories = found["memories"].as_array().cloned().unwrap_or_default();
                rows = memories.iter().map(|row| row["text"].clone()).collect();
            }
            "=" => {
                assert_eq!(rows.first(), Some(&json!(text)));
                checked += 1;
            }
            "~" => assert!(rows.contains(&json!(text)), "{rows:?}"),
            "!" => assert!(!rows.contains(&json!(text)), "{rows:?}"),
            other => panic!("{other} means nothing"),
        }
    }
    assert!(checked > 3);
}
