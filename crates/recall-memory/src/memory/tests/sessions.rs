//! Items of one session lend each other their words, so an answer is found by its question.

use serde_json::{Value, json};

use super::support::{World, config};
use crate::Operation::{Recall, Remember};
use crate::{Args, Surface, Writer};

/// Words that two turns of one talk share and other talks do not.
const TOPICS: [&str; 16] = [
    "violin",
    "harvest",
    "tunnel",
    "budget",
    "glacier",
    "pottery",
    "marathon",
    "orchid",
    "satellite",
    "carpet",
    "lantern",
    "beehive",
    "passport",
    "anchor",
    "cinema",
    "compost",
];

async fn tell(world: &World, key: &str, session: Option<&str>, text: &str, at: &str) {
    let args = json!({"text": text, "observed_at": at});
    let Value::Object(args) = args else {
        unreachable!()
    };
    let writer = Writer {
        key_id: key.to_owned(),
        session: session.map(str::to_owned),
    };
    let told = world
        .memory
        .call(&world.ns, &writer, Remember, Args::from(args))
        .await;
    told.unwrap();
}

/// A memory whose talks hang together, so that neighbours count.
async fn talks() -> World {
    let world = World::text();
    for (day, topic) in (1..).zip(TOPICS) {
        for turn in 0..4 {
            let at = format!("2026-03-{day:02}T10:{turn:02}:00Z");
            let text = format!("Speaker {turn}: the {topic} again, number {day}{turn}");
            tell(&world, "k1", None, &text, &at).await;
        }
    }
    world
}

async fn finds(world: &World, question: &str, text: &str) -> bool {
    for world in [world, &world.again(config(Surface::Text, true))] {
        let found = world.ask(Recall, json!({"question": question})).await;
        let rows = found["memories"].as_array().unwrap().clone();
        if !rows.iter().any(|row| row["text"] == text) {
            return false;
        }
    }
    true
}

const ASKED: &str = "Nora: which island did the Albatross sail to?";
const ANSWERED: &str = "Otto: Madeira, I believe.";

