//! A layer for any tower service over HTTP: only requests that bear a pod's token pass, and the
//! [`Caller`](crate::Caller) is in their extensions.
//!
//! Every request is looked up, so that a pod which is deleted is out with its next one: a review of
//! its token is taken again for ten seconds, its pod is read each time. A service with many small
//! requests is better off to hand out short-lived keys of its own, at one route behind this layer.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use tower_layer::Layer;
use tower_service::Service;

use crate::authenticate::Authenticate;
use crate::error::Error;

/// Puts [`Auth`] before a service.
#[derive(Clone)]
pub struct AuthLayer {
    authenticator: Arc<dyn Authenticate>,
}

/// Passes on the requests of verified callers and answers all others itself.
///
/// The token goes no further: the header that held it is taken off. What the service finds in the
/// extensions is a [`Caller`](crate::Caller). Refusals are 401, 403, 409 or 503 with a small JSON
/// object, `{"error":{"code":…,"message":…}}`; those that may pass have a `Retry-After`.
#[derive(Clone)]
pub struct Auth<S> {
    inner: S,
    authenticator: Arc<dyn Authenticate>,
}

impl AuthLayer {
    /// A layer that asks `authenticator`, a [`Resolver`](crate::Resolver) as a rule.
    #[must_use]
    pub fn new(authenticator: Arc<dyn Authenticate>) -> Self {
        Self { authenticator }
    }
}

impl<S> Layer<S> for AuthLayer {
    type Service = Auth<S>;

    fn layer(&self, inner: S) -> Auth<S> {
        let authenticator = Arc::clone(&self.authenticator);
        Auth {
            inner,
            authenticator,
        }
    }
}

impl<S, B, R> Service<Request<B>> for Auth<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send,
    B: Send + 'static,
    R: From<String>,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<R>, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        // The service that was found ready is the one to be called.
        let next = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, next);
        let authenticator = Arc::clone(&self.authenticator);
        Box::pin(async move {
            let Some(token) = take_token(request.headers_mut()) else {
                return Ok(no_token());
            };
            match authenticator.authenticate(token.expose_secret()).await {
                Ok(caller) => {
                    request.extensions_mut().insert(caller);
                    inner.call(request).await
                }
                Err(error) => Ok(refusal(&error)),
            }
        })
    }
}

/// The bearer token of a request, if it has exactly one.
fn take_token(headers: &mut HeaderMap) -> Option<SecretString> {
    let mut found = headers.get_all(AUTHORIZATION).iter();
    let token = match (found.next(), found.next()) {
        (Some(value), None) => bearer(value),
        _ => None,
    };
    headers.remove(AUTHORIZATION);
    token
}

fn bearer(value: &HeaderValue) -> Option<SecretString> {
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    let token = token.trim_matches(' ');
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then(|| token.into())
}

fn no_token<R: From<String>>() -> Response<R> {
    let message = "no token: send it as Authorization: Bearer <token>";
    answer(StatusCode::UNAUTHORIZED, "unauthenticated", message)
}

fn refusal<R: From<String>>(error: &Error) -> Response<R> {
    let mut response = answer(status(error), error.code(), &error.to_string());
    if let Some(after) = error.retry_after() {
        // Whole seconds; 0 would be taken for "at once".
        let seconds = after.as_millis().div_ceil(1000).max(1);
        let seconds = u32::try_from(seconds).unwrap_or(u32::MAX);
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}

/// 401: only another token helps; 403: none does; 409: not yet; 503: it cannot be told.
fn status(error: &Error) -> StatusCode {
    match error {
        Error::Malformed(_) | Error::TooLarge { .. } | Error::Rejected | Error::PodGone => {
            StatusCode::UNAUTHORIZED
        }
        Error::NotPodBound
        | Error::Forbidden(_)
        | Error::AgentLabelMissing
        | Error::TenantLabelMissing
        | Error::BadLabel(_) => StatusCode::FORBIDDEN,
        Error::SandboxUnclaimed => StatusCode::CONFLICT,
        Error::Upstream { .. } | Error::Overloaded => StatusCode::SERVICE_UNAVAILABLE,
    }
}

/// Codes and messages are our own and hold nothing that JSON would have to escape but quotes.
fn answer<R: From<String>>(status: StatusCode, code: &str, message: &str) -> Response<R> {
    let message = message.replace('\\', "\\\\").replace('"', "\\\"");
    let body = format!(r#"{{"error":{{"code":"{code}","message":"{message}"}}}}"#);
    let mut response = Response::new(R::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

impl fmt::Debug for AuthLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthLayer").finish_non_exhaustive()
    }
}

impl<S: fmt::Debug> fmt::Debug for Auth<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Auth")
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
