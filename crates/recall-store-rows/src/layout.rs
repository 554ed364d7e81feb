//! How events and records lie in a store of rows: as the published server lays them, and ours beside.

mod event;
mod record;

pub use event::{ID_OF_OURS, observed_ms};
pub(crate) use event::{read as read_event, recorded_ms, row as event_row};
pub(crate) use record::{
    Place, Shelf, Written, erased_ids, listing, numbered, place, read as read_record, rows,
};

use serde_json::Value;

use crate::rows::Fields;

/// Which write of a record a row is.
pub const VERSION: &str = "recall_version";

/// The last conditional writes of a row, for whoever wants to know whether one was theirs.
pub const WRITES: &str = "recall_writes";

fn text<'a>(fields: &'a Fields, name: &str) -> Option<&'a str> {
    fields.get(name).and_then(Value::as_str)
}
