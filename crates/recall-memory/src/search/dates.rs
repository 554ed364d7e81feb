//! Days that a question names, and what items of those days gain.

mod digits;
mod periods;

use std::collections::BTreeMap;

use jiff::Timestamp;

pub(super) use self::periods::is_part as is_part_of_period;
use super::items::Items;
use super::time::{self, DayRange};
use super::weight::idf;
use super::words::head;

/// What the day is worth against a term.
const WEIGHT: f32 = 2.0;
/// Days over which the gain falls to a third.
const DECAY: f32 = 3.0;
/// Days outside the interval at which it ends.
const REACH: i32 = 12;
/// Days outside the interval that still count as the day meant.
const MEANT: i32 = 2;
/// Years tried for a date without one, newest first.
const MAX_YEARS: usize = 64;
/// Intervals looked at.
const MAX_INTERVALS: usize = 256;
/// Bytes of a question that are read for a time alone.
const MAX_BYTES: usize = 1_024;

/// What items of each day gain by the days the question names, by day.
pub(super) fn gains(items: &Items, question: &str, now: Timestamp) -> Vec<(i32, f32)> {
    let question = question.to_lowercase();
    let mut intervals = named(&question, items, false);
    intervals.extend(time::relative(&question, now));
    intervals.truncate(MAX_INTERVALS);
    let mut gains = BTreeMap::new();
    for interval in intervals {
        add(items, interval, &mut gains);
    }
    gains.into_iter().collect()
}

/// The days that a question names which asks for nothing but a time; `None` for any other.
pub(super) fn alone(items: &Items, question: &str, now: Timestamp) -> Option<Vec<DayRange>> {
    let question = head(question, MAX_BYTES).to_lowercase();
    if !time::is_all(&question, now) {
        return None;
    }
    let mut days = time::counted(&question, now);
    if days.is_empty() {
        days = named(&question, items, true);
    }
    days.truncate(MAX_INTERVALS);
    (!days.is_empty()).then_some(days)
}

fn add(items: &Items, interval: DayRange, gains: &mut BTreeMap<i32, f32>) {
    let days = || {
        let (from, to) = (interval.first - REACH, interval.last + REACH);
        items.days().range(from..=to).map(|(&day, &count)| {
            (
                day,
                count,
                (interval.first - day).max(day - interval.last).max(0),
            )
        })
    };
    let meant: u32 = days()
        .filter(|&(.., gap)| gap <= MEANT)
        .map(|(_, count, _)| count)
        .sum();
    let worth = WEIGHT * idf(meant.max(1), items.live());
    for (day, _, gap) in days() {
        let gain = gains.entry(day).or_insert(0.0_f32);
        *gain = gain.max(worth * (-(gap as f32) / DECAY).exp());
    }
}

/// Intervals of the dates that a question in lower case writes out; `alone` if it asks for nothing but a
/// time.
fn named(question: &str, items: &Items, alone: bool) -> Vec<DayRange> {
    let words = words(question);
    let year = words.iter().find_map(|word| year(word.text));
    let dates = dates(question, &words, year.is_some(), alone);
    let mut found = digits::dates(question, &words);
    let (periods, taken) = periods::periods(question, &words);
    found.extend(periods);
    if dates.is_empty() {
        // A year inside a date is no year asked for.
        if found.is_empty() {
            found.extend(lone_year(question, &words, &taken).and_then(DayRange::year));
        }
        return found;
    }
    let years = match year {
        Some(year) => vec![year],
        None => years(items),
    };
    for date in dates {
        found.extend(years.iter().filter_map(|&year| match date.day {
            Some(day) => DayRange::day(year, date.month, day),
            None => DayRange::month(year, date.month),
        }));
    }
    found
}

/// The first year that stands for itself: neither in a period nor joined to a number, of which it
/// could be said that it is a date which is not understood.
fn lone_year(text: &str, words: &[Word<'_>], taken: &[bool]) -> Option<i16> {
    let joined = |at: usize| {
        joins(text, words, at) || at.checked_sub(1).is_some_and(|it| joins(text, words, it))
    };
    let mut places = words.iter().zip(taken).enumerate();
    places.find_map(|(at, (word, taken))| {
        let year = year(word.text)?;
        (!taken && !joined(at)).then_some(year)
    })
}

/// The years of which there are items, newest first.
fn years(items: &Items) -> Vec<i16> {
    let mut years = Vec::new();
    let mut end = i32::MAX;
    while years.len() < MAX_YEARS {
        let Some((&day, _)) = items.days().range(..end).next_back() else {
            break;
        };
        let Some((year, first)) = time::year_of(day) else {
            break;
        };
        years.push(year);
        end = first;
    }
    years
}

/// A month with or without a day.
#[derive(Debug, PartialEq)]
struct Date {
    month: i8,
    day: Option<i8>,
}

struct Word<'a> {
    text: &'a str,
    start: usize,
    end: usize,
}

