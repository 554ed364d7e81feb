//! `recall`: what is believed, or was: of a pair, of a subject, under a predicate, or by words.

use jiff::Timestamp;

use crate::answer::{Answer, Coverage, EmptyReason, count};
use crate::args::{Args, Fields};
use crate::card::{FormerCard, Row};
use crate::error::Error;
use crate::event::Event;
use crate::fold::Belief;
use crate::json::Json;
use crate::limits::{
    DEFAULT_RECALL, MAX_QUERY_BYTES, MAX_RECALL, MAX_SPELLING_BYTES, MAX_SUBJECT_BYTES,
};
use crate::page::{Cursor, Listing, Skip};
use crate::time;
use crate::value::{Value, name_key};
use crate::view::{Find, Pair, Texts, View, Wanted};

/// Rows, what they were taken from, and the last of them if more follow.
type Page<'v> = (Vec<(&'v Pair, Belief)>, Coverage, Option<Cursor>);

/// What is asked for.
#[derive(Debug)]
pub(crate) struct Recall {
    subject: Option<String>,
    predicate: Option<String>,
    query: Option<String>,
    as_of: Option<Timestamp>,
    min_confidence: f64,
    limit: u32,
    cursor: Option<Cursor>,
    with_sources: bool,
    after: Option<Timestamp>,
    before: Option<Timestamp>,
}

pub(crate) fn parse(args: Args) -> Result<Recall, Error> {
    let mut fields = args.read(&[
        "subject",
        "predicate",
        "query",
        "as_of",
        "min_confidence",
        "limit",
        "cursor",
        "with_sources",
        "observed_after",
        "observed_before",
    ])?;
    let says = |text: &String| !text.trim().is_empty();
    let subject = fields.string("subject", MAX_SUBJECT_BYTES)?.filter(says);
    let predicate = fields.string("predicate", MAX_SPELLING_BYTES)?.filter(says);
    let query = fields.string("query", MAX_QUERY_BYTES)?.filter(says);
    if subject.is_none() && predicate.is_none() && query.is_none() {
        return Err(Error::refused(
            "give a query to search by words, or a subject, a predicate or both to read what they hold",
        ));
    }
    let min_confidence = fields.number("min_confidence")?.unwrap_or(0.0);
    if !(0.0..=1.0).contains(&min_confidence) {
        return Err(fields.fault("min_confidence", "must be between 0 and 1"));
    }
    let limit = fields.whole("limit")?.filter(|limit| *limit > 0);
    let limit = limit.unwrap_or(DEFAULT_RECALL.into());
    let limit = u32::try_from(limit)
        .ok()
        .filter(|limit| *limit <= MAX_RECALL)
        .ok_or_else(|| {
            fields.fault(
                "limit",
                &format!("may be at most {MAX_RECALL}, got {limit}"),
            )
        })?;
    let (as_of, after, before) = (
        fields.instant("as_of")?,
        fields.instant("observed_after")?,
        fields.instant("observed_before")?,
    );
    let searches = query.is_some() && (subject.is_none() || predicate.is_none());
    if fields.has("cursor") && searches {
        return Err(fields.fault(
            "cursor",
            "goes with a subject or a predicate: a search has one page",
        ));
    }
    let mut recall = Recall {
        subject,
        predicate,
        query,
        as_of,
        min_confidence,
        limit,
        cursor: None,
        with_sources: fields.flag("with_sources")?.unwrap_or(false),
        after,
        before,
    };
    recall.cursor = cursor(&mut fields, || recall.listing())?;
    Ok(recall)
}

/// Where a listing is to go on.
pub(crate) fn cursor(
    fields: &mut Fields,
    listing: impl FnOnce() -> Listing,
) -> Result<Option<Cursor>, Error> {
    const LONGEST: usize = 64;
    match fields
        .string("cursor", LONGEST)?
        .as_deref()
        .map(Cursor::parse)
    {
        None => Ok(None),
        Some(Some(cursor)) if cursor.listing == listing() => Ok(Some(cursor)),
        Some(Some(_)) => Err(fields.fault(
            "cursor",
            "is of another listing: it goes with the request that gave it, all else alike",
        )),
        Some(None) => Err(fields.fault("cursor", "must be what an earlier page gave as its next")),
    }
}

/// The subject and predicate that an answer is confined to, as the view knows them.
#[derive(Clone, Copy, Debug)]
struct Scope {
    subject: Option<u32>,
    predicate: Option<u32>,
}

impl Recall {
    /// What a cursor must be of to go on with this.
    fn listing(&self) -> Listing {
        // A name in another spelling, or a confidence written otherwise, asks for the same.
        let name = |name: &Option<String>| name.as_deref().map(name_key);
        let instant = |at: Option<Timestamp>| at.map(|at| at.to_string());
        let said = [
            name(&self.subject),
            name(&self.predicate),
            instant(self.as_of),
            instant(self.after),
            instant(self.before),
            Some(self.min_confidence.to_string()),
        ];
        Listing::of("recall", &said.each_ref().map(Option::as_deref))
    }

