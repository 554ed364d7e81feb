//! How the API server is reached.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};

use super::client::{Client, Way};
use super::direct::Direct;
use super::own_token::OwnToken;

const ACCOUNT_FOLDER: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
const HOST: &str = "KUBERNETES_SERVICE_HOST";
const PORT: &str = "KUBERNETES_SERVICE_PORT";

/// Where the API server is and how to speak to it; what is left out is as in a pod.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Connection {
    /// The URL of the API server, `https://` or `http://`.
    pub api: Option<String>,
    /// The certificates it may show, in one PEM file. The file is read again as it rotates.
    pub ca_file: Option<PathBuf>,
    /// The file with our own token. It is read again for every request.
    pub token_file: Option<PathBuf>,
    /// A kubeconfig file that says all of it, for a server outside a cluster.
    pub kubeconfig: Option<PathBuf>,
}

/// The API server cannot be reached as configured. Whether it answers is not known yet.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// No URL is given and this is no pod.
    #[error("no API server: give its URL, or run in a cluster, where {HOST} and {PORT} are set")]
    NotInCluster,
    /// The URL is none.
    #[error("{0:?} is not an http or https URL")]
    Url(String),
    /// A kubeconfig file is given beside what it would say.
    #[error("a kubeconfig file names API server, certificates and token: give it alone")]
    Ambiguous,
    /// The kubeconfig file cannot be used.
    #[error("the kubeconfig file cannot be used")]
    Kubeconfig(#[source] Box<KubeconfigError>),
    /// The kubeconfig file asks not to check who answers.
    #[error("the kubeconfig file has `insecure-skip-tls-verify`, which is not supported")]
    Insecure,
    /// Certificates, keys or addresses cannot be used.
    #[error("the connection to the API server cannot be set up")]
    Setup(#[source] Box<kube::Error>),
}

/// A client for the API server; it connects when it is first asked something.
///
/// # Errors
///
/// [`ConnectError`] if `connection` cannot be meant, or names files that are missing or unusable.
/// A token file that is missing is no error here: it may appear, and is looked for at each request.
pub async fn connect(connection: &Connection) -> Result<Client, ConnectError> {
    let setup = |error| ConnectError::Setup(Box::new(error));
    let Some(file) = &connection.kubeconfig else {
        let (config, url, token) = from_parts(connection)?;
        let direct = Direct::new(&config).map_err(setup)?;
        let way = Way::Direct(Arc::new(direct.ok_or(ConnectError::Url(url))?));
        return Ok(Client::new(way, token));
    };
    let mut config = from_kubeconfig(connection, file).await?;
    // One retry is made by the resolver, within its own time.
    config.default_retry = false;
    let client = kube::Client::try_from(config).map_err(setup)?;
    Ok(Client::new(Way::Kubeconfig(client), OwnToken::none()))
}

async fn from_kubeconfig(connection: &Connection, file: &Path) -> Result<Config, ConnectError> {
    let Connection {
        api,
        ca_file,
        token_file,
        kubeconfig: _,
    } = connection;
    if api.is_some() || ca_file.is_some() || token_file.is_some() {
        return Err(ConnectError::Ambiguous);
    }
    let unusable = |error| ConnectError::Kubeconfig(Box::new(error));
    let kubeconfig = Kubeconfig::read_from(file).map_err(unusable)?;
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .map_err(unusable)?;
    if config.accept_invalid_certs {
        return Err(ConnectError::Insecure);
    }
    Ok(config)
}

fn from_parts(connection: &Connection) -> Result<(Config, String, OwnToken), ConnectError> {
    let url = match &connection.api {
        Some(url) => url.clone(),
        None => in_cluster_url(&variable)?,
    };
    let invalid = || ConnectError::Url(url.clone());
    let uri: http::Uri = url.parse().map_err(|_| invalid())?;
    let encrypted = match uri.scheme_str() {
        Some("https") => true,
        Some("http") => false,
        _ => return Err(invalid()),
    };
    let mut config = Config::new(uri);
    // Without this an empty list, the certificates of the operating system would be trusted.
    config.root_cert = Some(Vec::new());
    let in_pod = |name: &str| Path::new(ACCOUNT_FOLDER).join(name);
    if encrypted {
        let file = connection.ca_file.clone();
        config.root_cert_file = Some(file.unwrap_or_else(|| in_pod("ca.crt")));
    }
    let token = match &connection.token_file {
        Some(file) => OwnToken::in_file(file.clone()),
        None if encrypted => OwnToken::in_file(in_pod("token")),
        // An unencrypted server is one for tests: it gets no token unless one is named.
        None => OwnToken::none(),
    };
    Ok((config, url, token))
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn in_cluster_url(variable: &dyn Fn(&str) -> Option<String>) -> Result<String, ConnectError> {
    let (host, port) = variable(HOST)
        .zip(variable(PORT))
        .ok_or(ConnectError::NotInCluster)?;
    // An IPv6 address comes without brackets.
    Ok(if host.contains(':') && !host.starts_with('[') {
        format!("https://[{host}]:{port}")
    } else {
        format!("https://{host}:{port}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(host: Option<&str>, port: Option<&str>, expected: Option<&str>) {
        let variable = |name: &str| if name == HOST { host } else { port }.map(str::to_owned);
        assert_eq!(in_cluster_url(&variable).ok().as_deref(), expected);
    }

    #[test]
    fn the_address_comes_from_the_pod() {
        check(Some("10.0.0.1"), Some("443"), Some("https://10.0.0.1:443"));
        check(Some("fd00::1"), Some("443"), Some("https://[fd00::1]:443"));
        check(Some("10.0.0.1"), None, None);
        check(None, None, None);
    }

    #[tokio::test]
    async fn what_cannot_be_meant_is_refused_at_once() {
        let refused = |connection: Connection| async move { connect(&connection).await.err() };
        let url = |url: &str| Connection {
            api: Some(url.to_owned()),
            ..Connection::default()
        };
        assert!(matches!(
            refused(url("ftp://x")).await,
            Some(ConnectError::Url(_))
        ));
        assert!(matches!(
            refused(url("localhost:80")).await,
            Some(ConnectError::Url(_))
        ));
        let no_ca = Connection {
            ca_file: Some("/nonexistent/ca.crt".into()),
            ..url("https://127.0.0.1:1")
        };
        assert!(matches!(refused(no_ca).await, Some(ConnectError::Setup(_))));
        let both = Connection {
            kubeconfig: Some("x".into()),
            ..url("http://127.0.0.1:1")
        };
        assert!(matches!(refused(both).await, Some(ConnectError::Ambiguous)));
    }
}
