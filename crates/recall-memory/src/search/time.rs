//! Time phrases in a text: "three weeks ago", "last Tuesday", "in March".
//!
//! Days are days of UTC and weeks begin on Monday. A phrase means whole days:
//!
//! | phrase | span |
//! |---|---|
//! | today, tonight; yesterday, with or without a part of it; the day before yesterday | that day |
//! | this week, month, year | the whole of it |
//! | this weekend | Saturday and Sunday of this week |
//! | last (previous) week, month, year | the whole one before this |
//! | past week, month, year | seven days, one month, one year up to today |
//! | last, past N days, weeks, months, years | that long up to today |
//! | last, past weekend | the latest one that is over |
//! | last, past Tuesday | the latest one before today |
//! | N days ago | that day |
//! | N weeks ago | that day, three days more on each side |
//! | N months ago, N years ago | that month, that year |
//! | in, during, last, past March | the latest March that has begun; with a year, that one |
//! | last, past, previous summer | the latest one that is over |
//! | this summer; summer 2024, summer of 2024 | that one |
//!
//! Months may be short (`Feb`, `Sept`). Seasons are those of the north and whole months: summer is June to
//! August, winter begins in December of its year.
//!
//! N is a number up to 4 digits, a word up to twelve, "a", "a couple of" or "a few" (three).

use jiff::civil::{Date, ISOWeekDate, Weekday};
use jiff::tz::TimeZone;
use jiff::{Span as Length, Timestamp, ToSpan};

use super::dates::is_part_of_period;
use super::english::is_function_word;
use super::words::head;

/// Spans found in one text at most.
const MAX_SPANS: usize = 16;
/// Bytes of a text that are read.
const MAX_BYTES: usize = 64 * 1024;
const DAY_SECONDS: i64 = 86_400;

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// Months as they are shortened. May has no shorter name.
const SHORT_MONTHS: [(&str, i8); 12] = [
    ("jan", 1),
    ("feb", 2),
    ("mar", 3),
    ("apr", 4),
    ("jun", 6),
    ("jul", 7),
    ("aug", 8),
    ("sep", 9),
    ("sept", 9),
    ("oct", 10),
    ("nov", 11),
    ("dec", 12),
];
/// Short months that are names and words too, so that they say less alone.
const NAMES_TOO: [&str; 3] = ["jan", "jun", "mar"];
/// Parts of a day; they belong to the day beside them.
const DAY_PARTS: [&str; 6] = [
    "morning",
    "noon",
    "afternoon",
    "evening",
    "night",
    "midnight",
];

/// A stretch of time, from its first instant until just before `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// First instant.
    pub from: Timestamp,
    /// First instant that is too late.
    pub to: Timestamp,
}

/// The spans that the time phrases of a text mean at `now`, in order of appearance.
pub fn spans(text: &str, now: Timestamp) -> Vec<Span> {
    let text = head(text, MAX_BYTES).to_lowercase();
    let found = counted(&text, now);
    found.into_iter().filter_map(DayRange::span).collect()
}

/// Days from the first to the last, counted from 1970-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DayRange {
    pub(super) first: i32,
    pub(super) last: i32,
}

impl DayRange {
    pub(super) fn day(year: i16, month: i8, day: i8) -> Option<Self> {
        let date = Date::new(year, month, day).ok()?;
        Self::between(date, date)
    }

    pub(super) fn month(year: i16, month: i8) -> Option<Self> {
        Self::months(year, month, month)
    }

    /// The months of a year from the first to the last.
    pub(super) fn months(year: i16, first: i8, last: i8) -> Option<Self> {
        let (first, last) = (Date::new(year, first, 1), Date::new(year, last, 1));
        Self::between(first.ok()?, last.ok()?.last_of_month())
    }

    pub(super) fn year(year: i16) -> Option<Self> {
        Self::years(year, year)
    }

