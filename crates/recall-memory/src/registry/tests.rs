use super::*;

#[test]
fn the_starter_registries_have_the_names_of_the_contract() {
    assert_eq!(Registry::closed().definitions.len(), 16);
    let open = Registry::open();
    assert_eq!(open.definitions.len(), 36);
    for (name, single, historical, excludes) in [
        ("prefers_editor", true, false, None),
        ("uses_technology", false, false, None),
        ("likes", false, false, Some("dislikes")),
        ("gave_away", false, true, Some("owns")),
        ("cancelled", false, true, Some("plans")),
        ("did", false, true, None),
        ("lives_in", true, false, None),
        ("note", false, false, None),
    ] {
        let definition = open.get(name).unwrap();
        assert_eq!(definition.single(), single, "{name}");
        assert_eq!(definition.historical, historical, "{name}");
        assert_eq!(
            definition.excludes.first().map(|name| &**name),
            excludes,
            "{name}"
        );
    }
}

#[track_caller]
fn check(file: &str, expected: Result<usize, &str>) {
    let read = Registry::from_json(file, false);
    match (read, expected) {
        (Ok(registry), Ok(count)) => assert_eq!(registry.definitions.len(), count, "{file}"),
        (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{file}: {error}"),
        (read, _) => panic!("{file}: {read:?}"),
    }
}

#[test]
fn a_registry_file_is_checked_whole() {
    for (file, expected) in [
        ("{}", Ok(1)),
        (
            r#"{"pet":{"cardinality":"multi","value_type":"string","description":"d"}}"#,
            Ok(2),
        ),
        (r#"{"pet":{"cardinality":"single"}}"#, Ok(2)),
        (
            r#"{"size":{"cardinality":"single","value_type":"enum","values":["s","m"]}}"#,
            Ok(2),
        ),
        ("[]", Err("no JSON object")),
        (r#"{"pet":[]}"#, Err("must be an object")),
        (r#"{"Pet":{"cardinality":"multi"}}"#, Err("snake_case")),
        (
            r#"{"registry_change":{"cardinality":"multi"}}"#,
            Err("registry_change"),
        ),
        (r#"{"pet":{}}"#, Err("cardinality")),
        (r#"{"pet":{"cardinality":"many"}}"#, Err("cardinality")),
        (
            r#"{"pet":{"cardinality":"multi","value_type":"thing"}}"#,
            Err("value_type"),
        ),
        (
            r#"{"pet":{"cardinality":"multi","colour":"red"}}"#,
            Err("colour"),
        ),
        (
            r#"{"pet":{"cardinality":"multi","historical":"yes"}}"#,
            Err("historical"),
        ),
        (
            r#"{"pet":{"cardinality":"multi","excludes":["cat"]}}"#,
            Err("`cat`"),
        ),
        (
            r#"{"pet":{"cardinality":"multi","excludes":["pet"]}}"#,
            Err("itself"),
        ),
        (r#"{"note":{"cardinality":"single"}}"#, Err("note")),
    ] {
        check(file, expected);
    }
}

#[test]
fn odd_names_are_set_right() {
    for (name, expected) in [
        ("Bad Pred!", Some("bad_pred")),
        ("likes", Some("likes")),
        ("  Works -- At ", Some("works_at")),
        ("Prefers_Editor", Some("prefers_editor")),
        ("prefers editor", Some("prefers_editor")),
        ("_x", Some("x")),
        ("x_", Some("x")),
        ("ｌｉｋｅｓ", Some("likes")),
        ("e\u{301}te\u{301}", Some("t")),
        (&"p".repeat(64), Some(&*"p".repeat(64))),
        (&"p".repeat(65), None),
        ("9lives", None),
        ("été", Some("t")),
        ("!!", None),
    ] {
        assert_eq!(nearest_name(name).as_deref(), expected, "{name}");
    }
}

#[test]
fn values_fit_their_type() {
    let of = |value_type| Definition {
        value_type,
        ..Definition::unknown()
    };
    let sizes = ValueType::Enum(vec!["s".to_owned(), "m".to_owned()]);
    for (value_type, value, fits) in [
        (ValueType::String, Value::text("x"), true),
        (ValueType::String, Value::number(5.0), false),
        (ValueType::Number, Value::number(5.0), true),
        (ValueType::Number, Value::text("5"), false),
        (ValueType::Boolean, Value::Flag(true), true),
        (ValueType::Date, Value::text("2026-02-28"), true),
        (ValueType::Date, Value::text("2026-02-30"), false),
        (ValueType::Date, Value::text("2026-02-28T10:00:00Z"), true),
        (sizes.clone(), Value::text("m"), true),
        (sizes, Value::text("xl"), false),
    ] {
        let definition = of(value_type.clone());
        assert_eq!(
            definition.check("p", &value).is_ok(),
            fits,
            "{value_type:?} {value}"
        );
    }
}

#[test]
fn a_definition_is_read_back_from_the_log() {
    let value = Value::number(1.0);
    let made = Definition::from_use(&value, Some(Cardinality::Multi), Some("d"));
    let body: serde_json::Value = serde_json::from_str(&made.logged("height_cm")).unwrap();
    assert_eq!(file::definition("height_cm", &body), Ok(made));
}
