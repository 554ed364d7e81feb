//! Statements drawn from texts, against a stand-in for a language model's endpoint.

use recall_testkit::{FakeModels, Mood};

use super::*;

fn statement(predicate: &str, value: &str, evidence: &str) -> Value {
    json!({"subject": "user", "predicate": predicate, "value": value, "evidence": evidence,
        "cardinality": "", "description": "", "value_type": "", "replaces": []})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_is_read_once_and_never_lost() {
    let models = FakeModels::start(&[]).await.expect("a port");
    let url = format!("--extract-url={}/", models.url());
    let running = Running::start(&["--surface=text", &url, "--extract-model=reader"]);
    let key = running.key("team:a").await;
    let tell = async |text: &str| {
        let answer = running
            .post("/v1/remember", &key, &json!({"text": text}))
            .await;
        assert_eq!(answer.status, 200, "{}", answer.json());
        answer.json()
    };
    models.answer(json!({"statements": [
        statement("prefers_editor", "helix", "I use helix"),
        statement("lives_in", "Oslo", "I live in Oslo"),
    ]}));
    let told = tell("I use helix.").await;
    assert_eq!(
        told["remembered"],
        json!([{"text": "user prefers editor: helix"}])
    );
    assert_eq!(told["not_remembered"][0]["text"], "user lives in: Oslo");
    let asked = models.asked();
    assert_eq!(asked[0].path, "/v1/chat/completions");
    assert_eq!(asked[0].body["model"], "reader");
    assert_eq!(
        asked[0].body["response_format"]["json_schema"]["strict"],
        true
    );
    assert_eq!(asked[0].authorization, None);

    let told = tell("I use helix.").await;
    assert_eq!(told["remembered"][0]["already_known"], true);
    assert_eq!(models.asked().len(), 1, "it is not read again");

    for mood in [Mood::Fails, Mood::Babbles] {
        models.be(mood);
        let text = format!("The {mood:?} day was long.");
        let told = tell(&text).await;
        assert_eq!(
            (&told["kept_as_text"], &told["remembered"]),
            (&json!(true), &json!([]))
        );
        let found = running
            .post("/v1/recall", &key, &json!({"question": text}))
            .await
            .json();
        assert_eq!(found["memories"][0]["text"], text);
    }
    let metrics = format!("{}/metrics", running.server.admin_url);
    let metrics = running
        .http
        .send("GET", &metrics, &[], "")
        .await
        .expect("metrics");
    let metrics = String::from_utf8_lossy(&metrics.body).into_owned();
    assert!(
        metrics.contains("recall_extraction_failures_total 2"),
        "{metrics}"
    );
}

/// Whoever sent a text waits for its reader no longer than is set; the text is kept first.
#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_hangs_holds_a_write_as_long_as_is_set_and_loses_nothing() {
    let models = FakeModels::start(&[]).await.expect("a port");
    let url = format!("--extract-url={}", models.url());
    let flags = [
        "--surface=text",
        &url,
        "--extract-model=reader",
        "--extract-timeout=1s",
    ];
    let running = Running::start(&flags);
    let key = running.key("team:a").await;
    models.be(Mood::Hangs);
    let text = json!({"text": "I use helix."});
    let began = std::time::Instant::now();
    let write = running.post("/v1/remember", &key, &text);
    let question = json!({"question": "helix"});
    let read = async {
        // While the reader hangs, the text is found already.
        loop {
            let found = running.post("/v1/recall", &key, &question).await.json();
            if found["memories"][0]["text"] == "I use helix." {
                return began.elapsed();
            }
        }
    };
    let (told, found) = tokio::join!(write, read);
    let took = began.elapsed();
    assert_eq!(told.status, 200);
    assert!(
        told.json()["note"]
            .as_str()
            .expect("a note")
            .contains("did not answer")
    );
    assert!((1.0..5.0).contains(&took.as_secs_f64()), "{took:?}");
    assert!(found < took, "kept before it is read");
    models.be(Mood::Answers);
    models.answer(json!({"statements": [statement("prefers_editor", "helix", "I use helix")]}));
    let told = running.post("/v1/remember", &key, &text).await.json();
    assert_eq!(told["remembered"][0]["text"], "user prefers editor: helix");
}

#[tokio::test(flavor = "multi_thread")]
async fn typed_clients_need_no_statements_where_a_model_reads() {
    let models = FakeModels::start(&[]).await.expect("a port");
    let url = format!("--extract-url={}", models.url());
    let running = Running::start(&["--surface=typed", &url, "--extract-model=reader"]);
    let key = running.key("team:a").await;
    models.answer(json!({"statements": [statement("prefers_editor", "helix", "helix")]}));
    let told = running
        .post("/v1/remember", &key, &json!({"text": "I use helix."}))
        .await;
    assert_eq!(told.json()["results"][0]["stored"]["value"], "helix");
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    let tools = running.post("/mcp", &key, &call).await.json()["result"]["tools"].clone();
    assert_eq!(
        tools[1]["inputSchema"]["oneOf"][1]["required"],
        json!(["text"])
    );
}