    /// The years from the first to the last, if that is not the earlier one.
    pub(super) fn years(first: i16, last: i16) -> Option<Self> {
        let (first, last) = (Date::new(first, 1, 1).ok()?, Date::new(last, 1, 1).ok()?);
        (first <= last).then(|| Self::between(first, last.last_of_year()))?
    }

    /// A week by ISO 8601.
    pub(super) fn week(year: i16, week: i8) -> Option<Self> {
        let monday = ISOWeekDate::new(year, week, Weekday::Monday).ok()?.date();
        Self::between(monday, monday.checked_add(6.days()).ok()?)
    }

    /// A day of a week by ISO 8601; Monday is 1.
    pub(super) fn weekday(year: i16, week: i8, day: i8) -> Option<Self> {
        let weekday = Weekday::from_monday_one_offset(day).ok()?;
        let date = ISOWeekDate::new(year, week, weekday).ok()?.date();
        Self::between(date, date)
    }

    fn between(first: Date, last: Date) -> Option<Self> {
        Some(Self {
            first: day_no(first)?,
            last: day_no(last)?,
        })
    }

    pub(super) fn holds(self, day: i32) -> bool {
        (self.first..=self.last).contains(&day)
    }

    fn span(self) -> Option<Span> {
        let start = |day: i32| Timestamp::from_second(i64::from(day) * DAY_SECONDS).ok();
        Some(Span {
            from: start(self.first)?,
            to: start(self.last + 1).unwrap_or(Timestamp::MAX),
        })
    }
}

/// The day of an instant, counted from 1970-01-01.
pub(super) fn day_of(at: Timestamp) -> i32 {
    // Every timestamp is within ten thousand years, so the day fits.
    at.as_nanosecond()
        .div_euclid(i128::from(DAY_SECONDS) * 1_000_000_000) as i32
}

/// The whole day of an instant.
pub(super) fn whole_day(at: Timestamp) -> DayRange {
    let day = day_of(at);
    DayRange {
        first: day,
        last: day,
    }
}

/// The year that a day is in, and its first day.
pub(super) fn year_of(day: i32) -> Option<(i16, i32)> {
    let date = date_of(Timestamp::from_second(i64::from(day) * DAY_SECONDS).ok()?);
    Some((date.year(), day_no(date.first_of_year())?))
}

/// The number of a month named in lower case.
pub(super) fn month(word: &str) -> Option<i8> {
    MONTHS
        .iter()
        .zip(1..)
        .find_map(|(&name, number)| (name == word).then_some(number))
}

/// The number of a month by its short name in lower case.
pub(super) fn short_month(word: &str) -> Option<i8> {
    let found = SHORT_MONTHS.iter().find(|(name, _)| *name == word);
    found.map(|(_, number)| *number)
}

/// Whether the short name of a month is that of people, too, or a word.
pub(super) fn is_name_too(word: &str) -> bool {
    NAMES_TOO.contains(&word)
}

/// The month that a word names behind a word such as `in`.
pub(super) fn month_behind(lead: &str, word: &str) -> Option<i8> {
    let leads = match is_name_too(word) {
        true => &["in", "during"][..],
        false => &["in", "during", "last", "past", "since", "until", "this"][..],
    };
    month(word).or_else(|| short_month(word).filter(|_| leads.contains(&lead)))
}

/// The day ranges of the phrases that count from now, in a text in lower case.
pub(super) fn relative(text: &str, now: Timestamp) -> Vec<DayRange> {
    phrases(text, now, &[relative_phrase])
}

/// The day ranges of all phrases in a text in lower case.
pub(super) fn counted(text: &str, now: Timestamp) -> Vec<DayRange> {
    phrases(text, now, &[relative_phrase, month_phrase])
}