    /// The words that are searched, where any are.
    pub(crate) fn question(&self) -> Option<&str> {
        let whole_pair = self.subject.is_some() && self.predicate.is_some();
        self.query.as_deref().filter(|_| !whole_pair)
    }

    /// `find` carries what may help to search.
    pub(crate) fn answer(&self, find: Find<'_>, now: Timestamp) -> Answer {
        let find = find.at(self.as_of);
        let view = find.view;
        let (found, coverage, next) = match self.scope(view) {
            Err(coverage) => (Vec::new(), coverage, None),
            Ok(scope) => match (&self.query, scope) {
                (Some(query), Scope { subject, predicate })
                    if subject.is_none() || predicate.is_none() =>
                {
                    let (found, coverage) = self.by_words(&find, scope, query, now);
                    (found, coverage, None)
                }
                _ => self.by_name(&find, scope),
            },
        };
        let mut json = Json::default();
        let at = self.as_of.unwrap_or(now);
        json.array(&found, |json, (pair, belief)| {
            self.write(json, &find, pair, belief, at);
        });
        Answer {
            next: next.map(|next| next.to_string()),
            ..Answer::new(json, view.revision(), found.len(), coverage)
        }
    }

    /// What the names mean to the view; coverage of an empty answer when they mean nothing.
    fn scope(&self, view: &View) -> Result<Scope, Coverage> {
        let predicate = match &self.predicate {
            Some(name) => Some(
                view.spelt(name)
                    .ok_or(Coverage::unknown(EmptyReason::UnknownPredicate))?,
            ),
            None => None,
        };
        let nobody = match view.held() {
            0 => Coverage::of(0, 0, 0),
            _ => Coverage::unknown(EmptyReason::UnknownSubject),
        };
        let subject = match &self.subject {
            Some(name) => Some(view.subject_no(name).ok_or(nobody)?),
            None => None,
        };
        Ok(Scope { subject, predicate })
    }

    /// The rows of this page, what they were taken from, and the last of them if more follow.
    fn by_name<'v>(&self, find: &Find<'v>, scope: Scope) -> Page<'v> {
        let view = find.view;
        let limit = self.limit as usize;
        let (mut found, mut last) = (Vec::new(), None);
        let cursor = |(pair, slot)| Cursor {
            pair,
            slot,
            listing: self.listing(),
        };
        let (mut in_scope, mut considered, mut skipped) = (0, 0, 0);
        let mut skip = Skip::to(self.cursor);
        for no in scope.pairs(view) {
            let Some(pair) = view.pair(no) else { continue };
            let believed = find.believed(no, pair);
            in_scope += believed.len();
            let before = skip.of(no, pair, &believed);
            for (place, belief) in believed.iter().enumerate() {
                let event = pair.events.get(belief.slot as usize);
                if !self.is_plain() && !event.is_some_and(|event| self.accepts(event)) {
                    continue;
                }
                considered += 1;
                if place < before {
                    skipped += 1;
                } else if found.len() < limit {
                    last = Some((no, belief.since));
                    found.push((pair, belief.clone()));
                } else if self.is_plain() && self.as_of.is_none() {
                    // What is left need not be looked at to be counted.
                    let held = scope.held(view);
                    let coverage = Coverage::of_page(held, held, skipped, count(limit));
                    return (found, coverage, last.map(cursor));
                }
            }
        }
        let shown = count(found.len());
        let coverage = Coverage::of_page(count(in_scope), considered, skipped, shown);
        let more = coverage.left_out > 0;
        (found, coverage, last.filter(|_| more).map(cursor))
    }

    fn by_words<'v>(
        &self,
        find: &Find<'v>,
        scope: Scope,
        query: &str,
        now: Timestamp,
    ) -> (Vec<(&'v Pair, Belief)>, Coverage) {
        let view = find.view;
        let now = self.as_of.unwrap_or(now);
        let wanted = Wanted {
            limit: self.limit as usize,
            all: self.is_plain() && scope.is_all(),
            keep: &|pair: &Pair, event: &Event| scope.holds(pair) && self.accepts(event),
            texts: Texts::Standing,
        };
        let ranked = find.rank(query, now, &wanted);
        let mut places = ranked.places;
        places.sort_by_key(|place| {
            let note = view.pair(place.pair).is_some_and(|pair| view.is_note(pair));
            (!place.in_time, note)
        });
        let found: Vec<_> = places
            .iter()
            .filter_map(|place| find.belief(place.pair, place.slot))
            .collect();
        let in_scope = match (self.as_of, scope.is_all()) {
            (None, _) => scope.held(view),
            (Some(_), true) => find.in_scope(),
            (Some(_), false) => find.believed_of(scope.pairs(view)),
        };
        let coverage = Coverage::of(in_scope, ranked.considered, count(found.len()));
        let coverage = coverage.by(ranked.indexes);
        (found, coverage)
    }

    fn is_plain(&self) -> bool {
        self.min_confidence <= 0.0 && self.after.is_none() && self.before.is_none()
    }

    fn accepts(&self, event: &Event) -> bool {
        event.confidence >= self.min_confidence
            && self.after.is_none_or(|after| event.observed >= after)
            && self.before.is_none_or(|before| event.observed <= before)
    }

    fn write(&self, json: &mut Json, find: &Find<'_>, pair: &Pair, belief: &Belief, at: Timestamp) {
        let view = find.view;
        let subject = view.subject(pair.subject).map_or("", |it| &*it.name);
        let predicate = view.predicate(pair.predicate).map_or("", |it| &*it.name);
        let event = pair.event(belief.slot);
        let stated = event.and_then(|event| Some((event, event.value.as_ref()?)));
        let Some((event, value)) = stated else { return };
        json.object(|json| {
            Row::new(subject, predicate, event, value).write(json);
            FormerCard::list(&view.replaced(pair, belief), "replaced", json);
            FormerCard::list(&elsewhere(find, pair, value), "elsewhere", json);
            json.key("days_ago").int(time::days(event.observed, at));
            if let Some(outdated) = find.outdated(pair, belief.slot) {
                outdated.write(json);
            }
            if self.with_sources {
                sources(json, find, pair, belief);
            }
        });
    }
}

