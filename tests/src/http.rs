//! A plain HTTP client for servers under test.

use anyhow::Context;
use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client as HyperClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};

/// An HTTP client. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Client(HyperClient<HttpConnector, Full<Bytes>>);

impl Default for Client {
    fn default() -> Self {
        Self(HyperClient::builder(TokioExecutor::new()).build_http())
    }
}

/// What a server answered.
#[derive(Debug)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl Answer {
    /// The body as JSON; `null` if it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The code of an error envelope; empty if there is none.
    #[must_use]
    pub fn code(&self) -> String {
        self.json()["error"]["code"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }
}

impl Client {
    /// Sends one request with these headers and body.
    ///
    /// # Errors
    ///
    /// If the server cannot be reached or hangs up.
    pub async fn send(
        &self,
        method: &str,
        url: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> anyhow::Result<Answer> {
        let mut request = Request::builder().method(method).uri(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(body.into()))?;
        let answer = self
            .0
            .request(request)
            .await
            .with_context(|| format!("{method} {url}"))?;
        let (head, body) = answer.into_parts();
        let body = body.collect().await?.to_bytes();
        Ok(Answer {
            status: head.status.as_u16(),
            headers: head.headers,
            body,
        })
    }

    /// POSTs JSON under a key.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send).
    pub async fn post(&self, url: &str, key: &str, body: &Value) -> anyhow::Result<Answer> {
        let bearer = format!("Bearer {key}");
        self.send("POST", url, &[("authorization", &bearer)], body.to_string())
            .await
    }

    /// Exchanges a token.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send).
    pub async fn exchange(&self, server: &str, token: &str) -> anyhow::Result<Answer> {
        let url = format!("{server}/v1/auth/kubernetes");
        self.send("POST", &url, &[], json!({ "token": token }).to_string())
            .await
    }

    /// Mints a key for a namespace.
    ///
    /// # Errors
    ///
    /// If the server refuses.
    pub async fn mint(&self, server: &str, admin: &str, spec: &Value) -> anyhow::Result<String> {
        let answer = self.post(&format!("{server}/v1/keys"), admin, spec).await?;
        anyhow::ensure!(answer.status == 201, "not minted: {}", answer.json());
        answer.json()["key"]
            .as_str()
            .map(str::to_owned)
            .context("a minted key is shown")
    }
}
