use super::*;
use crate::search::{NewItem, Place};

const NOW: &str = "2024-05-17T12:00:00Z";

/// Intervals as `first..last`, for a namespace with items in 2022 and 2024.
#[track_caller]
fn check(question: &str, expected: &str) {
    let mut items = Items::default();
    for day in ["2022-03-01", "2024-01-31", "2024-05-16"] {
        let observed_at = format!("{day}T08:00:00Z").parse().unwrap();
        let item = NewItem {
            text: "",
            speaker: None,
            assistant: false,
            session: None,
            observed_at,
        };
        items.push(
            &item,
            Place {
                order: 0,
                named: true,
            },
            &[],
            0,
        );
    }
    let date = |day: i32| {
        let at = Timestamp::from_second(i64::from(day) * 86_400)
            .unwrap()
            .to_string();
        at[..10].to_owned()
    };
    let question = question.to_lowercase();
    let alone = time::is_all(&question, NOW.parse().unwrap());
    let intervals: Vec<String> = named(&question, &items, alone)
        .into_iter()
        .map(|days| match (date(days.first), date(days.last)) {
            (first, last) if first == last => first,
            (first, last) => format!("{first}..{last}"),
        })
        .collect();
    assert_eq!(intervals.join(" "), expected, "{question}");
}

#[test]
fn written_dates_become_intervals() {
    check("what happened in 2023?", "2023-01-01..2023-12-31");
    check("on 5 march 2023", "2023-03-05");
    check("on march 5, 2023", "2023-03-05");
    check("the 5th of march 2023", "2023-03-05");
    check("march 2023", "2023-03-01..2023-03-31");
    check("february 2024", "2024-02-01..2024-02-29");
    check("on 2024-02-29?", "2024-02-29");
}

#[test]
fn a_date_without_a_year_is_meant_in_every_year() {
    check("in march", "2024-03-01..2024-03-31 2022-03-01..2022-03-31");
    check("on 31 january", "2024-01-31 2022-01-31");
    check("on 29 february", "2024-02-29");
    check(
        "march 3 or june",
        "2024-03-03 2022-03-03 2024-06-01..2024-06-30 2022-06-01..2022-06-30",
    );
}

#[test]
fn what_is_no_date_is_left() {
    check("may i come?", "");
    check("may 2023", "2023-05-01..2023-05-31");
    check("may 3", "2024-05-03 2022-05-03");
    check("maybe marching in 20234", "");
    check("on 31 february", "");
    check("at 99 june", "");
    check("2023-13-40", "");
    check("", "");
}

#[test]
fn short_months_are_months_where_they_can_be_nothing_else() {
    for (question, expected) in [
        ("Oct 31", "2024-10-31 2022-10-31"),
        ("Oct. 31st, 2023", "2023-10-31"),
        ("31 Oct 2023", "2023-10-31"),
        ("the 31st of Oct 2023", "2023-10-31"),
        ("Sept 2026", "2026-09-01..2026-09-30"),
        ("what did I buy in Sept. 2026", "2026-09-01..2026-09-30"),
        ("Feb", "2024-02-01..2024-02-29 2022-02-01..2022-02-28"),
        (
            "what happened in Feb?",
            "2024-02-01..2024-02-29 2022-02-01..2022-02-28",
        ),
        (
            "boots in Feb",
            "2024-02-01..2024-02-29 2022-02-01..2022-02-28",
        ),
        ("in jan", "2024-01-01..2024-01-31 2022-01-01..2022-01-31"),
        ("Jan 2023", "2023-01-01..2023-01-31"),
        ("Jan 5", "2024-01-05 2022-01-05"),
        // A name, a verb, a word, an abbreviation of something else.
        ("Jan", ""),
        ("what did Jan say", ""),
        ("what did Jan do in 2023", "2023-01-01..2023-12-31"),
        ("last mar", ""),
        ("the dec function", ""),
        ("octopus 31", ""),
    ] {
        check(question, expected);
    }
}

#[test]
fn dates_of_digits_are_read_both_ways_where_both_are_right() {
    for (question, expected) in [
        ("31.10.2023", "2023-10-31"),
        ("on 5.6.2023?", "2023-06-05"),
        ("10.31.2023", "2023-10-31"),
        ("10/31/2023", "2023-10-31"),
        ("31/10/2023", "2023-10-31"),
        ("31-10-2023", "2023-10-31"),
        ("05/06/2023", "2023-06-05 2023-05-06"),
        ("05/05/2023", "2023-05-05"),
        (
            "2023/10/31 and 2023.10.30 and 2023-1-2",
            "2023-10-31 2023-10-30 2023-01-02",
        ),
        // Instants are those of their zone; days are those of UTC.
        ("2023-10-31T12:00:00Z", "2023-10-31"),
        ("on 2023-10-31T23:30:00-05:00, or so", "2023-11-01"),
        ("at 2023-10-31T23:30:00.25+02:00.", "2023-10-31"),
        ("2023-10-31T12:00", "2023-10-31"),
        // No dates: no such day, an address, a version, a fraction, no year.
        ("31/31/2023", ""),
        ("10.0.42.7 and 1.2.2023.4", ""),
        ("10/31", ""),
        ("31.10.", ""),
        ("31.10/2023", ""),
    ] {
        check(question, expected);
    }
}