impl Scope {
    /// The pairs to look through: typed ones before notes, each in the order of first mention.
    fn pairs(self, view: &View) -> Vec<u32> {
        match (self.subject, self.predicate) {
            (Some(subject), Some(predicate)) => {
                view.pair_no(subject, predicate).into_iter().collect()
            }
            (Some(subject), None) => {
                let pairs = view.subject(subject).map(|subject| subject.pairs.clone());
                let mut pairs = pairs.unwrap_or_default();
                pairs.sort_by_key(|no| view.pair(*no).is_some_and(|pair| view.is_note(pair)));
                pairs
            }
            (None, Some(predicate)) => {
                let pairs = view
                    .predicate(predicate)
                    .map(|predicate| predicate.pairs.clone());
                pairs.unwrap_or_default()
            }
            (None, None) => Vec::new(),
        }
    }

    /// What is believed now within the scope.
    fn held(self, view: &View) -> u32 {
        match (self.subject, self.predicate) {
            (Some(subject), Some(predicate)) => view
                .pair_no(subject, predicate)
                .and_then(|no| view.pair(no))
                .map_or(0, |pair| count(pair.believed.len())),
            (Some(subject), None) => view.subject(subject).map_or(0, |subject| subject.held),
            (None, Some(predicate)) => view
                .predicate(predicate)
                .map_or(0, |predicate| predicate.held),
            (None, None) => view.held(),
        }
    }

    fn is_all(self) -> bool {
        self.subject.is_none() && self.predicate.is_none()
    }

    fn holds(self, pair: &Pair) -> bool {
        self.subject.is_none_or(|subject| subject == pair.subject)
            && self
                .predicate
                .is_none_or(|predicate| predicate == pair.predicate)
    }
}

/// The subject's beliefs under other predicates that hold the same value.
pub(crate) fn elsewhere(find: &Find<'_>, pair: &Pair, value: &Value) -> Vec<FormerCard> {
    let view = find.view;
    if view.is_note(pair) || !view.maybe_elsewhere(pair.subject, value) {
        return Vec::new();
    }
    let own = view.predicate_name(pair);
    let pairs = view
        .subject(pair.subject)
        .map_or(&[][..], |subject| &subject.pairs);
    pairs
        .iter()
        .filter_map(|no| Some((*no, view.pair(*no)?)))
        .filter(|(_, other)| other.predicate != pair.predicate && !view.is_note(other))
        .filter_map(|(no, other)| {
            let believed = find.believed(no, other);
            let belief = believed.find(value, |slot| other.event(slot))?;
            Some(FormerCard::beside(&view.card(other, belief)?, &own))
        })
        .collect()
}

/// Where a belief that was drawn from a text comes from.
fn sources(json: &mut Json, find: &Find<'_>, pair: &Pair, belief: &Belief) {
    let Some(event) = pair.events.get(belief.slot as usize) else {
        return;
    };
    if let Some(evidence) = event.evidence() {
        json.key("evidence").string(evidence);
    }
    if let Some(id) = event.evidence_id() {
        json.key("evidence_id").display(id);
    }
    source_text(json, find, event);
}

/// The whole text that a statement was drawn from, and what of it is no longer so.
pub(super) fn source_text(json: &mut Json, find: &Find<'_>, event: &Event) {
    let Some(source) = find.source_text(event) else {
        return;
    };
    json.key("source_text").string(source.words);
    if let Some(outdated) = &source.outdated {
        outdated.write(json);
    }
}
