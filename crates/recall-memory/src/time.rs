//! Instants on the wire and in the log.

use jiff::civil::DateTime;
use jiff::tz::Offset;
use jiff::{SignedDuration, Timestamp};

/// The first second of year 1, the earliest that four digits and no sign can say.
const FIRST_SECOND: i64 = -62_135_596_800;
/// The seconds of a day.
const DAY: i64 = 86_400;

/// Reads an RFC 3339 instant with a zone, to the nanosecond. Further fraction digits are cut.
pub(crate) fn parse(text: &str) -> Result<Timestamp, String> {
    read(text).ok_or_else(|| {
        format!("must be an RFC 3339 instant with a zone, like 2026-09-01T00:00:00Z, got {text:?}")
    })
}

fn read(text: &str) -> Option<Timestamp> {
    let bytes = text.as_bytes();
    let separators = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    if !text.is_ascii()
        || separators
            .iter()
            .any(|(at, sign)| bytes.get(*at).map(u8::to_ascii_uppercase) != Some(*sign))
    {
        return None;
    }
    let year: i16 = number(text.get(0..4)?)?;
    let second: i8 = number(text.get(17..19)?)?;
    if year == 0 {
        return None;
    }
    let (nanosecond, zone) = fraction(text.get(19..)?)?;
    let civil = DateTime::new(
        year,
        number(text.get(5..7)?)?,
        number(text.get(8..10)?)?,
        number(text.get(11..13)?)?,
        number(text.get(14..16)?)?,
        second,
        nanosecond,
    )
    .ok()?;
    let ahead = offset(zone)?;
    // Past the last instant that can be kept, "for ever" is meant.
    let utc = Offset::UTC.to_timestamp(civil).unwrap_or(Timestamp::MAX);
    let instant = utc.checked_sub(ahead).unwrap_or(Timestamp::MAX);
    // The zone may carry the instant over the edge of the years that can be written down again.
    (parts(instant).0 >= FIRST_SECOND).then_some(instant)
}

fn number<T: std::str::FromStr>(digits: &str) -> Option<T> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}

/// Splits `.123Z` into nanoseconds and the zone.
fn fraction(rest: &str) -> Option<(i32, &str)> {
    let Some(digits) = rest.strip_prefix('.') else {
        return Some((0, rest));
    };
    let end = digits
        .bytes()
        .position(|byte| !byte.is_ascii_digit())
        .filter(|end| *end > 0)?;
    let (digits, zone) = digits.split_at(end);
    let nanos = digits
        .bytes()
        .chain(std::iter::repeat(b'0'))
        .take(9)
        .fold(0, |sum, digit| sum * 10 + i32::from(digit - b'0'));
    Some((nanos, zone))
}

fn offset(zone: &str) -> Option<SignedDuration> {
    if zone.eq_ignore_ascii_case("z") {
        return Some(SignedDuration::ZERO);
    }
    let sign = match zone.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, minutes) = zone.get(1..)?.split_once(':')?;
    if hours.len() != 2 || minutes.len() != 2 {
        return None;
    }
    let (hours, minutes): (i64, i64) = (number(hours)?, number(minutes)?);
    (hours < 24 && minutes < 60)
        .then(|| SignedDuration::from_secs(sign * 60 * (hours * 60 + minutes)))
}

/// Appends the instant as RFC 3339 UTC, its fraction without trailing zeros.
pub(crate) fn write(out: &mut String, at: Timestamp) {
    let (seconds, nanos) = parts(at);
    write_seconds(out, seconds);
    if nanos > 0 {
        out.push('.');
        write_digits(out, nanos, 9);
        out.truncate(out.trim_end_matches('0').len());
    }
    out.push('Z');
}

/// The instant as RFC 3339 UTC, its fraction without trailing zeros.
pub(crate) fn text(at: Timestamp) -> String {
    let mut out = String::with_capacity(30);
    write(&mut out, at);
    out
}

/// The instant with exactly nine fraction digits, as the log keeps it.
pub(crate) fn full(at: Timestamp) -> String {
    let (seconds, nanos) = parts(at);
    let mut out = String::with_capacity(30);
    write_seconds(&mut out, seconds);
    out.push('.');
    write_digits(&mut out, nanos, 9);
    out.push('Z');
    out
}

/// The instant in whole seconds.
pub(crate) fn seconds(at: Timestamp) -> String {
    let mut out = String::with_capacity(20);
    write_seconds(&mut out, parts(at).0);
    out.push('Z');
    out
}

/// The UTC date, `YYYY-MM-DD`.
pub(crate) fn date(at: Timestamp) -> String {
    let day = civil(parts(at).0).date();
    format!("{:04}-{:02}-{:02}", day.year(), day.month(), day.day())
}

/// The calendar days of UTC from `then` to `now`; 0 where `then` is later.
pub(crate) fn days(then: Timestamp, now: Timestamp) -> i64 {
    let day = |at| parts(at).0.div_euclid(DAY);
    (day(now) - day(then)).max(0)
}

/// The whole periods of 24 hours from `then` to `now`; 0 where `then` is later.
pub(crate) fn periods(then: Timestamp, now: Timestamp) -> i64 {
    (now.duration_since(then).as_secs() / DAY).max(0)
}

/// The next instant that can be told apart.
pub(crate) fn after(at: Timestamp) -> Timestamp {
    at.checked_add(SignedDuration::from_nanos(1))
        .unwrap_or(Timestamp::MAX)
}

/// Whole seconds rounded down, and the nanoseconds above them, for instants before 1970 too.
fn parts(at: Timestamp) -> (i64, i32) {
    let (seconds, nanos) = (at.as_second(), at.subsec_nanosecond());
    match nanos < 0 {
        true => (seconds - 1, nanos + 1_000_000_000),
        false => (seconds, nanos),
    }
}

fn civil(seconds: i64) -> DateTime {
    let at = Timestamp::from_second(seconds).unwrap_or(Timestamp::MIN);
    Offset::UTC.to_datetime(at)
}

fn write_seconds(out: &mut String, seconds: i64) {
    let at = civil(seconds);
    // What is read or what a clock says is of the years 1 to 9999.
    write_digits(out, at.year().into(), 4);
    let parts = [
        ('-', at.month()),
        ('-', at.day()),
        ('T', at.hour()),
        (':', at.minute()),
        (':', at.second()),
    ];
    for (sign, part) in parts {
        out.push(sign);
        write_digits(out, part.into(), 2);
    }
}

/// Appends the last digits of a number, at most nine of them.
fn write_digits(out: &mut String, number: i32, count: usize) {
    let mut digits = [b'0'; 9];
    let mut left = number.unsigned_abs();
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (left % 10) as u8;
        left /= 10;
    }
    let last = digits.get(digits.len() - count..).unwrap_or_default();
    out.push_str(std::str::from_utf8(last).unwrap_or_default());
}

#[cfg(test)]
mod tests;
