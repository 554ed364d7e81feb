//! Data goes to standard output, talk to standard error.

use std::io::Write;

use serde_json::Value;

/// Prints a line of data. A closed pipe is the reader's choice and no failure.
pub(crate) fn print(line: &str) {
    let _ = writeln!(std::io::stdout(), "{}", harmless(line));
}

/// What was remembered must not steer the terminal or forge a line: signs that do are spelt out.
fn harmless(line: &str) -> String {
    let steers = |sign: char| {
        let turns = matches!(sign, '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
        turns || (sign.is_control() && sign != '\t')
    };
    line.chars()
        .fold(String::with_capacity(line.len()), |mut out, sign| {
            match steers(sign) {
                true => out.extend(sign.escape_unicode()),
                false => out.push(sign),
            }
            out
        })
}

/// Says something to the person at the terminal.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{}", harmless(line));
}

/// Prints an answer as it came.
pub(crate) fn print_json(value: &Value) {
    let _ = writeln!(std::io::stdout(), "{value}");
}

/// A member's text, or nothing.
pub(crate) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

/// A member's items, or none.
pub(crate) fn items<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembered_text_does_not_steer_the_terminal() {
        assert_eq!(harmless("a\tb ü 猫"), "a\tb ü 猫");
        assert_eq!(harmless("\u{1b}[31mred"), "\\u{1b}[31mred");
        assert_eq!(harmless("one\nforged"), "one\\u{a}forged");
        assert_eq!(harmless("a\u{202e}b"), "a\\u{202e}b");
    }
}
