//! The belief engine: what is believed, what was, and why.
//!
//! A namespace's memory is an append-only log of events: statements and withdrawals about a subject
//! and a predicate. What is believed is a fold over them, kept in a resident view that every acknowledged write has already reached. Reads never leave the view; writes are
//! decided by pure functions on it, committed to the store and only then applied.
//!
//! The crate knows the store port and the ports behind which models may stand, and nothing else: no
//! token, no key, no HTTP type.
//!
//! * `args`, `json`, `answer`, `error`, `limits`: the edge. `typed`, `text`: the two surfaces.
//! * `event`, `event_id`, `value`, `time`, `sentence`, `registry`: what is said, and how it is kept.
//! * `fold`, `view`, `plan`: what follows from it. Pure.
//! * `space`, `writer`, `memory`: the rim that talks to the store.
//! * [`search`]: word search over one namespace. `vectors`, `embedding`, `extraction`,
//!   `models`: optional help.

mod answer;
mod args;
mod card;
mod embedding;
mod error;
mod event;
mod event_id;
mod extraction;
mod fold;
mod json;
pub mod limits;
mod memory;
mod models;
mod page;
mod plan;
mod registry;
pub mod search;
mod sentence;
mod space;
mod text;
mod time;
mod typed;
mod value;
mod vectors;
mod view;
mod writer;

pub use answer::{Answer, Coverage, EmptyReason, Indexes, Vectors, WhyNot};
pub use args::Args;
pub use error::Error;
pub use memory::{Config, Memory, Operation, Stats, Surface, Usage, Writer};
pub use models::{Ask, Embedder, Extractor, ModelError, ModelFuture, Models};
pub use page::Listing;
pub use plan::Quota;
pub use registry::{Cardinality, PredicateInfo, Registry, RegistryError, ValueType};
