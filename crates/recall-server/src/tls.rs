//! TLS on the Memory API: certificates from files that are read again when they change.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

use crate::config::{ConfigError, TlsFiles};

/// How often the files are compared with what is served. Kubernetes brings a changed Secret into a
/// pod within about a minute, so this adds little.
const RELOAD_PERIOD: Duration = Duration::from_secs(2);
/// A handful of certificates; more is a mistake in the setting.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// What is served now, and where it came from.
#[derive(Debug, Clone)]
pub(crate) struct Tls {
    files: TlsFiles,
    current: Arc<RwLock<Loaded>>,
}

#[derive(Debug)]
struct Loaded {
    content: Content,
    config: Arc<ServerConfig>,
}

/// The bytes of the files: what tells a change, whatever the times of links and files say.
#[derive(Debug, PartialEq, Eq)]
struct Content {
    certificates: Vec<u8>,
    key: Vec<u8>,
    clients: Option<Vec<u8>>,
}

impl Tls {
    /// Reads the files.
    pub(crate) fn load(files: TlsFiles) -> Result<Self, ConfigError> {
        let content = Content::read(&files)?;
        let config = content.config(&files)?;
        let current = Arc::new(RwLock::new(Loaded { content, config }));
        Ok(Self { files, current })
    }

    /// Hands over with the certificates of this moment.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.current.read().config))
    }

    /// Serves what the files hold, once it changes and is whole. Runs until dropped.
    pub(crate) async fn follow_files(self) {
        // What was refused is told once, not at every look.
        let mut told = None;
        loop {
            tokio::time::sleep(RELOAD_PERIOD).await;
            match self.reload() {
                Ok(false) => told = None,
                Ok(true) => {
                    told = None;
                    tracing::info!("the TLS certificate was read again");
                }
                Err(error) => {
                    let why = Some(error.to_string());
                    if why != told {
                        tracing::warn!(%error, "the changed TLS files cannot be used; the former certificate is served on");
                        told = why;
                    }
                }
            }
        }
    }

    fn reload(&self) -> Result<bool, ConfigError> {
        let content = Content::read(&self.files)?;
        if content == self.current.read().content {
            return Ok(false);
        }
        let config = content.config(&self.files)?;
        *self.current.write() = Loaded { content, config };
        Ok(true)
    }
}

impl Content {
    fn read(files: &TlsFiles) -> Result<Self, ConfigError> {
        let clients = files.client_ca.as_deref();
        Ok(Self {
            certificates: read("tls-cert-file", &files.cert)?,
            key: read("tls-key-file", &files.key)?,
            clients: clients
                .map(|path| read("tls-client-ca-file", path))
                .transpose()?,
        })
    }

    fn config(&self, files: &TlsFiles) -> Result<Arc<ServerConfig>, ConfigError> {
        let certificates = certificates("tls-cert-file", &files.cert, &self.certificates)?;
        let key = PrivateKeyDer::from_pem_slice(&self.key)
            .map_err(|_| refusal("tls-key-file", &files.key, &"holds no private key in PEM"))?;
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| refusal("tls-cert-file", &files.cert, &error))?;
        let builder = match (&self.clients, &files.client_ca) {
            (Some(pem), Some(path)) => {
                let roots = Arc::new(roots(path, pem)?);
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider)
                    .build()
                    .map_err(|error| refusal("tls-client-ca-file", path, &error))?;
                builder.with_client_cert_verifier(verifier)
            }
            _ => builder.with_no_client_auth(),
        };
        let mut config = builder
            .with_single_cert(certificates, key)
            .map_err(|error| {
                let why = format!("does not go with the key in --tls-key-file: {error}");
                refusal("tls-cert-file", &files.cert, &why)
            })?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

fn roots(path: &Path, pem: &[u8]) -> Result<RootCertStore, ConfigError> {
    const FLAG: &str = "tls-client-ca-file";
    let mut roots = RootCertStore::empty();
    for certificate in certificates(FLAG, path, pem)? {
        roots
            .add(certificate)
            .map_err(|error| refusal(FLAG, path, &error))?;
    }
    Ok(roots)
}

fn certificates(
    flag: &'static str,
    path: &Path,
    pem: &[u8],
) -> Result<Vec<CertificateDer<'static>>, ConfigError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err(refusal(flag, path, &"holds no certificate in PEM")),
        Err(error) => Err(refusal(flag, path, &error)),
    }
}

fn read(flag: &'static str, path: &Path) -> Result<Vec<u8>, ConfigError> {
    let size = std::fs::metadata(path).map_err(|error| refusal(flag, path, &error))?;
    if size.len() > MAX_FILE_BYTES {
        return Err(refusal(flag, path, &"is larger than 1 MiB"));
    }
    std::fs::read(path).map_err(|error| refusal(flag, path, &error))
}

fn refusal(flag: &'static str, path: &Path, reason: &dyn ToString) -> ConfigError {
    ConfigError::Content {
        flag,
        path: path.display().to_string(),
        reason: reason.to_string(),
    }
}

#[cfg(test)]
mod tests;