fn words(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut start = 0;
    for piece in text.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_') {
        let word = piece.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '_');
        if !word.is_empty() {
            words.push(Word {
                text: word,
                start,
                end: start + word.len(),
            });
        }
        start += piece.len();
    }
    words
}

/// What stands between a word and the next.
fn gap<'t>(text: &'t str, words: &[Word<'_>], at: usize) -> Option<&'t str> {
    text.get(words.get(at)?.end..words.get(at + 1)?.start)
}

/// Whether a sign joins a word to the next, and both have digits.
fn joins(text: &str, words: &[Word<'_>], at: usize) -> bool {
    let numbered = |at: usize| {
        words
            .get(at)
            .is_some_and(|word| word.text.contains(|c: char| c.is_ascii_digit()))
    };
    gap(text, words, at).is_some_and(periods::is_sign) && numbered(at) && numbered(at + 1)
}

/// The dates in a text: `5th of may`, `5 may`, `may 5`, `may`, and the same with short months.
///
/// Bare "may" is a verb unless the question has a year. A bare short month may be anything, unless the
/// question asks for nothing else or says `in` before it.
fn dates(text: &str, words: &[Word<'_>], has_year: bool, alone: bool) -> Vec<Date> {
    let mut dates = Vec::new();
    // A number belongs to one date only.
    let mut taken = 0;
    for (at, word) in words.iter().enumerate() {
        let full = time::month(word.text);
        let Some(month) = full.or_else(|| time::short_month(word.text)) else {
            continue;
        };
        let before = day_before(text, words, at, taken);
        let after = day_after(text, words, at);
        taken = after.map_or(word.end, |(_, end)| end);
        let day = before.or(after.map(|(day, _)| day));
        let bare = match full {
            Some(_) => word.text != "may" || has_year,
            None => is_month(text, words, at, alone),
        };
        if day.is_some() || bare {
            dates.push(Date { month, day });
        }
    }
    dates
}

/// Whether a short month without a day is a month.
fn is_month(text: &str, words: &[Word<'_>], at: usize, alone: bool) -> bool {
    let word = |at: usize| words.get(at).map(|word| word.text);
    let lead = at.checked_sub(1).and_then(word).zip(word(at));
    // `2025-oct`; what follows a year as a word of its own may be somebody's name.
    let behind_year = lead.is_some_and(|(lead, month)| {
        let joined = gap(text, words, at - 1).is_some_and(periods::is_sign);
        year(lead).is_some() && (joined || !time::is_name_too(month))
    });
    behind_year
        || word(at + 1).is_some_and(|next| year(next).is_some())
        || lead.is_some_and(|(lead, month)| time::month_behind(lead, month).is_some())
        || (alone && word(at).is_some_and(|month| !time::is_name_too(month)))
}

fn day_before(text: &str, words: &[Word<'_>], at: usize, taken: usize) -> Option<i8> {
    let blank = |at: usize| Some(matches!(gap(text, words, at)?, " " | "-"));
    let mut at = at.checked_sub(1).filter(|&at| blank(at) == Some(true))?;
    if words.get(at)?.text == "of" {
        at = at.checked_sub(1).filter(|&at| blank(at) == Some(true))?;
    }
    let word = words.get(at).filter(|word| word.start >= taken)?;
    let suffixes = ["st", "nd", "rd", "th"];
    let number = suffixes
        .iter()
        .find_map(|suffix| word.text.strip_suffix(suffix));
    day_number(number.unwrap_or(word.text))
}

/// The number behind a month and where it ends.
fn day_after(text: &str, words: &[Word<'_>], at: usize) -> Option<(i8, usize)> {
    let next = words.get(at + 1)?;
    // Short months may end with a point: `Oct. 31`.
    match gap(text, words, at)? {
        " " | "-" => {}
        ". " if time::short_month(words.get(at)?.text).is_some() => {}
        _ => return None,
    }
    let digits = next.text.bytes().take_while(u8::is_ascii_digit).count();
    Some((day_number(next.text.get(..digits)?)?, next.start + digits))
}

fn day_number(text: &str) -> Option<i8> {
    let digits = (1..=2).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().ok())?
}

fn year(word: &str) -> Option<i16> {
    let digits = word.len() == 4 && word.bytes().all(|b| b.is_ascii_digit());
    let known = word.starts_with("19") || word.starts_with("20");
    (digits && known).then(|| word.parse().ok())?
}

#[cfg(test)]
mod tests;
