//! Dates that are written in digits: `2024-05-12`, `31.10.2026`, `10/31/2026`, and whole instants.
//!
//! The year has four digits and stands at either end; the same sign stands between the parts. Behind points
//! the day comes first. With other signs the number above twelve is the day; where both may be the
//! month, both days are meant: `05/06/2024` is 5 June and 6 May.

use jiff::Timestamp;

use super::{Word, day_number, year};
use crate::search::time::{self, DayRange};

/// The days of all dates in a text in lower case.
pub(super) fn dates(text: &str, words: &[Word<'_>]) -> Vec<DayRange> {
    let starts = words.iter();
    let found = starts
        .filter_map(|word| parts(text, word))
        .flat_map(Parts::days);
    found.collect()
}

/// The numbers of a date, or the day of an instant.
enum Parts {
    Instant(DayRange),
    YearFirst(i16, i8, i8),
    /// And whether points part them.
    YearLast(i8, i8, i16, bool),
}

impl Parts {
    fn days(self) -> Vec<DayRange> {
        let (year, dates) = match self {
            Self::Instant(day) => return vec![day],
            Self::YearFirst(year, month, day) => (year, vec![(month, day)]),
            Self::YearLast(one, two, year, points)
                if points || one > 12 || two > 12 || one == two =>
            {
                (year, vec![if two > 12 { (one, two) } else { (two, one) }])
            }
            Self::YearLast(one, two, year, _) => (year, vec![(two, one), (one, two)]),
        };
        let days = dates.into_iter();
        days.filter_map(|(month, day)| DayRange::day(year, month, day))
            .collect()
    }
}

/// The date that begins with a word.
fn parts(text: &str, word: &Word<'_>) -> Option<Parts> {
    let mut before = text.get(..word.start)?.chars().rev();
    if let Some(instant) = instant(text.get(word.start..)?) {
        return Some(Parts::Instant(instant));
    }
    let (one, rest) = number(text.get(word.start..)?)?;
    let sign = rest
        .chars()
        .next()
        .filter(|sign| matches!(sign, '-' | '.' | '/'))?;
    let (two, rest) = number(rest.strip_prefix(sign)?)?;
    let (three, rest) = number(rest.strip_prefix(sign)?)?;
    // Versions and addresses go on.
    let goes_on = rest.strip_prefix(sign).and_then(|rest| rest.chars().next());
    let goes_on = goes_on.is_some_and(|c| c.is_ascii_digit());
    let began = before.next() == Some(sign) && before.next().is_some_and(|c| c.is_ascii_digit());
    if goes_on || began || rest.starts_with(|c: char| c.is_alphanumeric() && c != 't') {
        return None;
    }
    match (year(one), year(three)) {
        (Some(year), _) => Some(Parts::YearFirst(year, day_number(two)?, day_number(three)?)),
        (None, Some(year)) => Some(Parts::YearLast(
            day_number(one)?,
            day_number(two)?,
            year,
            sign == '.',
        )),
        (None, None) => None,
    }
}

/// The day, in UTC, of an instant with its zone at the start of a text.
fn instant(text: &str) -> Option<DayRange> {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && !"-:.+".contains(c));
    let written = text
        .get(..end.unwrap_or(text.len()))?
        .trim_end_matches(['.', ':']);
    let whole = written.get(10..)?.starts_with('t');
    let at: Timestamp = whole.then(|| written.to_uppercase().parse().ok())??;
    Some(time::whole_day(at))
}

/// The digits that a text begins with, and what follows them.
fn number(text: &str) -> Option<(&str, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    (1..=4).contains(&digits).then(|| text.split_at(digits))
}
