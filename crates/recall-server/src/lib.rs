//! The server as a library: configuration in, listeners out, drained on a signal.
//!
//! Only this crate names concrete adapters. Everything it does is to read settings, choose parts and
//! wire them; what the parts do is theirs.

mod admin_key;
mod config;
mod connection;
mod exit;
mod kubernetes;
mod life;
mod listen;
mod models;
mod moving;
mod observe;
mod pod_watch;
mod quiet;
mod readiness;
mod run;
mod spoken;
mod start;
mod stores;
mod tls;
mod told;
mod untaken;
mod views;

pub use config::{
    Backend, Config, ConfigError, Kubernetes, Model, Origin, ServiceAccount, Settings, Shared,
    TenantLabel, TlsFiles, Watch,
};
pub use exit::{Failure, main};
pub use run::{Server, run};
