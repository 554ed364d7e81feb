//! `POST /v1/auth/kubernetes`, and the renewal of what it minted.

use std::time::Instant;

use axum::extract::{Request, State};
use axum::response::Response;
use http::{Method, StatusCode};
use recall_identity::Caller;
use recall_keys::{Grant, KeyRecord};

use super::answer::json_response;
use super::keys::minted_json;
use crate::body::{self, nothing_left, take_string};
use crate::error::ApiError;
use crate::exchange::{Exchange, Peer, Refused, refused};
use crate::state::{Api, MAX_KEY_BODY_BYTES};

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
    let decision = Decision::begin("exchange", &request);
    if let Err(error) = exchange.admit(decision.source) {
        let refused = Refused {
            caller: None,
            error,
        };
        decision.end(&api, Err(&refused));
        return Err(refused.error);
    }
    let token = token(request).await?;
    let _place = api.bounds.pools.exchange.enter().await?;
    let outcome = exchange.mint(&api.keys, &token).await;
    if let Some(waited) = exchange.waited(&token, &outcome) {
        api.metrics.unclaimed_wait(waited);
    }
    match outcome {
        Ok(granted) => {
            decision.end(&api, Ok((&granted.caller, &granted.minted.record)));
            Ok(json_response(
                StatusCode::CREATED,
                &minted_json(&granted.minted),
            ))
        }
        Err(refused) => {
            decision.end(&api, Err(&refused));
            Err(refused.error)
        }
    }
}

/// Renews a pod's key on the proof of its current token. Without one the client is told to bring it.
pub(super) async fn renew(
    api: &Api,
    grant: &Grant,
    request: Request,
) -> Result<KeyRecord, ApiError> {
    let exchange = api
        .exchange
        .as_ref()
        .ok_or(recall_keys::Error::RenewWithToken)?;
    let decision = Decision::begin("renewal", &request);
    let body = body::read(request, MAX_KEY_BODY_BYTES).await?;
    // The published server looks at no body and answers alike whatever it holds; what is wrong with
    // it is told beside.
    let mut object = body::object(&body).map_err(|why| unrenewed(&why))?;
    let token = take_string(&mut object, "token")?;
    let left = nothing_left(&object, "token");
    let Some(token) = token else {
        left.map_err(|why| unrenewed(&why))?;
        return Err(recall_keys::Error::RenewWithToken.into());
    };
    left?;
    match renewed(api, exchange, grant, &token).await {
        Ok((caller, record)) => {
            decision.end(api, Ok((&caller, &record)));
            Ok(record)
        }
        Err(refused) => {
            decision.end(api, Err(&refused));
            Err(refused.error)
        }
    }
}

/// A key that was not renewed, because of what its request holds instead of a token.
fn unrenewed(why: &ApiError) -> ApiError {
    let error = ApiError::from(recall_keys::Error::RenewWithToken);
    let message = format!("{}; {}", error.message, why.message);
    ApiError { message, ..error }
}

async fn renewed(
    api: &Api,
    exchange: &Exchange,
    grant: &Grant,
    token: &str,
) -> Result<(Caller, KeyRecord), Refused> {
    let caller = exchange.caller(token).await?;
    match api.keys.renew_for_pod(grant, &caller).await {
        Ok(record) => Ok((caller, record)),
        Err(error) => Err(refused(caller, error.into())),
    }
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

/// A decision to be counted and put on record.
struct Decision {
    what: &'static str,
    source: Option<Peer>,
    began: Instant,
}

impl Decision {
    fn begin(what: &'static str, request: &Request) -> Self {
        Self {
            what,
            source: request.extensions().get().copied(),
            began: Instant::now(),
        }
    }

    /// One line a decision. Never the token, never the key.
    fn end(&self, api: &Api, outcome: Result<(&Caller, &KeyRecord), &Refused>) {
        let (code, caller, key) = match outcome {
            Ok((caller, record)) => ("ok", Some(caller), Some(record.id.as_str())),
            Err(refused) => (refused.error.code, refused.caller.as_ref(), None),
        };
        api.metrics.exchange(code);
        tracing::info!(
            target: "recall::audit",
            decision = if code == "ok" { "granted" } else { "refused" },
            code,
            what = self.what,
            source = self.source.map(tracing::field::display),
            tenant = caller.map(|caller| caller.tenant.as_str()),
            agent = caller.map(|caller| caller.agent.as_str()),
            namespace = caller.map(|caller| caller.pod.namespace.as_str()),
            pod = caller.map(|caller| caller.pod.name.as_str()),
            pod_uid = caller.map(|caller| caller.pod.uid.as_str()),
            service_account = caller.map(|caller| caller.service_account.as_str()),
            node = caller.and_then(|caller| caller.node.as_deref()),
            token_id = caller.and_then(|caller| caller.token_id.as_deref()),
            key_id = key,
            latency_ms = self.began.elapsed().as_millis() as u64,
            "token exchange decided"
        );
    }
}
