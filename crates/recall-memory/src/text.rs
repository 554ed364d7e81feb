//! The text surface: texts in, sentences out.

pub(crate) mod diff;
pub(crate) mod forget;
pub(crate) mod history;
pub(crate) mod recall;
pub(crate) mod remember;
