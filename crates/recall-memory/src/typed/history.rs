//! `history`: the events of a pair, oldest first.

use crate::answer::{Answer, Coverage, EmptyReason, count};
use crate::args::Args;
use crate::error::Error;
use crate::event::{Event, Told};
use crate::json::Json;
use crate::limits::{MAX_SPELLING_BYTES, MAX_SUBJECT_BYTES};
use crate::view::{Pair, View};

/// The pair that a caller names.
#[derive(Debug)]
pub(crate) struct PairArgs {
    pub(crate) subject: String,
    pub(crate) predicate: String,
}

pub(crate) fn parse(args: Args) -> Result<PairArgs, Error> {
    let mut fields = args.read(&["subject", "predicate"])?;
    Ok(PairArgs {
        subject: fields.need_string("subject", MAX_SUBJECT_BYTES)?,
        predicate: fields.need_string("predicate", MAX_SPELLING_BYTES)?,
    })
}

impl PairArgs {
    /// The pair's number, if anything was ever said of it.
    pub(crate) fn find(&self, view: &View) -> Option<u32> {
        let subject = view.subject_no(&self.subject)?;
        view.pair_no(subject, view.spelt(&self.predicate)?)
    }

    /// Why nothing is found.
    pub(crate) fn nothing(&self, view: &View) -> Coverage {
        let subject = view.subject_no(&self.subject);
        match (view.spelt(&self.predicate), subject) {
            (None, _) => Coverage::unknown(EmptyReason::UnknownPredicate),
            (Some(_), None) if view.held() > 0 => Coverage::unknown(EmptyReason::UnknownSubject),
            (Some(_), _) => Coverage::of(0, 0, 0),
        }
    }
}

pub(crate) fn answer(view: &View, named: &PairArgs) -> Answer {
    let mut json = Json::default();
    let Some(pair) = named.find(view).and_then(|no| view.pair(no)) else {
        json.array([(); 0], |_, ()| {});
        return Answer::new(json, view.revision(), 0, named.nothing(view));
    };
    json.array(pair.in_order(), |json, event| {
        write(json, view, pair, event)
    });
    let events = count(pair.events.len());
    Answer::new(
        json,
        view.revision(),
        pair.events.len(),
        Coverage::of(events, events, events),
    )
}

/// Writes one event.
pub(crate) fn write(json: &mut Json, view: &View, pair: &Pair, event: &Event) {
    json.object(|json| {
        json.key("id").display(&event.id);
        json.key("kind").string(event.kind.as_str());
        json.key("subject").string(&view.subject_name(pair));
        json.key("predicate").string(&view.predicate_name(pair));
        match &event.value {
            Some(value) => json.key("value").value(value),
            None => json.key("value").raw("null"),
        }
        json.key("confidence").number(event.confidence);
        json.key("source").string(event.source.as_str());
        json.key("observed_at").time(event.observed);
        json.key("recorded_at").time(event.recorded);
        if event.retraction {
            json.key("retraction").bool(true);
        }
        if let Some(id) = event.replaced_by() {
            json.key("replaced_by").display(id);
        }
        if !event.replaces().is_empty() {
            json.key("replaces").array(event.replaces(), write_told);
        }
        if let Some(evidence) = event.evidence() {
            json.key("evidence").string(evidence);
        }
        if let Some(id) = event.evidence_id() {
            json.key("evidence_id").display(id);
        }
    });
}

fn write_told(json: &mut Json, told: &Told) {
    json.object(|json| {
        json.key("predicate").string(&told.predicate);
        json.key("value").value(&told.value);
        json.key("source").string(told.source.as_str());
        json.key("observed_at").time(told.observed);
        json.key("event_id").display(&told.id);
    });
}
