//! From messages to the engine's types and back. Filters go by way of the REST form, which the engine
//! reads itself.

use qdrant_client::qdrant::condition::ConditionOneOf;
use qdrant_client::qdrant::r#match::MatchValue;
use qdrant_client::qdrant::point_id::PointIdOptions;
use qdrant_client::qdrant::vector::Vector as AnyVector;
use qdrant_client::qdrant::vectors::VectorsOptions;
use qdrant_client::qdrant::{
    Condition, FieldCondition, FieldType, Filter, PointId, PointStruct, RetrievedPoint,
};
use qdrant_edge::{
    Filter as EngineFilter, Payload, PointId as EngineId, PointStructPersisted, Record,
    VectorStructPersisted,
};
use serde_json::{Value, json};
use tonic::Status;

fn bad(what: impl std::fmt::Display) -> Status {
    Status::invalid_argument(format!("Wrong input: {what}"))
}

pub fn id(id: Option<PointId>) -> Result<EngineId, Status> {
    match id.and_then(|id| id.point_id_options) {
        Some(PointIdOptions::Num(number)) => Ok(EngineId::NumId(number)),
        Some(PointIdOptions::Uuid(text)) => {
            let uuid = text.parse();
            let uuid = uuid.map_err(|_| bad(format!("Unable to parse UUID: {text}")))?;
            Ok(EngineId::Uuid(uuid))
        }
        None => Err(bad("No ID options provided")),
    }
}

pub fn id_back(id: EngineId) -> PointId {
    match id {
        EngineId::NumId(number) => number.into(),
        EngineId::Uuid(uuid) => uuid.to_string().into(),
    }
}

pub fn point(point: PointStruct) -> Result<PointStructPersisted, Status> {
    let payload = point
        .payload
        .into_iter()
        .map(|(name, value)| (name, Value::from(value)));
    let vectors = point.vectors.and_then(|vectors| vectors.vectors_options);
    let Some(VectorsOptions::Vector(vector)) = vectors else {
        return Err(bad("this stand-in keeps single unnamed vectors only"));
    };
    #[expect(
        deprecated,
        reason = "older clients send the places in the message itself"
    )]
    let plain = vector.data;
    let places = match vector.vector {
        Some(AnyVector::Dense(dense)) => dense.data,
        None => plain,
        Some(_) => return Err(bad("this stand-in keeps dense vectors only")),
    };
    Ok(PointStructPersisted {
        id: id(point.id)?,
        vector: VectorStructPersisted::Single(places),
        payload: Some(Payload(payload.collect())),
    })
}

pub fn record(record: Record, with_payload: bool) -> RetrievedPoint {
    let payload = record.payload.filter(|_| with_payload);
    RetrievedPoint {
        id: Some(id_back(record.id)),
        payload: payload
            .map(|payload| payload.0)
            .into_iter()
            .flatten()
            .map(|(name, value)| (name, value.into()))
            .collect(),
        ..RetrievedPoint::default()
    }
}

pub fn filter(filter: Filter) -> Result<EngineFilter, Status> {
    serde_json::from_value(rest(filter)?).map_err(bad)
}

fn rest(filter: Filter) -> Result<Value, Status> {
    if filter.min_should.is_some() {
        return Err(Status::unimplemented("min_should"));
    }
    let all = |conditions: Vec<Condition>| -> Result<Option<Vec<Value>>, Status> {
        match conditions.is_empty() {
            true => Ok(None),
            false => conditions
                .into_iter()
                .map(condition)
                .collect::<Result<_, _>>()
                .map(Some),
        }
    };
    Ok(json!({
        "should": all(filter.should)?,
        "must": all(filter.must)?,
        "must_not": all(filter.must_not)?,
    }))
}

fn condition(condition: Condition) -> Result<Value, Status> {
    match condition.condition_one_of {
        Some(ConditionOneOf::Field(field)) => self::field(field),
        Some(ConditionOneOf::IsEmpty(empty)) => Ok(json!({ "is_empty": { "key": empty.key } })),
        Some(ConditionOneOf::IsNull(of)) => Ok(json!({ "is_null": { "key": of.key } })),
        Some(ConditionOneOf::HasId(ids)) => {
            let ids = ids.has_id.into_iter().map(|some| id(Some(some)));
            let ids = ids.collect::<Result<Vec<EngineId>, _>>()?;
            let ids = serde_json::to_value(ids).map_err(bad)?;
            Ok(json!({ "has_id": ids }))
        }
        Some(ConditionOneOf::Filter(filter)) => rest(filter),
        Some(_) => Err(Status::unimplemented("this kind of condition")),
        None => Err(bad("Malformed Condition type")),
    }
}

fn field(field: FieldCondition) -> Result<Value, Status> {
    let key = field.key;
    if let Some(range) = field.range {
        let range = json!({ "lt": range.lt, "gt": range.gt, "gte": range.gte, "lte": range.lte });
        return Ok(json!({ "key": key, "range": range }));
    }
    let value = field.r#match.and_then(|wanted| wanted.match_value);
    let value = match value {
        Some(MatchValue::Keyword(text)) => json!(text),
        Some(MatchValue::Integer(number)) => json!(number),
        Some(MatchValue::Boolean(value)) => json!(value),
        Some(_) => return Err(Status::unimplemented("this kind of match")),
        None => return Err(bad("a condition without a match or a range")),
    };
    Ok(json!({ "key": key, "match": { "value": value } }))
}

/// The REST name of an index's type.
pub fn field_type(kind: Option<i32>) -> Result<&'static str, Status> {
    match kind.map(FieldType::try_from) {
        Some(Ok(FieldType::Keyword)) => Ok("keyword"),
        Some(Ok(FieldType::Integer)) => Ok("integer"),
        Some(Ok(FieldType::Float)) => Ok("float"),
        Some(Ok(FieldType::Bool)) => Ok("bool"),
        _ => Err(Status::unimplemented("this type of index")),
    }
}
