//! The whole server over loopback, as a process.
//!
//! Starting a process blocks its thread, and the stand-in for an API server has to answer meanwhile:
//! the tests run on several threads.

mod abuse;
mod agents;
mod bridge;
mod cli;
mod coverage;
mod doctor;
mod exchange;
mod extraction;
mod full_disk;
mod herd;
mod isolation;
mod keys;
mod lifecycle;
mod limits;
mod logs;
mod mcp;
mod pod_watch;
mod quotas;
mod readme;
mod rest_page;
mod retrieval;
mod security;
mod shared_servers;
mod silence;
mod simulated;
mod tls;
mod traces;
mod updates;
mod vectors;
mod views;
mod wire;
mod writes;

#[cfg(feature = "k8s")]
mod k8s;

use recall_e2e::http::{Answer, Client};
use recall_e2e::programs;
use recall_testkit::process::Server;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A server with a folder of its own and its first admin key.
struct Running {
    server: Server,
    admin: String,
    http: Client,
    dir: TempDir,
}

impl Running {
    fn start(flags: &[&str]) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let server = programs::server(dir.path(), "recall", flags).expect("it starts");
        let admin = programs::admin_key(dir.path(), "recall").expect("an admin key");
        Self {
            server,
            admin,
            http: Client::default(),
            dir,
        }
    }

    async fn key(&self, namespace: &str) -> String {
        let spec = json!({ "namespace": namespace });
        self.http
            .mint(&self.server.url, &self.admin, &spec)
            .await
            .expect("a key")
    }

    async fn post(&self, path: &str, key: &str, body: &Value) -> Answer {
        let url = format!("{}{path}", self.server.url);
        self.http.post(&url, key, body).await.expect("an answer")
    }

    async fn get(&self, path: &str, key: &str) -> Answer {
        let (url, bearer) = (
            format!("{}{path}", self.server.url),
            format!("Bearer {key}"),
        );
        self.http
            .send("GET", &url, &[("authorization", &bearer)], "")
            .await
            .expect("an answer")
    }
}
