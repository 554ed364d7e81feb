//! What must work for the server to be ready.

use std::sync::Arc;

use recall_api::{Check, Readiness};
use recall_keys::Keys;
use recall_store::Store;
use tokio_util::sync::CancellationToken;

/// The store answers. A failure names its kind.
pub(crate) fn store(store: Arc<dyn Store>, kind: &'static str) -> Check {
    Check {
        name: "store",
        probe: Arc::new(move || {
            let store = Arc::clone(&store);
            Box::pin(async move {
                let answer = store.ping().await;
                answer.map_err(|error| format!("{kind}: {error}"))
            })
        }),
    }
}

/// The operator's key, if there is one, is registered: until then nobody can be told about it.
pub(crate) fn bootstrap_key(keys: Keys) -> Check {
    Check {
        name: "bootstrap key",
        probe: Arc::new(move || {
            let state = match keys.awaits_bootstrap() {
                true => Err("it is registered once the store answers".to_owned()),
                false => Ok(()),
            };
            Box::pin(async { state })
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
