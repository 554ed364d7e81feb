//! JSON strings, written as they come.

use std::fmt::{self, Write};

/// Writes `text` as a JSON string.
pub(crate) fn string(writer: &mut impl Write, text: &str) -> fmt::Result {
    writer.write_char('"')?;
    Escaped(&mut *writer).write_str(text)?;
    writer.write_char('"')
}

/// Writes what `value` shows of itself as a JSON string.
pub(crate) fn shown(writer: &mut impl Write, value: fmt::Arguments<'_>) -> fmt::Result {
    writer.write_char('"')?;
    Escaped(&mut *writer).write_fmt(value)?;
    writer.write_char('"')
}

/// The inside of a JSON string. Characters are escaped one by one, so it may be written in pieces.
struct Escaped<'a, W>(&'a mut W);

impl<W: Write> Write for Escaped<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let plain = |byte: u8| byte >= b' ' && byte != b'"' && byte != b'\\';
        if text.bytes().all(plain) {
            return self.0.write_str(text);
        }
        let escaped = serde_json::to_string(text).map_err(|_| fmt::Error)?;
        let quote = '"'.len_utf8();
        self.0.write_str(&escaped[quote..escaped.len() - quote])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        for text in [
            "",
            "plain",
            "a \"quote\"",
            "back\\slash",
            "line\nend\u{1}",
            "\u{1F600} é",
        ] {
            let mut whole = String::new();
            string(&mut whole, text).expect("a String takes everything");
            let mut pieces = String::new();
            let (one, two) = text.split_at(text.chars().next().map_or(0, char::len_utf8));
            shown(&mut pieces, format_args!("{one}{two}")).expect("a String takes everything");
            for written in [whole, pieces] {
                let read: String = serde_json::from_str(&written).expect("JSON");
                assert_eq!(read, text);
            }
        }
    }
}