/// Words with which somebody asks what there is of a time, beside function words.
const ASKING: [&str; 44] = [
    "about",
    "all",
    "any",
    "anything",
    "day",
    "date",
    "dated",
    "days",
    "did",
    "discuss",
    "discussed",
    "everything",
    "event",
    "events",
    "give",
    "go",
    "going",
    "happen",
    "happened",
    "happening",
    "happens",
    "latest",
    "list",
    "memories",
    "memory",
    "mention",
    "mentioned",
    "new",
    "news",
    "note",
    "noted",
    "notes",
    "recorded",
    "remember",
    "remembered",
    "said",
    "say",
    "show",
    "something",
    "talk",
    "talked",
    "tell",
    "thing",
    "things",
];

/// Whether a text in lower case asks for a time and for nothing else: `October 31`, `what happened
/// last week?`.
pub(super) fn is_all(text: &str, now: Timestamp) -> bool {
    let text = without_clock(text);
    let words = words_of(&text);
    let today = date_of(now);
    let mut at = 0;
    while let Some(rest) = words.get(at..).filter(|rest| !rest.is_empty()) {
        let phrase = relative_phrase(rest, today).or_else(|| month_phrase(rest, today));
        at += match (phrase, rest.first()) {
            (Some((_, length)), _) => length,
            (None, Some(word)) if says_no_more(word) => 1,
            (None, _) => return false,
        };
    }
    !words.is_empty()
}

/// Whether a word is part of a date, or of asking for one.
fn says_no_more(word: &str) -> bool {
    let suffixes = ["st", "nd", "rd", "th"];
    let digits = suffixes.iter().find_map(|suffix| word.strip_suffix(suffix));
    let digits = digits.unwrap_or(word);
    let number =
        !digits.is_empty() && digits.len() <= 4 && digits.bytes().all(|b| b.is_ascii_digit());
    let month = || month(word).or_else(|| short_month(word)).is_some();
    number
        || month()
        || is_part_of_period(word)
        || is_function_word(word)
        || ASKING.contains(&word)
        || DAY_PARTS.contains(&word)
}

/// A text in which instants such as `2024-05-12t09:30:00z` are their days.
fn without_clock(text: &str) -> String {
    let day = |word: &str| -> Option<usize> {
        let at = word.find(|c: char| c.is_ascii_digit())?;
        let instant = word.get(at..)?;
        let clock = instant.get(10..)?.strip_prefix('t')?;
        let date = instant
            .get(..10)?
            .bytes()
            .all(|b| b.is_ascii_digit() || b == b'-');
        (date && clock.starts_with(|c: char| c.is_ascii_digit())).then_some(at + 10)
    };
    let words = text.split_whitespace();
    let words = words.map(|word| day(word).and_then(|end| word.get(..end)).unwrap_or(word));
    words.collect::<Vec<_>>().join(" ")
}

/// Reads a phrase at the start of the words: its days and how many words it has.
type Reader = fn(&[&str], Date) -> Option<(DayRange, usize)>;

fn phrases(text: &str, now: Timestamp, readers: &[Reader]) -> Vec<DayRange> {
    let words = words_of(text);
    let today = date_of(now);
    let mut found = Vec::new();
    let mut at = 0;
    while at < words.len() && found.len() < MAX_SPANS {
        match readers.iter().find_map(|read| read(&words[at..], today)) {
            Some((days, length)) => {
                found.push(days);
                at += length;
            }
            None => at += 1,
        }
    }
    found
}

fn words_of(text: &str) -> Vec<&str> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| !word.is_empty()).collect()
}

fn relative_phrase(words: &[&str], today: Date) -> Option<(DayRange, usize)> {
    match *words {
        ["today" | "tonight", ..] => Some((back(today, 0.days())?, 1)),
        ["day", "before", "yesterday", ..] => Some((back(today, 2.days())?, 3)),
        ["yesterday", part, ..] if DAY_PARTS.contains(&part) => Some((back(today, 1.days())?, 2)),
        ["yesterday", ..] => Some((back(today, 1.days())?, 1)),
        ["this", unit, ..] => Some((this(unit, today)?, 2)),
        [how @ ("last" | "previous" | "past"), unit, ..] => match previous(how, unit, today) {
            Some(days) => Some((days, 2)),
            None => {
                let (count, unit, length) = quantity(&words[1..])?;
                let first = today.checked_sub(unit.times(count)).ok()?;
                Some((DayRange::between(first, today)?, length + 1))
            }
        },
        _ => {
            let (count, unit, length) = quantity(words)?;
            let ago = words.get(length) == Some(&"ago");
            ago.then(|| Some((around(count, unit, today)?, length + 1)))?
        }
    }
}

