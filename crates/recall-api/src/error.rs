//! The one table from what went wrong to what the client is told.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use serde::Serialize;

use crate::codes;
use crate::limit::Rate;

/// After damage, which only an operator can mend.
const RETRY_AFTER_DAMAGE: Duration = Duration::from_secs(60);
/// When a client should come back after "we cannot tell" and the source of the trouble did not say.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// How much later some of those who were too many should come.
const RETRY_SPREAD_MS: u64 = 1500;

static RATE_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
static RATE: HeaderName = HeaderName::from_static("ratelimit");

/// A refusal as the client sees it. Internal chains are logged where they arise and never put here.
#[derive(Debug, Clone)]
pub struct ApiError {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) allow: Option<&'static str>,
    /// The rate that was not kept to.
    pub(crate) rate: Option<Rate>,
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        debug_assert!(codes::known(code), "{code} is not of the closed set");
        Self {
            status,
            code,
            message: message.into(),
            retry_after: None,
            allow: None,
            rate: None,
        }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_argument", message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    pub(crate) fn too_large(limit: usize) -> Self {
        let message = format!("the request body is over the limit of {limit} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "invalid_argument", message)
    }

    pub(crate) fn too_slow(limit: Duration) -> Self {
        let message = format!(
            "the request body did not arrive within {} s",
            limit.as_secs()
        );
        Self::new(StatusCode::REQUEST_TIMEOUT, "invalid_argument", message)
    }

    pub(crate) fn overloaded(message: &str) -> Self {
        let status = StatusCode::SERVICE_UNAVAILABLE;
        Self::retry(status, "overloaded", message.to_owned(), None)
    }

    /// A body that is not sent as it is.
    pub(crate) fn encoded() -> Self {
        let message = "Content-Encoding: send the body as it is, without an encoding";
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        Self::new(status, "invalid_argument", message)
    }

    pub(crate) fn unauthenticated(message: &'static str) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthenticated", message)
    }

    pub(crate) fn forbidden(message: &'static str) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", message)
    }

    pub(crate) fn namespace_mismatch(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "namespace_mismatch", message)
    }

    pub(crate) fn method_not_allowed(allow: &'static str) -> Self {
        let message = format!("use {allow}");
        let status = StatusCode::METHOD_NOT_ALLOWED;
        Self {
            allow: Some(allow),
            ..Self::new(status, "method_not_allowed", message)
        }
    }

    pub(crate) fn rate_limited(message: String, after: Duration) -> Self {
        let status = StatusCode::TOO_MANY_REQUESTS;
        Self::retry(status, "rate_limited", message, Some(after))
    }

    /// Names the rate that was not kept to.
    pub(crate) fn under(self, rate: Rate) -> Self {
        Self {
            rate: Some(rate),
            ..self
        }
    }

    pub(crate) fn quota_exceeded(message: String) -> Self {
        Self::new(StatusCode::FORBIDDEN, "quota_exceeded", message)
    }

    /// Whether it tells something about the request itself, so that the same one is refused again.
    pub(crate) fn lasts(&self) -> bool {
        self.status == StatusCode::BAD_REQUEST
    }

    pub(crate) fn key_reused() -> Self {
        let message =
            "this Idempotency-Key was used for another request; take a new one".to_owned();
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        Self::new(status, "idempotency_key_reused", message)
    }

    fn retry(
        status: StatusCode,
        code: &'static str,
        message: String,
        after: Option<Duration>,
    ) -> Self {
        let retry_after = Some(after.unwrap_or(RETRY_AFTER));
        Self {
            retry_after,
            ..Self::new(status, code, message)
        }
    }

    /// The envelope with the id of the request it answers, as bytes.
    pub(crate) fn body(&self, request_id: &str) -> Vec<u8> {
        let envelope = Envelope {
            error: Body {
                code: self.code,
                message: &self.message,
                request_id,
                retry_after_ms: self.retry_after.map(|after| after.as_millis() as u64),
            },
        };
        serde_json::to_vec(&envelope).unwrap_or_default()
    }

    /// The answer with the id of the request it answers.
    pub(crate) fn render(&self, request_id: &str) -> Response {
        let body = Bytes::from(self.body(request_id));
        let mut response = (self.status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        );
        if self.status == StatusCode::UNAUTHORIZED {
            let challenge = HeaderValue::from_static("Bearer realm=\"recall\"");
            headers.insert(header::WWW_AUTHENTICATE, challenge);
        }
        if [StatusCode::PAYLOAD_TOO_LARGE, StatusCode::REQUEST_TIMEOUT].contains(&self.status) {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        if self.status == StatusCode::UNSUPPORTED_MEDIA_TYPE {
            let identity = HeaderValue::from_static("identity");
            headers.insert(header::ACCEPT_ENCODING, identity);
        }
        if let Some(allow) = self.allow {
            headers.insert(header::ALLOW, HeaderValue::from_static(allow));
        }
        if let Some(rate) = self.rate {
            let wait = self.retry_after.unwrap_or_default();
            tell_rate(headers, policy(rate), 0, wait);
        }
        if let Some(after) = self.retry_after {
            let seconds = whole_seconds(after);
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// A rate by the draft of RateLimit header fields: `q` requests in `w` seconds.
pub(crate) fn policy(rate: Rate) -> HeaderValue {
    let period = whole_seconds(rate.period());
    let text = format!("\"key\";q={};w={period}", rate.count());
    HeaderValue::try_from(text).unwrap_or_else(|_| HeaderValue::from_static(""))
}

/// Tells a rate and what is left of it: `r` requests at once, and `t` seconds until there are more, or
/// until all are there again.
pub(crate) fn tell_rate(headers: &mut HeaderMap, policy: HeaderValue, left: u32, time: Duration) {
    headers.insert(RATE_POLICY.clone(), policy);
    let state = format!("\"key\";r={left};t={}", whole_seconds(time));
    if let Ok(state) = HeaderValue::try_from(state) {
        headers.insert(RATE.clone(), state);
    }
}

/// Whole seconds on the wire; never 0, which clients take for "at once".
pub(crate) fn whole_seconds(time: Duration) -> u64 {
    time.as_millis().div_ceil(1000).max(1) as u64
}

#[derive(Serialize)]
struct Envelope<'a> {
    error: Body<'a>,
}

#[derive(Serialize)]
struct Body<'a> {
    code: &'static str,
    message: &'a str,
    request_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
}

impl IntoResponse for ApiError {
    /// The outermost layer knows the request's id and renders the error; here it only travels.
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

impl From<recall_store::Error> for ApiError {
    fn from(error: recall_store::Error) -> Self {
        use recall_store::Error as E;
        let message = "the store cannot be asked right now; nothing is lost, try again".to_owned();
        match error {
            E::Unavailable {
                reason,
                retry_after,
            } => {
                tracing::warn!(%reason, "the store is unavailable");
                let status = StatusCode::SERVICE_UNAVAILABLE;
                Self::retry(status, "store_unavailable", message, retry_after)
            }
            E::Damaged(what) => {
                tracing::error!(%what, "the store is damaged");
                let text =
                    "what is stored cannot be read; the operator has to look at the server's log";
                Self::retry(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "store_unavailable",
                    text.to_owned(),
                    Some(RETRY_AFTER_DAMAGE),
                )
            }
            E::Conflict { .. } => {
                let text = "the memory kept changing while this was decided; try again".to_owned();
                Self::retry(StatusCode::SERVICE_UNAVAILABLE, "overloaded", text, None)
            }
            E::TooLarge { .. } => Self::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "invalid_argument",
                error.to_string(),
            ),
            E::Fenced { .. } => Self::new(StatusCode::CONFLICT, "conflict", "lease was lost"),
            E::Unsupported(_) => {
                Self::new(StatusCode::BAD_REQUEST, "tool_error", error.to_string())
            }
        }
    }
}

impl From<recall_memory::Error> for ApiError {
    fn from(error: recall_memory::Error) -> Self {
        use recall_memory::Error as E;
        match error {
            E::Invalid(message) => Self::invalid(message),
            E::Refused(message) => Self::new(StatusCode::BAD_REQUEST, "tool_error", message),
            E::Full(message) => Self::quota_exceeded(message),
            E::Store(error) => error.into(),
        }
    }
}

impl From<recall_agent::Error> for ApiError {
    fn from(error: recall_agent::Error) -> Self {
        use recall_agent::Error as E;
        match error {
            E::Store(error) => error.into(),
            E::Memory(error) => error.into(),
            E::Refused(_) | E::Held { .. } | E::Lost { .. } | E::NotAcquired { .. } => {
                Self::new(StatusCode::BAD_REQUEST, "tool_error", error.to_string())
            }
        }
    }
}

impl From<recall_keys::Error> for ApiError {
    fn from(error: recall_keys::Error) -> Self {
        use recall_keys::Error as E;
        let status = match &error {
            E::Unauthenticated | E::PodGone => StatusCode::UNAUTHORIZED,
            E::Invalid(_) | E::NeverExpires => StatusCode::BAD_REQUEST,
            E::NotFound => StatusCode::NOT_FOUND,
            E::RenewWithToken => StatusCode::CONFLICT,
            E::IdentityChanged | E::OtherPod => StatusCode::FORBIDDEN,
            E::Store(_) => StatusCode::SERVICE_UNAVAILABLE,
        };
        match error {
            E::Store(error) => error.into(),
            error => Self::new(status, error.code(), error.to_string()),
        }
    }
}

impl From<recall_identity::Error> for ApiError {
    fn from(error: recall_identity::Error) -> Self {
        let (code, message) = (error.code(), error.to_string());
        let (status, retry_after) = match (code, &error) {
            ("invalid_argument", recall_identity::Error::TooLarge { .. }) => {
                (StatusCode::PAYLOAD_TOO_LARGE, None)
            }
            ("invalid_argument", _) => (StatusCode::BAD_REQUEST, None),
            ("token_rejected" | "pod_gone", _) => (StatusCode::UNAUTHORIZED, None),
            ("sandbox_unclaimed", _) => (StatusCode::CONFLICT, Some(RETRY_AFTER)),
            ("upstream" | "overloaded", recall_identity::Error::Upstream { retry_after }) => (
                StatusCode::SERVICE_UNAVAILABLE,
                Some(retry_after.unwrap_or(RETRY_AFTER)),
            ),
            ("upstream" | "overloaded", _) => (StatusCode::SERVICE_UNAVAILABLE, Some(spread())),
            // Everything else is a proof that is valid and not enough; a variant added later falls
            // on the safe side.
            _ => (StatusCode::FORBIDDEN, None),
        };
        Self {
            retry_after,
            ..Self::new(status, code, message)
        }
    }
}

/// A time to retry that differs from one refusal to the next, so that those who were too many at
/// once do not come back at once.
fn spread() -> Duration {
    let random = RandomState::new().hash_one(0_u8) % RETRY_SPREAD_MS;
    RETRY_AFTER + Duration::from_millis(random)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(error: impl Into<ApiError>, status: u16, code: &str, retry: bool) {
        let error = error.into();
        assert_eq!((error.status.as_u16(), error.code), (status, code));
        assert_eq!(error.retry_after.is_some(), retry, "{code}");
    }

    #[test]
    fn we_cannot_tell_is_503_with_a_time_to_retry_and_never_401() {
        check(
            recall_store::Error::unavailable("x"),
            503,
            "store_unavailable",
            true,
        );
        check(
            recall_store::Error::Damaged("x".to_owned()),
            503,
            "store_unavailable",
            true,
        );
        check(
            recall_keys::Error::Store(recall_store::Error::unavailable("x")),
            503,
            "store_unavailable",
            true,
        );
        check(
            recall_identity::Error::Upstream { retry_after: None },
            503,
            "upstream",
            true,
        );
        check(recall_identity::Error::Overloaded, 503, "overloaded", true);
    }

    #[test]
    fn refusals_of_a_token() {
        check(
            recall_identity::Error::Rejected,
            401,
            "token_rejected",
            false,
        );
        check(recall_identity::Error::PodGone, 401, "pod_gone", false);
        check(
            recall_identity::Error::NotPodBound,
            403,
            "not_pod_bound",
            false,
        );
        check(
            recall_identity::Error::AgentLabelMissing,
            403,
            "agent_label_missing",
            false,
        );
        check(
            recall_identity::Error::SandboxUnclaimed,
            409,
            "sandbox_unclaimed",
            true,
        );
        check(
            recall_identity::Error::TooLarge { limit: 1 },
            413,
            "invalid_argument",
            false,
        );
        check(
            recall_identity::Error::Malformed("x"),
            400,
            "invalid_argument",
            false,
        );
    }

    #[test]
    fn internal_reasons_stay_inside() {
        let error = ApiError::from(recall_store::Error::unavailable(
            "connect 10.0.0.7:23000 refused",
        ));
        assert!(!error.message.contains("10.0.0.7"), "{}", error.message);
    }
}
