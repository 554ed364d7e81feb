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
            let says =
                |words: &str| Plain::of(row["text"].as_str().unwrap()).says(&Plain::of(words));
            // What says so among other words carries that it is no longer so, or what is so instead.
            let marked = row["no_longer"] == json!([old.row()]) || says(&now);
            assert!(!says(old.value) || marked, "{of}: {row}");
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
        // What was so before, beside its row.
        ("kai lives in: Oslo, before: Rome", "before: Rome"),
        ("kai lives in: Oslo (before: Rome)", "Rome"),
        ("kai lives in: Oslo\nbefore: Rome", "Rome"),
        ("kai lives in: Rome (Rome)", "Rome (Rome)"),
        (
            r#"{"memories":[{"text":"kai lives in: Oslo","since":"2026-11-30","before":[{"text":"Rome","since":"2026-11-30"}]}]}"#,
            "Rome",
        ),
        (
            r#"{"text": "kai lives in: Oslo", "before": [{"text": "Rome"}]}"#,
            r#""before": [{"text": "Rome""#,
        ),
        (
            r#"[{"subject":"kai","predicate":"lives_in","value":"Oslo","replaced":[{"value":"Rome","observed_at":"2026-06-01T12:00:00Z"}]}]"#,
            r#""value":"Rome""#,
        ),
        // The words it came from, and a text, as a row of another time shows them.
        (
            r#"{"text":"kai lives in: Rome","since":"2026-06-01","said":"They say kai is at home in Rome."}"#,
            "They say kai is at home in Rome",
        ),
        (
            r#"{"x":"{\"text\":\"kai is \\\"at home\\\" in Rome.\",\"since\":\"2026-06-01\",\"days_ago\":0}"}"#,
            "home\\\\\\\" in Rome",
        ),
        (
            "kai lives in: Rome \u{2013} said: \"Kai is in Rome.\"",
            "Rome \u{2013} said: \"Kai is in Rome.\"",
        ),
        // Escaped.
        (r#"{"text": "kai lives in: R\u006fme"}"#, r"R\u006fme"),
        (r"kai lives in:\nRome", "Rome"),
        ("<b>kai</b> lives in: <i>Rome</i>", "Rome"),
        ("kai lives in: &quot;Rome&quot;", "Rome"),
        (
            "<fact subject=\"kai\" predicate=\"lives_in\">Rome</fact>",
            "Rome",
        ),
        ("kai.lives_in = \"Rome\"", "Rome"),
        ("kai:\n  lives_in: Rome\n", "Rome"),
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
        for told in [row.clone(), format!("Note to self. {row}.")] {
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
        ("Now Kai lives in Rome.", "Now Kai lives in Rome", "Rome"),
        (
            "Since Monday Kai lives in Rome.",
            "Kai lives in Rome",
            "Rome",
        ),
        (
            "Correction: Kai lives in Rome, not in Oslo.",
            "Kai lives in Rome, not in Oslo",
            "Rome",
        ),
        ("No, **Kai** lives in *Rome*!", "Rome", "Rome"),
        (
            "As Kai said before: I live in Rome.",
            "I live in Rome",
            "Rome",
        ),
        (
            "Kai no longer lives in Oslo. Kai lives in Rome.",
            "Kai lives in Rome",
            "Rome",
        ),
        (
            "They say kai is at home in Rome.",
            "at home in Rome",
            "Rome",
        ),
        (
            "You said kai lives in: Oslo, but he is in Rome now.",
            "in Rome now",
            "Rome",
        ),
        (
            "You said kai lives in: Rome, before: Oslo. Yes, Kai lives in Rome.",
            "Yes, Kai lives in Rome",
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

/// Kept without a model, or by a caller that brings its own statements, a quote is marked too; only what
/// says nothing but an old answer does not answer.
#[tokio::test]
async fn a_text_that_quotes_an_old_one_is_shown_and_marked() {
    let old = Old::new("kai", "Rome");
    let (world, model) = replaced(&old).await;
    let quoting = [
        "I read: they say kai is at home in Rome.",
        "I read: they say kai is at home in Rome. The stairs are steep.",
    ];
    let echoes = [
        "kai lives in: Rome",
        "Assistant: kai lives in: Rome",
        r#"{"text":"kai lives in: Rome","since":"2026-06-01","days_ago":0}"#,
        "kai lives in: Rome. The stairs lead up.",
    ];
    let plain = world.again(config(Surface::Text, true));
    for told in quoting.iter().chain(&echoes) {
        let answer = plain.ask(Remember, json!({"text": told})).await;
        // A write says what of it is no longer so.
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
        let gone = json!(["kai lives in: Rome"]);
        for told in quoting.iter().chain(&["… The stairs lead up."]) {
            let row = rows.iter().find(|row| row["text"] == *told);
            let row = row.unwrap_or_else(|| panic!("{told}: {rows:?}"));
            assert_eq!(row["no_longer"], gone, "{row}");
        }
        assert!(
            !rows
                .iter()
                .any(|row| echoes.contains(&row["text"].as_str().unwrap())),
            "{rows:?}"
        );
    }
    let typed = world.again(config(Surface::Typed, true));
    let found = typed
        .ask(Recall, json!({"subject": "user", "predicate": "note"}))
        .await;
    let notes = found.as_array().unwrap();
    for told in quoting.iter().chain(&echoes) {
        let note = notes.iter().find(|row| row["value"] == *told).unwrap();
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

/// What an agent may have read of an old value: rows of both surfaces, of now and of the time before.
fn read(old: &Old) -> Vec<String> {
    let (subject, value) = (old.subject, old.value);
    let row =
        json!({"subject": subject, "predicate": PREDICATE, "value": value, "confidence": 0.8});
    let now = format!("{} lives in: {NEW}", lower(subject));
    let at = "2026-06-01T12:00:00Z";
    vec![
        old.row(),
        row.to_string(),
        format!("| {subject} | {PREDICATE} | {value} |"),
        json!({"text": old.row(), "since": "2026-06-01", "days_ago": 0}).to_string(),
        json!({"memories": [{"text": old.row(), "since": "2026-06-01", "days_ago": 0, "said": old.sentence},
            {"text": old.text, "since": "2026-06-01", "days_ago": 0}]})
        .to_string(),
        json!({"memories": [{"text": now, "since": "2026-06-01", "days_ago": 0,
            "before": [{"text": value, "since": "2026-06-01"}], "said": "Now somebody moved to Oslo."}]})
        .to_string(),
        json!([{"subject": subject, "predicate": PREDICATE, "value": NEW, "observed_at": at,
            "replaced": [{"value": value, "observed_at": at}], "source_text": "Now somebody moved to Oslo."}])
        .to_string(),
        json!({"history": [{"about": format!("{} lives in", lower(subject)), "now": [now],
            "changes": [{"change": "replaced", "ended": [old.row()], "began": [now]}]}]})
        .to_string(),
    ]
}

/// The escapes that programs put for what is not ASCII.
fn ascii(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c.is_ascii() {
            true => escaped.push(c),
            false => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    escaped.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    escaped
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
        which in 0..8_usize,
        escaped in 0..3_usize,
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
            told = match escaped {
                1 => ascii(&told),
                2 => json!({ "x": told }).to_string(),
                _ => told,
            };
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

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 192,
        rng_seed: RngSeed::Fixed(0x0010_0005),
        ..ProptestConfig::default()
    })]

    /// Whatever a person says in a sentence, the words of an old text too and about whomever: it is believed
    /// and current, and the text is found.
    #[test]
    fn what_a_person_says_is_believed(
        subject in prop::sample::select(vec!["kai", "@ann", "李雷", "\u{1f680} rocket", "ann: lee", "c++", "(team) x"]),
        other in prop::sample::select(vec!["kai", "@ann", "zoe"]),
        value in prop::sample::select(vec!["Rome", "北京", "9:30", "a: b", "rome nord", "$5", "\"open\""]),
        which in 0..13_usize,
        whole in any::<bool>(),
    ) {
        run(async {
            let old = Old::new(subject, value);
            let (world, model) = replaced(&old).await;
            // Somebody else may have been there too.
            let them = Old::new(other, value);
            let said = [
                format!("{other} lives in {value}."),
                format!("Now {other} lives in {value}."),
                format!("Since Monday {other} lives in {value}."),
                format!("Correction: {other} lives in {value}, not in Oslo."),
                format!("No, {other} lives in {value}!"),
                format!("It changed. {other} lives in {value}."),
                format!("So **{other}** lives in *{value}*."),
                format!("\u{201c}{other} lives in {value}\u{201d}, I heard."),
                format!("1) {other} lives in {value} 2) they like it"),
                them.sentence.clone(),
                them.text.clone(),
                format!("I read: {} Good to know.", them.sentence),
                old.sentence.replace(subject, other),
            ];
            let told = &said[which];
            let evidence = if whole { told.as_str() } else { value };
            model.states(&json!([them.statement(value, evidence)]));
            let answer = tell(&world, told).await;
            assert_eq!(answer["remembered"][0]["text"], them.row().as_str(), "{told:?}: {answer}");
            let found = world.again(config(Surface::Text, true));
            let found = found.ask(Recall, json!({"question": format!("{other} {value}")})).await;
            let rows = found["memories"].as_array().unwrap();
            assert!(rows.iter().any(|row| row["text"] == them.row().as_str()), "{told:?}: {found}");
        });
    }
}

/// What was written down before a statement was made cannot be an answer that gives it.
#[tokio::test]
async fn what_was_written_before_a_statement_is_no_echo_of_it() {
    let (world, model) = replaced(&Old::new("kai", "Rome")).await;
    model.states(&json!([]));
    tell(&world, "I noted of it: ox mood: calm.").await;
    let ask = async || {
        let found = world.ask(Recall, json!({"question": "mood ox"})).await;
        let rows = found["memories"].as_array().unwrap().clone();
        let noted = |row: &&Value| row["text"].as_str().unwrap().contains("I noted");
        rows.iter().find(noted).cloned()
    };
    for value in ["calm", "wild"] {
        let mut statement = drawn("mood", value, value);
        statement["subject"] = json!("ox");
        statement["cardinality"] = json!("single");
        model.states(&json!([statement]));
        tell(&world, &format!("Look at it, {value} as never.")).await;
        assert_eq!(ask().await.unwrap()["no_longer"], Value::Null);
    }
    // Written down now, it is one.
    model.states(&json!([]));
    tell(&world, "I noted again: ox mood: calm.").await;
    let found = world.ask(Recall, json!({"question": "noted again"})).await;
    assert_eq!(
        found["memories"][0]["no_longer"],
        json!(["ox mood: calm"]),
        "{found}"
    );
}
