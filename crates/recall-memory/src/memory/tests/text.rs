//! The text surface.

use serde_json::{Value, json};

use super::support::{World, config};
use crate::Operation::{Diff, Explain, Forget, History, Predicates, Recall, Remember, Timeline};
use crate::Surface;

#[tokio::test]
async fn a_text_is_kept_as_a_note() {
    let world = World::text();
    let kept = world
        .ask(
            Remember,
            json!({"text": " I use helix. ", "observed_at": "2026-01-01T00:00:00Z"}),
        )
        .await;
    assert_eq!(kept["kept_as_text"], true);
    assert!(kept.get("remembered").is_none() && kept["note"].is_string());
    let again = world.ask(Remember, json!({"text": "i use HELIX."})).await;
    assert_eq!(again["already_known"], true);
    assert_eq!(world.revision().await, 1);
    let memories = world.ask(Recall, json!({})).await;
    assert_eq!(
        memories,
        json!({"memories": [{"text": "I use helix.", "since": "2026-01-01", "days_ago": 151}]})
    );
}

/// From a run of the published server: its two surfaces count days in two ways.
#[tokio::test]
async fn days_ago_are_whole_days_here_and_dates_on_the_typed_surface() {
    let world = World::text();
    let args = json!({"text": "I use helix.", "observed_at": "2026-01-01T13:00:00Z"});
    world.ask(Remember, args).await;
    let memories = world.ask(Recall, json!({})).await;
    assert_eq!(memories["memories"][0]["days_ago"], 150);
    let typed = world.again(config(Surface::Typed, true));
    let beliefs = typed.ask(Recall, json!({"subject": "user"})).await;
    assert_eq!(beliefs[0]["days_ago"], 151);
}

#[tokio::test]
async fn messages_are_joined_line_by_line() {
    let world = World::text();
    let messages = json!([
        {"role": "user", "content": " a  b\n\n c\td "},
        {"role": "assistant", "content": "x\r\ny"},
    ]);
    world.ask(Remember, json!({"messages": messages})).await;
    let memories = world.ask(Recall, json!({})).await;
    assert_eq!(
        memories["memories"][0]["text"],
        "User: a b c d\nAssistant: x y"
    );
}

#[tokio::test]
async fn malformed_texts_are_refused_by_name() {
    let world = World::text();
    for (args, code, part) in [
        (json!({}), "tool_error", "text or messages"),
        (json!({"text": " "}), "tool_error", "text or messages"),
        (json!({"messages": []}), "tool_error", "text or messages"),
        (
            json!({"text": "a", "messages": [{"role": "user", "content": "b"}]}),
            "tool_error",
            "messages",
        ),
        (
            json!({"messages": [{"role": "system", "content": "x"}]}),
            "tool_error",
            "messages[0].role",
        ),
        (
            json!({"messages": [{"role": "user", "content": " "}]}),
            "tool_error",
            "messages[0].content",
        ),
        (
            json!({"messages": [{"role": "user", "content": "a", "name": "x"}]}),
            "invalid_argument",
            "messages[0].name",
        ),
        (
            json!({"text": "a", "x": 1}),
            "invalid_argument",
            "unknown field x",
        ),
        (
            json!({"text": 5}),
            "invalid_argument",
            "text must be a string",
        ),
        (
            json!({"text": "x".repeat(32_769)}),
            "tool_error",
            "at most 32768",
        ),
        (
            json!({"messages": [{"role": "user", "content": "x".repeat(32_763)}]}),
            "tool_error",
            "at most 32768",
        ),
        (
            json!({"text": "a", "observed_at": "2036-01-01T00:00:00Z"}),
            "tool_error",
            "future",
        ),
    ] {
        let error = world.fails(Remember, args).await;
        assert!(
            error.code() == code && error.to_string().contains(part),
            "{error}"
        );
    }
    world
        .ask(Remember, json!({"text": "x".repeat(32_768)}))
        .await;
    world
        .ask(
            Remember,
            json!({"messages": [{"role": "user", "content": "x".repeat(32_762)}]}),
        )
        .await;
}

