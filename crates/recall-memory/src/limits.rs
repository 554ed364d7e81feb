//! Every bound of the belief engine, each with its reason.

use std::time::Duration;

/// The longest text that can be remembered, in bytes (Memory API §5.1).
pub const MAX_TEXT_BYTES: usize = 32_768;
/// The most statements of one text.
pub const MAX_STATEMENTS: usize = 32;
/// The most beliefs that one statement may replace.
pub const MAX_REPLACES: usize = 16;
/// The longest subject, in bytes. A subject is a name, not a text.
pub const MAX_SUBJECT_BYTES: usize = 1_024;
/// The longest string value, in bytes. Twice the longest text, so that every note fits.
pub const MAX_VALUE_BYTES: usize = 65_536;
/// The longest predicate, in bytes.
pub const MAX_PREDICATE_BYTES: usize = 64;
/// The longest spelling of a predicate that is looked at, in bytes. One that names no predicate is
/// unknown rather than refused, so that a question about it has an answer.
pub const MAX_SPELLING_BYTES: usize = 1_024;
/// The longest description of a predicate, in bytes.
pub const MAX_DESCRIPTION_BYTES: usize = 1_024;
/// The longest name of a session, in bytes. It is a name, not a text.
pub const MAX_SESSION_BYTES: usize = 256;
/// The longest question or query, in bytes. A longer one is a text, not a question.
pub const MAX_QUERY_BYTES: usize = 32_768;
/// The most beliefs of one recall.
pub const MAX_RECALL: u32 = 1_000;
/// The beliefs of a recall that names no limit.
pub const DEFAULT_RECALL: u32 = 20;
/// The rows of a text recall with a question, and the memories that `explain` speaks about.
pub const QUESTION_ROWS: usize = 20;
/// The most `related` beliefs of a remember.
pub const MAX_RELATED: usize = 5;
/// The beliefs that are looked at to find those: the latest of the subject.
pub(crate) const MAX_COMPARED: usize = 128;
/// The most predicates that writes may define in one namespace.
pub const MAX_DEFINED: usize = 4_096;
/// The longest history that `explain` repeats whole. Beyond it only the events of the value count.
pub const MAX_EXPLAINED_EVENTS: usize = 256;
/// How far ahead of the server's clock a statement may be stamped: callers' clocks differ.
pub const MAX_AHEAD: Duration = Duration::from_secs(60);
/// The most writes of one namespace that may wait. Beyond it the caller is told to come back.
pub(crate) const MAX_WAITING_WRITES: usize = 1_024;
/// The most events that waiting writes put into one commit.
pub(crate) const MAX_COMMIT_EVENTS: usize = 256;
/// How often a write is decided again because the store had changed.
pub(crate) const MAX_WRITE_TRIES: u32 = 8;
/// The events that are read from the store at a time.
pub(crate) const PAGE_EVENTS: u32 = 4_096;
/// The longest that a commit waits for writers that may come back. Disks that take longer than twice
/// this to make a commit durable are waited for long enough anyway.
pub(crate) const MAX_GATHERING: Duration = Duration::from_millis(5);
