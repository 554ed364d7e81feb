//! What must work for the server to be ready.

use std::sync::Arc;

use recall_api::{Check, Readiness};
use recall_store::Store;
use tokio_util::sync::CancellationToken;

/// The store answers.
pub(crate) fn store(store: Arc<dyn Store>) -> Check {
    Check {
        name: "store",
        probe: Arc::new(move || {
            let store = Arc::clone(&store);
            Box::pin(async move { store.ping().await.map_err(|error| error.to_string()) })
        }),
    }
}

/// The server is not stopping.
pub(crate) fn running(stop: CancellationToken) -> Check {
    let state = move || -> Readiness {
        if stop.is_cancelled() {
            Err("the server is stopping".to_owned())
        } else {
            Ok(())
        }
    };
    Check {
        name: "running",
        probe: Arc::new(move || {
            let state = state();
            Box::pin(async { state })
        }),
    }
}
