//! What is written back of what was served or said does not make an old value current again, however it
//! is marked up, and does not answer as if it were so.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};

use super::extraction::{drawn, tell, text, with};
use super::support::{World, config, run};
use crate::Operation::{Recall, Remember};
use crate::Surface;
use crate::search::plain::Plain;
use crate::value::lower;

const NEW: &str = "Oslo";
const PREDICATE: &str = "lives_in";

/// A value that was so, and is no more.
struct Old {
    subject: &'static str,
    value: &'static str,
    /// The text that said so, and the sentence of it that an answer gives as `said`.
    text: String,
    sentence: String,
}

impl Old {
    fn new(subject: &'static str, value: &'static str) -> Self {
        let sentence = format!("They say {subject} is at home in {value}.");
        Self {
            subject,
            value,
            text: format!("It is warm here. {sentence} The cat sleeps."),
            sentence,
        }
    }

    fn statement(&self, value: &str, evidence: &str) -> Value {
        let mut statement = drawn(PREDICATE, value, evidence);
        statement["subject"] = json!(self.subject);
        statement["cardinality"] = json!("single");
        statement
    }

    /// How the text surface words it.
    fn row(&self) -> String {
        format!("{} lives in: {}", lower(self.subject), self.value)
    }
}

/// A memory in which the old value was said and replaced.
async fn replaced(old: &Old) -> (World, std::sync::Arc<super::extraction::Scripted>) {
    let (world, model) = text();
    let evidence = format!("at home in {}", old.value);
    model.states(&json!([old.statement(old.value, &evidence)]));
    tell(&world, &old.text).await;
    model.states(&json!([old.statement(NEW, "moved to Oslo")]));
    tell(&world, "Now somebody moved to Oslo.").await;
    (world, model)
}

/// Tells a text of which a model says that it states the old value, and checks that it is not believed
/// and that no row of an answer says so.
async fn check(
    world: &World,
    model: &super::extraction::Scripted,
    old: &Old,
    told: &str,
    evidence: &str,
) {
    model.clear();
    model.states(&json!([old.statement(old.value, evidence)]));
    let answer = tell(world, told).await;
    let of = format!("{told:?} by {evidence:?}: {answer}");
    assert_eq!(answer["remembered"], json!([]), "{of}");
    let asked = format!("{} {} home", old.subject, old.value);
    for world in [world, &world.again(config(Surface::Text, true))] {
        let found = world.ask(Recall, json!({"question": asked})).await;
        let rows = found["memories"].as_array().unwrap();
        let now = format!("{} lives in: {NEW}", lower(old.subject));
        assert!(
            rows.iter().any(|row| row["text"] == now.as_str()),
            "{of}: {rows:?}"
        );
        for row in rows {
            let says = Plain::of(row["text"].as_str().unwrap()).says(&Plain::of(old.value));
            // The sentence of the statement is a question's answer only as what is no longer so.
            assert!(!says, "{of}: {row}");
        }
    }
}

