use super::*;
use crate::event::Placed;

#[track_caller]
fn check(subject: &str, note: bool, text: &str, expected: &[(&str, Option<&str>, bool)]) {
    let body = r#"{"kind": "fact", "subject": "x", "predicate": "note", "source": "user_stated",
        "observed_at": "2026-05-01T00:00:00Z", "value": "x"}"#;
    let event = Placed::decode("m-1", body.as_bytes()).unwrap().event;
    let text = IndexText::new(text.to_owned(), Arc::from(subject), note, false, &event);
    let items = text
        .items()
        .map(|item| (item.text, item.speaker, item.assistant));
    assert_eq!(items.collect::<Vec<_>>(), expected);
}

#[test]
fn a_text_is_one_item_said_by_the_name_before_its_colon() {
    check("user", true, "Tea is hot.", &[("Tea is hot.", None, false)]);
    check(
        "user",
        true,
        "Maria: hi\nAssistant: no",
        &[("Maria: hi\nAssistant: no", None, false)],
    );
    check(
        "user",
        true,
        "assistant: hi",
        &[("assistant: hi", None, true)],
    );
    check(
        "user",
        true,
        "Assistant:hi",
        &[("Assistant:hi", None, false)],
    );
    check(
        "user",
        true,
        "Assistants: hi",
        &[("Assistants: hi", None, false)],
    );
}

#[test]
fn messages_are_an_item_each_with_the_role_of_each() {
    let text = "User: hi: there\nAssistant: hello";
    check(
        "user",
        true,
        text,
        &[
            ("User: hi: there", None, false),
            ("Assistant: hello", None, true),
        ],
    );
    check("user", true, "User: hi", &[("User: hi", None, false)]);
    check(
        "user",
        true,
        "Assistant: hi",
        &[("Assistant: hi", None, true)],
    );
    // Only notes are messages.
    check("user", false, text, &[(text, None, false)]);
}

#[test]
fn who_a_note_is_about_speaks_in_it() {
    check(
        "maria",
        true,
        "Tea is hot.",
        &[("Tea is hot.", Some("maria"), false)],
    );
    check(
        "assistant",
        true,
        "Tea is hot.",
        &[("Tea is hot.", Some("assistant"), true)],
    );
    check(
        "assistant",
        false,
        "assistant likes tea",
        &[("assistant likes tea", None, true)],
    );
    check(
        "maria",
        false,
        "maria likes tea",
        &[("maria likes tea", None, false)],
    );
}