fn month_phrase(words: &[&str], today: Date) -> Option<(DayRange, usize)> {
    if let Some(found) = season_phrase(words) {
        return Some(found);
    }
    let [lead @ ("in" | "during" | "last" | "past"), name, ..] = *words else {
        return None;
    };
    let month = month_behind(lead, name)?;
    let year = words.get(2).and_then(|word| year(word));
    let latest = today.year() - i16::from(month > today.month());
    let length = if year.is_some() { 3 } else { 2 };
    Some((DayRange::month(year.unwrap_or(latest), month)?, length))
}

/// `summer 2024`, `winter of 2024`.
fn season_phrase(words: &[&str]) -> Option<(DayRange, usize)> {
    let season = Season::parse(words.first()?)?;
    let of = usize::from(words.get(1) == Some(&"of"));
    let year = year(words.get(1 + of)?)?;
    Some((season.of(year)?, 2 + of))
}

/// A year of four digits.
fn year(word: &str) -> Option<i16> {
    let digits = word.len() == 4 && word.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| word.parse().ok())?
}

/// A season, by the month that it begins in.
#[derive(Clone, Copy, Debug)]
struct Season(i8);

impl Season {
    const MONTHS: i64 = 3;

    fn parse(word: &str) -> Option<Self> {
        Some(Self(match word {
            "spring" => 3,
            "summer" => 6,
            "autumn" | "fall" => 9,
            "winter" => 12,
            _ => return None,
        }))
    }

    /// The one that begins in a year.
    fn of(self, year: i16) -> Option<DayRange> {
        let first = Date::new(year, self.0, 1).ok()?;
        let after = first.checked_add(Self::MONTHS.months()).ok()?;
        DayRange::between(first, after.yesterday().ok()?)
    }

    /// The latest one that is over.
    fn last(self, today: Date) -> Option<DayRange> {
        let over = |season: &DayRange| day_no(today).is_some_and(|today| season.last < today);
        let years = [today.year(), today.year() - 1, today.year() - 2];
        years
            .into_iter()
            .filter_map(|year| self.of(year))
            .find(over)
    }

    /// The one of this year; in January and February the winter that began before.
    fn this(self, today: Date) -> Option<DayRange> {
        let began = i16::from(self.0 == 12 && today.month() <= 2);
        self.of(today.year() - began)
    }
}

fn this(unit: &str, today: Date) -> Option<DayRange> {
    let monday = back_to(Weekday::Monday, today)?;
    match unit {
        "week" => DayRange::between(monday, monday.checked_add(6.days()).ok()?),
        "weekend" => weekend_after(monday),
        "month" => DayRange::month(today.year(), today.month()),
        "year" => DayRange::year(today.year()),
        "morning" | "afternoon" | "evening" => back(today, 0.days()),
        _ => Season::parse(unit)?.this(today),
    }
}

fn previous(how: &str, unit: &str, today: Date) -> Option<DayRange> {
    if how == "past" {
        let length = match unit {
            "week" => 1.week(),
            "month" => 1.month(),
            "year" => 1.year(),
            _ => return previous("last", unit, today),
        };
        return DayRange::between(today.checked_sub(length).ok()?, today);
    }
    let last_monday = back_to(Weekday::Monday, today)?
        .checked_sub(1.week())
        .ok()?;
    match unit {
        "week" => DayRange::between(last_monday, last_monday.checked_add(6.days()).ok()?),
        "weekend" => weekend_after(last_monday),
        "month" => around(1, Unit::Month, today),
        "year" => around(1, Unit::Year, today),
        "night" => back(today, 1.days()),
        _ if Season::parse(unit).is_some() => Season::parse(unit)?.last(today),
        _ => {
            let date = back_to(weekday(unit)?, today.yesterday().ok()?)?;
            DayRange::between(date, date)
        }
    }
}