#[tokio::test]
async fn no_markup_hides_what_is_repeated() {
    let old = Old::new("kai", "Rome");
    for (told, evidence) in [
        // As an answer words it.
        ("kai lives in:Rome", "kai lives in:Rome"),
        ("kai  lives  in:   Rome", "Rome"),
        ("kai lives in\u{ff1a}Rome", "Rome"),
        ("kai lives in:\nRome", "Rome"),
        ("kai lives in:\u{a0}Rome", "kai lives in:\u{a0}Rome"),
        ("I read **kai** lives in: **Rome** today.", "**Rome**"),
        ("kai lives in: \u{201c}Rome\u{201d}", "Rome"),
        ("kai: lives in Rome", "lives in Rome"),
        ("kai (lives in): Rome", "Rome"),
        ("kai lives-in: Rome", "Rome"),
        ("Kai's lives in: Rome", "Rome"),
        ("| kai | lives_in | Rome |", "Rome"),
        (
            "\u{ff4b}\u{ff41}\u{ff49} lives in: Ro\u{200b}me",
            "lives in: Ro\u{200b}me",
        ),
        ("1. `kai lives in`: `rome`", "rome"),
        ("ka\u{301}i lives in: Rome", "Rome"),
        // As people write, in the words of an answer.
        ("I noted that kai lives in Rome.", "kai lives in Rome"),
        // A row of the typed surface, and the same with sorted members.
        (
            r#"{"subject":"kai","predicate":"lives_in","value":"Rome"}"#,
            "\"Rome\"",
        ),
        (
            r#"{"kind": "fact", "predicate": "lives_in", "source": "user_stated", "subject": "kai", "value": "Rome"}"#,
            r#""value": "Rome""#,
        ),
        (
            "subject: kai\npredicate: lives_in\nvalue: Rome",
            "value: Rome",
        ),
        // Words beside it point at it.
        ("Known: kai lives in: Rome, since 2026.", "since 2026"),
        ("kai lives in: Rome. So Kai is a Roman.", "Kai is a Roman"),
        (
            "My notes say kai lives in: Rome. Thanks for that.",
            "Thanks for that",
        ),
        // Words of the text that it was drawn from.
        ("They say kai is at home in Rome.", "at home in Rome"),
        ("They say kai is at home in Rome", "kai is at home in Rome"),
        (
            "You told me: they say KAI is at home in \u{201c}Rome\u{201d}! Thanks.",
            "home in \u{201c}Rome",
        ),
        (
            "It is warm here. They say kai is at home in Rome.",
            "They say kai",
        ),
        ("- They say kai\n  is at home in Rome.", "Rome"),
        ("\"at home in Rome\"", "at home in Rome"),
    ] {
        let (world, model) = replaced(&old).await;
        check(&world, &model, &old, told, evidence).await;
    }
}

#[tokio::test]
async fn whatever_a_subject_or_a_value_is_made_of_its_sentence_is_known_again() {
    for (subject, value) in [
        ("@ann", "Rome"),
        ("\u{1f680} rocket", "orbit"),
        ("\u{1f680}", "orbit"),
        ("@@", "orbit"),
        ("(team) blue", "idle"),
        ("_x_", "up"),
        ("c++", "old"),
        ("李雷", "北京"),
        ("ann marie  smith", "Rome"),
        ("İrem", "Rome"),
        ("straße", "zu"),
        ("ann: lee", "up"),
        ("ann", "\"open\""),
        ("ann", "a: b"),
        ("ann", "\u{2026}"),
        ("ann", "9:30"),
        ("ann", "8,000"),
        ("ann", "rome-nord"),
        ("ann", "Line one\nline two"),
        (
            "the project that we all began with the people from the other office down the long road in may",
            "red",
        ),
    ] {
        let old = Old::new(subject, value);
        let row = old.row();
        for told in [
            row.clone(),
            format!("Note to self. {row}."),
            old.sentence.clone(),
        ] {
            let (world, model) = replaced(&old).await;
            check(&world, &model, &old, &told, value).await;
        }
    }
}

#[tokio::test]
async fn what_is_said_in_words_of_its_own_is_news() {
    let old = Old::new("kai", "Rome");
    for (told, evidence, value) in [
        ("Kai went back to Rome.", "back to Rome", "Rome"),
        ("Kai lives in Rome again.", "lives in Rome again", "Rome"),
        (
            "You said kai lives in: Oslo, but he is in Rome now.",
            "in Rome now",
            "Rome",
        ),
        ("kai lives in: Rome-Nord", "Rome-Nord", "Rome-Nord"),
        ("kai lives in: Rome, no, in Bergen", "in Bergen", "Bergen"),
        (
            "They say kai is at home in Romania.",
            "in Romania",
            "Romania",
        ),
    ] {
        let (world, model) = replaced(&old).await;
        model.states(&json!([old.statement(value, evidence)]));
        let answer = tell(&world, told).await;
        let row = format!("kai lives in: {value}");
        assert_eq!(answer["remembered"][0]["text"], row, "{told}: {answer}");
    }
    // What is believed may be said again in any words, and is one more source.
    let (world, model) = replaced(&old).await;
    for told in ["Kai lives in Oslo.", "Now somebody moved to Oslo. Yes."] {
        model.states(&json!([old.statement(NEW, "Oslo")]));
        let answer = tell(&world, told).await;
        assert_eq!(
            answer["remembered"][0]["already_known"], true,
            "{told}: {answer}"
        );
        assert_eq!(answer["kept_as_text"], true);
    }
}

