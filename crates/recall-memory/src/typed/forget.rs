//! `forget`: withdraw a value, or everything a pair holds.

use std::sync::Arc;

use crate::answer::{Answer, Coverage};
use crate::args::Args;
use crate::error::Error;
use crate::json::Json;
use crate::limits::{MAX_SPELLING_BYTES, MAX_SUBJECT_BYTES, MAX_VALUE_BYTES};
use crate::plan::{Change, Outcome};
use crate::value::lower;
use crate::writer::Done;

pub(crate) fn parse(args: Args) -> Result<Change, Error> {
    let mut fields = args.read(&["subject", "predicate", "value", "all"])?;
    let subject = fields.need_string("subject", MAX_SUBJECT_BYTES)?;
    let predicate = fields.need_string("predicate", MAX_SPELLING_BYTES)?;
    let named = fields.has("value");
    let value = fields.value("value", MAX_VALUE_BYTES)?;
    if named && value.is_none() {
        let reason = "must be a string, number or boolean; leave it out to withdraw everything";
        return Err(fields.fault("value", reason));
    }
    match (fields.flag("all")?, &value) {
        (Some(true), Some(_)) => Err(fields.fault("all", "cannot go with a value")),
        (Some(false), None) => Err(fields.fault("all", "is false, so a value is required")),
        (Some(_) | None, _) => Ok(Change::Forget {
            subject: Arc::from(lower(subject.trim())),
            predicate,
            value,
        }),
    }
}

pub(crate) fn answer(done: &Done) -> Answer {
    let withdrawn = match &done.outcome {
        Outcome::Withdrawn(count) => *count,
        Outcome::Remembered(_) | Outcome::Text(_) | Outcome::Forgotten(_) => 0,
    };
    let mut json = Json::default();
    json.object(|json| json.key("withdrawn").int(withdrawn.into()));
    Answer::new(json, done.revision, withdrawn as usize, Coverage::default())
}
