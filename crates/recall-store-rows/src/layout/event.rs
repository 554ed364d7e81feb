//! Events as rows of a memory collection.

use bytes::Bytes;
use recall_store::{Error, NewEvent};
use serde_json::Value;

use crate::embed::embed;
use crate::rows::{Fields, NewRow};

/// A member that our events have and those of the published server lack.
pub const ID_OF_OURS: &str = "recorded_at";

/// An event as a row. Its members become metadata as they are.
pub(crate) fn row(event: &NewEvent) -> Result<NewRow, Error> {
    let damaged = |what: &str| Error::Damaged(format!("event {}: {what}", event.id));
    let metadata: Fields =
        serde_json::from_slice(&event.body).map_err(|_| damaged("its body is no JSON object"))?;
    if metadata
        .values()
        .any(|value| matches!(value, Value::Null | Value::Array(_) | Value::Object(_)))
    {
        return Err(damaged("its body is not flat"));
    }
    Ok(NewRow {
        id: event.id.clone(),
        values: embed(sentence(&metadata)),
        metadata,
    })
}

/// The text without the evidence that may follow it: what the vector stands for.
fn sentence(metadata: &Fields) -> &str {
    let text = super::text(metadata, "text").unwrap_or_default();
    let evidence = super::text(metadata, "evidence");
    evidence
        .and_then(|evidence| text.strip_suffix(evidence)?.strip_suffix('\n'))
        .unwrap_or(text)
}

/// The body of an event, equal as JSON to the one that was written.
pub(crate) fn read(metadata: &Fields) -> Bytes {
    Bytes::from(serde_json::to_vec(metadata).unwrap_or_default())
}

/// When it was observed, in Unix milliseconds, if it says so.
#[must_use]
pub fn observed_ms(metadata: &Fields) -> Option<i64> {
    let ms = metadata.get("observed_ms")?;
    // The store may answer a whole number as a fraction.
    ms.as_i64().or_else(|| ms.as_f64().map(|ms| ms as i64))
}

/// When one of ours was written, in Unix milliseconds.
pub(crate) fn recorded_ms(metadata: &Fields) -> Option<i64> {
    let at: jiff::Timestamp = super::text(metadata, ID_OF_OURS)?.parse().ok()?;
    Some(at.as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(body: &str) -> NewEvent {
        NewEvent {
            id: "m-1".to_owned(),
            body: Bytes::copy_from_slice(body.as_bytes()),
        }
    }

    #[test]
    fn an_event_comes_back_equal() {
        let body =
            r#"{"confidence":0.5,"retraction":false,"subject":"user","text":"user likes tea"}"#;
        let row = row(&event(body)).expect("a row");
        assert_eq!(row.values, embed("user likes tea"));
        assert_eq!(read(&row.metadata), body);
    }

    #[test]
    fn the_vector_is_that_of_the_sentence_alone() {
        let body = r#"{"evidence":"I do like tea","text":"user likes tea\nI do like tea"}"#;
        assert_eq!(
            row(&event(body)).expect("a row").values,
            embed("user likes tea")
        );
    }

    #[test]
    fn what_cannot_be_metadata_is_refused() {
        for body in ["[]", "1", "{\"a\":null}", "{\"a\":{}}", "{\"a\":[1]}", "x"] {
            assert!(
                matches!(row(&event(body)), Err(Error::Damaged(_))),
                "{body}"
            );
        }
    }
}
