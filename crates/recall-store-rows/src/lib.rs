//! What Recall makes of a remote store of rows.
//!
//! polign_db and Qdrant keep rows: an id, a vector and named values. They give upserts, listings and
//! little more. What the store port promises beyond that is made here, once for both, over the port
//! [`Rows`]:
//!
//! * **Layout.** Events, agents' records and keys lie as the published server lays them, so either
//!   program reads what the other wrote.
//! * **Order.** Each process numbers events as it learns of them.
//! * **Reads that are strict across replicas.** Every replica tells the ids it wrote in a head record
//!   before it acknowledges; readers read the heads of all replicas. A replica that is alone knows
//!   that it is, and asks nobody.
//! * **Conditions and whole batches.** A journal in the record that decides about a batch; and, where
//!   the store has no conditional write, locks between replicas.
//!
//! A fence and an expected revision are checked right before a write, not in the same step:
//! [`Capabilities`](recall_store::Capabilities) says so.

#[cfg(feature = "conformance")]
pub mod conformance;

mod age;
mod embed;
mod follow;
mod layout;
mod locks;
mod log;
mod names;
mod records;
mod replicas;
mod rows;
mod store;

pub use age::Moment;
pub use embed::PLACES;
pub use layout::{ID_OF_OURS, VERSION, WRITES, observed_ms};
pub use names::MAX_PREFIX_BYTES;
pub use rows::{Fields, Leases, NewRow, Row, Rows};
pub use store::{Config, OpenError, RowStore};
