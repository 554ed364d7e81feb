//! The typed surface: subjects, predicates and values.

pub(crate) mod diff;
pub(crate) mod explain;
pub(crate) mod forget;
pub(crate) mod history;
pub(crate) mod predicates;
pub(crate) mod recall;
pub(crate) mod remember;
pub(crate) mod timeline;
