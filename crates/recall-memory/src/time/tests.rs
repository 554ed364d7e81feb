use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(input: &str, expected: Option<&str>) {
    assert_eq!(parse(input).ok().map(text).as_deref(), expected, "{input}");
}

#[test]
fn instants_are_read_with_a_zone_or_not_at_all() {
    for (input, expected) in [
        ("2026-09-01T00:00:00Z", Some("2026-09-01T00:00:00Z")),
        ("2026-09-01t00:00:00z", Some("2026-09-01T00:00:00Z")),
        ("2026-02-01T10:00:00+02:00", Some("2026-02-01T08:00:00Z")),
        ("2026-01-01T00:30:00-01:00", Some("2026-01-01T01:30:00Z")),
        (
            "2026-01-01T00:00:00.123456789Z",
            Some("2026-01-01T00:00:00.123456789Z"),
        ),
        ("2026-01-01T00:00:00.1200Z", Some("2026-01-01T00:00:00.12Z")),
        (
            "2026-01-01T00:00:00.1234567891234Z",
            Some("2026-01-01T00:00:00.123456789Z"),
        ),
        ("0001-01-01T00:00:00Z", Some("0001-01-01T00:00:00Z")),
        ("1969-12-31T23:59:59.25Z", Some("1969-12-31T23:59:59.25Z")),
        ("2024-02-29T00:00:00Z", Some("2024-02-29T00:00:00Z")),
        ("2023-02-29T00:00:00Z", None),
        ("0000-01-01T00:00:00Z", None),
        ("2026-09-01", None),
        ("2026-09-01T00:00:00", None),
        ("2026-09-01 00:00:00Z", None),
        ("2026-09-01T00:00Z", None),
        ("2026-09-01T24:00:00Z", None),
        ("2026-09-01T00:00:60Z", None),
        ("2026-09-01T00:00:00.Z", None),
        ("2026-09-01T00:00:00+2:00", None),
        ("2026-09-01T00:00:00+24:00", None),
        ("2026-09-01T00:00:00Z[UTC]", None),
        ("+026-09-01T00:00:00Z", None),
        ("2026-+9-01T00:00:00Z", None),
        ("١٢٣٤-09-01T00:00:00Z", None),
        ("yesterday", None),
        ("", None),
    ] {
        check(input, expected);
    }
}

#[test]
fn the_end_of_time_is_as_late_as_time_goes() {
    assert_eq!(parse("9999-12-31T23:59:59Z"), Ok(Timestamp::MAX));
}

#[test]
fn the_log_keeps_nine_digits() {
    let at = parse("2026-11-30T00:08:51.123001050Z").unwrap();
    assert_eq!(full(at), "2026-11-30T00:08:51.123001050Z");
    assert_eq!(text(at), "2026-11-30T00:08:51.12300105Z");
    assert_eq!(seconds(at), "2026-11-30T00:08:51Z");
    assert_eq!(date(at), "2026-11-30");
}

#[test]
fn days_are_those_of_the_calendar_and_periods_are_whole() {
    for (then, now, calendar, whole) in [
        ("2026-01-14T23:00:00Z", "2026-01-15T01:00:00Z", 1, 0),
        ("2026-01-01T00:00:00.5Z", "2026-01-15T00:00:00Z", 14, 13),
        ("2026-01-01T00:00:00Z", "2026-01-15T00:00:00Z", 14, 14),
        ("2026-01-09T20:00:00Z", "2026-01-15T00:24:00Z", 6, 5),
        ("2026-01-15T00:00:00Z", "2026-01-15T23:59:59Z", 0, 0),
        ("2026-01-16T00:00:00Z", "2026-01-15T00:00:00Z", 0, 0),
        ("2026-01-19T00:00:00Z", "2026-01-15T00:00:00Z", 0, 0),
        ("1969-12-31T23:00:00.5Z", "1970-01-01T00:00:00Z", 1, 0),
    ] {
        let (then, now) = (parse(then).unwrap(), parse(now).unwrap());
        assert_eq!(days(then, now), calendar, "{then} {now}");
        assert_eq!(periods(then, now), whole, "{then} {now}");
    }
}

proptest! {
    #[test]
    fn reading_never_panics(input in "\\PC{0,40}") {
        let _ = parse(&input);
    }

    #[test]
    fn what_is_written_is_read_back(seconds in -62_135_596_800_i64..253_000_000_000, nanos in 0..1_000_000_000) {
        let at = Timestamp::new(seconds, nanos).unwrap();
        prop_assert_eq!(parse(&text(at)), Ok(at));
        prop_assert_eq!(parse(&full(at)), Ok(at));
    }
}

#[test]
fn what_is_read_can_be_written_and_read_again() {
    let edges = [
        "0001-01-01T00:00:00+00:01",
        "0001-01-01T00:00:00Z",
        "0001-01-01T00:00:00-23:59",
        "9999-12-31T23:59:59Z",
        "9999-12-30T22:00:00Z",
        "9999-12-31T23:59:59-23:59",
        "9999-12-31T23:59:59+23:59",
    ];
    for text in edges {
        if let Ok(at) = parse(text) {
            assert_eq!(parse(&full(at)), Ok(at), "{text}");
            assert_eq!(parse(&super::text(at)), Ok(at), "{text}");
        }
    }
    assert!(parse("0001-01-01T00:00:00+00:01").is_err());
    assert!(parse("0001-01-01T00:00:00Z").is_ok());
}
