//! How events and records lie in polign_db: as the published server lays them, and ours beside.

mod event;
mod record;

pub(crate) use event::{
    ID_OF_OURS, observed_ms, read as read_event, recorded_ms, row as event_row,
};
pub(crate) use record::{
    Place, Shelf, Written, erased_ids, listing, numbered, place, read as read_record, rows,
};

use serde_json::Value;

use crate::db::Fields;

/// Which write of a record a row is.
pub(crate) const VERSION: &str = "recall_version";

fn text<'a>(fields: &'a Fields, name: &str) -> Option<&'a str> {
    fields.get(name).and_then(Value::as_str)
}
