//! The engine as its callers see it.

mod support;
mod typed;
