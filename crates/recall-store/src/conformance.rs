//! The suite that every adapter runs: what the port promises, said as checks.
//!
//! An adapter's test calls [`run`] with a way to open a fresh store. Each check works in namespaces
//! of its own, so they may share one store. A check that a store's [`Capabilities`] exclude is left
//! out, and the capability is then expected to be refused in words.

use std::sync::Arc;

use crate::store::Store;
use crate::{Capabilities, Namespace};

mod leases;
mod log;
mod records;

/// Runs every check against stores that `open` makes.
///
/// # Panics
///
/// When a check fails, naming it and what was expected.
pub async fn run<F, Fut>(open: F)
where
    F: Fn() -> Fut,
    Fut: Future<Output = Arc<dyn Store>>,
{
    let store = open().await;
    log::checks(&store).await;
    records::checks(&store).await;
    let Capabilities { leases, .. } = store.capabilities();
    if leases {
        leases::checks(&store).await;
    } else {
        leases::refused(&store).await;
    }
    store.ping().await.expect("a store under test is reachable");
}

/// A namespace that only the check of this name uses.
fn namespace(check: &str) -> Namespace {
    format!("conformance:{check}")
        .parse()
        .expect("check names are namespace characters")
}
