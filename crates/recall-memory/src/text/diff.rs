//! `diff` of the text surface: what ended and what began, as sentences.

use jiff::Timestamp;

use crate::answer::Answer;
use crate::args::Args;
use crate::error::Error;
use crate::json::Json;
use crate::typed::diff::{Diff, instants};
use crate::view::View;

pub(crate) fn parse(args: Args) -> Result<Diff, Error> {
    let mut fields = args.read(&["from", "to"])?;
    instants(&mut fields)
}

pub(crate) fn answer(diff: &Diff, view: &View, now: Timestamp) -> Result<Answer, Error> {
    let changes = diff.changes(view, now)?;
    let mut json = Json::default();
    json.object(|json| {
        json.key("changes").array(&changes, |json, change| {
            json.object(|json| {
                if !change.removed.is_empty() {
                    json.key("ended").strings(&change.removed);
                }
                if !change.added.is_empty() {
                    json.key("began").strings(&change.added);
                }
            });
        });
    });
    let coverage = diff.coverage(view, &changes);
    Ok(Answer::new(json, view.revision(), changes.len(), coverage))
}
