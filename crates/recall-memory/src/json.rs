//! Answers are written once, straight to bytes.

use std::fmt::{self, Write as _};

use jiff::Timestamp;

use crate::time;
use crate::value::{Value, write_number};

/// A JSON text in the making. Commas are put by looking at what stands before.
#[derive(Debug, Default)]
pub(crate) struct Json {
    out: String,
}

impl Json {
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.out.into_bytes()
    }

    pub(crate) fn object(&mut self, fill: impl FnOnce(&mut Self)) {
        self.begin();
        self.out.push('{');
        fill(self);
        self.out.push('}');
    }

    pub(crate) fn array<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        mut put: impl FnMut(&mut Self, T),
    ) {
        self.begin();
        self.out.push('[');
        for item in items {
            put(self, item);
        }
        self.out.push(']');
    }

    /// A member's name; its value must follow.
    pub(crate) fn key(&mut self, name: &str) -> &mut Self {
        self.begin();
        self.quote(name);
        self.out.push(':');
        self
    }

    pub(crate) fn string(&mut self, text: &str) {
        self.begin();
        self.quote(text);
    }

    pub(crate) fn strings<S: AsRef<str>>(&mut self, texts: impl IntoIterator<Item = S>) {
        self.array(texts, |json, text| json.string(text.as_ref()));
    }

    pub(crate) fn raw(&mut self, text: &str) {
        self.begin();
        self.out.push_str(text);
    }

    /// A JSON value as it was read.
    pub(crate) fn json(&mut self, value: &serde_json::Value) {
        self.raw(&value.to_string());
    }

    pub(crate) fn bool(&mut self, flag: bool) {
        self.raw(if flag { "true" } else { "false" });
    }

    pub(crate) fn int(&mut self, number: i64) {
        self.begin();
        let _ = write!(self.out, "{number}");
    }

    pub(crate) fn number(&mut self, number: f64) {
        self.begin();
        write_number(&mut self.out, number);
    }

    pub(crate) fn time(&mut self, at: Timestamp) {
        self.begin();
        self.out.push('"');
        time::write(&mut self.out, at);
        self.out.push('"');
    }

    pub(crate) fn display(&mut self, what: &impl fmt::Display) {
        self.begin();
        self.out.push('"');
        let _ = write!(Inside(&mut self.out), "{what}");
        self.out.push('"');
    }

    pub(crate) fn value(&mut self, value: &Value) {
        match value {
            Value::Text(text) => self.string(text.as_str()),
            Value::Number(number) => self.number(*number),
            Value::Flag(flag) => self.bool(*flag),
        }
    }

    fn begin(&mut self) {
        match self.out.as_bytes().last() {
            None | Some(b'{' | b'[' | b':') => {}
            Some(_) => self.out.push(','),
        }
    }

    fn quote(&mut self, text: &str) {
        self.out.push('"');
        let _ = Inside(&mut self.out).write_str(text);
        self.out.push('"');
    }
}

/// The inside of a string: what is written there is escaped.
struct Inside<'a>(&'a mut String);

impl fmt::Write for Inside<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let bytes = text.as_bytes();
        // Nearly all texts are plain, and to look at all of one without a break is quicker.
        if !bytes
            .iter()
            .fold(false, |any, byte| any | is_escaped(*byte))
        {
            self.0.push_str(text);
            return Ok(());
        }
        let mut plain = 0;
        for (at, byte) in text.bytes().enumerate() {
            if !is_escaped(byte) {
                continue;
            }
            self.0.push_str(text.get(plain..at).unwrap_or_default());
            plain = at + 1;
            match byte {
                b'"' => self.0.push_str("\\\""),
                b'\\' => self.0.push_str("\\\\"),
                b'\n' => self.0.push_str("\\n"),
                b'\r' => self.0.push_str("\\r"),
                b'\t' => self.0.push_str("\\t"),
                control => write!(self.0, "\\u{control:04x}")?,
            }
        }
        self.0.push_str(text.get(plain..).unwrap_or_default());
        Ok(())
    }
}

fn is_escaped(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

#[cfg(test)]
mod tests;
