use proptest::prelude::*;
use serde_json::json;

use super::*;

fn fields(value: Json) -> Fields {
    let Json::Object(map) = value else {
        panic!("no object")
    };
    Args::from(map).read(&["a", "list"]).unwrap()
}

#[track_caller]
fn check<T: std::fmt::Debug>(got: Result<T, Error>, code: &str, text: &str) {
    let error = got.unwrap_err();
    assert_eq!(error.code(), code, "{error}");
    assert!(error.to_string().contains(text), "{error}");
}

#[test]
fn a_body_is_an_object_or_nothing() {
    for body in ["", "  ", "null", "{}"] {
        assert!(
            Args::parse(body.as_bytes()).unwrap().map.is_empty(),
            "{body}"
        );
    }
    for body in [
        "[]",
        "5",
        "{} x",
        "{",
        r#"{"v":1e999}"#,
        r#"{"v":"\ud800"}"#,
    ] {
        check(
            Args::parse(body.as_bytes()),
            "invalid_argument",
            "JSON object",
        );
    }
}

#[test]
fn errors_name_the_field() {
    check(
        Args::parse(br#"{"b":1}"#).unwrap().read(&["a"]),
        "invalid_argument",
        "unknown field b",
    );
    check(
        fields(json!({"a": 1})).string("a", 9),
        "invalid_argument",
        "a must be a string, got a number",
    );
    check(
        fields(json!({"a": "0123456789"})).string("a", 9),
        "tool_error",
        "at most 9 bytes, got 10",
    );
    check(
        fields(json!({"a": "x\0"})).string("a", 9),
        "tool_error",
        "NUL",
    );
    check(
        fields(json!({"a": " "})).need_string("a", 9),
        "tool_error",
        "a must not be empty",
    );
    check(
        fields(json!({"a": null})).need_string("a", 9),
        "tool_error",
        "a is required",
    );
    check(
        fields(json!({"a": "5"})).number("a"),
        "invalid_argument",
        "a must be a number",
    );
    check(
        fields(json!({"a": 1.5})).whole("a"),
        "tool_error",
        "whole number",
    );
    check(
        fields(json!({"a": "no"})).flag("a"),
        "invalid_argument",
        "true or false",
    );
    check(
        fields(json!({"a": "2026-01-01"})).instant("a"),
        "tool_error",
        "a must be an RFC 3339",
    );
    check(
        fields(json!({"a": []})).value("a", 9),
        "invalid_argument",
        "got a list",
    );
    check(
        fields(json!({"a": ""})).value("a", 9),
        "tool_error",
        "empty",
    );
    check(
        fields(json!({"list": "x"})).list("list", 2, &[]),
        "invalid_argument",
        "list of objects",
    );
    check(
        fields(json!({"list": [1]})).list("list", 2, &[]),
        "invalid_argument",
        "list[0]",
    );
    check(
        fields(json!({"list": [{}, {"x": 1}]})).list("list", 2, &["y"]),
        "invalid_argument",
        "list[1].x",
    );
    check(
        fields(json!({"list": [{}, {}, {}]})).list("list", 2, &[]),
        "tool_error",
        "at most 2 entries, got 3",
    );
}

#[test]
fn absent_null_and_empty_times_are_the_same() {
    for args in [json!({}), json!({"a": null}), json!({"a": ""})] {
        assert_eq!(fields(args).instant("a").unwrap(), None);
    }
}

proptest! {
    #[test]
    fn parsing_never_panics(body in proptest::collection::vec(any::<u8>(), 0..100)) {
        let _ = Args::parse(&body);
    }
}
