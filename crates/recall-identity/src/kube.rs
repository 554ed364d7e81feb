//! The ports over a real Kubernetes API server.
//!
//! Requests are built and answers are judged here; of the `kube` crate only the certificates
//! and the reading and use of kubeconfig files are used. A redirect is an answer like any other that was not asked
//! for: it is never followed, and so our own token goes nowhere else.

mod answer;
mod api;
mod client;
mod connect;
mod direct;
mod lines;
mod own_token;
mod permissions;
mod watch;
mod wire;

pub use api::ApiServer;
pub use client::Client;
pub use connect::{ConnectError, Connection, connect};
pub use permissions::MissingRule;
pub use watch::{PodEvent, Watched, watch_pods};