#[tokio::test]
async fn an_answer_is_found_by_the_question_before_it() {
    type Told = (&'static str, Option<&'static str>, &'static str);
    let cases: [(Told, Told, bool); 6] = [
        // One key, half an hour apart at most.
        (("k1", None, "10:00:00"), ("k1", None, "10:30:00"), true),
        (("k1", None, "10:00:00"), ("k1", None, "10:30:01"), false),
        (("k1", None, "10:30:00"), ("k1", None, "10:00:00"), true),
        // Two keys, unless they name the session.
        (("k1", None, "10:00:00"), ("k2", None, "10:00:01"), false),
        (
            ("k1", Some("call 7"), "10:00:00"),
            ("k2", Some("call 7"), "19:00:00"),
            true,
        ),
        (
            ("k1", Some("call 7"), "10:00:00"),
            ("k1", Some("call 8"), "10:00:01"),
            false,
        ),
    ];
    for (asked, answered, found) in cases {
        let world = talks().await;
        for ((key, session, at), text) in [(asked, ASKED), (answered, ANSWERED)] {
            let at = format!("2026-05-01T{at}Z");
            tell(&world, key, session, text, &at).await;
        }
        let question = "Where did the Albatross sail?";
        assert!(finds(&world, question, ASKED).await);
        assert_eq!(
            finds(&world, question, ANSWERED).await,
            found,
            "{asked:?} {answered:?}"
        );
    }
}

#[tokio::test]
async fn what_others_write_between_does_not_part_a_session() {
    let world = talks().await;
    tell(&world, "k1", Some("a"), ASKED, "2026-05-01T10:00:00Z").await;
    for no in 0..5 {
        let text = format!("Unrelated remark {no}");
        tell(&world, "k2", None, &text, "2026-05-01T10:00:01Z").await;
    }
    tell(&world, "k1", Some("a"), ANSWERED, "2026-05-01T10:00:02Z").await;
    assert!(finds(&world, "Where did the Albatross sail?", ANSWERED).await);
}

#[tokio::test]
async fn messages_remembered_together_are_found_by_each_of_them_and_answer_whole() {
    let world = talks().await;
    let filler =
        "We spoke about many other things that day, at length, and none of them matters here. "
            .repeat(20);
    let messages = json!([
        {"role": "user", "content": "The spare key is under the flowerpot."},
        {"role": "assistant", "content": filler},
        {"role": "assistant", "content": "Noted."},
    ]);
    world.ask(Remember, json!({"messages": messages})).await;
    let short = "Someone left a key at the office.";
    world.ask(Remember, json!({"text": short})).await;
    let found = world
        .ask(Recall, json!({"question": "flowerpot key"}))
        .await;
    let rows: Vec<_> = found["memories"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["text"].as_str().unwrap())
        .collect();
    assert!(rows[0].starts_with("User: The spare key"), "{rows:?}");
    assert!(
        rows[0].ends_with("Assistant: Noted."),
        "the whole text answers"
    );
    let times = rows
        .iter()
        .filter(|row| row.starts_with("User: The spare"))
        .count();
    assert_eq!(times, 1, "one text, one row");
}

#[tokio::test]
async fn a_text_of_many_messages_fills_one_row_only() {
    let world = World::text();
    let message = |no: usize| json!({"role": "user", "content": format!("the parrot said {no}")});
    let messages: Vec<_> = (0..300).map(message).collect();
    world.ask(Remember, json!({"messages": messages})).await;
    for no in 0..30 {
        world.ask(Remember, json!({"text": format!("The parrot of neighbour {no} is a very loud and green bird")})).await;
    }
    let found = world.ask(Recall, json!({"question": "parrot"})).await;
    assert_eq!(found["memories"].as_array().unwrap().len(), 20);
    // Withdrawn, it takes all its messages along.
    let all = found["memories"].as_array().unwrap();
    let long = all
        .iter()
        .map(|row| row["text"].as_str().unwrap())
        .find(|text| text.starts_with("User: the"));
    let long = long.expect("the messages are found").to_owned();
    world
        .ask(crate::Operation::Forget, json!({"text": long}))
        .await;
    let found = world
        .ask(Recall, json!({"question": "parrot said 7"}))
        .await;
    assert!(
        found["memories"]
            .as_array()
            .unwrap()
            .iter()
            .all(|row| row["text"] != long.as_str())
    );
}

/// A question about its asker prefers what the assistant did not say.
#[tokio::test]
async fn who_speaks_is_known_by_role_by_name_and_by_subject() {
    let world = World::open();
    let mine = [
        "the friendly old brown dog is called Rex",
        "Ann: the friendly old brown dog is called Rex",
    ];
    let theirs = [
        "assistant: the dog called Rex",
        "Assistant: the dog called Rex",
    ];
    for (mine, theirs) in mine.iter().zip(theirs) {
        let world = World::text();
        for text in [theirs, mine] {
            world.ask(Remember, json!({"text": text})).await;
        }
        let found = world
            .ask(Recall, json!({"question": "what is my dog called"}))
            .await;
        assert_eq!(found["memories"][0]["text"], *mine);
        let found = world
            .ask(Recall, json!({"question": "what is the dog called"}))
            .await;
        assert_eq!(
            found["memories"][0]["text"], theirs,
            "shorter, and nobody asks about themself"
        );
    }
    world.say("assistant", "owns", json!("a dog")).await;
    world
        .say("user", "owns", json!("a large brown hunting dog"))
        .await;
    assert_eq!(
        world.values(json!({"query": "my dog"})).await[0],
        "a large brown hunting dog"
    );
    assert_eq!(world.values(json!({"query": "dog"})).await[0], "a dog");
    // A note is found by whom it is about.
    world
        .say("maria", "note", json!("prefers the window seat"))
        .await;
    assert_eq!(
        world.values(json!({"query": "maria"})).await,
        ["prefers the window seat"]
    );
}

#[tokio::test]
async fn the_name_of_a_session_has_a_longest_length() {
    let world = World::text();
    for (name, refused) in [
        ("s".repeat(256), false),
        ("s".repeat(257), true),
        ("a\0b".to_owned(), true),
    ] {
        let writer = Writer {
            key_id: "k1".to_owned(),
            session: Some(name),
        };
        let Value::Object(args) = json!({"text": "x"}) else {
            unreachable!()
        };
        let told = world
            .memory
            .call(&world.ns, &writer, Remember, Args::from(args))
            .await;
        assert_eq!(told.is_err(), refused);
    }
}

/// Where too little was written to measure anything, what is known to belong together does.
#[tokio::test]
async fn on_a_fresh_memory_a_named_session_counts_and_a_guess_does_not() {
    let question = "Where did the Albatross sail?";
    for (session, found) in [(Some("call 7"), true), (None, false)] {
        let world = World::text();
        tell(&world, "k1", session, ASKED, "2026-05-01T10:00:00Z").await;
        tell(&world, "k1", session, ANSWERED, "2026-05-01T10:00:01Z").await;
        assert!(finds(&world, question, ASKED).await);
        assert_eq!(
            finds(&world, question, ANSWERED).await,
            found,
            "{session:?}"
        );
        // Another session is none of its business.
        tell(
            &world,
            "k1",
            Some("call 8"),
            "Otto: Azores.",
            "2026-05-01T10:00:02Z",
        )
        .await;
        assert!(!finds(&world, question, "Otto: Azores.").await);
    }
}

/// Each message has one word of the question; the texts beside them have as many in one place.
#[tokio::test]
async fn on_a_fresh_memory_messages_of_one_text_count_together() {
    let world = World::text();
    world
        .ask(
            Remember,
            json!({"text": "A quilt is a blanket of many pieces, sewn by hand or machine."}),
        )
        .await;
    let messages = json!([
        {"role": "user", "content": "Have you finished the quilt?"},
        {"role": "assistant", "content": "Nearly, the border is missing."},
    ]);
    world.ask(Remember, json!({"messages": messages})).await;
    let found = world.ask(Recall, json!({"question": "quilt border"})).await;
    let first = found["memories"][0]["text"].as_str().unwrap();
    assert!(first.starts_with("User: Have you finished"), "{first}");
}

/// What was measured of many holds, whoever named what.
#[tokio::test]
async fn once_measured_named_sessions_of_strange_items_do_not_count() {
    let world = World::text();
    for no in 0..60 {
        let text = format!("word{no} thing{no} matter{no}");
        tell(&world, "k1", Some("all"), &text, "2026-05-01T10:00:00Z").await;
    }
    assert!(finds(&world, "word50", "word50 thing50 matter50").await);
    assert!(!finds(&world, "word50", "word51 thing51 matter51").await);
}
