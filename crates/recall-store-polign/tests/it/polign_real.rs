//! What all of them share: a database, and a way to speak to it as another program would.

mod faults;
mod leases;
mod trouble;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

use recall_store::{Store, SystemClock, conformance};
use recall_store_polign::Config;
use recall_store_rows::RowStore;
use recall_store_rows::conformance as rows;
use recall_testkit::polign::{self, Polign};
use tempfile::TempDir;

/// A database and the folder that holds it.
struct Real {
    db: Polign,
    _dir: TempDir,
}

impl Real {
    /// `None` where there is no program to start.
    fn start(flags: &[&str]) -> Option<Self> {
        let program = polign::program()?;
        let dir = tempfile::tempdir().expect("a folder");
        let db = Polign::start(&program, dir.path(), flags).expect("it starts");
        Some(Self { db, _dir: dir })
    }

    fn config(&self) -> Config {
        Config {
            url: self.db.url(),
            key: None,
            prefix: "recall_lexical_v1".to_owned(),
            freshness: Duration::from_millis(250),
        }
    }

    fn store(&self) -> RowStore {
        recall_store_polign::open(&self.config(), Arc::new(SystemClock)).expect("a store")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn polign_store_conforms() {
    let Some(real) = Real::start(&[]) else { return };
    conformance::run(|| async { Arc::new(real.store()) as Arc<dyn Store> }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_and_batches_conform() {
    if polign::program().is_none() {
        return;
    }
    rows::run(|| {
        let real = Arc::new(Real::start(&[]).expect("there is a program"));
        let open = Arc::clone(&real);
        (real, move || open.store())
    })
    .await;
}

/// Speaks to the database directly, as another program would.
async fn call(real: &Real, method: &str, path: &str, body: Value) -> (u16, Value) {
    let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
    let request = http::Request::builder()
        .method(method)
        .uri(format!("{}{path}", real.db.url()))
        .body(Full::from(body.to_string()))
        .expect("a request");
    let answer = client.request(request).await.expect("an answer");
    let status = answer.status().as_u16();
    let body = answer
        .into_body()
        .collect()
        .await
        .expect("a body")
        .to_bytes();
    (status, serde_json::from_slice(&body).unwrap_or_default())
}

async fn post(real: &Real, path: &str, body: Value) -> (u16, Value) {
    call(real, "POST", path, body).await
}
