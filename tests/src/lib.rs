//! What the end-to-end tests and the demo share: programs under test, HTTP, and a cluster that is
//! real or simulated.

pub mod http;
pub mod ownership;
pub mod programs;
pub mod world;

mod real;
mod simulated;
