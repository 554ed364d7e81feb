//! Months, weeks, quarters, halves and runs of years in short: `2025-10`, `10/2025`, `2025-W41`, `Q4 2025`,
//! `week 41 of 2025`, `2023-2025`.
//!
//! Weeks are those of ISO 8601. What is written so and is in no calendar, such as `2025-13`, is no time.

use super::{Word, day_number, gap, year};
use crate::search::time::DayRange;

/// A period in a text.
pub(super) struct Period {
    /// The days of it, if the calendar has it.
    pub(super) days: Option<DayRange>,
    /// How many words it has.
    words: usize,
}

/// The periods of a text in lower case, and which of its words are part of one.
pub(super) fn periods(text: &str, words: &[Word<'_>]) -> (Vec<DayRange>, Vec<bool>) {
    let (mut found, mut taken) = (Vec::new(), vec![false; words.len()]);
    let mut at = 0;
    while at < words.len() {
        let reader = Reader { text, words, at };
        let Some(Period { days, words }) = reader.period() else {
            at += 1;
            continue;
        };
        found.extend(days);
        taken[at..at + words].fill(true);
        at += words;
    }
    (found, taken)
}

/// Whether a word in lower case can be part of such a period, beside numbers.
pub(in crate::search) fn is_part(word: &str) -> bool {
    let behind_year = word
        .get(4..)
        .filter(|_| word.get(..4).is_some_and(|it| year(it).is_some()));
    Part::parse(behind_year.unwrap_or(word)).is_some()
        || Kind::named(word).is_some()
        || ORDINALS.contains(&word)
}

const ORDINALS: [&str; 4] = ["first", "second", "third", "fourth"];
const SHORT_ORDINALS: [&str; 4] = ["1st", "2nd", "3rd", "4th"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Week,
    Quarter,
    Half,
}

impl Kind {
    fn named(word: &str) -> Option<Self> {
        Some(match word {
            "week" => Self::Week,
            "quarter" => Self::Quarter,
            "half" => Self::Half,
            _ => return None,
        })
    }
}

/// A part of a year: `w41`, `q4`, `h2`.
#[derive(Clone, Copy, Debug)]
struct Part {
    kind: Kind,
    number: i8,
}

impl Part {
    fn parse(word: &str) -> Option<Self> {
        let (kind, number) = word.split_at_checked(1)?;
        let kind = match kind {
            "w" => Kind::Week,
            "q" => Kind::Quarter,
            "h" => Kind::Half,
            _ => return None,
        };
        Self::new(kind, number)
    }

    fn new(kind: Kind, number: &str) -> Option<Self> {
        let number = day_number(number)?;
        Some(Self { kind, number })
    }

    /// Its days in a year that has it.
    fn of(self, year: i16) -> Option<DayRange> {
        let months = |length: i8| {
            let last = self.number.checked_mul(length)?;
            DayRange::months(year, last - length + 1, last)
        };
        match self.kind {
            Kind::Week => DayRange::week(year, self.number),
            Kind::Quarter => months(3),
            Kind::Half => months(6),
        }
    }
}

/// Reads what begins with a word.
struct Reader<'a> {
    text: &'a str,
    words: &'a [Word<'a>],
    at: usize,
}

