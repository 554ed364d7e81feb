//! Rows as points: ids, payloads and filters, as the published server lays them.

use std::collections::HashMap;

use qdrant_client::qdrant::value::Kind;
use qdrant_client::qdrant::{
    Condition, Filter, ListValue, NullValue, PointId, PointStruct, Range, RetrievedPoint, Struct,
    Value, Vectors,
};
use recall_store::Error;
use recall_store_rows::{Fields, NewRow, Row, VERSION};
use serde_json::{Number, Value as Json};
use uuid::Uuid;

/// The name of a row: a point is named by a number or a UUID only.
pub(crate) const ID: &str = "_recall_id";

/// The point of a row.
pub(crate) fn id(row: &str) -> PointId {
    let name = format!("recall:{row}");
    Uuid::new_v5(&Uuid::NAMESPACE_URL, name.as_bytes())
        .to_string()
        .into()
}

/// A row as a point.
pub(crate) fn point(row: NewRow) -> PointStruct {
    let mut payload: HashMap<String, Value> = row
        .metadata
        .into_iter()
        .map(|(name, value)| (name, from_json(value)))
        .collect();
    let id = id(&row.id);
    payload.insert(ID.to_owned(), row.id.into());
    PointStruct {
        id: Some(id),
        payload,
        vectors: Some(Vectors::from(row.values)),
    }
}

/// A point as a row.
///
/// # Errors
///
/// [`Error::Damaged`] for a point that does not tell its row's name: another program's.
pub(crate) fn row(collection: &str, mut point: RetrievedPoint) -> Result<Row, Error> {
    let name = point.payload.remove(ID).and_then(|name| name.kind);
    let Some(Kind::StringValue(id)) = name else {
        return Err(Error::Damaged(format!(
            "the Qdrant collection {collection} holds a point {:?} without {ID}, which no Recall wrote",
            point.id.and_then(|id| id.point_id_options)
        )));
    };
    let metadata = fields(point.payload);
    Ok(Row { id, metadata })
}

fn fields(payload: HashMap<String, Value>) -> Fields {
    // In the order of names: equal payloads make equal text.
    let mut named: Vec<(String, Value)> = payload.into_iter().collect();
    named.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    named
        .into_iter()
        .map(|(name, value)| (name, into_json(value)))
        .collect()
}

fn from_json(value: Json) -> Value {
    let kind = match value {
        Json::Null => Kind::NullValue(NullValue::NullValue as i32),
        Json::Bool(value) => Kind::BoolValue(value),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => Kind::IntegerValue(whole),
            None => Kind::DoubleValue(number.as_f64().unwrap_or_default()),
        },
        Json::String(text) => Kind::StringValue(text),
        Json::Array(values) => Kind::ListValue(ListValue {
            values: values.into_iter().map(from_json).collect(),
        }),
        Json::Object(object) => Kind::StructValue(Struct {
            fields: object
                .into_iter()
                .map(|(name, value)| (name, from_json(value)))
                .collect(),
        }),
    };
    Value { kind: Some(kind) }
}

fn into_json(value: Value) -> Json {
    match value.kind {
        None | Some(Kind::NullValue(_)) => Json::Null,
        Some(Kind::BoolValue(value)) => value.into(),
        Some(Kind::IntegerValue(whole)) => whole.into(),
        Some(Kind::DoubleValue(number)) => {
            Number::from_f64(number).map_or(Json::Null, Json::Number)
        }
        Some(Kind::StringValue(text)) => text.into(),
        Some(Kind::ListValue(list)) => list.values.into_iter().map(into_json).collect(),
        Some(Kind::StructValue(object)) => Json::Object(fields(object.fields)),
    }
}

/// Rows in which all these values are equal.
pub(crate) fn equal(fields: &Fields) -> Option<Filter> {
    if fields.is_empty() {
        return None;
    }
    Some(Filter::must(fields.iter().map(|(name, value)| {
        match value {
            Json::String(text) => Condition::matches(name.as_str(), text.clone()),
            Json::Bool(value) => Condition::matches(name.as_str(), *value),
            // Qdrant matches whole numbers only; a closed range matches any, and 2 is 2.0.
            Json::Number(number) => within(name, number.as_f64(), number.as_f64()),
            Json::Null | Json::Array(_) | Json::Object(_) => Condition::is_null(name.as_str()),
        }
    })))
}

fn within(name: &str, from: Option<f64>, to: Option<f64>) -> Condition {
    let range = Range {
        gte: from,
        lte: to,
        ..Range::default()
    };
    Condition::range(name, range)
}

/// Rows without `absent` whose `number` is at least `from`.
pub(crate) fn since(absent: &str, number: &str, from: i64) -> Filter {
    Filter::must([
        within(number, Some(from as f64), None),
        Condition::is_empty(absent),
    ])
}

/// Rows that are still as they were read.
pub(crate) fn unchanged(was: &Fields) -> Condition {
    match was.get(VERSION).map(version) {
        Some(version) => Condition::matches(VERSION, version),
        None => Condition::is_empty(VERSION),
    }
}

/// Rows of an earlier version than this, or of none.
pub(crate) fn older(version: u64) -> Condition {
    let range = Range {
        lt: Some(version as f64),
        ..Range::default()
    };
    Filter::should([
        Condition::range(VERSION, range),
        Condition::is_empty(VERSION),
    ])
    .into()
}

/// No row.
pub(crate) fn none() -> Filter {
    Filter::must([Condition::is_empty(ID)])
}

fn version(value: &Json) -> i64 {
    value
        .as_i64()
        .or_else(|| value.as_f64().map(|version| version as i64))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn uuid(row: &str) -> String {
        let qdrant_client::qdrant::point_id::PointIdOptions::Uuid(uuid) =
            id(row).point_id_options.expect("an id")
        else {
            panic!("a UUID")
        };
        uuid
    }

    /// UUIDv5 in the URL namespace of RFC 4122 over `recall:` and the id, as Python's
    /// `uuid.uuid5(uuid.NAMESPACE_URL, "recall:" + id)` makes it.
    #[test]
    fn points_are_named_as_the_published_server_names_them() {
        assert_eq!(uuid("m-1"), "48706210-290b-56fe-a6ab-5a169178cc82");
        assert_eq!(
            uuid("coder:ws:head"),
            "a6810b6e-688c-5de8-a2b2-3f7736931545"
        );
        assert_eq!(uuid("é"), "f62163af-8b3e-57f6-b904-0ab65dc17b6d");
    }

    #[track_caller]
    fn comes_back(metadata: Json) {
        let Json::Object(metadata) = metadata else {
            panic!("an object")
        };
        let point = point(NewRow {
            id: "x".repeat(64 * 1024),
            values: vec![1.0],
            metadata: metadata.clone(),
        });
        let read = RetrievedPoint {
            id: point.id,
            payload: point.payload,
            ..RetrievedPoint::default()
        };
        let row = row("c", read).expect("a row");
        assert_eq!((row.id.len(), row.metadata), (64 * 1024, metadata));
    }

    #[test]
    fn values_come_back_as_they_were() {
        comes_back(json!({}));
        comes_back(json!({ "a": "é\n\u{10ffff}", "b": true, "c": 0.1, "d": -3, "e": 1.0 }));
        comes_back(json!({ "whole": i64::MAX, "least": i64::MIN, "tiny": 5e-324 }));
    }

    #[test]
    fn a_point_of_another_program_is_no_row() {
        let error = row("c", RetrievedPoint::default()).expect_err("it has no name");
        assert_eq!(error.code(), "store_damaged");
        assert!(error.to_string().contains(ID), "{error}");
    }
}
