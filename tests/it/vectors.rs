//! Search by vectors, against a stand-in for an embedding endpoint.

use std::time::Duration;

use recall_testkit::{FakeModels, Mood};
use tokio::time::{sleep, timeout};

use super::*;

const MEANINGS: [&[&str]; 3] = [&["dog", "puppy", "hound"], &["car", "vehicle"], &["lunch"]];

fn flags(models: &FakeModels, model: &str) -> Vec<String> {
    vec![
        "--surface=text".to_owned(),
        format!("--embed-url={}", models.url()),
        format!("--embed-model={model}"),
    ]
}

impl Running {
    fn with(flags: &[String]) -> Self {
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        Self::start(&flags)
    }

    /// Asks until the answer is covered as wanted; what fills the vectors runs beside the requests.
    async fn until(&self, key: &str, question: &str, wanted: impl Fn(&Answer) -> bool) -> Answer {
        let asked = async {
            loop {
                let answer = self
                    .post("/v1/recall", key, &json!({"question": question}))
                    .await;
                if wanted(&answer) {
                    return answer;
                }
                sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(Duration::from_secs(20), asked)
            .await
            .expect("it comes true")
    }

    async fn metric(&self, name: &str) -> Option<f64> {
        let url = format!("{}/metrics", self.server.admin_url);
        let answer = self.http.send("GET", &url, &[], "").await.expect("metrics");
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        let line = text.lines().find(|line| line.starts_with(name))?;
        line.rsplit(' ').next()?.parse().ok()
    }

    /// Waits until a metric is as wanted: what fills the vectors counts after it has shown them.
    async fn counts(&self, name: &str, wanted: impl Fn(f64) -> bool) {
        for _ in 0..1000 {
            if self.metric(name).await.is_some_and(&wanted) {
                return;
            }
            sleep(Duration::from_millis(20)).await;
        }
        panic!("{name} is {:?}", self.metric(name).await);
    }
}

fn header<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    answer.headers.get(name)?.to_str().ok()
}

fn first(answer: &Answer) -> Value {
    answer.json()["memories"][0]["text"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_in_other_words_is_answered_and_a_slow_model_costs_words_nothing() {
    let models = FakeModels::start(&MEANINGS).await.expect("a port");
    let dir = tempfile::tempdir().expect("a folder");
    let key_file = dir.path().join("key");
    std::fs::write(&key_file, "sk-secret\n").expect("a file");
    let mut flags = flags(&models, "small");
    flags.push(format!("--embed-key-file={}", key_file.display()));
    let running = Running::with(&flags);
    let key = running.key("team:a").await;
    for text in ["Rex is a hound.", "Lunch was late."] {
        let kept = running
            .post("/v1/remember", &key, &json!({"text": text}))
            .await;
        assert_eq!(kept.status, 200);
    }
    let used = |answer: &Answer| header(answer, "recall-degraded").is_none();
    let answer = running.until(&key, "Who has a puppy?", used).await;
    assert_eq!(first(&answer), "Rex is a hound.");
    assert_eq!(header(&answer, "recall-indexes"), Some("words, vector"));
    let asked = models.asked();
    assert!(asked.iter().all(|asked| asked.path == "/v1/embeddings"));
    assert!(
        asked
            .iter()
            .all(|asked| asked.authorization.as_deref() == Some("Bearer sk-secret"))
    );
    assert!(asked.iter().all(|asked| asked.body["model"] == "small"));

    for mood in [Mood::Fails, Mood::Hangs, Mood::Babbles] {
        models.be(mood);
        let degraded = |answer: &Answer| header(answer, "recall-degraded") == Some("vector");
        let answer = running.until(&key, "hound", degraded).await;
        assert_eq!(first(&answer), "Rex is a hound.", "{mood:?}");
        assert_eq!(header(&answer, "recall-indexes"), Some("words"));
        let why = header(&answer, "recall-degraded-because").expect("a reason");
        // Whoever asked first, a question or the job behind the writes, was told more.
        let own = match mood {
            Mood::Hangs => "did not answer in time",
            _ => "could not be reached or did not answer with a vector",
        };
        assert!(
            why.contains(own) || why.contains("failed a moment ago"),
            "{mood:?}: {why}"
        );
        let write = json!({"text": format!("It was {mood:?}.")});
        let kept = running.post("/v1/remember", &key, &write).await;
        assert_eq!(kept.status, 200, "writes do not wait for it");
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "recall", "arguments": {"question": "hound"}}});
        let result = running.post("/mcp", &key, &call).await.json()["result"].clone();
        assert_eq!(
            result["structuredContent"]["coverage"]["degraded"],
            json!(["vector"])
        );
    }
    assert!(
        running
            .metric("recall_degraded_answers_total{index=\"vector\"}")
            .await
            > Some(0.0)
    );
    let (failures, embedded) = (
        "recall_embedding_failures_total",
        "recall_statements_embedded_total",
    );
    running.counts(failures, |count| count > 0.0).await;
    running.counts(embedded, |count| count >= 2.0).await;
    let log = std::fs::read_to_string(&running.server.log).expect("a log");
    assert!(!log.contains("sk-secret"));
}

#[tokio::test(flavor = "multi_thread")]
async fn vectors_outlive_the_server_and_another_model_is_refused_in_words() {
    let models = FakeModels::start(&MEANINGS).await.expect("a port");
    let dir = tempfile::tempdir().expect("a folder");
    let start = |flags: &[String]| {
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        programs::server(dir.path(), "recall", &flags).expect("it starts")
    };
    let running = |server: Server| Running {
        server,
        admin: programs::admin_key(dir.path(), "recall").expect("an admin key"),
        http: Client::default(),
        dir: tempfile::tempdir().expect("a folder"),
    };
    let one = running(start(&flags(&models, "small")));
    let key = one.key("team:a").await;
    one.post("/v1/remember", &key, &json!({"text": "Rex is a hound."}))
        .await;
    let used = |answer: &Answer| header(answer, "recall-degraded").is_none();
    one.until(&key, "puppy", used).await;
    drop(one);

    let texts = || -> usize {
        let asked = models.asked();
        asked
            .iter()
            .filter_map(|asked| Some(asked.body["input"].as_array()?.len()))
            .sum()
    };
    let before = texts();
    let two = running(start(&flags(&models, "small")));
    let answer = two
        .post("/v1/recall", &key, &json!({"question": "puppy"}))
        .await;
    assert_eq!(
        (header(&answer, "recall-degraded"), first(&answer)),
        (None, json!("Rex is a hound."))
    );
    assert_eq!(texts(), before + 1, "the question alone was sent");
    drop(two);

    let three = running(start(&flags(&models, "large")));
    let answer = three
        .post("/v1/recall", &key, &json!({"question": "puppy"}))
        .await;
    let why = header(&answer, "recall-degraded-because").expect("a reason");
    assert!(why.contains("another embedding model"), "{why}");
    let waiting = "recall_statements_unembedded";
    three.counts(waiting, |count| count == 1.0).await;
    let log = std::fs::read_to_string(&three.server.log).expect("a log");
    assert!(log.contains("small") && log.contains("large") && log.contains("embed-again"));
    drop(three);

    let mut again = flags(&models, "large");
    again.push("--embed-again".to_owned());
    let four = running(start(&again));
    let answer = four.until(&key, "puppy", used).await;
    assert_eq!(first(&answer), "Rex is a hound.");
    four.counts(waiting, |count| count == 0.0).await;
    let embedded = "recall_statements_embedded_total";
    four.counts(embedded, |count| count == 1.0).await;
}
