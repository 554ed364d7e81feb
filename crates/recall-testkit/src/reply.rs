//! Answers that no healthy API server gives.

use std::time::Duration;

use serde_json::Value;

/// A scripted answer.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Reply {
    /// What the cluster says.
    Honest,
    /// What the cluster says, after a while.
    Late(Duration),
    /// This status and this object.
    Json(u16, Value),
    /// This status, content type and text.
    Text(u16, &'static str, String),
    /// This status, with a `Retry-After` of so many seconds.
    RetryAfter(u16, u64),
    /// Nothing, for ever.
    Hang,
    /// What the cluster says, cut off in the middle by a broken connection.
    Broken,
    /// What the cluster says, cut off in the middle and ended properly.
    Truncated,
    /// An endless object of so many bytes.
    Huge(usize),
    /// A redirect to this URL.
    Redirect(String),
    /// The connection is closed without an answer.
    Hangup,
}
