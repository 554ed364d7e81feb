//! Values, and when two of them are the same.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use unicode_normalization::{UnicodeNormalization, is_nfc, is_nfkc};

/// What a statement says of its subject: a string, a finite number or a boolean.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// A string, with the form it is compared by.
    Text(Text),
    /// A finite number.
    Number(f64),
    /// True or false.
    Flag(bool),
}

/// A string value. Both parts share one allocation when they are equal.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    raw: Arc<str>,
    folded: Arc<str>,
}

/// The identity of a value: equal keys are the same value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ValueKey {
    Text(Arc<str>),
    Number(u64),
    Flag(bool),
}

impl Value {
    /// A string value as it was stated, its outer spaces removed.
    pub(crate) fn text(text: &str) -> Self {
        let raw: Arc<str> = Arc::from(text.trim());
        let folded = fold(&raw);
        let folded = match *folded == *raw {
            true => Arc::clone(&raw),
            false => Arc::from(folded),
        };
        Self::Text(Text { raw, folded })
    }

    /// A number; both zeros are one.
    pub(crate) fn number(number: f64) -> Self {
        Self::Number(if number == 0.0 { 0.0 } else { number })
    }

    pub(crate) fn key(&self) -> ValueKey {
        match self {
            Self::Text(text) => ValueKey::Text(Arc::clone(&text.folded)),
            Self::Number(number) => ValueKey::Number(number.to_bits()),
            Self::Flag(flag) => ValueKey::Flag(*flag),
        }
    }

    /// Whether two values are the same: strings in any case, numbers by size.
    pub(crate) fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(one), Self::Text(two)) => one.folded == two.folded,
            (Self::Number(one), Self::Number(two)) => one.to_bits() == two.to_bits(),
            (Self::Flag(one), Self::Flag(two)) => one == two,
            (Self::Text(_) | Self::Number(_) | Self::Flag(_), _) => false,
        }
    }

    /// The value key of the log, which the event id is made from.
    pub(crate) fn wire_key(&self) -> String {
        match self {
            Self::Text(text) => format!("s:{}", lower(&text.raw)),
            // `Display` of a float is the shortest decimal without an exponent.
            Self::Number(number) => format!("n:{number}"),
            Self::Flag(flag) => format!("b:{flag}"),
        }
    }

    /// The value as it stands in JSON.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Text(text) => serde_json::Value::from(&*text.raw),
            Self::Number(number) => json_number(*number),
            Self::Flag(flag) => serde_json::Value::from(*flag),
        }
    }

    /// The bytes that the value holds beyond its own size.
    pub(crate) fn heap(&self) -> usize {
        match self {
            Self::Text(text) if Arc::ptr_eq(&text.raw, &text.folded) => text.raw.len() + 16,
            Self::Text(text) => text.raw.len() + text.folded.len() + 32,
            Self::Number(_) | Self::Flag(_) => 0,
        }
    }
}

impl Text {
    pub(crate) fn as_str(&self) -> &str {
        &self.raw
    }
}

/// The value as it is read: numbers are plain decimals, however large or small.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(&text.raw),
            // `Display` of a float is the shortest decimal without an exponent.
            Self::Number(number) => number.fmt(f),
            Self::Flag(flag) => flag.fmt(f),
        }
    }
}

/// Appends a number as JSON in its shortest form: whole numbers without a point, an exponent only
/// for the very large and the very small.
pub(crate) fn write_number(out: &mut String, number: f64) {
    let size = number.abs();
    let _ = match size != 0.0 && !(1e-6..1e21).contains(&size) {
        true => write!(out, "{number:e}"),
        false => write!(out, "{number}"),
    };
}

/// A number as JSON, whole where it is whole.
pub(crate) fn json_number(number: f64) -> serde_json::Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() < EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "whole and below 2^53")]
        return serde_json::Value::from(number as i64);
    }
    serde_json::Value::from(number)
}

/// Lower case, character by character: the rule that event ids are made by. A character whose lower
/// case is several characters keeps only its base letter.
pub(crate) fn lower(text: &str) -> String {
    text.chars().map(lower_char).collect()
}

fn lower_char(letter: char) -> char {
    if letter.is_ascii() {
        return letter.to_ascii_lowercase();
    }
    // U+0130 is the only one with a longer full mapping; its simple one is the plain letter.
    letter.to_lowercase().next().unwrap_or(letter)
}

/// The form in which string values are compared: lower case and composed.
fn fold(text: &str) -> String {
    let lower = lower(text.trim());
    match is_nfc(&lower) {
        true => lower,
        false => lower.nfc().collect(),
    }
}

/// The form in which names are found: trimmed, lower case, and without differences of width or
/// composition.
pub(crate) fn name_key(name: &str) -> String {
    let name = name.trim();
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    // Composing first turns wide capitals into plain ones, which then have a lower case, and some
    // signs into a space and a mark.
    let plain: String = name.nfkc().collect();
    let lower = lower(plain.trim());
    match is_nfkc(&lower) {
        true => lower,
        false => lower.nfkc().collect::<String>().trim().to_owned(),
    }
}

#[cfg(test)]
mod tests;
