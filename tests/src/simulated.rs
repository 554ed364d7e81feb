//! The stand-in for an API server.

use std::path::Path;

use recall_testkit::{FakeApiServer, FakeCluster, NewPod, NewToken};

use crate::world::{Access, PodSpec, RUNNER};

/// A stand-in that answers as a real API server was seen to. It is not one: nothing is signed.
#[derive(Debug)]
pub struct Simulated(FakeApiServer);

impl Simulated {
    pub(crate) async fn start() -> anyhow::Result<Self> {
        Ok(Self(FakeApiServer::start(FakeCluster::new()).await?))
    }

    /// The stand-in itself, to script what it answers and to see what it was asked.
    #[must_use]
    pub fn api(&self) -> &FakeApiServer {
        &self.0
    }

    pub(crate) fn tenant(&self, namespace: &str) {
        self.0.cluster().add_service_account(namespace, RUNNER);
    }

    pub(crate) fn server_account(&self, dir: &Path) -> anyhow::Result<Access> {
        let token_file = dir.join("server.token");
        std::fs::write(&token_file, "stand-in")?;
        Ok(Access {
            url: self.0.url().to_owned(),
            ca_file: None,
            token_file,
        })
    }

    pub(crate) fn add_pod(&self, pod: PodSpec<'_>) -> String {
        let mut new = NewPod::new(pod.namespace, pod.name).service_account(RUNNER);
        for (key, value) in pod.labels {
            new = new.label(key, value);
        }
        self.0.cluster().add_pod(&new)
    }

    pub(crate) fn delete_pod(&self, namespace: &str, name: &str) {
        self.0.cluster().delete_pod(namespace, name);
    }

    pub(crate) fn token(&self, namespace: &str, pod: &str, audience: &str) -> String {
        self.0
            .cluster()
            .issue_token(&NewToken::of_pod(namespace, pod).audiences(&[audience]))
    }
}
