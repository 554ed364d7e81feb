//! What the routes work on.

use std::ops::Deref;
use std::sync::Arc;

use recall_agent::Agents;
use recall_keys::Keys;
use recall_memory::Memory;
use recall_store::Namespace;

use crate::bounds::Bounds;
use crate::exchange::Exchange;
use crate::hosts::Hosts;
use crate::idempotency::Answers;
use crate::metrics::Metrics;
use crate::trace::{Place, Sampling};

/// The largest body of a memory operation or an MCP message: 4 MiB.
pub const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;
/// The largest body of a key or exchange request: 64 KiB.
pub const MAX_KEY_BODY_BYTES: usize = 64 * 1024;

/// What the routes share. Every request clones it, more than once: that must cost one count.
#[derive(Debug, Clone)]
pub struct Api(Arc<Services>);

/// Everything that a request may need.
#[derive(Debug)]
pub struct Services {
    /// Checks and manages keys.
    pub keys: Keys,
    /// Beliefs.
    pub memory: Memory,
    /// Agents and their half-finished work, if the store has leases.
    pub agents: Option<Agents>,
    /// The token exchange, if it is on.
    pub exchange: Option<Exchange>,
    /// The answers of writes that clients gave a name.
    pub answers: Answers,
    /// What one key and one namespace may ask and keep.
    pub bounds: Bounds,
    /// From where `/mcp` may be reached.
    pub hosts: Hosts,
    /// What keeps it all, as traces name it.
    pub backend: &'static str,
    /// Which traces a collector is told of, if there is one.
    pub traces: Option<Sampling>,
    /// Whether traces name namespaces as they are, and not by a hash.
    pub names_namespaces: bool,
    /// The version that `initialize` reports.
    pub version: &'static str,
    /// What is counted.
    pub metrics: Metrics,
}

impl From<Services> for Api {
    fn from(parts: Services) -> Self {
        Self(Arc::new(parts))
    }
}

impl Deref for Api {
    type Target = Services;

    fn deref(&self) -> &Services {
        &self.0
    }
}

impl Services {
    /// Where the operations on a namespace are done.
    pub(crate) fn place<'a>(&self, namespace: &'a Namespace) -> Place<'a> {
        Place {
            surface: self.memory.surface(),
            backend: self.backend,
            namespace,
            named: self.names_namespaces,
        }
    }
}
