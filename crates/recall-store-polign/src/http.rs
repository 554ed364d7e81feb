//! HTTP to polign_db: bounded, never redirected, repeated only where repeating is harmless.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use recall_store::Error;
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::Semaphore;

use crate::OpenError;

/// One call, its answer included. A store that is slower than this is as good as away.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);
/// A call that may return a good part of a collection.
const LOAD_TIMEOUT: Duration = Duration::from_secs(60);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// The largest answer that is read.
const MAX_ANSWER_BYTES: usize = 128 * 1024 * 1024;
/// Calls under way at a time; the rest wait their turn. Each takes a connection.
const MAX_CALLS: usize = 64;
/// Connections that are kept for later calls.
const MAX_IDLE: usize = 32;
/// How often a harmless call is tried, and what is waited before each repetition.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_millis(250)];
/// The longest wait that a store may ask for.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(60);

/// A client of one store.
#[derive(Debug)]
pub(crate) struct Http {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    base: String,
    bearer: Option<HeaderValue>,
    calls: Semaphore,
}

/// What a call may do when it fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// Doing it twice is doing it once.
    Harmless,
    /// As [`Repeat::Harmless`], and the answer may be large.
    Load,
    /// It must not be sent twice.
    Never,
}

/// What the store answered: a success, or a refusal that its caller understands.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: Bytes,
}

impl Http {
    pub(crate) fn new(url: &str, key: Option<&SecretString>) -> Result<Self, OpenError> {
        let bad = || OpenError::Url(url.to_owned());
        let uri: Uri = url.parse().map_err(|_| bad())?;
        let plain = uri.path() == "/" || uri.path().is_empty();
        let authority = uri
            .authority()
            .filter(|authority| !authority.as_str().contains('@'));
        let base = match (uri.scheme_str(), authority) {
            (Some(scheme @ ("http" | "https")), Some(authority))
                if plain && uri.query().is_none() =>
            {
                format!("{scheme}://{authority}")
            }
            _ => return Err(bad()),
        };
        let bearer =
            key.map(|key| HeaderValue::try_from(format!("Bearer {}", key.expose_secret())));
        let mut bearer = bearer.transpose().map_err(|_| OpenError::Key)?;
        if let Some(bearer) = &mut bearer {
            bearer.set_sensitive(true);
        }
        Ok(Self {
            client: client()?,
            base,
            bearer,
            calls: Semaphore::new(MAX_CALLS),
        })
    }

    /// Sends one call. Success, 404 and 409 are answers; everything else is an error.
    pub(crate) async fn call(
        &self,
        method: Method,
        path: &str,
        body: impl Into<Bytes>,
        repeat: Repeat,
    ) -> Result<Answer, Error> {
        let _turn = self
            .calls
            .acquire()
            .await
            .map_err(|_| Error::unavailable("closed"))?;
        let body = body.into();
        let mut pauses = PAUSES.iter();
        loop {
            let failure = match self.try_call(&method, path, body.clone(), repeat).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let again = repeat != Repeat::Never && failure.passing;
            match pauses.next().filter(|_| again) {
                Some(pause) => tokio::time::sleep(*pause).await,
                None => return Err(failure.error),
            }
        }
    }

    async fn try_call(
        &self,
        method: &Method,
        path: &str,
        body: Bytes,
        repeat: Repeat,
    ) -> Result<Answer, Failure> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base))
            .header(header::CONTENT_TYPE, "application/json");
        if let Some(bearer) = &self.bearer {
            request = request.header(header::AUTHORIZATION, bearer);
        }
        let request = request
            .body(Full::new(body))
            .map_err(|error| Failure::lasting(&format!("no request: {error}")))?;
        let patience = match repeat {
            Repeat::Load => LOAD_TIMEOUT,
            Repeat::Harmless | Repeat::Never => CALL_TIMEOUT,
        };
        match tokio::time::timeout(patience, self.exchange(request)).await {
            Ok(answered) => answered,
            // It was slow once; asking again would double the wait and the load.
            Err(_) => Err(Failure::lasting(&format!("no answer within {patience:?}"))),
        }
    }

    async fn exchange(&self, request: Request<Full<Bytes>>) -> Result<Answer, Failure> {
        let answer = self.client.request(request).await;
        let answer = answer
            .map_err(|error| Failure::passing(&format!("cannot be reached: {}", chain(&error))))?;
        let (parts, body) = answer.into_parts();
        let body = Limited::new(body, MAX_ANSWER_BYTES).collect().await;
        let body =
            body.map_err(|error| Failure::passing(&format!("the answer broke off: {error}")))?;
        judge(parts.status, &parts.headers, body.to_bytes())
    }
}