#[tokio::test]
async fn since_answers_newest_first_and_all_of_it() {
    let world = World::text();
    for no in 0..45 {
        world
            .ask(Remember, json!({"text": format!("note {no}")}))
            .await;
        world.seconds(60);
    }
    let texts = async |args: Value| -> Vec<String> {
        let memories = world.ask(Recall, args).await;
        let memories = memories["memories"].as_array().unwrap();
        memories
            .iter()
            .map(|memory| memory["text"].as_str().unwrap().to_owned())
            .collect()
    };
    let all = texts(json!({"since": "2026-06-01T12:00:00Z"})).await;
    assert_eq!((all.len(), all[0].as_str()), (45, "note 44"));
    assert_eq!(texts(json!({})).await.len(), 45);
    assert_eq!(texts(json!({})).await[0], "note 0");
    assert_eq!(texts(json!({"question": "note"})).await.len(), 20);
    assert_eq!(
        texts(json!({"question": "note", "since": "2026-06-01T12:40:00Z"}))
            .await
            .len(),
        5
    );
    let args = json!({"since": "2026-06-01T12:40:00Z", "as_of": "2026-06-01T12:10:00Z"});
    assert!(texts(args).await.is_empty());
}

#[tokio::test]
async fn forgetting_takes_the_exact_words() {
    let world = World::text();
    world
        .ask(Remember, json!({"text": "My cat is called Miso."}))
        .await;
    world
        .ask(Remember, json!({"text": "My dog is called Taro."}))
        .await;
    let error = world.fails(Forget, json!({"text": "my cat"})).await;
    assert!(error.to_string().contains("extraction model"), "{error}");
    let gone = world
        .ask(Forget, json!({"text": " MY CAT is called Miso. "}))
        .await;
    assert_eq!(gone, json!({"forgotten": ["My cat is called Miso."]}));
    let left = world.ask(Recall, json!({"question": "called"})).await;
    assert_eq!(left["memories"].as_array().unwrap().len(), 1);
}

