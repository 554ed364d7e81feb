//! `recall` of the text surface: what is believed, as sentences.

use jiff::Timestamp;

use crate::answer::{Answer, Coverage, count};
use crate::args::Args;
use crate::card::{Card, FormerCard};
use crate::error::Error;
use crate::event::Event;
use crate::fold::Belief;
use crate::json::Json;
use crate::limits::{MAX_QUERY_BYTES, MAX_RECALL, QUESTION_ROWS};
use crate::sentence;
use crate::time;
use crate::typed::recall::elsewhere;
use crate::view::{Find, Pair, Texts, Wanted};

/// Whom a profile is about.
const USER: &str = "user";

/// What is asked for.
#[derive(Debug)]
pub(crate) struct Recall {
    question: Option<String>,
    as_of: Option<Timestamp>,
    since: Option<Timestamp>,
}

type Row<'v> = (&'v Pair, Belief);

pub(crate) fn parse(args: Args) -> Result<Recall, Error> {
    let mut fields = args.read(&["question", "as_of", "since"])?;
    let question = fields.string("question", MAX_QUERY_BYTES)?;
    Ok(Recall {
        question: question.filter(|question| !question.trim().is_empty()),
        as_of: fields.instant("as_of")?,
        since: fields.instant("since")?,
    })
}

impl Recall {
    /// The words that are searched, where any are.
    pub(crate) fn question(&self) -> Option<&str> {
        self.question.as_deref()
    }

    /// `find` carries what may help to search.
    pub(crate) fn answer(&self, find: Find<'_>, now: Timestamp) -> Answer {
        let find = find.at(self.as_of);
        let view = find.view;
        let at = self.as_of.unwrap_or(now);
        let (rows, coverage) = match (&self.question, self.since) {
            (Some(question), _) => self.by_words(&find, question, at),
            (None, Some(since)) => newest(&find, since),
            (None, None) => profile(&find),
        };
        let mut json = Json::default();
        json.object(|json| {
            json.key("memories").array(&rows, |json, (pair, belief)| {
                write(json, &find, pair, belief, at);
            });
        });
        Answer::new(json, view.revision(), rows.len(), coverage)
    }

    fn by_words<'v>(
        &self,
        find: &Find<'v>,
        question: &str,
        at: Timestamp,
    ) -> (Vec<Row<'v>>, Coverage) {
        let view = find.view;
        let wanted = Wanted {
            limit: QUESTION_ROWS,
            all: self.since.is_none(),
            keep: &|_: &Pair, event: &Event| self.since.is_none_or(|since| event.observed >= since),
            texts: Texts::Folded,
        };
        let ranked = find.rank(question, at, &wanted);
        let mut places = ranked.places;
        places.sort_by_key(|place| {
            let note = view.pair(place.pair).is_some_and(|pair| view.is_note(pair));
            (!place.in_time, note)
        });
        let rows = places
            .iter()
            .filter_map(|place| find.belief(place.pair, place.slot));
        let rows: Vec<Row<'v>> = rows.collect();
        let coverage = Coverage::of(find.in_scope(), ranked.considered, count(rows.len()));
        let coverage = coverage.by(ranked.indexes);
        (rows, coverage)
    }
}

fn event<'p>(pair: &'p Pair, belief: &Belief) -> Option<&'p Event> {
    pair.events.get(belief.slot as usize)
}

/// Everything believed of the user, facts before notes, each in the order of first mention. Beyond
/// the limit the oldest notes are left out.
fn profile<'v>(find: &Find<'v>) -> (Vec<Row<'v>>, Coverage) {
    let view = find.view;
    let user = view.subject_no(USER).and_then(|no| view.subject(no));
    let pairs = user.map_or(&[][..], |user| &user.pairs);
    let (mut facts, mut notes) = (Vec::new(), Vec::new());
    for no in pairs {
        let Some(pair) = view.pair(*no) else { continue };
        let rows = if view.is_note(pair) {
            &mut notes
        } else {
            &mut facts
        };
        let believed = find.believed(*no, pair);
        let answers = believed
            .iter()
            .filter(|it| !find.is_outdated((*no, it.slot)));
        rows.extend(answers.map(|belief| (pair, belief.clone())));
    }
    let in_scope = count(facts.len() + notes.len());
    let most = MAX_RECALL as usize;
    facts.truncate(most);
    let room = most - facts.len();
    let skipped = notes.len().saturating_sub(room);
    facts.extend(notes.into_iter().skip(skipped));
    let coverage = Coverage::of(in_scope, in_scope, count(facts.len()));
    (facts, coverage)
}

/// What was stated since an instant, newest first.
fn newest<'v>(find: &Find<'v>, since: Timestamp) -> (Vec<Row<'v>>, Coverage) {
    let view = find.view;
    let mut rows: Vec<(Timestamp, Row<'v>)> = Vec::new();
    let mut in_scope = 0;
    for no in 0..view.pair_count() {
        let Some(pair) = view.pair(no) else { continue };
        let believed = find.believed(no, pair);
        in_scope += believed.len();
        for belief in believed
            .iter()
            .filter(|it| !find.is_outdated((no, it.slot)))
        {
            let stated = event(pair, belief).map(|event| event.observed);
            rows.extend(
                stated
                    .filter(|at| *at >= since)
                    .map(|at| (at, (pair, belief.clone()))),
            );
        }
    }
    let considered = count(rows.len());
    rows.sort_by(|(one, _), (two, _)| two.cmp(one));
    rows.truncate(MAX_RECALL as usize);
    let coverage = Coverage::of(count(in_scope), considered, count(rows.len()));
    (rows.into_iter().map(|(_, row)| row).collect(), coverage)
}

fn write(json: &mut Json, find: &Find<'_>, pair: &Pair, belief: &Belief, at: Timestamp) {
    let Some(card) = find.view.card(pair, belief) else {
        return;
    };
    let outdated = find.outdated(pair, belief.slot);
    let rest = outdated.as_ref().and_then(|it| it.rest.clone());
    let elsewhere = elsewhere(find, pair, &card.value);
    json.object(|json| {
        json.key("text")
            .string(&rest.unwrap_or_else(|| card.sentence()));
        json.key("since").string(&time::date(card.observed));
        json.key("days_ago").int(time::periods(card.observed, at));
        former(json, "before", &card, &card.replaced);
        former(json, "elsewhere", &card, &elsewhere);
        let said = event(pair, belief).and_then(|event| find.said(event));
        if let Some(said) = &said {
            json.key("said").string(said.words);
        }
        let outdated = outdated.or(said.and_then(|said| said.outdated));
        if let Some(outdated) = &outdated {
            json.key("no_longer").strings(outdated.sentences());
        }
    });
}

/// Beliefs beside one: of the same predicate the bare value, of another one the whole sentence.
fn former(json: &mut Json, name: &str, card: &Card, list: &[FormerCard]) {
    if list.is_empty() {
        return;
    }
    json.key(name).array(list, |json, former| {
        json.object(|json| {
            let text = match &former.predicate {
                Some(predicate) => sentence::spoken(&card.subject, predicate, &former.value),
                None => former.value.to_string(),
            };
            json.key("text").string(&text);
            json.key("since").string(&time::date(former.observed));
        });
    });
}
