//! The resolver over HTTP against a fake API server, attack by attack.

#![expect(clippy::unwrap_used, reason = "a test ends where it goes wrong")]
#![expect(clippy::print_stdout, reason = "a test that is skipped says so")]

mod fixtures;
mod label;
mod load;
mod logs;
mod permissions;
mod pod;
mod real;
mod review;
mod support;
mod tls;
mod token;
mod upstream;
mod watch;
