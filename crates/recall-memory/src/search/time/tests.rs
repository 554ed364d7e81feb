use proptest::strategy::Strategy as _;

use super::*;

/// Spans as `first..last` days, asked on Friday 17 May 2024.
#[track_caller]
fn check(text: &str, expected: &str) {
    let now = "2024-05-17T12:30:00Z".parse().unwrap();
    let got: Vec<String> = spans(text, now)
        .into_iter()
        .map(|span| {
            let first = span.from.to_string()[..10].to_owned();
            let last = (span.to - 1.second()).to_string()[..10].to_owned();
            if first == last {
                first
            } else {
                format!("{first}..{last}")
            }
        })
        .collect();
    assert_eq!(got.join(" "), expected, "{text}");
}

#[test]
fn days() {
    check("What did I say today?", "2024-05-17");
    check("Yesterday we met", "2024-05-16");
    check("the day before yesterday", "2024-05-15");
    check("3 days ago", "2024-05-14");
    check("yesterday evening", "2024-05-16");
    check("in the morning yesterday", "2024-05-16");
    check("a day ago, two days ago", "2024-05-16 2024-05-15");
    check("a couple of days ago", "2024-05-15");
}

#[test]
fn weeks() {
    check("this week", "2024-05-13..2024-05-19");
    check("last week", "2024-05-06..2024-05-12");
    check("past week", "2024-05-10..2024-05-17");
    check("two weeks ago", "2024-04-30..2024-05-06");
    check("last weekend", "2024-05-11..2024-05-12");
    check("this weekend", "2024-05-18..2024-05-19");
    check("last Monday", "2024-05-13");
    check("past friday", "2024-05-10");
    check("last Sunday", "2024-05-12");
}

#[test]
fn months_and_years() {
    check("this month", "2024-05-01..2024-05-31");
    check("last month", "2024-04-01..2024-04-30");
    check("past month", "2024-04-17..2024-05-17");
    check("3 months ago", "2024-02-01..2024-02-29");
    check("last year", "2023-01-01..2023-12-31");
    check("a few years ago", "2021-01-01..2021-12-31");
    check("the last 10 days", "2024-05-07..2024-05-17");
    check("in the past three months", "2024-02-17..2024-05-17");
}

#[test]
fn named_months() {
    check("in March", "2024-03-01..2024-03-31");
    check("in may", "2024-05-01..2024-05-31");
    check("in December", "2023-12-01..2023-12-31");
    check("in December 2021", "2021-12-01..2021-12-31");
    check("last June", "2023-06-01..2023-06-30");
    check("march on, may I?", "");
    check("in Feb", "2024-02-01..2024-02-29");
    check("in Sept 2021", "2021-09-01..2021-09-30");
    check("last jan", "");
}

#[test]
fn seasons() {
    check("last summer", "2023-06-01..2023-08-31");
    check("past winter", "2023-12-01..2024-02-29");
    check("last spring", "2023-03-01..2023-05-31");
    check("this spring", "2024-03-01..2024-05-31");
    check("this winter", "2024-12-01..2025-02-28");
    check("in the summer of 2022", "2022-06-01..2022-08-31");
    check(
        "autumn 2021, fall 2020",
        "2021-09-01..2021-11-30 2020-09-01..2020-11-30",
    );
    check("winter of 2022", "2022-12-01..2023-02-28");
    check("did it fall? spring is near", "");
}

#[test]
fn a_question_asks_for_a_time_alone_or_not() {
    let now = "2024-05-17T12:30:00Z".parse().unwrap();
    for (question, expected) in [
        ("the day before yesterday", true),
        ("what happened yesterday evening?", true),
        ("last summer", true),
        ("feb", true),
        ("oct 31st, 2023", true),
        ("31.10.2023", true),
        ("what happened on 2023-10-31t12:00:00z?", true),
        ("(2023-10-31t12:00:00.5+02:00)", true),
        ("2023-10-31tokyo", false),
        ("boots last summer", false),
        ("", false),
    ] {
        assert_eq!(is_all(question, now), expected, "{question}");
    }
}

#[test]
fn what_is_no_time_is_left() {
    check("", "");
    check("long ago", "");
    check("last one", "");
    check("three days", "");
    check("99999 days ago", "");
    check(&"today ".repeat(100), &["2024-05-17"; MAX_SPANS].join(" "));
}

proptest::proptest! {
    /// Words of the phrases in any order, at any time, with numbers of any size.
    #[test]
    fn time_phrases_never_panic(
        words in proptest::collection::vec(
            proptest::prop_oneof![
                proptest::sample::select(vec![
                    "last", "past", "this", "ago", "a", "couple", "of", "days", "day", "weeks", "week",
                    "months", "month", "years", "year", "weekend", "monday", "in", "march", "may", "on",
                    "before", "after", "since", "yesterday", "evening", "summer", "winter", "fall", "feb", "jan", "today", "between", "and", "the", "1st",
                ])
                .prop_map(str::to_owned),
                "[0-9]{1,20}",
                "[0-9]{1,4}-[0-9]{1,2}-[0-9]{1,2}",
                "\\PC{0,6}",
            ],
            0..12,
        ),
        seconds in -62_135_596_800_i64..253_402_000_000,
    ) {
        let now = Timestamp::from_second(seconds).expect("a year of four digits");
        for span in spans(&words.join(" "), now) {
            proptest::prop_assert!(span.from <= span.to);
        }
    }
}
