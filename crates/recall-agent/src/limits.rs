//! Limits of the agent tools. Each protects the store or the reader of a briefing.

use std::time::Duration;

/// The longest text of a working state, a resolution or an error, in bytes.
pub const MAX_TEXT_BYTES: usize = 64 * 1024;
/// The longest list of a working state.
pub const MAX_LIST: usize = 256;
/// The longest entry of such a list, in bytes.
pub const MAX_ENTRY_BYTES: usize = 8 * 1024;
/// The largest content of a turn, in bytes.
pub const MAX_TURN_BYTES: usize = 4 * 1024 * 1024;
/// The largest stored output, and the largest arguments or result of an action, in bytes.
pub const MAX_OUTPUT_BYTES: usize = 1024 * 1024;
/// The longest name of a role, a tool, a milestone or an author, in bytes.
pub const MAX_NAME_BYTES: usize = 128;
/// The longest message id, in bytes.
pub const MAX_MESSAGE_ID_BYTES: usize = 256;
/// The longest brief, summary, note or pointer field, in bytes.
pub const MAX_BRIEF_BYTES: usize = 4096;
/// The longest holder text, in bytes.
pub const MAX_HOLDER_BYTES: usize = 200;
/// The most pointers of an agent.
pub const MAX_POINTERS: u32 = 1000;
/// The most fields of a pointer.
pub const MAX_POINTER_FIELDS: usize = 32;
/// The most actions of an agent that are open at once.
pub const MAX_OPEN_ACTIONS: usize = 1000;
/// The most rows of a listing.
pub const MAX_LISTED: u64 = 1000;
/// Rows of a listing that names no limit.
pub const DEFAULT_LISTED: u64 = 20;
/// The most turns, and the most outputs, that a briefing looks at.
pub const MAX_CONSIDERED: u64 = 200;
/// The most memories of a briefing.
pub const MAX_MEMORIES: u32 = 20;

/// The budget of a briefing that names none, in tokens.
pub const DEFAULT_BUDGET: u64 = 8000;
/// The largest budget, in tokens: more than a model reads.
pub const MAX_BUDGET: u64 = 10_000_000;
/// The length from which a content is stored as an output, in tokens.
pub const DEFAULT_THRESHOLD: i64 = 2000;

/// How long a lease lives without renewal if the session names nothing.
pub const DEFAULT_TTL: Duration = Duration::from_secs(60);
/// The shortest lease.
pub const MIN_TTL: Duration = Duration::from_secs(5);
/// The longest lease.
pub const MAX_TTL: Duration = Duration::from_secs(3600);
