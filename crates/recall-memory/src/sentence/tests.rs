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
        ("not there", "not there"),
    ] {
        assert_eq!(around(evidence, Some(text)), expected);
        assert_eq!(around(evidence, None), evidence);
    }
    assert_eq!(around("ß", Some("Straße. Maß! Fuß")), "Straße.");
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
