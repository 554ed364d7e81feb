//! `history` of the text surface: how each thing that a question reaches changed.

use jiff::Timestamp;

use crate::answer::{Answer, Coverage, Indexes, count};
use crate::args::Args;
use crate::error::Error;
use crate::json::Json;
use crate::limits::{MAX_QUERY_BYTES, QUESTION_ROWS};
use crate::sentence;
use crate::time;
use crate::typed::timeline::{Change, ChangeKind, changes, now};
use crate::view::{Find, View};

pub(crate) fn parse(args: Args) -> Result<String, Error> {
    let mut fields = args.read(&["question"])?;
    fields.need_string("question", MAX_QUERY_BYTES)
}

pub(crate) fn answer(view: &View, question: &str, at: Timestamp) -> Answer {
    let find = Find::new(view, None);
    // A note is said once; only what can be replaced or withdrawn in parts has a history.
    let pairs = find.rank_ever(question, at, QUESTION_ROWS, &|pair| !view.is_note(pair));
    let mut json = Json::default();
    json.object(|json| {
        json.key("history")
            .array(&pairs, |json, no| write(json, view, *no));
    });
    let coverage = Coverage::of(view.pair_count(), count(pairs.len()), count(pairs.len()));
    let coverage = coverage.by(Indexes::WORDS);
    Answer::new(json, view.revision(), pairs.len(), coverage)
}

fn write(json: &mut Json, view: &View, no: u32) {
    let Some(pair) = view.pair(no) else { return };
    let about = sentence::about(&view.subject_name(pair), &view.predicate_name(pair));
    let changes = changes(view, no);
    let changes = changes
        .iter()
        .filter(|change| change.kind != ChangeKind::NoChange);
    json.object(|json| {
        json.key("about").string(&about);
        json.key("now").strings(now(view, pair));
        json.key("changes").array(changes, |json, change| {
            json.object(|json| write_change(json, change))
        });
    });
}

fn write_change(json: &mut Json, change: &Change) {
    json.key("when").string(&time::seconds(change.at));
    json.key("change").string(change.kind.as_str());
    if !change.removed.is_empty() {
        json.key("ended").strings(&change.removed);
    }
    if !change.added.is_empty() {
        json.key("began").strings(&change.added);
    }
    if let Some(evidence) = &change.evidence {
        json.key("said").string(evidence);
    }
    if change.kind == ChangeKind::Withdrawn {
        json.key("statement").string(&change.statement);
    }
}