/// Facts that the typed surface wrote, seen by the text surface of another server.
#[tokio::test]
async fn facts_read_as_sentences() {
    let typed = World::open();
    typed
        .said(
            "user",
            "prefers_editor",
            json!("vim"),
            "2026-01-01T00:00:00Z",
        )
        .await;
    typed
        .said(
            "user",
            "prefers_editor",
            json!("helix"),
            "2026-02-01T00:00:00Z",
        )
        .await;
    typed
        .said(
            "user",
            "uses_technology",
            json!("rust"),
            "2026-02-02T00:00:00Z",
        )
        .await;
    let args = json!({
        "subject": "user", "predicate": "role", "value": "cook", "observed_at": "2026-03-01T00:00:00Z",
        "replaces": [{"predicate": "uses_technology", "value": "rust"}],
    });
    typed.ask(Remember, args).await;
    let text = "My day was fine. I moved to zed today, really! It is fast.";
    let args = json!({"text": text, "observed_at": "2026-04-01T00:00:00Z", "statements": [
        {"subject": "user", "predicate": "prefers_editor", "value": "zed", "evidence": "zed today"},
        {"subject": "ann", "predicate": "role", "value": "chef", "evidence": "It is fast"},
    ]});
    typed.ask(Remember, args).await;
    let world = typed.again(config(Surface::Text, true));

    let profile = world.ask(Recall, json!({})).await;
    assert_eq!(
        profile["memories"],
        json!([
            {"text": "user prefers editor: zed", "since": "2026-04-01", "days_ago": 61,
             "before": [{"text": "helix", "since": "2026-02-01"}], "said": "I moved to zed today, really!"},
            {"text": "user role: cook", "since": "2026-03-01", "days_ago": 92,
             "before": [{"text": "user uses technology: rust", "since": "2026-02-02"}]},
            {"text": text, "since": "2026-04-01", "days_ago": 61},
        ])
    );
    // The fact answers for the text that it was drawn from.
    let asked = world
        .ask(Recall, json!({"question": "moved to zed editor"}))
        .await;
    let texts: Vec<_> = asked["memories"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| &row["text"])
        .collect();
    assert!(
        texts.contains(&&json!("user prefers editor: zed")) && !texts.contains(&&json!(text)),
        "{texts:?}"
    );

    let history = world.ask(History, json!({"question": "editor"})).await;
    assert_eq!(
        history["history"][0],
        json!({
            "about": "user prefers editor", "now": ["user prefers editor: zed"],
            "changes": [
                {"when": "2026-01-01T00:00:00Z", "change": "stated", "began": ["user prefers editor: vim"]},
                {"when": "2026-02-01T00:00:00Z", "change": "replaced", "ended": ["user prefers editor: vim"],
                 "began": ["user prefers editor: helix"]},
                {"when": "2026-04-01T00:00:00Z", "change": "replaced", "ended": ["user prefers editor: helix"],
                 "began": ["user prefers editor: zed"], "said": "zed today"},
            ],
        })
    );
    let gone = world
        .ask(History, json!({"question": "rust technology"}))
        .await;
    assert_eq!(gone["history"][0]["now"], json!([]));
    assert_eq!(
        gone["history"][0]["changes"][1]["statement"],
        "withdrew user uses technology: rust"
    );

    let diff = world
        .ask(Diff, json!({"from": "2026-03-15T00:00:00Z"}))
        .await;
    assert_eq!(
        diff["changes"],
        json!([
            {"began": ["ann role: chef"]},
            {"began": [text]},
            {"ended": ["user prefers editor: helix"], "began": ["user prefers editor: zed"]},
        ])
    );
    let gone = world
        .ask(Forget, json!({"text": "user prefers editor: zed"}))
        .await;
    assert_eq!(gone, json!({"forgotten": ["user prefers editor: zed"]}));
    let asked = world
        .ask(Recall, json!({"question": "was my day fine"}))
        .await;
    let rest = &asked["memories"][0];
    assert_eq!(rest["text"], "My day was fine. … It is fast.");
    assert_eq!(rest["no_longer"], json!(["user prefers editor: zed"]));
}

/// As the tools tell a model.
#[tokio::test]
async fn a_forgotten_note_is_told_by_diff_and_has_no_history() {
    let world = World::text();
    let text = "I use helix.";
    let args = json!({"text": text, "observed_at": "2026-01-01T00:00:00Z"});
    world.ask(Remember, args).await;
    world.ask(Forget, json!({ "text": text })).await;
    let recalled = world.ask(Recall, json!({"question": "helix"})).await;
    assert_eq!(recalled["memories"], json!([]));
    let history = world.ask(History, json!({"question": "helix"})).await;
    assert_eq!(history["history"], json!([]));
    let diff = json!({"from": "2026-02-01T00:00:00Z"});
    let diff = world.ask(Diff, diff).await;
    assert_eq!(diff["changes"], json!([{ "ended": [text] }]));
}

#[tokio::test]
async fn tools_of_the_other_surface_are_unknown() {
    let world = World::text();
    for (operation, tool) in [
        (Timeline, "timeline"),
        (Explain, "explain"),
        (Predicates, "list_predicates"),
    ] {
        let error = world.fails(operation, json!({})).await;
        assert_eq!(error.to_string(), format!("unknown memory tool \"{tool}\""));
        assert_eq!(error.code(), "tool_error");
    }
}

#[tokio::test]
async fn questions_must_ask_something() {
    let world = World::text();
    for args in [json!({}), json!({"question": " "})] {
        assert!(
            world
                .fails(History, args)
                .await
                .to_string()
                .contains("question")
        );
    }
    assert_eq!(
        world.ask(History, json!({"question": "cat"})).await,
        json!({"history": []})
    );
    assert_eq!(
        world
            .fails(
                Diff,
                json!({"from": "2026-01-01T00:00:00Z", "subject": "x"})
            )
            .await
            .code(),
        "invalid_argument"
    );
}
