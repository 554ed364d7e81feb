//! Data goes to standard output, talk to standard error.

use std::io::Write;

use serde_json::Value;

/// Prints a line of data. A closed pipe is the reader's choice and no failure.
pub(crate) fn print(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Says something to the person at the terminal.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Prints an answer as it came.
pub(crate) fn print_json(value: &Value) {
    print(&value.to_string());
}

/// A member's text, or nothing.
pub(crate) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

/// A member's items, or none.
pub(crate) fn items<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}
