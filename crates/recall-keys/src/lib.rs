//! Keys: short-lived secrets that reach exactly one memory, or manage the others.
//!
//! Only the SHA-256 of a key is stored; the key itself is shown once. A key names its record by its
//! id, so checking one is a cache look-up or a single read, never a search. This crate knows no HTTP
//! and no Kubernetes call: it is handed a verified [`Caller`](recall_identity::Caller).

mod cache;
mod duration;
mod error;
mod gone;
mod keys;
mod metrics;
mod mint;
mod pod;
mod record;
mod sessions;
mod standing;
mod sweep;
mod text;

pub use duration::{DurationError, format_go, parse_go};
pub use error::Error;
pub use gone::PodPage;
pub use keys::{Config, Filter, KeyPage, Keys, MAX_LISTED, Minted, Spec};
pub use metrics::Metrics;
pub use record::{Grant, KeyId, KeyRecord, MAX_NOTE_BYTES, MAX_SESSION_BYTES, PodBinding, Reach};
pub use standing::{FixedStanding, PodStanding, Standing};
pub use text::{KeyFileError, StaticKey, parse_bootstrap_key, parse_static_keys};
