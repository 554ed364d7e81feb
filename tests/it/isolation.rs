//! No sequence of calls by one key shows what another wrote.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;

/// Names that look alike under wildcards, prefixes, case folding and separators.
const NAMES: [&str; 7] = ["a_b", "aXb", "a", "a:b", "A_B", "a:b:c", "a-b"];

#[tokio::test(flavor = "multi_thread")]
async fn namespaces_that_look_alike_are_apart() {
    let running = Running::start(&["--surface=typed"]);
    let mut keys = Vec::new();
    for name in NAMES {
        let key = running.key(name).await;
        let fact = json!({ "subject": "user", "predicate": "note", "value": format!("canary of {name}.") });
        assert_eq!(running.post("/v1/remember", &key, &fact).await.status, 200);
        keys.push(key);
    }
    for (name, key) in NAMES.iter().zip(&keys) {
        for (path, body) in [
            ("/v1/recall", json!({ "subject": "user" })),
            ("/v1/recall", json!({ "query": "canary" })),
            ("/v1/explain", json!({ "question": "canary" })),
            ("/v1/diff", json!({ "from": "2000-01-01T00:00:00Z" })),
            (
                "/v1/history",
                json!({ "subject": "user", "predicate": "note" }),
            ),
            (
                "/v1/timeline",
                json!({ "subject": "user", "predicate": "note" }),
            ),
        ] {
            let answer = running.post(path, key, &body).await;
            let text = String::from_utf8_lossy(&answer.body).into_owned();
            assert!(
                text.contains(&format!("canary of {name}.")),
                "{name} {path}: {text}"
            );
            assert_eq!(
                text.matches("canary of ").count(),
                text.matches(&format!("canary of {name}.")).count()
            );
        }
    }
}

#[derive(Debug, Clone)]
struct Step {
    path: &'static str,
    body: Value,
}

fn step() -> impl Strategy<Value = Step> {
    let subject = prop::sample::select(vec!["user", "victim", "canary", "USER"]);
    let predicate = prop::sample::select(vec!["note", "prefers_editor", "role", "nope"]);
    let name = prop::sample::select(vec!["team:b", "team:a", "team", "*", "team:%62", "TEAM:B"]);
    let time = prop::sample::select(vec!["2000-01-01T00:00:00Z", "2026-01-01T00:00:00Z"]);
    prop_oneof![
        (subject.clone(), predicate.clone()).prop_map(|(subject, predicate)| Step {
            path: "/v1/remember",
            body: json!({ "subject": subject, "predicate": predicate, "value": "mine" }),
        }),
        subject.clone().prop_map(|subject| Step {
            path: "/v1/recall",
            body: json!({ "subject": subject })
        }),
        Just(Step {
            path: "/v1/recall",
            body: json!({ "query": "secret canary victim", "limit": 1000 })
        }),
        name.prop_map(|name| Step {
            path: "/v1/recall",
            body: json!({ "query": "secret", "namespace": name })
        }),
        (subject.clone(), predicate.clone()).prop_map(|(subject, predicate)| Step {
            path: "/v1/history",
            body: json!({ "subject": subject, "predicate": predicate }),
        }),
        (subject, predicate).prop_map(|(subject, predicate)| Step {
            path: "/v1/forget",
            body: json!({ "subject": subject, "predicate": predicate }),
        }),
        time.prop_map(|from| Step {
            path: "/v1/diff",
            body: json!({ "from": from })
        }),
        Just(Step {
            path: "/v1/explain",
            body: json!({ "question": "secret canary" })
        }),
        Just(Step {
            path: "/v1/predicates",
            body: json!({})
        }),
    ]
}

#[test]
fn no_sequence_of_calls_shows_what_another_wrote() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let running = Running::start(&["--surface=typed", "--open"]);
    let (a, b) =
        runtime.block_on(async { (running.key("team:a").await, running.key("team:b").await) });
    let secret = "the-secret-canary-of-b";
    runtime.block_on(async {
        for (subject, predicate) in [
            ("user", "note"),
            ("victim", "prefers_editor"),
            ("victim", "codename"),
        ] {
            let fact = json!({ "subject": subject, "predicate": predicate, "value": secret });
            assert_eq!(running.post("/v1/remember", &b, &fact).await.status, 200);
        }
    });
    let config = Config {
        cases: 24,
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new(config)
        .run(&prop::collection::vec(step(), 1..12), |steps| {
            runtime.block_on(async {
                for Step { path, body } in &steps {
                    let answer = running.post(path, &a, body).await;
                    let text = String::from_utf8_lossy(&answer.body);
                    prop_assert!(answer.status < 500, "{} {}", path, body);
                    prop_assert!(!text.contains(secret), "{} {} showed {}", path, body, text);
                    prop_assert!(
                        !text.contains("codename"),
                        "{} {} showed {}",
                        path,
                        body,
                        text
                    );
                }
                Ok(())
            })
        })
        .expect("nothing of b shows");
}
