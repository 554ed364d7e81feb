//! Beliefs: event model, predicate registry, fold, history, text surface and search.

pub mod search;
