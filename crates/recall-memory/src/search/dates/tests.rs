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
    let intervals: Vec<String> = named(question, &items)
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
    check("2023-13-40", "2023-01-01..2023-12-31");
    check("", "");
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
