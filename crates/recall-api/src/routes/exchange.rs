//! `POST /v1/auth/kubernetes`, and the renewal of what it minted.

use std::time::Instant;

use axum::extract::{Request, State};
use axum::response::Response;
use http::{Method, StatusCode};
use recall_identity::Caller;
use recall_keys::{Grant, KeyRecord, Minted};

use super::keys::{json_response, minted_json};
use crate::body::{self, nothing_left, take_string};
use crate::error::ApiError;
use crate::state::{Api, Exchange, MAX_KEY_BODY_BYTES};

const OFF: &str =
    "the token exchange is off on this server; start it with --kubernetes, or use a key";

pub(super) async fn handle(State(api): State<Api>, request: Request) -> Result<Response, ApiError> {
    if request.method() != Method::POST {
        return Err(ApiError::method_not_allowed("POST"));
    }
    let exchange = api
        .exchange
        .as_ref()
        .ok_or_else(|| ApiError::not_found(OFF))?;
    let began = Instant::now();
    let token = token(request).await?;
    let outcome = mint(&api, exchange, &token).await;
    audit(
        &api,
        "exchange",
        began,
        outcome
            .as_ref()
            .map(|(caller, minted)| (caller, &minted.record)),
    );
    let (_, minted) = outcome.map_err(|(_, error)| error)?;
    Ok(json_response(StatusCode::CREATED, &minted_json(&minted)))
}

/// Renews a pod's key on the proof of its current token. Without one the client is told to bring it.
pub(super) async fn renew(
    api: &Api,
    grant: &Grant,
    request: Request,
) -> Result<KeyRecord, ApiError> {
    let began = Instant::now();
    let exchange = api
        .exchange
        .as_ref()
        .ok_or(recall_keys::Error::RenewWithToken)?;
    let body = body::read(request, MAX_KEY_BODY_BYTES).await?;
    let mut object = body::object(&body).map_err(|_| recall_keys::Error::RenewWithToken)?;
    let Some(token) = take_string(&mut object, "token")? else {
        return Err(recall_keys::Error::RenewWithToken.into());
    };
    nothing_left(&object, "token")?;
    let outcome = async {
        let caller = authenticate(exchange, &token).await?;
        match api.keys.renew_for_pod(grant, &caller).await {
            Ok(record) => Ok((caller, record)),
            Err(error) => Err((Some(caller), error.into())),
        }
    };
    let outcome = outcome.await;
    audit(
        api,
        "renewal",
        began,
        outcome.as_ref().map(|(caller, record)| (caller, record)),
    );
    outcome
        .map(|(_, record)| record)
        .map_err(|(_, error)| error)
}

async fn token(request: Request) -> Result<String, ApiError> {
    let body = body::read(request, MAX_KEY_BODY_BYTES).await?;
    let mut object = body::object(&body)?;
    let token = take_string(&mut object, "token")?.unwrap_or_default();
    nothing_left(&object, "token")?;
    match token.trim().is_empty() {
        true => Err(ApiError::invalid(
            "token: empty; send {\"token\":\"…\"} in the body",
        )),
        false => Ok(token),
    }
}

/// A refusal, with what is known of who was refused.
type Refused = (Option<Caller>, ApiError);

async fn authenticate(exchange: &Exchange, token: &str) -> Result<Caller, Refused> {
    exchange
        .authenticator
        .authenticate(token)
        .await
        .map_err(|error| (None, error.into()))
}

async fn mint(api: &Api, exchange: &Exchange, token: &str) -> Result<(Caller, Minted), Refused> {
    let caller = authenticate(exchange, token).await?;
    match api.keys.mint_for_pod(&caller, exchange.key_ttl).await {
        Ok(minted) => Ok((caller, minted)),
        // The name was built from labels that the cluster vouches for: valid, but not allowed.
        Err(recall_keys::Error::Invalid(message)) => {
            let error = ApiError::new(StatusCode::FORBIDDEN, "bad_label", message);
            Err((Some(caller), error))
        }
        Err(error) => Err((Some(caller), error.into())),
    }
}

/// One line a decision. Never the token, never the key.
fn audit(
    api: &Api,
    what: &'static str,
    began: Instant,
    outcome: Result<(&Caller, &KeyRecord), &Refused>,
) {
    let (code, caller, key) = match outcome {
        Ok((caller, record)) => ("ok", Some(caller), Some(record.id.as_str())),
        Err((caller, error)) => (error.code, caller.as_ref(), None),
    };
    api.metrics.exchange(code);
    tracing::info!(
        target: "recall::audit",
        decision = if code == "ok" { "granted" } else { "refused" },
        code,
        what,
        tenant = caller.map(|caller| caller.tenant.as_str()),
        agent = caller.map(|caller| caller.agent.as_str()),
        namespace = caller.map(|caller| caller.pod.namespace.as_str()),
        pod = caller.map(|caller| caller.pod.name.as_str()),
        pod_uid = caller.map(|caller| caller.pod.uid.as_str()),
        service_account = caller.map(|caller| caller.service_account.as_str()),
        node = caller.and_then(|caller| caller.node.as_deref()),
        token_id = caller.and_then(|caller| caller.token_id.as_deref()),
        key_id = key,
        latency_ms = began.elapsed().as_millis() as u64,
        "token exchange decided"
    );
}
