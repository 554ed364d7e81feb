//! Fakes for tests and for the simulated demo, and processes that end with their test.
//!
//! [`FakeApiServer`] speaks HTTP on loopback and answers as a Kubernetes API server does, as far as
//! an exchange of tokens asks it: reviews, pods, service accounts, namespaces, sandboxes, claims,
//! access reviews and a watch of pods. What it answers follows from a [`FakeCluster`], which a test
//! changes; with [`FakeApiServer::script`] it answers anything else, or not at all.

mod cluster;
pub mod disk;
mod models;
mod objects;
pub mod polign;
pub mod process;
pub mod qdrant;
mod recorded;
mod reply;
mod respond;
mod review;
mod route;
mod server;
mod watch;

pub use cluster::{FakeCluster, NewToken};
pub use models::{Asked, FakeModels, Mood};
pub use objects::NewPod;
pub use recorded::Recorded;
pub use reply::Reply;
pub use route::Route;
pub use server::FakeApiServer;
