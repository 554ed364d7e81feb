//! Values that were replaced, contradicted or withdrawn, asked for as a client does: none may come back
//! as current, on either surface, with and without a model that reads texts.

use recall_testkit::FakeModels;

use super::*;

const STORIES: &str = include_str!("../../crates/recall-memory/src/search/testdata/updates.jsonl");

/// How an agent begins what it writes of an answer.
const NOTED: &str = "I read here that";

fn stories() -> Vec<Value> {
    let lines = STORIES.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("a line is a story"))
        .collect()
}

fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

fn word<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

/// The statement of a step, as a client or a model gives it.
fn statement(story: &Value, step: &Value) -> Value {
    let predicate = step.get("predicate").unwrap_or(&story["predicate"]);
    let mut drawn = json!({"subject": story["subject"], "predicate": predicate, "value": step["value"],
        "evidence": step["evidence"], "replaces": list(step, "replaces")});
    if step.get("predicate").is_none() && story["cardinality"] != "" {
        drawn["cardinality"] = story["cardinality"].clone();
    }
    drawn
}

/// What was asked and found: questions, rows, and those rows that pass off an old value as current.
#[derive(Debug, Default)]
struct Found {
    questions: usize,
    rows: usize,
    outdated: Vec<String>,
    missed: Vec<String>,
}

impl Found {
    fn row(&mut self, story: &Value, question: &str, row: &Value) {
        self.rows += 1;
        let says = |text: &Value| {
            let text = text.to_string().to_lowercase();
            let old = list(story, "old").iter().filter_map(Value::as_str);
            old.into_iter()
                .any(|old| text.contains(&old.to_lowercase()))
        };
        // A kept text of more than that is marked, on the typed surface; its words stay as they were.
        let typed_text = row["predicate"] == "note" && row["no_longer"].is_array();
        // So is what an agent wrote of it, on both.
        let noted = word(row, "text").starts_with(NOTED) && row["no_longer"].is_array();
        if !typed_text
            && !noted
            && (says(&row["text"]) || says(&row["value"]) || says(&row["memory"]))
        {
            self.outdated.push(format!("{question}: {row}"));
        }
    }

    fn answer(&mut self, story: &Value, question: &str, rows: &[Value]) {
        self.questions += 1;
        rows.iter().for_each(|row| self.row(story, question, row));
        let now = word(story, "now");
        let found = rows.iter().take(3).any(|row| {
            let text = format!("{} {}", row["text"], row["value"]);
            text.contains(now)
        });
        // What was withdrawn leads nowhere.
        let withdrawn = story["forget"] == question;
        if !now.is_empty() && !found && !withdrawn {
            self.missed.push(format!("{question}: {rows:?}"));
        }
    }

    #[track_caller]
    fn check(&self, least: usize) {
        assert!(
            self.questions >= least && self.rows > self.questions,
            "{self:?}"
        );
        assert!(self.outdated.is_empty(), "{:#?}", self.outdated);
        assert!(self.missed.is_empty(), "{:#?}", self.missed);
    }
}

/// Every question of a story, and its old texts and values as questions.
fn questions(story: &Value) -> Vec<String> {
    let asked = list(story, "questions").iter().chain(list(story, "old"));
    let asked = asked.filter_map(Value::as_str).map(str::to_owned);
    let texts = list(story, "steps")
        .iter()
        .map(|step| word(step, "text").to_owned());
    asked.chain(texts).collect()
}

async fn ask(running: &Running, key: &str, path: &str, body: &Value) -> Vec<Value> {
    let answer = running.post(path, key, body).await;
    assert_eq!(answer.status, 200, "{body}: {}", answer.json());
    let json = answer.json();
    let rows = if json.is_array() {
        &json
    } else {
        &json["memories"]
    };
    rows.as_array().expect("rows").clone()
}

async fn tell(running: &Running, key: &str, path: &str, body: &Value) -> Value {
    let answer = running.post(path, key, body).await;
    assert_eq!(answer.status, 200, "{body}: {}", answer.json());
    answer.json()
}

