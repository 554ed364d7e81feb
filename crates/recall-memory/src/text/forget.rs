//! `forget` of the text surface. Without a model it takes only the exact words of what to forget.

use std::sync::Arc;

use jiff::Timestamp;
use recall_store::Revision;

use crate::answer::{Answer, Coverage};
use crate::args::Args;
use crate::error::Error;
use crate::json::Json;
use crate::limits::MAX_VALUE_BYTES;
use crate::plan::{Change, Outcome};
use crate::value::Value;
use crate::view::{Find, Texts, View, Wanted};
use crate::writer::Done;

/// The most sentences that a model chooses from.
const MAX_CANDIDATES: usize = 40;

pub(crate) fn parse(args: Args) -> Result<String, Error> {
    let mut fields = args.read(&["text"])?;
    fields.need_string("text", MAX_VALUE_BYTES)
}

/// Words the answer of several withdrawals.
pub(crate) fn all(forgotten: &[String], revision: Revision) -> Answer {
    let mut json = Json::default();
    json.object(|json| json.key("forgotten").strings(forgotten));
    Answer::new(json, revision, forgotten.len(), Coverage::default())
}

pub(crate) fn answer(done: &Done) -> Answer {
    let forgotten: &[String] = match &done.outcome {
        Outcome::Forgotten(sentences) => sentences,
        Outcome::Remembered(_) | Outcome::Text(_) | Outcome::Withdrawn(_) => &[],
    };
    all(forgotten, done.revision)
}

/// Something that a description may mean.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub(crate) sentence: String,
    subject: Arc<str>,
    predicate: Arc<str>,
    value: Value,
}

impl Candidate {
    pub(crate) fn withdrawal(&self) -> Change {
        Change::Forget {
            subject: Arc::clone(&self.subject),
            predicate: self.predicate.to_string(),
            value: Some(self.value.clone()),
        }
    }
}

/// What matches a description best.
pub(crate) fn candidates(view: &View, description: &str, now: Timestamp) -> Vec<Candidate> {
    let find = Find::new(view, None);
    let wanted = Wanted {
        limit: MAX_CANDIDATES,
        all: true,
        keep: &|_, _| true,
        texts: Texts::All,
    };
    let ranked = find.rank(description, now, &wanted);
    let found = ranked.places.iter().filter_map(|place| {
        let (pair, belief) = find.belief(place.pair, place.slot)?;
        let card = view.card(pair, &belief)?;
        Some(Candidate {
            sentence: card.sentence(),
            subject: card.subject,
            predicate: card.predicate,
            value: card.value,
        })
    });
    found.collect()
}
