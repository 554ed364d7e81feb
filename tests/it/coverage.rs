//! Every answer says what it was taken from, and an empty one why it is empty.

use super::*;

/// The members of coverage by the header that carries them.
const HEADERS: [(&str, &str); 8] = [
    ("in_scope", "recall-in-scope"),
    ("considered", "recall-considered"),
    ("left_out", "recall-left-out"),
    ("indexes", "recall-indexes"),
    ("degraded", "recall-degraded"),
    ("empty", "recall-empty"),
    ("unknown", "recall-unknown"),
    ("revision", "recall-revision"),
];

/// What the headers of an answer say, worded as the structured result words it.
fn told(answer: &Answer) -> Value {
    let mut coverage = serde_json::Map::new();
    for (name, header) in HEADERS {
        let text = answer
            .headers
            .get(header)
            .map(|text| text.to_str().expect("plain text"));
        let value = match (name, text) {
            ("indexes" | "degraded", Some(list)) => json!(list.split(", ").collect::<Vec<_>>()),
            ("indexes", None) => json!([]),
            ("empty" | "unknown", Some(word)) => json!(word),
            (_, Some(number)) => json!(number.parse::<u64>().expect("a number")),
            (_, None) => continue,
        };
        coverage.insert(name.to_owned(), value);
    }
    Value::Object(coverage)
}

