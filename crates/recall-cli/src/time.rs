//! Times as people write them.

use anyhow::Context;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// Reads RFC 3339, a date (its first instant, UTC), or an age before `now`: `90s`, `15m`, `36h`,
/// `7d`, `2w`.
pub(crate) fn parse(text: &str, now: Timestamp) -> anyhow::Result<Timestamp> {
    if let Ok(instant) = text.parse::<Timestamp>() {
        return Ok(instant);
    }
    if let Ok(date) = text.parse::<Date>() {
        return Ok(date.to_zoned(TimeZone::UTC)?.timestamp());
    }
    age(text)
        .and_then(|age| now.checked_sub(age).ok())
        .with_context(|| {
            format!("{text:?} is no time: use RFC 3339, a date, or an age such as 36h or 7d")
        })
}

fn age(text: &str) -> Option<SignedDuration> {
    let seconds = match text.chars().last()? {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        'w' => 604_800,
        _ => return None,
    };
    let count: u32 = text[..text.len() - 1].parse().ok()?;
    Some(SignedDuration::from_secs(i64::from(count) * seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_as_people_write_them() {
        let now: Timestamp = "2026-11-29T12:00:00Z".parse().expect("an instant");
        for (text, expected) in [
            ("2026-11-01T00:00:00+02:00", "2026-10-31T22:00:00Z"),
            ("2026-11-01", "2026-11-01T00:00:00Z"),
            ("36h", "2026-11-28T00:00:00Z"),
            ("7d", "2026-11-22T12:00:00Z"),
            ("2w", "2026-11-15T12:00:00Z"),
            ("90s", "2026-11-29T11:58:30Z"),
        ] {
            assert_eq!(
                parse(text, now).expect(text).to_string(),
                expected,
                "{text}"
            );
        }
        for bad in ["", "yesterday", "h", "-7d", "7", "7é", "999999999999d"] {
            assert!(parse(bad, now).is_err(), "{bad:?}");
        }
    }
}
