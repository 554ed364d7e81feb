use super::*;

#[test]
fn the_whole_sentence_is_said() {
    let text =
        "My day was fine. I moved to zed today, really! It runs 3.5 times faster\nsays zed.dev";
    for (evidence, expected) in [
        ("zed today", "I moved to zed today, really!"),
        ("day was", "My day was fine."),
        ("3.5 times", "It runs 3.5 times faster"),
        ("zed.dev", "says zed.dev"),
        ("My day was fine.", "My day was fine."),
        (
            "fine. I moved",
            "My day was fine. I moved to zed today, really!",
        ),
        ("not there", ""),
    ] {
        let at = around(evidence, text).unwrap_or_default();
        assert_eq!(text[at].trim(), expected);
    }
    assert_eq!(around("ß", "Straße. Maß! Fuß"), Some(0.."Straße.".len()));
}

#[test]
fn every_sentence_that_holds_the_words_is_found() {
    let text = "Rome is warm. Ann lives in Rome! She left\nRome? No";
    for (evidence, expected) in [
        (
            "Rome",
            &["Rome is warm.", "Ann lives in Rome!", "Rome?"][..],
        ),
        ("Rome! She", &["Ann lives in Rome!", "She left"]),
        ("warm", &["Rome is warm."]),
        ("Oslo", &[]),
        ("", &[]),
    ] {
        let found: Vec<&str> = holding(text, evidence).map(str::trim).collect();
        assert_eq!(found, expected, "{evidence}");
    }
}

#[test]
fn who_speaks_is_not_said() {
    for (line, expected) in [
        ("User: I am in.", " I am in."),
        (" Assistant:", ""),
        ("Users: two", "Users: two"),
    ] {
        assert_eq!(without_role(line), expected);
    }
}

#[test]
fn statements_read_as_sentences() {
    let vim = Value::text("Vim");
    assert_eq!(
        spoken("user", "prefers_editor", &vim),
        "user prefers editor: Vim"
    );
    assert_eq!(spoken("user", "note", &vim), "Vim");
    assert_eq!(
        spoken("ada", "shoe_size", &Value::number(-1e-7)),
        "ada shoe size: -0.0000001"
    );
    assert_eq!(
        withdrawal("m", "owns", None),
        "withdrew everything for m owns"
    );
    assert_eq!(withdrawal("m", "owns", Some(&vim)), "withdrew m owns: Vim");
}
