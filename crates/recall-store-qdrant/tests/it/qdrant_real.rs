//! What all of them share: a server, and stores on it.

mod faults;
mod leases;
mod refusals;
mod rows;
mod trouble;

use std::sync::Arc;
use std::time::Duration;

use recall_store::{Clock, Store, SystemClock, conformance};
use recall_store_qdrant::Config;
use recall_store_rows::RowStore;
use recall_store_rows::conformance as replicas;
use recall_testkit::qdrant::Qdrant;
use tempfile::TempDir;

/// A server and the folder that holds it.
struct Real {
    db: Qdrant,
    leases: bool,
    _dir: TempDir,
}

impl Real {
    /// `None` where there is neither a stand-in nor a server.
    fn start() -> Option<Self> {
        let dir = tempfile::tempdir().expect("a folder");
        let db = Qdrant::start(dir.path()).expect("it starts")?;
        Some(Self {
            db,
            leases: true,
            _dir: dir,
        })
    }

    /// One that may be killed and troubled. `None` where there is no stand-in.
    fn start_own(flags: &[&str]) -> Option<Self> {
        let dir = tempfile::tempdir().expect("a folder");
        let db = Qdrant::start_own(dir.path(), flags).expect("it starts")?;
        Some(Self {
            db,
            leases: true,
            _dir: dir,
        })
    }

    fn config(&self) -> Config {
        Config {
            url: self.db.url(),
            key: None,
            prefix: self.db.prefix().to_owned(),
            freshness: Duration::from_millis(250),
            leases: self.leases,
        }
    }

    fn store(&self) -> RowStore {
        self.store_at(Arc::new(SystemClock))
    }

    fn store_at(&self, clock: Arc<dyn Clock>) -> RowStore {
        recall_store_qdrant::open(&self.config(), clock).expect("a store")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn qdrant_store_conforms() {
    let Some(real) = Real::start() else { return };
    conformance::run(|| async { Arc::new(real.store()) as Arc<dyn Store> }).await;
}

/// As it is without `--qdrant-leases`.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_without_leases_conforms_and_says_so() {
    let Some(mut real) = Real::start() else {
        return;
    };
    real.leases = false;
    assert!(!real.store().capabilities().leases);
    conformance::run(|| async { Arc::new(real.store()) as Arc<dyn Store> }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_and_batches_conform() {
    if Real::start().is_none() {
        return;
    }
    replicas::run(|| {
        let real = Arc::new(Real::start().expect("there is a server"));
        let open = Arc::clone(&real);
        (real, move || open.store())
    })
    .await;
}
