//! What all of them share: a database, and a way to speak to it as another program would.

mod batches;
mod faults;
mod leases;
mod replicas;
mod trouble;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};

use recall_store::{Store, SystemClock, conformance};
use recall_store_polign::{Config, PolignStore};
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

    fn store(&self) -> PolignStore {
        PolignStore::new(&self.config(), Arc::new(SystemClock)).expect("a store")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn polign_store_conforms() {
    let Some(real) = Real::start(&[]) else { return };
    conformance::run(|| async { Arc::new(real.store()) as Arc<dyn Store> }).await;
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

async fn put_row(real: &Real, collection: &str, id: &str, metadata: Value) {
    let mut values = vec![0; 256];
    values[0] = 1;
    let path = format!("/v1/collections/{collection}/vectors/{id}");
    let body = json!({ "values": values, "metadata": metadata });
    assert_eq!(call(real, "PUT", &path, body).await.0, 200);
}

async fn delete_row(real: &Real, collection: &str, id: &str) {
    let path = format!("/v1/collections/{collection}/vectors:delete");
    let (status, answer) = post(real, &path, json!({ "ids": [id] })).await;
    assert_eq!((status, &answer["ids"]), (200, &json!([id])));
}
