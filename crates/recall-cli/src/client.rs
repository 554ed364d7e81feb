//! HTTP to the server: bounded, never redirected, JSON in and out.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper_rustls::{ConfigBuilderExt, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client as HyperClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use secrecy::{ExposeSecret, SecretString};

use crate::args::TlsArgs;
use crate::server::Server;

/// One request, its answer included.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(120);
/// The largest answer that is read.
const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;

/// An HTTP client for one server. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    http: HyperClient<HttpsConnector<HttpConnector>, Full<Bytes>>,
    server: Server,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) struct Trouble {
    reason: anyhow::Error,
    /// Whether the server may have got the request.
    pub(crate) sent: bool,
    /// Whether it may be gone after a while, as while a server starts: a certificate that is not
    /// trusted stays so.
    pub(crate) passes: bool,
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#}", self.reason)
    }
}

impl std::error::Error for Trouble {}

/// What the server answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Client {
    pub(crate) fn new(server: Server, tls: TlsArgs<'_>) -> anyhow::Result<Self> {
        let builder = HttpsConnectorBuilder::new();
        let https = builder.with_tls_config(config(tls)?);
        let connector = https.https_or_http().enable_http1().build();
        let http = HyperClient::builder(TokioExecutor::new()).build(connector);
        Ok(Self { http, server })
    }

    /// Sends one request. A redirect is an answer like any other: a credential goes to no second
    /// address.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        key: Option<&SecretString>,
        body: Bytes,
    ) -> Result<Answer, Trouble> {
        self.send_with(method, path, key, &HeaderMap::new(), body)
            .await
    }

    /// As [`send`](Self::send), with further headers.
    pub(crate) async fn send_with(
        &self,
        method: Method,
        path: &str,
        key: Option<&SecretString>,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Result<Answer, Trouble> {
        let request = self.request(method, path, key, headers, body);
        let request = request.map_err(|reason| Trouble {
            reason,
            sent: false,
            passes: false,
        })?;
        match tokio::time::timeout(TIMEOUT, self.exchange(request)).await {
            Ok(answer) => answer,
            Err(_) => Err(Trouble {
                reason: anyhow::anyhow!("the server did not answer within 120 s"),
                sent: true,
                passes: false,
            }),
        }
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        key: Option<&SecretString>,
        headers: &HeaderMap,
        body: Bytes,
    ) -> anyhow::Result<Request<Full<Bytes>>> {
        let mut request = Request::builder()
            .method(method)
            .uri(self.server.at(path)?)
            .header(header::CONTENT_TYPE, "application/json");
        if !headers.contains_key(header::ACCEPT) {
            request = request.header(header::ACCEPT, "application/json");
        }
        for (name, value) in headers {
            request = request.header(name, value);
        }
        if let Some(key) = key {
            let mut bearer = http::HeaderValue::try_from(format!("Bearer {}", key.expose_secret()))
                .context("the key holds characters that cannot be sent")?;
            bearer.set_sensitive(true);
            request = request.header(header::AUTHORIZATION, bearer);
        }
        Ok(request.body(Full::new(body))?)
    }

    async fn exchange(&self, request: Request<Full<Bytes>>) -> Result<Answer, Trouble> {
        let answer = self.http.request(request).await.map_err(|error| Trouble {
            sent: !error.is_connect(),
            passes: !is_of_tls(&error),
            reason: anyhow::Error::new(error).context("the server cannot be reached"),
        })?;
        let (parts, body) = answer.into_parts();
        let body = Limited::new(body, MAX_ANSWER_BYTES).collect().await;
        let body = body.map_err(|error| Trouble {
            sent: true,
            passes: !error.is::<LengthLimitError>(),
            reason: anyhow::anyhow!("the answer could not be read: {error}"),
        })?;
        Ok(Answer {
            status: parts.status,
            headers: parts.headers,
            body: body.to_bytes(),
        })
    }
}

/// Whether the two ends do not agree on how, or with whom, they speak.
fn is_of_tls(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        // An error of input and output hides what it was made from.
        let inner = error
            .downcast_ref::<std::io::Error>()
            .and_then(std::io::Error::get_ref);
        if error.is::<rustls::Error>() || inner.is_some_and(|inner| inner.is::<rustls::Error>()) {
            return true;
        }
        next = error.source();
    }
    false
}

impl Answer {
    /// When the server wants to be asked again.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        let seconds = self
            .headers
            .get(header::RETRY_AFTER)?
            .to_str()
            .ok()?
            .parse()
            .ok()?;
        Some(Duration::from_secs(seconds))
    }

    /// The error's code and message, as far as the answer has them.
    pub(crate) fn error(&self) -> (String, String) {
        if self.status.is_redirection() {
            let text = "the server redirects; a key is never sent on to another address. Set --server to \
                        the final one";
            return ("redirected".to_owned(), text.to_owned());
        }
        let envelope: serde_json::Value = serde_json::from_slice(&self.body).unwrap_or_default();
        let member = |name: &str| envelope["error"][name].as_str().map(str::to_owned);
        let plain = || {
            String::from_utf8_lossy(&self.body)
                .chars()
                .take(200)
                .collect::<String>()
        };
        let code = member("code").unwrap_or_else(|| "transport_error".to_owned());
        (code, member("message").unwrap_or_else(plain))
    }

    /// The body as JSON, or the error in words.
    pub(crate) fn json(&self) -> anyhow::Result<serde_json::Value> {
        if !self.status.is_success() {
            let (code, message) = self.error();
            anyhow::bail!("{message} ({code}, HTTP {})", self.status.as_u16());
        }
        if self.body.is_empty() {
            return Ok(serde_json::Value::Null);
        }
        serde_json::from_slice(&self.body).context("the server answered something that is not JSON")
    }
}

fn config(tls: TlsArgs<'_>) -> anyhow::Result<rustls::ClientConfig> {
    let builder = match tls.ca_file {
        Some(path) => rustls::ClientConfig::builder().with_root_certificates(roots(path)?),
        None => rustls::ClientConfig::builder()
            .with_native_roots()
            .context("no trusted certificates on this machine: name some with --ca-file")?,
    };
    let Some((cert, key)) = tls.identity else {
        return Ok(builder.with_no_client_auth());
    };
    let chain = certificates("--client-cert-file", cert)?;
    let key = PrivateKeyDer::from_pem_file(key)
        .with_context(|| format!("--client-key-file {} holds no key in PEM", key.display()))?;
    builder
        .with_client_auth_cert(chain, key)
        .context("--client-cert-file does not go with --client-key-file")
}

fn roots(path: &Path) -> anyhow::Result<rustls::RootCertStore> {
    let mut roots = rustls::RootCertStore::empty();
    for certificate in certificates("--ca-file", path)? {
        roots.add(certificate)?;
    }
    Ok(roots)
}

fn certificates(flag: &str, path: &Path) -> anyhow::Result<Vec<CertificateDer<'static>>> {
    let found = CertificateDer::pem_file_iter(path)
        .with_context(|| format!("{flag} {} cannot be read", path.display()))?;
    let found: Result<Vec<_>, _> = found.collect();
    let found = found.with_context(|| format!("{flag} {} is not PEM", path.display()))?;
    anyhow::ensure!(
        !found.is_empty(),
        "{flag} {} holds no certificate",
        path.display()
    );
    Ok(found)
}
