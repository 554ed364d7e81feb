//! The resolver over HTTP against a fake API server, attack by attack.

#![expect(clippy::unwrap_used, reason = "a test ends where it goes wrong")]

mod fixtures;
mod label;
mod load;
mod permissions;
mod pod;
mod review;
mod support;
mod tls;
mod token;
mod upstream;
mod watch;
