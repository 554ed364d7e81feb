//! The embedded store: one redb file in a data directory, one process at a time.
//!
//! Every commit is one redb transaction and is on disk when it is acknowledged. A single writer
//! thread takes all commits that wait and makes them durable together (group commit), so the rate
//! grows with the number of writers while each of them still waits for its own fsync.
//!
//! A second process on the same directory is told who holds it ([`OpenError::InUse`]). A file that
//! is damaged, missing where it was, or of a newer format is a named error at open, never an empty
//! store. A file that fails while it is open, on a full disk for instance, refuses writes with the
//! reason and is opened again by itself.

mod file;
mod ids;
mod layout;
mod open;
mod read;
mod store;
mod tables;
mod turn;
mod write;

pub use open::{FORMAT, OpenError};
pub use store::EmbeddedStore;
