//! The store port: what Recall asks of a place that keeps memory, and nothing more.
//!
//! A store keeps, per [`Namespace`], an append-only **event log**, a set of versioned **records**
//! (agent state, keys) and **leases** with an [`Epoch`] that only grows. The port is small enough
//! that an adapter is a few hundred lines and strong enough that every promise above it is either
//! kept or openly absent ([`Capabilities`]).
//!
//! This crate and every adapter know no token, no key, no HTTP type and no belief: an event is an
//! id and a flat JSON object of scalars, a record is bytes.

#[cfg(feature = "conformance")]
pub mod conformance;

mod clock;
mod error;
mod lease;
mod log;
mod memory;
mod names;
mod records;
mod store;

pub use clock::{Clock, ManualClock, SystemClock};
pub use error::Error;
pub use lease::{Acquired, Epoch, Fence, Grant, LeaseState};
pub use log::{LogEntry, LogPage, NewEvent, Revision};
pub use memory::MemoryStore;
pub use names::{AgentId, MAX_AGENT_ID_BYTES, MAX_NAMESPACE_BYTES, NameError, Namespace};
pub use records::{Precondition, Record, RecordKind, RecordPage, RecordWrite, Version};
pub use store::{
    Batch, BoxFuture, Capabilities, Committed, MAX_BATCH, MAX_BODY_BYTES, MAX_EVENT_ID_BYTES,
    MAX_RECORD_KEY_BYTES, Store,
};