impl Running {
    async fn memory_tool(&self, key: &str, tool: &str, arguments: &Value) -> Value {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments}});
        let answer = self.post("/mcp", key, &call).await;
        assert_eq!(answer.status, 200);
        answer.json()["result"].clone()
    }

    /// Asks over both protocols and answers with the body and the coverage, which must agree.
    async fn both(&self, key: &str, operation: &str, arguments: &Value) -> (Value, Value) {
        let answer = self.post(&format!("/v1/{operation}"), key, arguments).await;
        assert_eq!(answer.status, 200, "{operation} {arguments}");
        let tool = match operation {
            "history" if self.post("/v1/predicates", key, &json!({})).await.status == 200 => {
                "memory_history"
            }
            "predicates" => "list_predicates",
            other => other,
        };
        let result = self.memory_tool(key, tool, arguments).await;
        let text = result["content"][0]["text"].as_str().expect("text");
        assert_eq!(
            text.as_bytes(),
            &answer.body[..],
            "the text is the body alone"
        );
        let mut structured = result["structuredContent"].clone();
        let object = structured
            .as_object_mut()
            .expect("an object in every revision");
        let coverage = object.remove("coverage").expect("coverage");
        let body = match answer.json() {
            Value::Object(_) => structured,
            _ => structured["result"].clone(),
        };
        assert_eq!(body, answer.json());
        assert_eq!(coverage, told(&answer), "{operation} {arguments}");
        (body, coverage)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_answer_says_whether_the_memory_the_match_or_the_scope_is_missing() {
    let running = Running::start(&["--surface=typed"]);
    let (empty, filled) = (running.key("empty").await, running.key("filled").await);
    let fact = json!({"subject": "user", "predicate": "prefers_editor", "value": "helix"});
    assert_eq!(
        running.post("/v1/remember", &filled, &fact).await.status,
        200
    );
    let known = json!({"subject": "user", "predicate": "prefers_editor"});
    for (key, operation, arguments, why, unknown) in [
        (
            &empty,
            "recall",
            json!({"query": "helix"}),
            "nothing_stored",
            None,
        ),
        (
            &empty,
            "recall",
            json!({"subject": "user"}),
            "nothing_stored",
            None,
        ),
        (
            &empty,
            "explain",
            json!({"question": "helix"}),
            "nothing_stored",
            None,
        ),
        (&empty, "history", known.clone(), "nothing_stored", None),
        (
            &filled,
            "recall",
            json!({"query": "volcano"}),
            "nothing_matches",
            None,
        ),
        (
            &filled,
            "explain",
            json!({"question": "volcano"}),
            "nothing_matches",
            None,
        ),
        (
            &filled,
            "recall",
            json!({"subject": "user", "min_confidence": 1, "observed_before": "2001-01-01T00:00:00Z"}),
            "nothing_matches",
            None,
        ),
        (
            &filled,
            "recall",
            json!({"subject": "usr"}),
            "scope_unknown",
            Some("subject"),
        ),
        (
            &filled,
            "recall",
            json!({"query": "helix", "subject": "usr"}),
            "scope_unknown",
            Some("subject"),
        ),
        (
            &filled,
            "history",
            json!({"subject": "usr", "predicate": "prefers_editor"}),
            "scope_unknown",
            Some("subject"),
        ),
        (
            &filled,
            "timeline",
            json!({"subject": "usr", "predicate": "prefers_editor"}),
            "scope_unknown",
            Some("subject"),
        ),
        (
            &filled,
            "recall",
            json!({"predicate": "prefers_edtor"}),
            "scope_unknown",
            Some("predicate"),
        ),
        (
            &filled,
            "recall",
            json!({"query": "helix", "predicate": "prefers_edtor"}),
            "scope_unknown",
            Some("predicate"),
        ),
        (
            &empty,
            "recall",
            json!({"predicate": "prefers_edtor"}),
            "scope_unknown",
            Some("predicate"),
        ),
    ] {
        let (_, coverage) = running.both(key, operation, &arguments).await;
        assert_eq!(coverage["empty"], why, "{operation} {arguments}");
        assert_eq!(
            coverage["unknown"].as_str(),
            unknown,
            "{operation} {arguments}"
        );
        let nothing = matches!(why, "nothing_stored" | "scope_unknown");
        assert_eq!(
            coverage["in_scope"] == 0,
            nothing,
            "{operation} {arguments}"
        );
    }
    let (_, coverage) = running.both(&filled, "recall", &known).await;
    assert_eq!(coverage.get("empty"), None);
    let written = running.post("/v1/remember", &filled, &fact).await;
    assert!(
        written.headers.get("recall-in-scope").is_none(),
        "a write covers nothing"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_says_what_it_left_out_on_both_surfaces() {
    for (surface, limit) in [("typed", 5_u32), ("text", 20)] {
        let running = Running::start(&[&format!("--surface={surface}")]);
        let key = running.key("team:a").await;
        for no in 0..30 {
            let text = match no {
                0..24 => format!("The parrot said {no}"),
                _ => format!("Something else happened {no}"),
            };
            let write = match surface {
                "typed" => json!({"subject": "user", "predicate": "note", "value": text}),
                _ => json!({"text": text}),
            };
            assert_eq!(running.post("/v1/remember", &key, &write).await.status, 200);
        }
        let ask = match surface {
            "typed" => json!({"query": "parrot", "limit": limit}),
            _ => json!({"question": "parrot"}),
        };
        let (_, coverage) = running.both(&key, "recall", &ask).await;
        let expected = json!({"in_scope": 30, "considered": 24, "left_out": 24 - limit,
            "indexes": ["words"], "revision": 30});
        assert_eq!(coverage, expected, "{surface}");
        let everything = match surface {
            "typed" => json!({"subject": "user", "limit": 1000}),
            _ => json!({}),
        };
        let (_, coverage) = running.both(&key, "recall", &everything).await;
        let expected = json!({"in_scope": 30, "considered": 30, "left_out": 0, "indexes": [],
            "revision": 30});
        assert_eq!(coverage, expected, "read by name, {surface}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn explain_says_of_each_row_where_it_stands_and_among_what() {
    let running = Running::start(&["--surface=typed"]);
    let key = running.key("team:a").await;
    for value in ["helix", "a helix poster", "tea"] {
        let fact = json!({"subject": "user", "predicate": "note", "value": value});
        running.post("/v1/remember", &key, &fact).await;
    }
    let (rows, coverage) = running
        .both(&key, "explain", &json!({"question": "helix"}))
        .await;
    let rows = rows.as_array().expect("rows");
    let ranks: Vec<_> = rows.iter().map(|row| row["rank"].clone()).collect();
    assert_eq!(ranks, [1, 2]);
    assert!(rows.iter().all(|row| row["coverage"] == coverage));
}
