//! `/v1/keys`: minting, listing, revoking, renewing.

use std::time::Duration;

use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http::{Method, StatusCode, Uri};
use jiff::Timestamp;
use recall_keys::{
    Filter, Grant, KeyId, KeyRecord, MAX_LISTED, Minted, Reach, Spec, format_go, parse_go,
};
use recall_memory::Listing;
use secrecy::ExposeSecret;
use serde_json::{Map, Value, json};

use super::answer::json_response;
use super::exchange;
use super::query::{self, Query};
use crate::auth;
use crate::body::{self, nothing_left, take_string};
use crate::error::ApiError;
use crate::state::{Api, MAX_KEY_BODY_BYTES};

const MINT_FIELDS: &str = "namespace, agent, session, note, admin, expires_in";

pub(super) async fn collection(
    api: &Api,
    grant: &Grant,
    request: Request,
) -> Result<Response, ApiError> {
    auth::admin(grant)?;
    match *request.method() {
        Method::POST => mint(api, request).await,
        Method::GET => list(api, &request.into_parts().0.uri).await,
        Method::DELETE => revoke_matching(api, grant, &request.into_parts().0.uri).await,
        _ => Err(ApiError::method_not_allowed("GET, POST, DELETE")),
    }
}

pub(super) async fn one(
    api: &Api,
    grant: &Grant,
    id: &str,
    method: &Method,
) -> Result<Response, ApiError> {
    auth::admin(grant)?;
    if method != Method::DELETE || id.is_empty() {
        return Err(ApiError::method_not_allowed("DELETE"));
    }
    let id = id.parse()?;
    api.keys.revoke(&id).await?;
    tracing::info!(target: "recall::audit", decision = "revoked", key_id = %id, "key revoked");
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub(super) async fn renew(
    api: &Api,
    grant: &Grant,
    request: Request,
) -> Result<Response, ApiError> {
    if request.method() != Method::POST {
        return Err(ApiError::method_not_allowed("POST"));
    }
    let record = match grant.pod_uid {
        Some(_) => exchange::renew(api, grant, request).await?,
        None => api.keys.renew(grant).await?,
    };
    Ok(json_response(
        StatusCode::OK,
        &Value::Object(record_json(&record)),
    ))
}

async fn mint(api: &Api, request: Request) -> Result<Response, ApiError> {
    let body = body::read(request, MAX_KEY_BODY_BYTES).await?;
    let spec = spec(body::object(&body)?)?;
    let minted = api.keys.mint(spec).await?;
    tracing::info!(
        target: "recall::audit", decision = "minted", key_id = %minted.record.id, "key minted"
    );
    Ok(json_response(StatusCode::CREATED, &minted_json(&minted)))
}

fn spec(mut object: Map<String, Value>) -> Result<Spec, ApiError> {
    let namespace = take_string(&mut object, "namespace")?.filter(|text| !text.is_empty());
    let admin = match object.remove("admin") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(admin)) => admin,
        Some(_) => return Err(ApiError::invalid("admin: must be true or false")),
    };
    let present = |text: &String| !text.is_empty();
    let agent = take_string(&mut object, "agent")?.filter(present);
    let session = take_string(&mut object, "session")?.filter(present);
    let note = take_string(&mut object, "note")?.filter(present);
    let ttl = lifetime(take_string(&mut object, "expires_in")?)?;
    nothing_left(&object, MINT_FIELDS)?;
    let reach = match (admin, namespace) {
        (true, None) => Reach::Admin,
        (true, Some(_)) => {
            let text = "namespace: an admin key has none; leave it out or leave out admin";
            return Err(ApiError::invalid(text));
        }
        (false, None) => return Err(ApiError::invalid("namespace: empty")),
        (false, Some(namespace)) => Reach::Namespace(
            namespace
                .parse()
                .map_err(|error| ApiError::invalid(format!("{error}")))?,
        ),
    };
    Ok(Spec {
        reach,
        agent,
        session,
        note,
        ttl,
    })
}

fn lifetime(text: Option<String>) -> Result<Option<Duration>, ApiError> {
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let ttl = parse_go(&text).map_err(|error| ApiError::invalid(format!("expires_in: {error}")))?;
    Ok(Some(ttl).filter(|ttl| !ttl.is_zero()))
}

