//! Durations as the Memory API writes them: Go's `15m0s`.

use std::fmt::Write;
use std::time::Duration;

/// Why a duration was refused. The text is fit for the caller who sent it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a duration; write it like 15m, 1h30m or 2s")]
pub struct DurationError(String);

/// A duration in Go is a signed number of nanoseconds.
const MAX_NANOS: u64 = i64::MAX as u64;

/// Reads a Go duration: one or more decimal numbers, each with a unit of `h`, `m`, `s`, `ms`, `us`
/// or `ns`, or a bare `0`. Negative durations are refused.
///
/// # Errors
///
/// [`DurationError`] for anything else, also for one of more than Go's 292 years, in all.
pub fn parse_go(text: &str) -> Result<Duration, DurationError> {
    let refusal = || DurationError(text.chars().take(40).collect());
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let mut rest = text;
    let mut total = 0_u64;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .ok_or_else(refusal)?;
        let (number, tail) = rest.split_at(digits);
        let letters = tail
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(letters);
        let part = part(number, unit).ok_or_else(refusal)?;
        let sum = total.checked_add(part).filter(|sum| *sum <= MAX_NANOS);
        total = sum.ok_or_else(refusal)?;
        rest = tail;
    }
    if text.is_empty() {
        return Err(refusal());
    }
    Ok(Duration::from_nanos(total))
}

/// The nanoseconds of one number with its unit.
fn part(number: &str, unit: &str) -> Option<u64> {
    let nanos: u64 = match unit {
        "h" => 3_600_000_000_000,
        "m" => 60_000_000_000,
        "s" => 1_000_000_000,
        "ms" => 1_000_000,
        "us" | "µs" | "μs" => 1_000,
        "ns" => 1,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.len() > 18 {
        return None;
    }
    let whole: u64 = if whole.is_empty() {
        0
    } else {
        whole.parse().ok()?
    };
    let mut total = u128::from(whole) * u128::from(nanos);
    if !fraction.is_empty() {
        let digits: u128 = fraction.parse().ok()?;
        let scale = 10u128.pow(u32::try_from(fraction.len()).ok()?);
        total += digits * u128::from(nanos) / scale;
    }
    u64::try_from(total).ok()
}

/// Writes a duration as Go does: `1h30m0s`, `15m0s`, `4s`, `1.5s`, `300ms`, `0s`.
#[must_use]
pub fn format_go(duration: Duration) -> String {
    let (seconds, nanos) = (duration.as_secs(), duration.subsec_nanos());
    if seconds == 0 && nanos > 0 {
        let (unit, size) = match nanos {
            1_000_000.. => ("ms", 1_000_000),
            1_000.. => ("µs", 1_000),
            _ => ("ns", 1),
        };
        return format!(
            "{}{unit}",
            decimal(u64::from(nanos / size), nanos % size, size)
        );
    }
    let mut text = String::new();
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    // Writing to a String cannot fail.
    if hours > 0 {
        let _ = write!(text, "{hours}h");
    }
    if hours > 0 || minutes > 0 {
        let _ = write!(text, "{minutes}m");
    }
    let _ = write!(text, "{}s", decimal(seconds % 60, nanos, 1_000_000_000));
    text
}

fn decimal(whole: u64, part: u32, size: u32) -> String {
    if part == 0 {
        return whole.to_string();
    }
    let width = size.ilog10() as usize;
    let digits = format!("{part:0width$}");
    format!("{whole}.{}", digits.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, seconds: f64, formatted: &str) {
        let parsed = parse_go(text).expect(text);
        assert!(
            (parsed.as_secs_f64() - seconds).abs() < 1e-9,
            "{text} is {parsed:?}"
        );
        assert_eq!(format_go(parsed), formatted);
    }

    #[test]
    fn go_durations() {
        check("15m", 900.0, "15m0s");
        check("1h30m", 5400.0, "1h30m0s");
        check("2s", 2.0, "2s");
        check("1h", 3600.0, "1h0m0s");
        check("99999h", 359_996_400.0, "99999h0m0s");
        check("300ms", 0.3, "300ms");
        check("1.5h", 5400.0, "1h30m0s");
        check("1.5s", 1.5, "1.5s");
        check(".5s", 0.5, "500ms");
        check("2us", 2e-6, "2µs");
        check("0", 0.0, "0s");
        check("0s", 0.0, "0s");
        let longest = "2562047h47m16.854775807s";
        check(longest, 9_223_372_036.854_776, longest);
    }

    #[test]
    fn what_is_not_a_duration() {
        for bad in [
            "",
            "15",
            "7d",
            "-5m",
            "5 m",
            "m",
            "1e3s",
            "1..5s",
            ".s",
            "99999999999h",
            "2562047h47m16.854775808s",
            "1h38m08000000000s000014000040000s",
            "∞",
        ] {
            assert!(parse_go(bad).is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(nanos in 0u64..=u64::MAX / 2) {
            let duration = Duration::from_nanos(nanos);
            prop_assert_eq!(parse_go(&format_go(duration)), Ok(duration));
        }

        #[test]
        fn parsing_never_panics(text in "\\PC{0,30}") {
            let _ = parse_go(&text);
        }
    }
}
