//! Opening the store that was chosen, waiting for it, and taking leave of it.

use std::sync::Arc;
use std::time::Duration;

use recall_store::{Clock, MemoryStore, Store};
use recall_store_embedded::{EmbeddedStore, OpenError};
use recall_store_rows::RowStore;
use tokio::time::Instant;

use crate::config::{Backend, Config, ConfigError, Shared};
use crate::exit::Failure;

/// How often a store that does not answer is asked again.
const ASK_AGAIN: Duration = Duration::from_millis(500);
/// What taking leave of a shared store may take.
const LEAVE: Duration = Duration::from_secs(2);

/// The store of a server.
#[derive(Debug, Clone)]
pub(crate) struct Opened {
    pub(crate) store: Arc<dyn Store>,
    /// Named in the answers of the readiness check.
    pub(crate) kind: &'static str,
    /// The same store, if it is shared with other servers.
    shared: Option<Arc<RowStore>>,
}

/// Opens the store. A store on the network is not asked for anything yet.
///
/// # Errors
///
/// [`Failure`], by what stopped it.
pub(crate) fn open(config: &Config, clock: &Arc<dyn Clock>) -> Result<Opened, Failure> {
    match &config.backend {
        Backend::Memory => Ok(Opened {
            store: Arc::new(MemoryStore::new()),
            kind: "memory",
            shared: None,
        }),
        Backend::Embedded(dir) => match EmbeddedStore::open(dir) {
            Ok(store) => Ok(Opened {
                store: Arc::new(store),
                kind: "embedded",
                shared: None,
            }),
            Err(error @ (OpenError::Damaged { .. } | OpenError::NewerFormat { .. })) => {
                Err(Failure::Damaged(error.to_string()))
            }
            Err(error @ (OpenError::InUse { .. } | OpenError::Io { .. })) => {
                Err(Failure::Unavailable(error.to_string()))
            }
        },
        Backend::Polign(shared) => polign(config, shared, clock),
        Backend::Qdrant { shared, leases } => qdrant(config, shared, *leases, clock),
    }
}

fn polign(config: &Config, shared: &Shared, clock: &Arc<dyn Clock>) -> Result<Opened, Failure> {
    let settings = recall_store_polign::Config {
        url: shared.url.clone(),
        key: shared.key.clone(),
        prefix: shared.collection.clone(),
        freshness: config.freshness,
    };
    let store = recall_store_polign::open(&settings, Arc::clone(clock))
        .map_err(|error| ConfigError::Together(format!("--backend polign: {error}")))?;
    Ok(Opened::shared("polign", store))
}

fn qdrant(
    config: &Config,
    shared: &Shared,
    leases: bool,
    clock: &Arc<dyn Clock>,
) -> Result<Opened, Failure> {
    let settings = recall_store_qdrant::Config {
        url: shared.url.clone(),
        key: shared.key.clone(),
        prefix: shared.collection.clone(),
        freshness: config.freshness,
        leases,
    };
    let store = recall_store_qdrant::open(&settings, Arc::clone(clock))
        .map_err(|error| ConfigError::Together(format!("--backend qdrant: {error}")))?;
    if !leases {
        tracing::info!("agents cannot be resumed on qdrant unless --qdrant-leases is given");
    }
    Ok(Opened::shared("qdrant", store))
}

impl Opened {
    fn shared(kind: &'static str, store: RowStore) -> Self {
        let store = Arc::new(store);
        Self {
            store: Arc::clone(&store) as Arc<dyn Store>,
            kind,
            shared: Some(store),
        }
    }

    /// Waits until the store answers, no longer than `patience`.
    ///
    /// # Errors
    ///
    /// [`Failure::Unavailable`] if it does not.
    pub(crate) async fn wait(&self, patience: Duration) -> Result<(), Failure> {
        let until = Instant::now() + patience;
        loop {
            let Err(error) = self.store.ping().await else {
                return Ok(());
            };
            if Instant::now() + ASK_AGAIN > until {
                return Err(Failure::Unavailable(format!(
                    "the store {} cannot be used after {patience:?} (--wait-for-backend): {error}",
                    self.kind
                )));
            }
            tracing::warn!(store = self.kind, %error, "waiting for the store");
            tokio::time::sleep(ASK_AGAIN).await;
        }
    }

    /// Tells a shared store that this server is gone. Without it the others find out by themselves.
    pub(crate) async fn leave(&self) {
        let Some(shared) = &self.shared else { return };
        match tokio::time::timeout(LEAVE, shared.close()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "the store was not told of the end"),
            Err(_) => tracing::debug!("the store was not told of the end in time"),
        }
    }
}
