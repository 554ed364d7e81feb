//! The resolver over HTTP against a fake API server, attack by attack.

mod support;
mod token;
