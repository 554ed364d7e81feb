//! What was asked.

use serde_json::Value;

use crate::route::Route;

/// A request that the fake received.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// What it asked for.
    pub route: Route,
    /// Its path and query.
    pub path: String,
    /// Its `Authorization` header; empty if it had none.
    pub authorization: String,
    /// Its `Accept` header; empty if it had none.
    pub accept: String,
    /// Its body; null if it had none.
    pub body: Value,
}
