//! The Memory API over HTTP: REST routes, MCP, the error envelope and limits.
//!
//! This crate turns requests into operations and answers into responses, and decides nothing else:
//! it names no store adapter, makes no Kubernetes call and reads no configuration.

mod admin;
mod arguments;
mod auth;
mod body;
mod bounds;
mod codes;
mod error;
mod exchange;
mod framing;
mod hosts;
mod idempotency;
mod limit;
mod mcp;
mod metrics;
mod openapi;
mod pool;
mod request_id;
mod routes;
mod state;
mod strict;
mod trace;

pub use admin::{AdminState, Check, Readiness, admin_router};
pub use bounds::Bounds;
pub use codes::{CODES, Code};
pub use error::ApiError;
pub use exchange::{Exchange, ExchangeLimits, Peer};
pub use framing::unreadable;
pub use hosts::{Host, Hosts, InvalidHost, Origin};
pub use idempotency::Answers;
pub use limit::{InvalidRate, Rate};
pub use metrics::Metrics;
pub use routes::router;
pub use state::{Api, MAX_BODY_BYTES, MAX_KEY_BODY_BYTES, Services};
pub use trace::{Sampling, TRACED};