#[test]
fn months_weeks_and_quarters_are_not_their_whole_year() {
    for (question, expected) in [
        ("2025-10", "2025-10-01..2025-10-31"),
        ("what did I buy in 2025-10?", "2025-10-01..2025-10-31"),
        ("2025/10, please", "2025-10-01..2025-10-31"),
        ("10/2025", "2025-10-01..2025-10-31"),
        ("in 10.2025.", "2025-10-01..2025-10-31"),
        ("(3-2025)", "2025-03-01..2025-03-31"),
        ("notes/2025-10.md", "2025-10-01..2025-10-31"),
        (
            "2024-02 or 2024-12",
            "2024-02-01..2024-02-29 2024-12-01..2024-12-31",
        ),
        // The day is the day still.
        ("notes/2023/10/31.md", "2023-10-31"),
        ("2025-10-07", "2025-10-07"),
        ("2025-10-07T12:00:00Z", "2025-10-07"),
        // Weeks begin on Monday, and the first has the first Thursday.
        ("2025-W41", "2025-10-06..2025-10-12"),
        ("2025W41", "2025-10-06..2025-10-12"),
        ("2025-W41-2", "2025-10-07"),
        ("W41 2025", "2025-10-06..2025-10-12"),
        ("W41/2025", "2025-10-06..2025-10-12"),
        (
            "what happened in week 41 of 2025?",
            "2025-10-06..2025-10-12",
        ),
        ("week 1, 2026", "2025-12-29..2026-01-04"),
        ("2020-W53", "2020-12-28..2021-01-03"),
        ("2025-Q4", "2025-10-01..2025-12-31"),
        ("2025Q4", "2025-10-01..2025-12-31"),
        ("2025 Q1", "2025-01-01..2025-03-31"),
        (
            "Q3 2024 and Q4 2025",
            "2024-07-01..2024-09-30 2025-10-01..2025-12-31",
        ),
        ("q2/2024", "2024-04-01..2024-06-30"),
        ("the fourth quarter of 2025", "2025-10-01..2025-12-31"),
        ("in the 2nd half of 2025", "2025-07-01..2025-12-31"),
        ("H1 2025", "2025-01-01..2025-06-30"),
        ("2025-Oct", "2025-10-01..2025-10-31"),
        ("2025 Oct", "2025-10-01..2025-10-31"),
        ("Oct 2025", "2025-10-01..2025-10-31"),
        ("Oct-2025", "2025-10-01..2025-10-31"),
        ("07-Oct-2025", "2025-10-07"),
        ("2025-Oct-07", "2025-10-07"),
        ("October/2025", "2025-10-01..2025-10-31"),
        ("2023-2025", "2023-01-01..2025-12-31"),
        ("2023\u{2013}2024", "2023-01-01..2024-12-31"),
        // A year beside something else is a year.
        ("the budget-2025 file", "2025-01-01..2025-12-31"),
        ("an Audi Q7 2025", "2025-01-01..2025-12-31"),
        ("(2025)", "2025-01-01..2025-12-31"),
        ("in 2025. 10 of them", "2025-01-01..2025-12-31"),
    ] {
        check(question, expected);
    }
}

#[test]
fn what_no_calendar_has_is_no_time_and_not_the_year() {
    for question in [
        "2025-13",
        "2025-00",
        "13/2025",
        "0.2025",
        "2025-2023",
        "2025-W54",
        "2025-W53",
        "2025-W41-8",
        "2025W60",
        "week 60 of 2025",
        "2025-Q5",
        "2025Q0",
        "Q5/2025",
        "2025-H3",
        "fourth half of 2025",
        "2025-10-32",
        "2025-10-7-1",
        "1.2025-10",
        "ticket 4711-2025",
        "2025-123",
        "192.168.2025.1",
        "v1.2025.3",
    ] {
        check(question, "");
    }
}

#[test]
fn a_question_of_a_period_alone_asks_for_a_time() {
    for (question, expected) in [
        ("what happened in 2025-10?", true),
        ("10/2025", true),
        ("2025-w41", true),
        ("anything from q4 2025?", true),
        ("week 41 of 2025", true),
        ("the fourth quarter of 2025", true),
        ("the w41 form", false),
        ("boots 2025-10", false),
    ] {
        assert_eq!(
            time::is_all(question, NOW.parse().unwrap()),
            expected,
            "{question}"
        );
    }
}

#[test]
fn days_near_the_interval_gain_less_the_farther_they_are() {
    let mut items = Items::default();
    for day in 1..=31 {
        let observed_at = format!("2024-05-{day:02}T23:59:59Z").parse().unwrap();
        let item = NewItem {
            text: "",
            speaker: None,
            assistant: false,
            session: None,
            observed_at,
        };
        items.push(
            &item,
            Place {
                order: 0,
                named: true,
            },
            &[],
            0,
        );
    }
    let gains = gains(&items, "on 17 May", NOW.parse().unwrap());
    assert_eq!(gains.len(), 25);
    let gain = |at: usize| gains[at].1;
    assert!(gain(12) > gain(13) && gain(13) > gain(14) && gain(24) > 0.0);
    assert!((gain(15) / gain(12) - (-1.0_f32).exp()).abs() < 1e-6);
}
