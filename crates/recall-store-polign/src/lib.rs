//! Recall on polign_db, over HTTP.
//!
//! Events, agents' records and keys lie as the published server lays them, so either program reads
//! what the other wrote. polign_db gives upserts, listings, and leases; what the port promises beyond
//! that is made here:
//!
//! * **Order.** Each process numbers events as it learns of them (`log`).
//! * **Reads that are strict across replicas.** Every replica tells the ids it wrote in a head record
//!   before it acknowledges; readers read the heads of all replicas (`replicas`, `follow`). A replica
//!   that is alone knows that it is, and asks nobody.
//! * **Conditions and whole batches.** Locks between replicas, and a journal in the record that
//!   decides about a batch (`records`, `locks`).
//! * **Leases that cannot be stolen** by a late or a wrong renewal (`leases`).
//!
//! What cannot be made here is said by [`Capabilities`](recall_store::Capabilities): a fence and an
//! expected revision are checked right before a write, not in the same step.

mod age;
mod db;
mod embed;
mod follow;
mod http;
mod layout;
mod leases;
mod locks;
mod log;
mod names;
mod records;
mod replicas;
mod store;

pub use names::MAX_PREFIX_BYTES;
pub use store::{Config, OpenError, PolignStore};