impl Reader<'_> {
    fn period(&self) -> Option<Period> {
        if self
            .at
            .checked_sub(1)
            .is_some_and(|before| self.goes_on(before))
        {
            return None;
        }
        self.in_one()
            .or_else(|| self.year_first())
            .or_else(|| self.year_last())
            .or_else(|| self.in_words())
            .or_else(|| self.numbers())
    }

    /// The text of the word so many places on.
    fn word(&self, on: usize) -> Option<&str> {
        Some(self.words.get(self.at + on)?.text)
    }

    /// What stands between that word and the next.
    fn gap(&self, on: usize) -> Option<&str> {
        gap(self.text, self.words, self.at + on)
    }

    fn part(&self, on: usize) -> Option<Part> {
        Part::parse(self.word(on)?)
    }

    fn year(&self, on: usize) -> Option<i16> {
        year(self.word(on)?)
    }

    /// Whether a sign and a number follow a word, as in longer dates, addresses and versions.
    fn goes_on(&self, at: usize) -> bool {
        super::joins(self.text, self.words, at)
    }

    /// `2025w41`
    fn in_one(&self) -> Option<Period> {
        let (first, part) = self.word(0)?.split_at_checked(4)?;
        let days = Part::parse(part)?.of(year(first)?);
        Some(Period { days, words: 1 })
    }

    /// `2025-w41`, `2025-w41-2`, `2025 q4`
    fn year_first(&self) -> Option<Period> {
        let (year, part) = (self.year(0)?, self.part(1)?);
        let days = part.of(year);
        let weekday = || {
            let number = day_number(self.word(2)?)?;
            (part.kind == Kind::Week && self.gap(1)? == "-").then_some(number)
        };
        match self.gap(0)? {
            " " => Some(Period {
                days: Some(days?),
                words: 2,
            }),
            "-" | "/" => Some(match weekday() {
                Some(weekday) => Period {
                    days: DayRange::weekday(year, part.number, weekday),
                    words: 3,
                },
                None => Period { days, words: 2 },
            }),
            _ => None,
        }
    }

    /// `q4 2025`, `q4/2025`, `q4 of 2025`
    fn year_last(&self) -> Option<Period> {
        let part = self.part(0)?;
        let joined = matches!(self.gap(0)?, "-" | "/");
        let (year, words) = self.year_behind(0)?;
        let days = part.of(year);
        // A `Q7` may be anything, and the year beside it is one.
        (joined || days.is_some()).then_some(Period { days, words })
    }

    /// `week 41 of 2025`, `fourth quarter of 2025`
    fn in_words(&self) -> Option<Period> {
        let (first, second) = (self.word(0)?, self.word(1)?);
        if self.gap(0)? != " " {
            return None;
        }
        let part = match Kind::named(first) {
            Some(kind) => Part::new(kind, second)?,
            None => {
                let place = |list: [&str; 4]| list.iter().position(|it| *it == first);
                let place = place(ORDINALS).or_else(|| place(SHORT_ORDINALS))?;
                let kind = Kind::named(second).filter(|kind| *kind != Kind::Week)?;
                let number = i8::try_from(place + 1).ok()?;
                Part { kind, number }
            }
        };
        let (year, words) = self.year_behind(1)?;
        let days = part.of(year);
        Some(Period { days, words })
    }

    /// The year behind the word so many places on, and how many words there are up to it.
    fn year_behind(&self, on: usize) -> Option<(i16, usize)> {
        let beside = |on: usize| matches!(self.gap(on), Some(" " | ", " | "-" | "/"));
        match self.word(on + 1)? {
            "of" | "in" if beside(on) && beside(on + 1) => Some((self.year(on + 2)?, on + 3)),
            _ if beside(on) => Some((self.year(on + 1)?, on + 2)),
            _ => None,
        }
    }

    /// `2025-10`, `10/2025`, `2023-2025`
    fn numbers(&self) -> Option<Period> {
        let sign = self.gap(0)?;
        if self.goes_on(self.at + 1) {
            return None;
        }
        let number = |on: usize| day_number(self.word(on)?);
        let days = match (self.year(0), self.year(1)) {
            (Some(first), Some(last)) if matches!(sign, "-" | "/" | "\u{2013}") => {
                DayRange::years(first, last)
            }
            (Some(year), None) if is_sign(sign) => DayRange::month(year, number(1)?),
            (None, Some(year)) if is_sign(sign) => DayRange::month(year, number(0)?),
            _ => return None,
        };
        Some(Period { days, words: 2 })
    }
}

/// Whether it is what stands between the numbers of a date.
pub(super) fn is_sign(gap: &str) -> bool {
    matches!(gap, "-" | "." | "/")
}
