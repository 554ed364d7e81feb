//! `history`: the events of a pair, oldest first.

use super::recall::cursor;
use crate::answer::{Answer, Coverage, EmptyReason, count};
use crate::args::{Args, Fields};
use crate::error::Error;
use crate::event::{Event, Told};
use crate::json::Json;
use crate::limits::{MAX_RECALL, MAX_SPELLING_BYTES, MAX_SUBJECT_BYTES};
use crate::page::{Cursor, Listing};
use crate::value::name_key;
use crate::view::{Pair, View};

/// The pair that a caller names.
#[derive(Debug)]
pub(crate) struct PairArgs {
    pub(crate) subject: String,
    pub(crate) predicate: String,
}

pub(crate) fn parse(args: Args) -> Result<PairArgs, Error> {
    pair(&mut args.read(&["subject", "predicate"])?)
}

fn pair(fields: &mut Fields) -> Result<PairArgs, Error> {
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

/// A part of a pair's history.
#[derive(Debug)]
pub(crate) struct History {
    pair: PairArgs,
    /// All of it if none.
    limit: Option<u32>,
    listing: Listing,
    cursor: Option<Cursor>,
}

/// Reads what `history` takes beyond the pair.
pub(crate) fn parse_history(args: Args) -> Result<History, Error> {
    let mut fields = args.read(&["subject", "predicate", "limit", "cursor"])?;
    let pair = pair(&mut fields)?;
    let limit = fields.whole("limit")?.filter(|limit| *limit > 0);
    let limit = limit.map(|limit| {
        let limit = u32::try_from(limit).ok();
        limit
            .filter(|limit| *limit <= MAX_RECALL)
            .ok_or_else(|| fields.fault("limit", &format!("may be at most {MAX_RECALL}")))
    });
    let said = [name_key(&pair.subject), name_key(&pair.predicate)];
    let listing = Listing::of("history", &said.each_ref().map(|name| Some(name.as_str())));
    Ok(History {
        pair,
        limit: limit.transpose()?,
        listing,
        cursor: cursor(&mut fields, || listing)?,
    })
}

pub(crate) fn answer(view: &View, history: &History) -> Answer {
    let named = &history.pair;
    let mut json = Json::default();
    let found = named.find(view).and_then(|no| Some((no, view.pair(no)?)));
    let Some((no, pair)) = found else {
        json.array([(); 0], |_, ()| {});
        return Answer::new(json, view.revision(), 0, named.nothing(view));
    };
    let events: Vec<(u32, &Event)> = pair.in_order().collect();
    // Whatever was written meanwhile, dated back or not: what earlier pages had is what comes before.
    let skipped = history.cursor.map_or(0, |cursor| {
        events.partition_point(|(_, event)| cursor.covers(pair, Some(event)))
    });
    let limit = history.limit.map_or(usize::MAX, |limit| limit as usize);
    let page: Vec<_> = events.iter().skip(skipped).take(limit).copied().collect();
    json.array(&page, |json, (_, event)| write(json, view, pair, event));
    let more = skipped + page.len() < events.len();
    let last = page.last().filter(|_| more);
    let next = last.map(|(slot, _)| Cursor {
        pair: no,
        slot: *slot,
        listing: history.listing,
    });
    let (all, shown) = (count(events.len()), count(page.len()));
    Answer {
        next: next.map(|next| next.to_string()),
        ..Answer::new(
            json,
            view.revision(),
            page.len(),
            Coverage::of_page(all, all, count(skipped), shown),
        )
    }
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
