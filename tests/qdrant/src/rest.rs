//! The REST routes that the published server calls, over the same shards: it is asked to read what
//! ours wrote, and ours what it wrote. The engine reads and writes their JSON itself.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Path, Request, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use axum::{Json, Router};
use qdrant_client::qdrant::Distance;
use qdrant_edge::{
    CountRequest, CreateIndex, FieldIndexOperations, Filter, NamedQuery, Payload,
    PayloadFieldSchema, PointId, PointInsertOperations, PointOperations, PointStructPersisted,
    QueryEnum, Record, ScrollRequest, SearchRequest, UpdateOperation, VectorStructInternal,
    VectorStructPersisted, WithPayloadInterface, WithVector,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tonic::{Code, Status};

use crate::collections::Store;
use crate::shard::{Shard, refusal};

/// The most points of an answer that names no number.
const LIMIT: usize = 10;

struct Shared {
    store: Arc<Store>,
    key: Option<String>,
    version: String,
}

/// A status as this interface tells it.
struct Refused(Status);

type Answer = Result<Json<Value>, Refused>;

impl From<Status> for Refused {
    fn from(status: Status) -> Self {
        Self(status)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let code = match self.0.code() {
            Code::NotFound => StatusCode::NOT_FOUND,
            Code::InvalidArgument => StatusCode::BAD_REQUEST,
            Code::AlreadyExists => StatusCode::CONFLICT,
            Code::Unauthenticated => StatusCode::UNAUTHORIZED,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let body = json!({ "status": { "error": self.0.message() }, "time": 0.0 });
        (code, Json(body)).into_response()
    }
}

fn fine(result: Value) -> Json<Value> {
    Json(json!({ "result": result, "status": "ok", "time": 0.0 }))
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T, Refused> {
    serde_json::from_value(value)
        .map_err(|error| Refused(Status::invalid_argument(format!("Format error: {error}"))))
}

pub fn router(store: Arc<Store>, key: Option<String>, version: String) -> Router {
    let shared = Arc::new(Shared {
        store,
        key,
        version,
    });
    Router::new()
        .route("/collections/{name}", put(create).get(describe))
        .route("/collections/{name}/index", put(index))
        .route("/collections/{name}/points", put(upsert).post(retrieve))
        .route("/collections/{name}/points/scroll", post(scroll))
        .route("/collections/{name}/points/count", post(count))
        .route("/collections/{name}/points/query", post(query))
        .route_layer(from_fn_with_state(Arc::clone(&shared), allow))
        .route("/", get(about))
        .with_state(shared)
}

/// Lets through whoever has the key.
async fn allow(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let sent = request.headers().get("api-key");
    match &shared.key {
        Some(key) if sent.is_none_or(|sent| sent != key) => {
            Refused(Status::unauthenticated("Invalid API key or JWT")).into_response()
        }
        _ => next.run(request).await,
    }
}

/// The shard of the collection that the path names.
struct Of(Arc<Shard>);

impl FromRequestParts<Arc<Shared>> for Of {
    type Rejection = Response;

    async fn from_request_parts(
        parts: &mut Parts,
        shared: &Arc<Shared>,
    ) -> Result<Self, Self::Rejection> {
        let name = Path::<String>::from_request_parts(parts, shared).await;
        let Path(name) = name.map_err(IntoResponse::into_response)?;
        let shard = shared.store.shard(&name);
        shard
            .map(Self)
            .map_err(|status| Refused(status).into_response())
    }
}

async fn about(State(shared): State<Arc<Shared>>) -> Json<Value> {
    Json(json!({ "title": "qdrant - vector search engine", "version": shared.version }))
}

async fn create(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
    Json(body): Json<Value>,
) -> Answer {
    let vectors = &body["vectors"];
    let places = vectors["size"].as_u64();
    let places = places.ok_or_else(|| Status::unimplemented("named vectors"))?;
    let metric = match vectors["distance"].as_str() {
        Some("Cosine") => Distance::Cosine,
        Some("Dot") => Distance::Dot,
        Some("Euclid") => Distance::Euclid,
        _ => return Err(Status::invalid_argument("unknown distance").into()),
    };
    shared.store.create(&name, places, metric as i32)?;
    Ok(fine(json!(true)))
}

async fn describe(Of(shard): Of) -> Answer {
    let info = shard.engine().info();
    let metric = match Distance::try_from(shard.distance) {
        Ok(Distance::Dot) => "Dot",
        Ok(Distance::Euclid) => "Euclid",
        _ => "Cosine",
    };
    Ok(fine(json!({
        "status": "green", "optimizer_status": "ok", "points_count": info.points_count,
        "segments_count": info.segments_count,
        "config": { "params": { "vectors": { "size": shard.places, "distance": metric } } },
        "payload_schema": info.payload_schema,
    })))
}

async fn index(Of(shard): Of, Json(body): Json<Value>) -> Answer {
    let field: String = read(body["field_name"].clone())?;
    let schema: PayloadFieldSchema = read(body["field_schema"].clone())?;
    let field_name = field.parse();
    let create = CreateIndex {
        field_name: field_name.map_err(|()| Status::invalid_argument("no path of a field"))?,
        field_schema: Some(schema),
    };
    let operation = UpdateOperation::FieldIndexOperation(FieldIndexOperations::CreateIndex(create));
    shard.update(operation)?;
    Ok(fine(json!({ "operation_id": 0, "status": "completed" })))
}

#[derive(Deserialize)]
struct Point {
    id: PointId,
    vector: Vec<f32>,
    payload: Option<serde_json::Map<String, Value>>,
}

async fn upsert(Of(shard): Of, Json(body): Json<Value>) -> Answer {
    let points: Vec<Point> = read(body["points"].clone())?;
    let points = points.into_iter().map(|point| PointStructPersisted {
        id: point.id,
        vector: VectorStructPersisted::Single(point.vector),
        payload: point
            .payload
            .map(|payload| Payload(payload.into_iter().collect())),
    });
    let points = PointInsertOperations::PointsList(points.collect());
    let operation = UpdateOperation::PointOperation(PointOperations::UpsertPoints(points));
    shard.update(operation)?;
    Ok(fine(json!({ "operation_id": 0, "status": "completed" })))
}

fn told(id: PointId, payload: Option<Payload>, vector: Option<VectorStructInternal>) -> Value {
    let vector = match vector {
        Some(VectorStructInternal::Single(places)) => json!(places),
        _ => Value::Null,
    };
    json!({ "id": id, "payload": payload, "vector": vector })
}

fn records(records: Vec<Record>) -> Vec<Value> {
    let records = records.into_iter();
    records
        .map(|record| told(record.id, record.payload, record.vector))
        .collect()
}

fn wants(body: &Value, name: &str) -> bool {
    body[name].as_bool().unwrap_or(false)
}

fn filter(body: &Value) -> Result<Option<Filter>, Refused> {
    match &body["filter"] {
        Value::Null => Ok(None),
        filter => read(filter.clone()).map(Some),
    }
}

fn limit(body: &Value) -> usize {
    body["limit"].as_u64().map_or(LIMIT, |limit| limit as usize)
}

async fn retrieve(Of(shard): Of, Json(body): Json<Value>) -> Answer {
    let ids: Vec<PointId> = read(body["ids"].clone())?;
    let payload = WithPayloadInterface::Bool(body["with_payload"].as_bool().unwrap_or(true));
    let vector = WithVector::Bool(wants(&body, "with_vector"));
    let found = shard.engine().retrieve(&ids, Some(payload), Some(vector));
    let found = found.map_err(|error| refusal(&error))?;
    Ok(fine(json!(records(found))))
}

async fn scroll(Of(shard): Of, Json(body): Json<Value>) -> Answer {
    let offset = match &body["offset"] {
        Value::Null => None,
        offset => Some(read(offset.clone())?),
    };
    let asked = ScrollRequest {
        offset,
        limit: Some(limit(&body)),
        filter: filter(&body)?,
        with_payload: Some(WithPayloadInterface::Bool(
            body["with_payload"].as_bool().unwrap_or(true),
        )),
        with_vector: WithVector::Bool(wants(&body, "with_vector")),
        ..ScrollRequest::default()
    };
    let page = shard.engine().scroll(asked);
    let (found, next) = page.map_err(|error| refusal(&error))?;
    let points = records(found);
    Ok(fine(json!({ "points": points, "next_page_offset": next })))
}

async fn count(Of(shard): Of, Json(body): Json<Value>) -> Answer {
    let asked = CountRequest {
        filter: filter(&body)?,
        exact: body["exact"].as_bool().unwrap_or(true),
    };
    let count = shard.engine().count(asked);
    let count = count.map_err(|error| refusal(&error))?;
    Ok(fine(json!({ "count": count })))
}

async fn query(Of(shard): Of, Json(body): Json<Value>) -> Answer {
    let places: Vec<f32> = read(body["query"].clone())?;
    let asked = SearchRequest {
        query: QueryEnum::Nearest(NamedQuery::default_dense(places)),
        filter: filter(&body)?,
        params: None,
        limit: limit(&body),
        offset: 0,
        with_payload: Some(WithPayloadInterface::Bool(wants(&body, "with_payload"))),
        with_vector: Some(WithVector::Bool(wants(&body, "with_vector"))),
        score_threshold: None,
    };
    let hits = shard.engine().search(asked);
    let hits = hits.map_err(|error| refusal(&error))?;
    let hits = hits.into_iter().map(|hit| {
        let mut told = told(hit.id, hit.payload, hit.vector);
        told["score"] = json!(hit.score);
        told["version"] = json!(hit.version);
        told
    });
    Ok(fine(json!({ "points": hits.collect::<Vec<_>>() })))
}
