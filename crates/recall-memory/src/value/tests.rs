use proptest::prelude::*;

use super::*;

#[test]
fn lower_case_goes_character_by_character() {
    for (input, expected) in [
        ("Vim", "vim"),
        ("ΣΑΣ", "σασ"),
        ("İstanbul", "istanbul"),
        ("ẞ", "ß"),
        ("ÀÉ", "àé"),
        ("ǅ", "ǆ"),
        ("日本", "日本"),
    ] {
        assert_eq!(lower(input), expected, "{input}");
    }
}

#[test]
fn value_keys_are_those_of_the_log() {
    for (value, expected) in [
        (Value::text(" Vim "), "s:vim"),
        (Value::number(42.5), "n:42.5"),
        (Value::number(8000.0), "n:8000"),
        (Value::number(-0.0), "n:0"),
        (Value::number(1e-7), "n:0.0000001"),
        (Value::number(1e21), "n:1000000000000000000000"),
        (Value::Flag(true), "b:true"),
    ] {
        assert_eq!(value.wire_key(), expected);
    }
}

fn written(number: f64) -> String {
    let mut text = String::new();
    write_number(&mut text, number);
    text
}

#[test]
fn numbers_are_short_and_json() {
    for (number, expected) in [
        (8000.0, "8000"),
        (171.5, "171.5"),
        (1e-7, "1e-7"),
        (1e21, "1e21"),
        (0.000001, "0.000001"),
        (-2.5, "-2.5"),
        (0.0, "0"),
    ] {
        assert_eq!(written(number), expected);
    }
}

#[test]
fn numbers_are_read_as_plain_decimals() {
    for (number, expected) in [
        (42.0, "42"),
        (43.5, "43.5"),
        (-1e-7, "-0.0000001"),
        (1e23, "100000000000000000000000"),
        (12_345_678_901_234_567_890.0, "12345678901234567000"),
        (0.1, "0.1"),
    ] {
        assert_eq!(Value::number(number).to_string(), expected);
    }
}

#[test]
fn sameness() {
    for (one, two, same) in [
        (Value::text("They"), Value::text(" they "), true),
        (Value::text("caf\u{e9}"), Value::text("cafe\u{301}"), true),
        (Value::text("x²"), Value::text("x2"), false),
        (Value::text("8"), Value::number(8.0), false),
        (Value::number(8.0), Value::number(8.0), true),
        (Value::number(0.0), Value::number(-0.0), true),
        (Value::Flag(true), Value::text("true"), false),
    ] {
        assert_eq!(one.same(&two), same, "{one} {two}");
        assert_eq!(one.key() == two.key(), same, "{one} {two}");
    }
}

#[test]
fn names_are_found_in_any_width_and_composition() {
    for name in [" Ann\u{e9} ", "anne\u{301}", "ＡＮＮＥ\u{301}", "ANN\u{c9}"] {
        assert_eq!(name_key(name), "ann\u{e9}", "{name}");
    }
}

proptest! {
    #[test]
    fn numbers_survive(number in proptest::num::f64::NORMAL) {
        prop_assert_eq!(written(number).parse::<f64>().ok(), Some(number));
        prop_assert_eq!(json_number(number).as_f64(), Some(number));
        let json: f64 = serde_json::from_str(&written(number)).unwrap();
        prop_assert_eq!(json, number);
    }

    #[test]
    fn strings_are_kept_as_they_are(text in "\\PC{1,40}") {
        prop_assume!(!text.trim().is_empty());
        prop_assert_eq!(Value::text(&text).to_string(), text.trim());
        let key = name_key(&text);
        prop_assert_eq!(name_key(&key), key);
    }
}