async fn ask_typed(running: &Running, key: &str) -> Found {
    let mut found = Found::default();
    for story in &stories() {
        for question in questions(story) {
            let rows = ask(running, key, "/v1/recall", &json!({"query": question})).await;
            found.answer(story, &question, &rows);
            let rows = ask(running, key, "/v1/explain", &json!({"question": question})).await;
            rows.iter().for_each(|row| found.row(story, &question, row));
        }
        for scope in [
            json!({"subject": story["subject"]}),
            json!({"subject": story["subject"], "predicate": story["predicate"]}),
        ] {
            for row in ask(running, key, "/v1/recall", &scope).await {
                found.row(story, &scope.to_string(), &row);
            }
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn no_replaced_value_is_current_among_statements() {
    let running = Running::start(&["--surface=typed", "--open"]);
    let key = running.key("updates:typed").await;
    for story in &stories() {
        for step in list(story, "steps") {
            let mut body = statement(story, step);
            body.as_object_mut().expect("an object").remove("evidence");
            tell(&running, &key, "/v1/remember", &body).await;
        }
        forget_typed(&running, &key, story).await;
    }
    ask_typed(&running, &key).await.check(80);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_replaced_value_is_current_among_texts_with_statements() {
    let running = Running::start(&["--surface=typed", "--open"]);
    let key = running.key("updates:texts").await;
    for story in &stories() {
        // For a statement that is known nothing is written, as the contract has it, so a second text
        // of it is not known as its source.
        let mut said = Vec::new();
        for step in list(story, "steps") {
            if said.last() == Some(&&step["value"]) {
                continue;
            }
            said.push(&step["value"]);
            let body = json!({"text": step["text"], "statements": [statement(story, step)]});
            tell(&running, &key, "/v1/remember", &body).await;
        }
        forget_typed(&running, &key, story).await;
    }
    ask_typed(&running, &key).await.check(80);
}

async fn forget_typed(running: &Running, key: &str, story: &Value) {
    if story["forget"].is_string() {
        let body = json!({"subject": story["subject"], "predicate": story["predicate"], "value": story["forget"]});
        let gone = tell(running, key, "/v1/forget", &body).await;
        assert_eq!(gone["withdrawn"], 1, "{body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_replaced_value_is_current_among_texts_that_a_model_reads() {
    let models = FakeModels::start(&[]).await.expect("a port");
    let url = format!("--extract-url={}", models.url());
    let running = Running::start(&["--surface=text", &url, "--extract-model=reader"]);
    let key = running.key("updates:text").await;
    for story in &stories() {
        for step in list(story, "steps") {
            models.answer(json!({"statements": [statement(story, step)]}));
            let told = tell(
                &running,
                &key,
                "/v1/remember",
                &json!({"text": step["text"]}),
            )
            .await;
            assert_eq!(list(&told, "remembered").len(), 1, "{told}");
        }
        if story["forget"].is_string() {
            let about = word(story, "predicate").replace('_', " ");
            let text = format!(
                "{} {about}: {}",
                word(story, "subject"),
                word(story, "forget")
            );
            tell(&running, &key, "/v1/forget", &json!({"text": text})).await;
        }
    }
    let ask_all = async || {
        let mut found = Found::default();
        for story in &stories() {
            for question in questions(story) {
                let rows = ask(&running, &key, "/v1/recall", &json!({"question": question})).await;
                found.answer(story, &question, &rows);
            }
            for args in [json!({}), json!({"since": "2020-01-01T00:00:00Z"})] {
                for row in ask(&running, &key, "/v1/recall", &args).await {
                    found.row(story, &args.to_string(), &row);
                }
            }
        }
        found
    };
    ask_all().await.check(80);
    // An agent writes down what it read, old values with it, and the model takes it for news.
    for story in &stories() {
        for old in list(story, "old") {
            let about = word(story, "predicate").replace('_', " ");
            let sentence = format!(
                "{} {about}: {}",
                word(story, "subject"),
                word(&json!({"v": old}), "v")
            );
            let step = json!({"value": old, "evidence": sentence});
            models.answer(json!({"statements": [statement(story, &step)]}));
            let text = format!("{NOTED} {sentence}, as I noted.");
            let told = tell(&running, &key, "/v1/remember", &json!({"text": text})).await;
            assert_eq!(told["remembered"], json!([]), "{told}");
        }
    }
    // The text in which the agent wrote so is kept, and marked where it is shown.
    ask_all().await.check(80);
}