async fn list(api: &Api, uri: &Uri) -> Result<Response, ApiError> {
    let mut query = Query::parse(uri)?;
    let filter = filter(&mut query)?;
    let limit = query.limit(MAX_LISTED)?;
    let listing = listing(&filter);
    let cursor: Option<KeyId> = query.cursor(listing)?;
    query.nothing_left("limit, cursor, state, tenant, namespace, agent, pod_uid")?;
    let after = cursor.as_ref().map(KeyId::as_str);
    let page = api.keys.list(&filter, after, limit).await?;
    let keys: Vec<_> = page.keys.iter().map(record_json).collect();
    let mut answer = json!({ "keys": keys });
    if let Some(next) = page.next {
        answer["next_cursor"] = query::next(listing, &next).into();
    }
    Ok(json_response(StatusCode::OK, &answer))
}

async fn revoke_matching(api: &Api, grant: &Grant, uri: &Uri) -> Result<Response, ApiError> {
    let mut query = Query::parse(uri)?;
    let filter = filter(&mut query)?;
    if filter.live.is_some() {
        return Err(ApiError::invalid(
            "state: only live keys can be revoked; leave it out",
        ));
    }
    query.nothing_left("tenant, namespace, agent, pod_uid")?;
    let revoked = api.keys.revoke_matching(&filter).await?;
    tracing::info!(
        target: "recall::audit",
        decision = "revoked",
        by = grant.key.as_ref().map(|id| id.as_str()),
        tenant = filter.tenant,
        namespace = filter.namespace.as_ref().map(|ns| ns.as_str()),
        agent = filter.agent,
        pod_uid = filter.pod_uid,
        revoked,
        "keys revoked by filter"
    );
    Ok(json_response(
        StatusCode::OK,
        &json!({ "revoked": revoked }),
    ))
}

fn listing(filter: &Filter) -> Listing {
    let live = filter.live.map(|live| if live { "live" } else { "dead" });
    let said = [
        filter.namespace.as_ref().map(|ns| ns.as_str()),
        filter.tenant.as_deref(),
        filter.agent.as_deref(),
        filter.pod_uid.as_deref(),
        live,
    ];
    Listing::of("keys", &said)
}

fn filter(query: &mut Query) -> Result<Filter, ApiError> {
    let namespace = query.take("namespace").map(|text| text.parse()).transpose();
    let live = match query.take("state").as_deref() {
        None => None,
        Some("live") => Some(true),
        Some("dead") => Some(false),
        Some(_) => return Err(ApiError::invalid("state: must be live or dead")),
    };
    Ok(Filter {
        namespace: namespace.map_err(|error| ApiError::invalid(format!("{error}")))?,
        tenant: query.take("tenant"),
        agent: query.take("agent"),
        pod_uid: query.take("pod_uid"),
        live,
    })
}

/// A minted key with its secret: the only answer that holds one.
pub(super) fn minted_json(minted: &Minted) -> Value {
    let mut object = record_json(&minted.record);
    object.insert("key".to_owned(), minted.key.expose_secret().into());
    Value::Object(object)
}

/// A key as the contract shows it; absent members are those that say nothing.
fn record_json(record: &KeyRecord) -> Map<String, Value> {
    let namespace = match &record.reach {
        Reach::Admin => "",
        Reach::Namespace(namespace) => namespace.as_str(),
    };
    let mut object = Map::new();
    object.insert("admin".to_owned(), (record.reach == Reach::Admin).into());
    object.insert(
        "created_at".to_owned(),
        whole_seconds(record.created_at).into(),
    );
    object.insert("id".to_owned(), record.id.as_str().into());
    object.insert("namespace".to_owned(), namespace.into());
    object.insert("revoked".to_owned(), record.revoked_at.is_some().into());
    for (name, text) in [
        ("agent", &record.agent),
        ("session", &record.session),
        ("note", &record.note),
    ] {
        if let Some(text) = text {
            object.insert(name.to_owned(), text.as_str().into());
        }
    }
    if let Some(end) = record.expires_at {
        object.insert("expires_at".to_owned(), whole_seconds(end).into());
        object.insert("renewable".to_owned(), record.renewable().into());
    }
    if let Some(ttl) = record.ttl {
        object.insert("ttl".to_owned(), format_go(ttl).into());
    }
    if let Some(binding) = &record.pod {
        object.insert("pod_uid".to_owned(), binding.pod.uid.as_str().into());
    }
    object
}

fn whole_seconds(at: Timestamp) -> String {
    Timestamp::from_second(at.as_second())
        .unwrap_or(at)
        .to_string()
}
