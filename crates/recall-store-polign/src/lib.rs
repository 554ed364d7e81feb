//! Recall on polign_db, over HTTP.
//!
//! polign_db keeps rows and leases. What the store port promises beyond that is made by
//! `recall-store-rows`; here are polign_db's calls, and **leases that cannot be stolen** by a late or
//! a wrong renewal.

mod db;
mod http;
mod leases;
mod parts;
mod rows;

use std::sync::Arc;
use std::time::Duration;

use recall_store::Clock;
use recall_store_rows::RowStore;
use secrecy::SecretString;

use crate::db::Db;
use crate::http::Http;
use crate::leases::Leases;

/// Where the store is and how it is used.
#[derive(Debug, Clone)]
pub struct Config {
    /// `http://host:23000`.
    pub url: String,
    /// The API key, where the store wants one.
    pub key: Option<SecretString>,
    /// What every collection's name begins with.
    pub prefix: String,
    /// How stale a read may be against writers that are not replicas of ours.
    pub freshness: Duration,
}

/// Why a store cannot be used as configured. Whether it answers is another matter, told by
/// [`Store::ping`](recall_store::Store::ping).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The address is no address of a store.
    #[error(
        "{0:?} is no address of a store: it must be like http://127.0.0.1:23000, without a path"
    )]
    Url(String),
    /// The key cannot be sent.
    #[error("the key of the store holds characters that cannot be sent")]
    Key,
    /// No certificate of this machine can be used to check the store's.
    #[error("no trusted certificates on this machine: {0}")]
    Certificates(String),
    /// What is not polign_db's alone.
    #[error(transparent)]
    Rows(#[from] recall_store_rows::OpenError),
}

/// A handle to a store on polign_db. Nothing is asked of it yet. One process is one replica; all
/// replicas of a store must reach it by the same node. Must be called within a tokio runtime.
///
/// # Errors
///
/// [`OpenError`] for a configuration that cannot work.
pub fn open(config: &Config, clock: Arc<dyn Clock>) -> Result<RowStore, OpenError> {
    let db = Arc::new(Db(Http::new(&config.url, config.key.as_ref())?));
    let leases = Arc::new(Leases::new(Arc::clone(&db)));
    let rows = recall_store_rows::Config {
        prefix: config.prefix.clone(),
        freshness: config.freshness,
    };
    Ok(RowStore::new(db, Some(leases), &rows, clock)?)
}
