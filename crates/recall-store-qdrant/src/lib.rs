//! Recall on Qdrant, over gRPC.
//!
//! Qdrant keeps points. What the store port promises beyond that is made by `recall-store-rows`; here
//! are Qdrant's calls, **writes on a condition** that know whether they won, and **leases** made of
//! them. All writes wait until they were applied, through a shard's permanent leader.
//!
//! Records lie as the published server lays them on Qdrant: one collection of one unnamed vector for
//! what is one collection there, points named by UUIDv5, the record's own id in `_recall_id`.

mod client;
mod collections;
mod db;
mod leases;
mod points;
mod rows;
mod version;

use std::sync::Arc;
use std::time::Duration;

use recall_store::{Clock, Error};
use recall_store_rows::RowStore;
use secrecy::SecretString;

use crate::client::Client;
use crate::collections::Collections;
use crate::db::Db;
use crate::leases::Leases;

/// Where the store is and how it is used.
#[derive(Debug, Clone)]
pub struct Config {
    /// `http://host:6334`: the gRPC address.
    pub url: String,
    /// The API key, where the store wants one.
    pub key: Option<SecretString>,
    /// What every collection's name begins with.
    pub prefix: String,
    /// How stale a read may be against writers that are not replicas of ours.
    pub freshness: Duration,
    /// Whether agents can be resumed. Needs Qdrant 1.17 or later.
    pub leases: bool,
}

/// Why a store cannot be used as configured. Whether it answers is another matter, told by
/// [`Store::ping`](recall_store::Store::ping).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The address is no address of a store.
    #[error(
        "{0:?} is no address of a store: it must be like http://127.0.0.1:6334, without a path"
    )]
    Url(String),
    /// The key cannot be sent.
    #[error("the key of the store holds characters that cannot be sent")]
    Key,
    /// The client cannot be made.
    #[error("no client of Qdrant can be made: {0}")]
    Client(String),
    /// What is not Qdrant's alone.
    #[error(transparent)]
    Rows(#[from] recall_store_rows::OpenError),
}

/// The calls, and the leases by which replicas keep out of each other's way.
#[derive(Debug)]
struct Parts {
    db: Arc<Db>,
    leases: Arc<Leases>,
}

/// A handle to a store on Qdrant. Nothing is asked of it yet. One process is one replica. Must be
/// called within a tokio runtime.
///
/// # Errors
///
/// [`OpenError`] for a configuration that cannot work.
pub fn open(config: &Config, clock: Arc<dyn Clock>) -> Result<RowStore, OpenError> {
    let client = Client::new(&config.url, config.key.as_ref(), config.leases)?;
    let db = Arc::new(Db {
        client,
        collections: Collections::default(),
    });
    let leases = Leases::new(Arc::clone(&db), &config.prefix, Arc::clone(&clock));
    let leases = Arc::new(leases);
    let parts = Parts {
        db,
        leases: Arc::clone(&leases),
    };
    let offered = config
        .leases
        .then_some(leases as Arc<dyn recall_store_rows::Leases>);
    let rows = recall_store_rows::Config {
        prefix: config.prefix.clone(),
        freshness: config.freshness,
    };
    Ok(RowStore::new(Arc::new(parts), offered, &rows, clock)?)
}

/// A name that nothing else has.
fn token() -> Result<String, Error> {
    let mut bytes = [0u8; 12];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::unavailable(format!("no randomness: {error}")))?;
    Ok(hex::encode(bytes))
}
