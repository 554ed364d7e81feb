//! Settings from flags, environment and file, and the typed configuration they make.

mod exchange;
mod parse;
mod settings;
mod table;

pub use exchange::{ServiceAccount, Watch};
pub use parse::{Backend, Config, Kubernetes, Model, Shared, TenantLabel, TlsFiles};
pub use settings::{Origin, Settings};

/// A setting that stops the start. One sentence that names flag, value and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The user asked for help or the version: not an error, but nothing to start either.
    #[error("{0}")]
    Help(String),
    /// The command line cannot be read.
    #[error("{0}")]
    Usage(String),
    /// A value is not allowed.
    #[error("--{flag} {value:?} ({origin}): {allowed}")]
    Value {
        /// The flag's name.
        flag: &'static str,
        /// What was given; masked if secret.
        value: String,
        /// Where it was given.
        origin: Origin,
        /// What is allowed.
        allowed: String,
    },
    /// What stands in a file that a setting names cannot be used.
    #[error("--{flag} {path}: {reason}")]
    Content {
        /// The flag's name.
        flag: &'static str,
        /// The file.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The configuration file cannot be used.
    #[error("--config {path}: {reason}")]
    File {
        /// The file.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Settings that exclude or need each other.
    #[error("{0}")]
    Together(String),
}
