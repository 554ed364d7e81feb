//! `forget` of the text surface. Without a model it takes only the exact words of what to forget.

use crate::answer::{Answer, Coverage};
use crate::args::Args;
use crate::error::Error;
use crate::json::Json;
use crate::limits::MAX_VALUE_BYTES;
use crate::plan::{Change, Outcome};
use crate::writer::Done;

pub(crate) fn parse(args: Args) -> Result<Change, Error> {
    let mut fields = args.read(&["text"])?;
    fields
        .need_string("text", MAX_VALUE_BYTES)
        .map(Change::ForgetSentence)
}

pub(crate) fn answer(done: &Done) -> Answer {
    let forgotten: &[String] = match &done.outcome {
        Outcome::Forgotten(sentences) => sentences,
        Outcome::Remembered(_) | Outcome::Text(_) | Outcome::Withdrawn(_) => &[],
    };
    let mut json = Json::default();
    json.object(|json| json.key("forgotten").strings(forgotten));
    Answer::new(json, done.revision, forgotten.len(), Coverage::default())
}
