//! A write as a decision: what it must see, and what follows.

use recall_store::{Record, RecordWrite};
use serde::Serialize;
use serde_json::Value;

use crate::error::Error;
use crate::head::{Desk, Head};
use crate::records::{Names, Place};

/// A change of an agent's records. Decided anew on fresh records whenever another write came first.
pub(crate) trait Change: Send + Sync {
    /// The records to load before deciding.
    fn needs(&self, names: Names<'_>, head: &Head) -> Vec<Place>;

    /// What to write, given those records in the same order. Alters the head along with it.
    fn decide(
        &self,
        names: Names<'_>,
        head: &mut Head,
        found: &[Option<Record>],
        desk: &Desk,
    ) -> Result<Plan, Error>;
}

/// What a decision came to.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Nothing here means that nothing changes.
    pub(crate) writes: Vec<RecordWrite>,
    pub(crate) answer: Value,
}

impl Plan {
    pub(crate) fn new(writes: Vec<RecordWrite>, answer: &impl Serialize) -> Result<Self, Error> {
        Ok(Self {
            writes,
            answer: value(answer)?,
        })
    }
}

/// An object as it is answered.
pub(crate) fn value(object: &impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(object).map_err(|error| Error::refused(error.to_string()))
}

/// The record found for the place of this number among those that were asked for.
pub(crate) fn found(records: &[Option<Record>], at: usize) -> Option<&Record> {
    records.get(at).and_then(Option::as_ref)
}
