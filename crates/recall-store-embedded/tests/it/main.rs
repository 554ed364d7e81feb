//! The embedded store keeps the port's promises, survives being killed, and never takes a damaged
//! directory for an empty one.

mod crash;
mod directory;
mod ids;
mod old_format;

use std::sync::Arc;

use recall_store::{Store, conformance};
use recall_store_embedded::EmbeddedStore;

#[tokio::test(flavor = "multi_thread")]
async fn embedded_store_conforms() {
    let dir = tempfile::tempdir().expect("a folder");
    let open =
        || async { Arc::new(EmbeddedStore::open(dir.path()).expect("it opens")) as Arc<dyn Store> };
    conformance::run(open).await;
}