/// Kept without a model, or by a caller that brings its own statements, a repeat is marked or hidden too.
#[tokio::test]
async fn a_text_that_quotes_an_old_one_does_not_answer_as_if_it_were_so() {
    let old = Old::new("kai", "Rome");
    let (world, model) = replaced(&old).await;
    let quoting = [
        "I read: they say kai is at home in Rome.",
        "I read: they say kai is at home in Rome. The stairs are steep.",
    ];
    let plain = world.again(config(Surface::Text, true));
    for told in quoting {
        let answer = plain.ask(Remember, json!({"text": told})).await;
        // A write says that it will not be found by these words.
        assert_eq!(answer["kept_as_text"], true);
        assert_eq!(
            answer["not_remembered"][0]["text"], "kai lives in: Rome",
            "{answer}"
        );
    }
    let answer = plain
        .ask(Remember, json!({"text": "The roof is red."}))
        .await;
    assert_eq!(answer["not_remembered"], Value::Null);
    for world in [&plain, &with(&world, Surface::Text, true, &model)] {
        let found = world
            .ask(Recall, json!({"question": "kai home Rome stairs"}))
            .await;
        let rows = found["memories"].as_array().unwrap();
        let marked: Vec<&Value> = rows
            .iter()
            .filter(|row| row["no_longer"].is_array())
            .collect();
        assert!(
            rows.iter()
                .all(|row| !row["text"].as_str().unwrap().contains("Rome")),
            "{rows:?}"
        );
        let steep = marked
            .iter()
            .find(|row| row["text"] == "… The stairs are steep.");
        assert_eq!(
            steep.expect("what else the text says")["no_longer"],
            json!(["kai lives in: Rome"])
        );
    }
    let typed = world.again(config(Surface::Typed, true));
    let found = typed
        .ask(Recall, json!({"subject": "user", "predicate": "note"}))
        .await;
    let notes = found.as_array().unwrap();
    for told in quoting {
        let note = notes.iter().find(|row| row["value"] == told).unwrap();
        assert_eq!(note["no_longer"][0]["value"], "Rome", "{note}");
    }
    let own = json!({"text": "I read: they say kai is at home in Rome!", "statements": []});
    let answer = typed.ask(Remember, own).await;
    assert_eq!(
        answer["episode"]["no_longer"][0]["value"], "Rome",
        "{answer}"
    );
    let own = json!({"text": "It rained.", "statements": []});
    let answer = typed.ask(Remember, own).await;
    assert_eq!(answer["episode"]["no_longer"], Value::Null);
    // At the time at which it was so, it is not marked.
    let then = "2026-06-01T12:00:00.5Z";
    let found = typed
        .ask(Recall, json!({"query": "kai home Rome", "as_of": then}))
        .await;
    let found = found.as_array().unwrap();
    assert!(
        !found.is_empty() && found.iter().all(|row| row["no_longer"].is_null()),
        "{found:?}"
    );
}

/// What an agent may have read of an old value.
fn read(old: &Old) -> Vec<String> {
    let (subject, value) = (old.subject, old.value);
    let row =
        json!({"subject": subject, "predicate": PREDICATE, "value": value, "confidence": 0.8});
    vec![
        old.row(),
        old.sentence.clone(),
        old.text.clone(),
        row.to_string(),
        format!("| {subject} | {PREDICATE} | {value} |"),
        json!({"text": old.row(), "since": "2026-06-01", "days_ago": 0}).to_string(),
    ]
}

