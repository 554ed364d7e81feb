//! The fields of a span as one JSON object, written as they come.
//!
//! Every request has a span, most requests log nothing, and its status is added last. The library's
//! `JsonFields` reads the whole object back to add a field: that took more of a request than reading a
//! memory.

use std::fmt::{self, Debug};

use tracing::field::{Field, Visit};
use tracing::span::Record;
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::FormattedFields;
use tracing_subscriber::fmt::format::{FormatFields, Writer};

use crate::json::{shown, string};

/// Writes fields. One that is recorded twice is there twice, and readers take the last.
#[derive(Debug, Default)]
pub(crate) struct Fields;

impl<'writer> FormatFields<'writer> for Fields {
    fn format_fields<R: RecordFields>(
        &self,
        mut writer: Writer<'writer>,
        fields: R,
    ) -> fmt::Result {
        writer.write_char('{')?;
        let mut members = Members::new(&mut writer, false);
        fields.record(&mut members);
        members.outcome?;
        writer.write_char('}')
    }

    fn add_fields(
        &self,
        current: &'writer mut FormattedFields<Self>,
        fields: &Record<'_>,
    ) -> fmt::Result {
        let end = current.fields.pop();
        if end.is_none_or(|end| end != '}') {
            current.fields.clear();
            current.fields.push('{');
        }
        let some = current.fields.len() > 1;
        let mut writer = current.as_writer();
        let mut members = Members::new(&mut writer, some);
        fields.record(&mut members);
        members.outcome?;
        current.fields.push('}');
        Ok(())
    }
}

/// The members of an object that is being written.
struct Members<'a, 'writer> {
    writer: &'a mut Writer<'writer>,
    some: bool,
    outcome: fmt::Result,
}

impl<'a, 'writer> Members<'a, 'writer> {
    fn new(writer: &'a mut Writer<'writer>, some: bool) -> Self {
        Self {
            writer,
            some,
            outcome: Ok(()),
        }
    }

    fn put(&mut self, field: &Field, value: impl FnOnce(&mut Writer<'writer>) -> fmt::Result) {
        let name = field.name();
        let name = name.strip_prefix("r#").unwrap_or(name);
        let write = || {
            if self.some {
                self.writer.write_char(',')?;
            }
            string(self.writer, name)?;
            self.writer.write_char(':')?;
            value(self.writer)
        };
        let written = write();
        self.some = true;
        self.outcome = self.outcome.and(written);
    }
}

impl Visit for Members<'_, '_> {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, |writer| match value.is_finite() {
            true => write!(writer, "{value:?}"),
            // JSON has no such number.
            false => writer.write_str("null"),
        });
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, |writer| write!(writer, "{value}"));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, |writer| write!(writer, "{value}"));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, |writer| write!(writer, "{value}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, |writer| string(writer, value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.put(field, |writer| shown(writer, format_args!("{value:?}")));
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex, PoisonError};

    use serde_json::{Value, json};
    use tracing::field::Empty;

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            lines.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The span that a log line tells of.
    fn logged(act: impl FnOnce()) -> Value {
        let lines = Lines::default();
        let writer = lines.clone();
        let subscriber = tracing_subscriber::fmt()
            .json()
            .with_span_list(false)
            .fmt_fields(Fields)
            .with_writer(move || writer.clone())
            .finish();
        tracing::subscriber::with_default(subscriber, act);
        let bytes = lines.0.lock().unwrap_or_else(PoisonError::into_inner);
        let line: Value = serde_json::from_slice(&bytes).expect("one line of JSON");
        line["span"].clone()
    }

    #[test]
    fn a_span_tells_its_fields_and_those_added_later() {
        let span = logged(|| {
            let span = tracing::info_span!(
                "request",
                id = "a\"b\\c\n\u{1}é",
                count = -3_i64,
                most = u64::MAX,
                share = 0.5,
                odd = f64::NAN,
                flag = true,
                shown = %"as it reads",
                r#type = ?"debug",
                status = Empty,
            );
            span.record("status", 200_u64);
            span.in_scope(|| tracing::info!("it happened"));
        });
        let expected = json!({
            "name": "request", "id": "a\"b\\c\n\u{1}é", "count": -3, "most": u64::MAX, "share": 0.5,
            "odd": null, "flag": true, "shown": "as it reads", "type": "\"debug\"", "status": 200,
        });
        assert_eq!(span, expected);
    }

    #[test]
    fn a_span_without_fields_takes_some_later_and_the_last_of_two_counts() {
        let span = logged(|| {
            let span = tracing::info_span!("bare", status = Empty);
            span.record("status", 200_u64);
            span.record("status", 503_u64);
            span.in_scope(|| tracing::info!("it happened"));
        });
        assert_eq!(span, json!({ "name": "bare", "status": 503 }));
    }
}
