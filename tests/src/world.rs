//! A cluster with pods that have names, UIDs and tokens: real or simulated.

use std::path::{Path, PathBuf};

use crate::real::Real;
use crate::simulated::Simulated;

/// Where pods live.
#[derive(Debug)]
pub enum World {
    /// A real API server.
    Real(Real),
    /// A stand-in.
    Simulated(Simulated),
}

/// A pod to make.
#[derive(Debug, Clone, Copy)]
pub struct PodSpec<'a> {
    /// The Kubernetes namespace.
    pub namespace: &'a str,
    /// The pod's name.
    pub name: &'a str,
    /// Its labels.
    pub labels: &'a [(&'a str, &'a str)],
}

/// How a server under test reaches the API server.
#[derive(Debug, Clone)]
pub struct Access {
    /// The API server's address.
    pub url: String,
    /// Its CA bundle, for https.
    pub ca_file: Option<PathBuf>,
    /// A file with the server's own token.
    pub token_file: PathBuf,
}

/// The service account that agents run as.
pub const RUNNER: &str = "runner";

impl World {
    /// The real API server that the environment names.
    ///
    /// # Errors
    ///
    /// If the environment names none or it does not answer.
    pub async fn real() -> anyhow::Result<Self> {
        Real::connect().await.map(Self::Real)
    }

    /// A stand-in, started now.
    ///
    /// # Errors
    ///
    /// If it cannot listen.
    pub async fn simulated() -> anyhow::Result<Self> {
        Simulated::start().await.map(Self::Simulated)
    }

    /// Makes a namespace with the service account of agents.
    ///
    /// # Errors
    ///
    /// If the API server refuses.
    pub async fn tenant(&self, namespace: &str) -> anyhow::Result<()> {
        match self {
            Self::Real(real) => real.tenant(namespace).await,
            Self::Simulated(simulated) => {
                simulated.tenant(namespace);
                Ok(())
            }
        }
    }

    /// Gives the server under test an account with just the rules it needs.
    ///
    /// # Errors
    ///
    /// If the API server refuses.
    pub async fn server_account(&self, dir: &Path) -> anyhow::Result<Access> {
        match self {
            Self::Real(real) => real.server_account(dir).await,
            Self::Simulated(simulated) => simulated.server_account(dir),
        }
    }

    /// Makes a pod and answers its UID.
    ///
    /// # Errors
    ///
    /// If the API server refuses.
    pub async fn add_pod(&self, pod: PodSpec<'_>) -> anyhow::Result<String> {
        match self {
            Self::Real(real) => real.add_pod(pod).await,
            Self::Simulated(simulated) => Ok(simulated.add_pod(pod)),
        }
    }

    /// Deletes a pod at once and waits until it is gone.
    ///
    /// # Errors
    ///
    /// If the API server refuses.
    pub async fn delete_pod(&self, namespace: &str, name: &str) -> anyhow::Result<()> {
        match self {
            Self::Real(real) => real.delete_pod(namespace, name).await,
            Self::Simulated(simulated) => {
                simulated.delete_pod(namespace, name);
                Ok(())
            }
        }
    }

    /// A token of the agents' service account, bound to a pod, as its kubelet would project it.
    ///
    /// # Errors
    ///
    /// If the API server refuses.
    pub async fn token(
        &self,
        namespace: &str,
        pod: &str,
        audience: &str,
    ) -> anyhow::Result<String> {
        match self {
            Self::Real(real) => real.token(namespace, Some(pod), audience).await,
            Self::Simulated(simulated) => Ok(simulated.token(namespace, pod, audience)),
        }
    }
}

impl Access {
    /// The flags by which a server under test reaches the API server.
    #[must_use]
    pub fn flags(&self) -> Vec<String> {
        let mut flags = vec![
            "--kubernetes".to_owned(),
            format!("--kubernetes-api={}", self.url),
            format!("--kubernetes-token-file={}", self.token_file.display()),
        ];
        if let Some(ca_file) = &self.ca_file {
            flags.push(format!("--kubernetes-ca-file={}", ca_file.display()));
        }
        flags
    }
}
