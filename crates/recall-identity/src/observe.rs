//! Where a resolver's work can be counted.

use std::time::Duration;

use crate::trouble::{Call, TroubleKind};

/// Is told what a resolver does, to make metrics of it.
pub trait Observer: Send + Sync + 'static {
    /// The API server was asked once, and answered after `took` or gave `trouble`.
    fn asked(&self, call: Call, took: Duration, trouble: Option<TroubleKind>) {
        let _ = (call, took, trouble);
    }

    /// A review was positive without naming an audience: an authenticator of this cluster ignores
    /// audiences. The token was refused.
    fn audience_unaware(&self) {}
}

/// Counts nothing.
#[derive(Debug)]
pub(crate) struct Unobserved;

impl Observer for Unobserved {}