/// Saturday and Sunday of the week that begins on this Monday.
fn weekend_after(monday: Date) -> Option<DayRange> {
    let after = |days: i64| monday.checked_add(days.days()).ok();
    DayRange::between(after(5)?, after(6)?)
}

/// The day this long before today.
fn back(today: Date, length: Length) -> Option<DayRange> {
    let date = today.checked_sub(length).ok()?;
    DayRange::between(date, date)
}

/// The latest such weekday, today included.
fn back_to(weekday: Weekday, today: Date) -> Option<Date> {
    today
        .checked_sub(i64::from(today.weekday().since(weekday)).days())
        .ok()
}

#[derive(Clone, Copy, Debug)]
enum Unit {
    Day,
    Week,
    Month,
    Year,
}

impl Unit {
    fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "day" | "days" => Self::Day,
            "week" | "weeks" => Self::Week,
            "month" | "months" => Self::Month,
            "year" | "years" => Self::Year,
            _ => return None,
        })
    }

    fn times(self, count: i64) -> Length {
        match self {
            Self::Day => count.days(),
            Self::Week => count.weeks(),
            Self::Month => count.months(),
            Self::Year => count.years(),
        }
    }
}

/// The days meant by so many units ago: the longer ago, the less exactly.
fn around(count: i64, unit: Unit, today: Date) -> Option<DayRange> {
    const SLACK: i64 = 3;
    let date = today.checked_sub(unit.times(count)).ok()?;
    match unit {
        Unit::Day => DayRange::between(date, date),
        Unit::Week => DayRange::between(
            date.checked_sub(SLACK.days()).ok()?,
            date.checked_add(SLACK.days()).ok()?,
        ),
        Unit::Month => DayRange::month(date.year(), date.month()),
        Unit::Year => DayRange::year(date.year()),
    }
}

/// A count with its unit at the start of the words, and how many words it has.
fn quantity(words: &[&str]) -> Option<(i64, Unit, usize)> {
    let (count, length) = match *words {
        ["a", "few", ..] => (3, 2),
        ["a", "couple", "of", ..] => (2, 3),
        ["few", ..] => (3, 1),
        ["couple", "of", ..] => (2, 2),
        [number, ..] => (count(number)?, 1),
        [] => return None,
    };
    Some((count, Unit::parse(words.get(length)?)?, length + 1))
}

fn count(word: &str) -> Option<i64> {
    const WORDS: [&str; 12] = [
        "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
        "twelve",
    ];
    if matches!(word, "a" | "an") {
        return Some(1);
    }
    let spelt = WORDS
        .iter()
        .zip(1..)
        .find_map(|(&name, n)| (name == word).then_some(n));
    let digits = word.len() <= 4 && word.bytes().all(|b| b.is_ascii_digit());
    spelt.or_else(|| digits.then(|| word.parse().ok())?)
}

fn weekday(word: &str) -> Option<Weekday> {
    Some(match word {
        "monday" => Weekday::Monday,
        "tuesday" => Weekday::Tuesday,
        "wednesday" => Weekday::Wednesday,
        "thursday" => Weekday::Thursday,
        "friday" => Weekday::Friday,
        "saturday" => Weekday::Saturday,
        "sunday" => Weekday::Sunday,
        _ => return None,
    })
}

fn date_of(at: Timestamp) -> Date {
    at.to_zoned(TimeZone::UTC).date()
}

fn day_no(date: Date) -> Option<i32> {
    Some(day_of(date.to_zoned(TimeZone::UTC).ok()?.timestamp()))
}

#[cfg(test)]
mod tests;
