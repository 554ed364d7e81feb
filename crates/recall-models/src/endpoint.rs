//! One endpoint: JSON in and out, bounded, never redirected.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use recall_memory::ModelError;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

/// The largest answer that is read: 64 vectors of 8,192 numbers are a tenth of it.
const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;
/// How much of a refusal is repeated in the log.
const MAX_TOLD: usize = 200;

/// An endpoint could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// The address is none.
    #[error("must be an http or https URL, such as http://127.0.0.1:11434/v1")]
    Url,
    /// The key cannot be sent.
    #[error("the key holds characters that cannot be sent in a header")]
    Key,
    /// This machine trusts nobody.
    #[error("no trusted certificates on this machine: {0}")]
    Certificates(std::io::Error),
}

/// An OpenAI-compatible endpoint. Cheap to clone.
#[derive(Clone)]
pub struct Endpoint {
    http: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    base: String,
    authorization: Option<HeaderValue>,
}

/// Without the key.
impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("base", &self.base)
            .finish_non_exhaustive()
    }
}

impl Endpoint {
    /// An endpoint at a URL that ends where its paths begin, usually with `/v1`.
    ///
    /// # Errors
    ///
    /// [`EndpointError`] for a URL or a key that cannot be used.
    pub fn new(url: &str, key: Option<&SecretString>) -> Result<Self, EndpointError> {
        let base = url.trim_end_matches('/').to_owned();
        let uri: Uri = base.parse().map_err(|_| EndpointError::Url)?;
        let web = matches!(uri.scheme_str(), Some("http" | "https"));
        // A password in a URL would end in logs.
        let named = uri.authority().is_some_and(|it| it.as_str().contains('@'));
        if !web || named || uri.host().is_none_or(str::is_empty) || uri.query().is_some() {
            return Err(EndpointError::Url);
        }
        let https = HttpsConnectorBuilder::new()
            .with_native_roots()
            .map_err(EndpointError::Certificates)?
            .https_or_http()
            .enable_http1()
            .build();
        Ok(Self {
            http: Client::builder(TokioExecutor::new()).build(https),
            base,
            authorization: key.map(bearer).transpose()?,
        })
    }

    /// Sends JSON to a path below the URL.
    pub(crate) async fn post(
        &self,
        path: &str,
        body: &Value,
        patience: Duration,
    ) -> Result<Value, ModelError> {
        let answer = tokio::time::timeout(patience, self.exchange(path, body)).await;
        answer.map_err(|_| ModelError(format!("no answer within {} s", patience.as_secs())))?
    }

    async fn exchange(&self, path: &str, body: &Value) -> Result<Value, ModelError> {
        let mut request = Request::post(format!("{}/{path}", self.base))
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json");
        if let Some(authorization) = &self.authorization {
            request = request.header(header::AUTHORIZATION, authorization);
        }
        let request = request
            .body(Full::new(Bytes::from(body.to_string())))
            .map_err(fault)?;
        let (head, body) = self
            .http
            .request(request)
            .await
            .map_err(fault)?
            .into_parts();
        let body = Limited::new(body, MAX_ANSWER_BYTES).collect().await;
        let body = body
            .map_err(|error| ModelError(error.to_string()))?
            .to_bytes();
        if head.status != StatusCode::OK {
            let told: String = String::from_utf8_lossy(&body)
                .chars()
                .take(MAX_TOLD)
                .collect();
            return Err(ModelError(format!("HTTP {}: {told}", head.status.as_u16())));
        }
        serde_json::from_slice(&body).map_err(fault)
    }
}

fn bearer(key: &SecretString) -> Result<HeaderValue, EndpointError> {
    let text = format!("Bearer {}", key.expose_secret());
    let mut value = HeaderValue::try_from(text).map_err(|_| EndpointError::Key)?;
    value.set_sensitive(true);
    Ok(value)
}

/// The whole chain of reasons: "client error" alone helps nobody.
fn fault(error: impl std::error::Error) -> ModelError {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(reason) = source {
        text = format!("{text}: {reason}");
        source = reason.source();
    }
    ModelError(text)
}
