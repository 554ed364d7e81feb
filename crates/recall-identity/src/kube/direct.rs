//! Requests to one API server over connections that are kept.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Request, Response, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::Config;
use kube::client::ConfigExt;

/// A connection that nothing was asked on for so long is given up.
const MAX_IDLE: Duration = Duration::from_secs(90);

/// An API server and the connections to it.
pub(super) struct Direct {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    scheme: Scheme,
    authority: Authority,
    /// Before every path; empty or without a slash at its end.
    prefix: String,
}

impl Direct {
    /// The API server of `config`, with its certificates; `None` if its URL has no host.
    ///
    /// # Errors
    ///
    /// If the certificates cannot be used.
    pub(super) fn new(config: &Config) -> Result<Option<Self>, kube::Error> {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(config.connect_timeout);
        let connector = config.rustls_https_connector_with_connector(tcp)?;
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(MAX_IDLE)
            .build(connector);
        let url = &config.cluster_url;
        let (Some(scheme), Some(authority)) = (url.scheme(), url.authority()) else {
            return Ok(None);
        };
        Ok(Some(Self {
            client,
            scheme: scheme.clone(),
            authority: authority.clone(),
            prefix: url.path().trim_end_matches('/').to_owned(),
        }))
    }

    /// Sends a request whose URI is a path.
    pub(super) async fn send(
        &self,
        mut request: Request<Bytes>,
    ) -> Result<Response<Incoming>, Error> {
        let path = request.uri().path_and_query().cloned();
        *request.uri_mut() = self.whole(path);
        self.client.request(request.map(Full::new)).await
    }

    fn whole(&self, path: Option<PathAndQuery>) -> Uri {
        let path = match (path, self.prefix.as_str()) {
            (Some(path), "") => Some(path),
            (path, prefix) => {
                let path = path.as_ref().map_or("/", PathAndQuery::as_str);
                format!("{prefix}{path}").parse().ok()
            }
        };
        let mut parts = http::uri::Parts::default();
        parts.scheme = Some(self.scheme.clone());
        parts.authority = Some(self.authority.clone());
        parts.path_and_query = Some(path.unwrap_or_else(|| PathAndQuery::from_static("/")));
        // A scheme, an authority and a path are a URI.
        Uri::from_parts(parts).unwrap_or_default()
    }
}

impl fmt::Debug for Direct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Direct")
            .field("authority", &self.authority)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, path: &str, expected: &str) {
        let mut config = Config::new(url.parse().expect("a URL"));
        config.root_cert = Some(Vec::new());
        let direct = Direct::new(&config).expect("usable").expect("a host");
        let path = path.parse().expect("a path");
        assert_eq!(direct.whole(Some(path)).to_string(), expected);
    }

    #[tokio::test]
    async fn a_path_is_asked_below_the_url_of_the_api_server() {
        check("http://a:1", "/version", "http://a:1/version");
        check(
            "http://a:1/",
            "/api/v1?watch=1",
            "http://a:1/api/v1?watch=1",
        );
        check("http://a/k8s/c-1", "/version", "http://a/k8s/c-1/version");
        check(
            "http://[::1]:6443/k8s/",
            "/api",
            "http://[::1]:6443/k8s/api",
        );
    }
}