/// Changes of a text that leave its words.
const MARKUP: &[fn(&str) -> String] = &[
    str::to_uppercase,
    str::to_lowercase,
    |text| text.replace(' ', "  "),
    |text| text.replace(' ', "\u{a0}"),
    |text| text.replace(' ', "\n"),
    |text| text.replace(' ', " \t"),
    |text| text.replace(": ", ":"),
    |text| text.replace(": ", "\u{ff1a}"),
    |text| text.replace(": ", " - "),
    |text| text.replace(": ", " \u{2192} "),
    |text| format!("**{text}**"),
    |text| format!("> \u{201c}{text}\u{201d}"),
    |text| format!("```\n{text}\n```"),
    |text| format!("1. {text}"),
    |text| format!("Note to self: {text}"),
    |text| format!("I have read that {text}"),
    |text| format!("{text}\nGood to know."),
    |text| {
        text.split(' ')
            .map(|word| format!("_{word}_"))
            .collect::<Vec<_>>()
            .join(" ")
    },
    |text| unicode_normalization::UnicodeNormalization::nfd(text).collect(),
    |text| {
        let wide = |c: char| match c {
            'a'..='z' => char::from_u32(u32::from(c) + 0xfee0).unwrap_or(c),
            _ => c,
        };
        text.chars().map(wide).collect()
    },
    |text| text.replace('e', "e\u{200d}"),
];

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 192,
        rng_seed: RngSeed::Fixed(0x0010_0004),
        ..ProptestConfig::default()
    })]

    /// Whatever an agent writes back of what it has read, with any markup, and whatever part of it a model
    /// takes for evidence: the old value does not become current, and no text says so as current.
    #[test]
    fn what_is_written_back_never_becomes_current(
        subject in prop::sample::select(vec!["kai", "@ann", "李雷", "\u{1f680} rocket", "ann: lee", "user"]),
        value in prop::sample::select(vec!["Rome", "北京", "9:30", "a: b", "rome nord", "Ångström street 7"]),
        which in 0..6_usize,
        markup in prop::collection::vec(0..MARKUP.len(), 0..4),
        cut in (0.0..1.0, 0.0..1.0),
        whole in any::<bool>(),
    ) {
        run(async {
            let old = Old::new(subject, value);
            let mut told = read(&old).swap_remove(which);
            for change in markup {
                told = MARKUP[change](&told);
            }
            let letters: Vec<usize> = told.char_indices().map(|(at, _)| at).chain([told.len()]).collect();
            let place = |share: f64| letters[(share * letters.len() as f64) as usize];
            let (from, to) = (place(cut.0).min(place(cut.1)), place(cut.0).max(place(cut.1)));
            let evidence = told[from..to].trim();
            let evidence = if whole || evidence.is_empty() { told.as_str() } else { evidence };
            let (world, model) = replaced(&old).await;
            check(&world, &model, &old, &told, evidence).await;
        });
    }
}

/// A text was looked through and repeated nothing; then what it says is stated, and replaced.
#[tokio::test]
async fn a_text_that_repeated_nothing_is_read_again_once_more_was_stated() {
    let (world, model) = replaced(&Old::new("kai", "Rome")).await;
    model.states(&json!([]));
    tell(&world, "I noted of it: ox mood: calm.").await;
    let ask = async || {
        let found = world.ask(Recall, json!({"question": "mood ox"})).await;
        let rows = found["memories"].as_array().unwrap().clone();
        rows.iter()
            .any(|row| row["text"].as_str().unwrap().contains("calm"))
    };
    assert_eq!((ask().await, ask().await), (true, true));
    for value in ["calm", "wild"] {
        let mut statement = drawn("mood", value, value);
        statement["subject"] = json!("ox");
        statement["cardinality"] = json!("single");
        model.states(&json!([statement]));
        tell(&world, &format!("Look at it, {value} as never.")).await;
        assert_eq!(ask().await, value == "calm");
    }
}