fn client() -> Result<Client<HttpsConnector<HttpConnector>, Full<Bytes>>, OpenError> {
    let mut tcp = HttpConnector::new();
    tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
    tcp.set_nodelay(true);
    tcp.enforce_http(false);
    let https = HttpsConnectorBuilder::new()
        .with_native_roots()
        .map_err(|error| OpenError::Certificates(error.to_string()))?
        .https_or_http()
        .enable_http1()
        .wrap_connector(tcp);
    Ok(Client::builder(TokioExecutor::new())
        .pool_max_idle_per_host(MAX_IDLE)
        .build(https))
}

/// A call that came to nothing.
#[derive(Debug)]
struct Failure {
    error: Error,
    /// Another try may fare better.
    passing: bool,
}

impl Failure {
    fn passing(reason: &str) -> Self {
        Self {
            error: Error::unavailable(format!("polign_db {reason}")),
            passing: true,
        }
    }

    fn lasting(reason: &str) -> Self {
        Self {
            passing: false,
            ..Self::passing(reason)
        }
    }
}

/// Sorts answers. A refused key is the operator's trouble and never that of a client of ours: to it
/// the store is away.
fn judge(status: StatusCode, headers: &HeaderMap, body: Bytes) -> Result<Answer, Failure> {
    let understood = [StatusCode::NOT_FOUND, StatusCode::CONFLICT];
    if status.is_success() || understood.contains(&status) {
        return Ok(Answer { status, body });
    }
    let words = || {
        String::from_utf8_lossy(body.get(..200).unwrap_or(&body))
            .trim()
            .to_owned()
    };
    Err(match status.as_u16() {
        301 | 302 | 303 | 307 | 308 => Failure::lasting(
            "redirects; its key is never sent on: set --backend-url to the final address",
        ),
        401 | 403 => Failure::lasting(&format!(
            "refuses the key (HTTP {}): check --backend-key-file",
            status.as_u16()
        )),
        429 | 502..=504 => {
            let mut failure =
                Failure::passing(&format!("is busy (HTTP {}): {}", status.as_u16(), words()));
            if let Error::Unavailable { retry_after, .. } = &mut failure.error {
                *retry_after = wait(headers);
            }
            failure
        }
        _ => Failure::lasting(&format!("answered HTTP {}: {}", status.as_u16(), words())),
    })
}

fn wait(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers
        .get(header::RETRY_AFTER)?
        .to_str()
        .ok()?
        .parse()
        .ok()?;
    Some(Duration::from_secs(seconds).min(MAX_RETRY_AFTER))
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, expected: Option<&str>) {
        let base = Http::new(url, None).ok().map(|http| http.base);
        assert_eq!(base.as_deref(), expected, "{url}");
    }

    #[test]
    fn addresses_are_a_scheme_and_a_host() {
        check("http://127.0.0.1:23000", Some("http://127.0.0.1:23000"));
        check("https://db.example.com/", Some("https://db.example.com"));
        for bad in [
            "",
            "db:23000",
            "ftp://db",
            "http://",
            "http://u:p@db",
            "http://db/path",
            "http://db?q=1",
        ] {
            check(bad, None);
        }
    }

    #[test]
    fn a_key_never_shows() {
        let key = SecretString::from("plgn_secret");
        let http = Http::new("http://db", Some(&key)).expect("an address");
        assert!(!format!("{http:?}").contains("plgn_secret"));
    }

    #[track_caller]
    fn judged(status: u16, expected: Option<bool>) {
        let status = StatusCode::from_u16(status).expect("a status");
        let passing = judge(status, &HeaderMap::new(), Bytes::from_static(b"{}"));
        assert_eq!(
            passing.err().map(|failure| failure.passing),
            expected,
            "{status}"
        );
    }

    #[test]
    fn answers_are_sorted() {
        for fine in [200, 204, 404, 409] {
            judged(fine, None);
        }
        for passing in [429, 502, 503, 504] {
            judged(passing, Some(true));
        }
        for lasting in [301, 307, 400, 401, 403, 413, 421, 500, 501] {
            judged(lasting, Some(false));
        }
    }

    #[test]
    fn a_refused_key_looks_like_a_store_that_is_away() {
        let failure =
            judge(StatusCode::UNAUTHORIZED, &HeaderMap::new(), Bytes::new()).expect_err("refused");
        assert_eq!(failure.error.code(), "store_unavailable");
    }
}
