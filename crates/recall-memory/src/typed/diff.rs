//! `diff`: what changed between two instants.

use std::collections::HashSet;

use jiff::Timestamp;

use crate::answer::{Answer, Coverage, EmptyReason, count};
use crate::args::{Args, Fields};
use crate::error::Error;
use crate::fold::Believed;
use crate::json::Json;
use crate::limits::MAX_SUBJECT_BYTES;
use crate::sentence;
use crate::time;
use crate::value::ValueKey;
use crate::view::{Find, Pair, View};

/// Two instants; the later one is now where none is named.
#[derive(Debug)]
pub(crate) struct Diff {
    pub(crate) from: Timestamp,
    pub(crate) to: Option<Timestamp>,
    pub(crate) subject: Option<String>,
}

/// What changed of one pair, as sentences in alphabetical order.
#[derive(Debug)]
pub(crate) struct PairDiff {
    pub(crate) subject: String,
    pub(crate) predicate: String,
    pub(crate) before: Vec<String>,
    pub(crate) after: Vec<String>,
    pub(crate) added: Vec<String>,
    pub(crate) removed: Vec<String>,
}

pub(crate) fn parse(args: Args) -> Result<Diff, Error> {
    let mut fields = args.read(&["from", "to", "subject"])?;
    let subject = fields.string("subject", MAX_SUBJECT_BYTES)?;
    Ok(Diff {
        subject: subject.filter(|subject| !subject.trim().is_empty()),
        ..instants(&mut fields)?
    })
}

/// Reads the two instants.
pub(crate) fn instants(fields: &mut Fields) -> Result<Diff, Error> {
    let from = fields.instant("from")?;
    Ok(Diff {
        from: from.ok_or_else(|| Error::invalid("from is required"))?,
        to: fields.instant("to")?,
        subject: None,
    })
}

impl Diff {
    /// The pairs that changed, by subject and predicate.
    pub(crate) fn changes(&self, view: &View, now: Timestamp) -> Result<Vec<PairDiff>, Error> {
        let to = self.to.unwrap_or(now);
        if self.from >= to {
            return Err(Error::refused(format!(
                "from ({}) must be before to ({})",
                time::seconds(self.from),
                time::seconds(to)
            )));
        }
        let (before, after) = (Find::new(view, Some(self.from)), Find::new(view, self.to));
        let mut changes: Vec<PairDiff> = self
            .pairs(view)
            .filter_map(|no| {
                let pair = view.pair(no)?;
                pair_diff(
                    view,
                    pair,
                    &before.believed(no, pair),
                    &after.believed(no, pair),
                )
            })
            .collect();
        changes.sort_by(|one, two| {
            (&one.subject, &one.predicate).cmp(&(&two.subject, &two.predicate))
        });
        Ok(changes)
    }

    pub(crate) fn answer(&self, view: &View, now: Timestamp) -> Result<Answer, Error> {
        let changes = self.changes(view, now)?;
        let mut json = Json::default();
        json.object(|json| {
            json.key("changes").array(&changes, |json, change| {
                json.object(|json| change.write(json));
            });
        });
        let coverage = self.coverage(view, &changes);
        Ok(Answer::new(json, view.revision(), changes.len(), coverage))
    }

    pub(crate) fn coverage(&self, view: &View, changes: &[PairDiff]) -> Coverage {
        let unknown = |name: &String| view.subject_no(name).is_none();
        if self.subject.as_ref().is_some_and(unknown) && view.held() > 0 {
            return Coverage::unknown(EmptyReason::UnknownSubject);
        }
        // What is believed at the end, as a recall of that time counts it, and what ended till then.
        let find = Find::new(view, self.to);
        let held = match self.subject {
            Some(_) => find.believed_of(self.pairs(view)),
            None => find.in_scope(),
        };
        let changed = count(changes.len());
        Coverage::of(held.max(changed), changed, changed)
    }

    fn pairs<'v>(&self, view: &'v View) -> Box<dyn Iterator<Item = u32> + 'v> {
        match &self.subject {
            None => Box::new(0..view.pair_count()),
            Some(name) => {
                let subject = view.subject_no(name).and_then(|no| view.subject(no));
                Box::new(
                    subject
                        .into_iter()
                        .flat_map(|subject| subject.pairs.iter().copied()),
                )
            }
        }
    }
}

fn pair_diff(view: &View, pair: &Pair, before: &Believed, after: &Believed) -> Option<PairDiff> {
    let same = before.len() == after.len()
        && before
            .iter()
            .zip(after.iter())
            .all(|(one, two)| one.slot == two.slot);
    if same {
        return None;
    }
    let (old, new) = (keys(pair, before), keys(pair, after));
    if old == new {
        return None;
    }
    Some(PairDiff {
        subject: view.subject_name(pair).to_string(),
        predicate: view.predicate_name(pair).to_string(),
        before: sentences(view, pair, before, |_| true),
        after: sentences(view, pair, after, |_| true),
        added: sentences(view, pair, after, |key| !old.contains(key)),
        removed: sentences(view, pair, before, |key| !new.contains(key)),
    })
}

fn keys(pair: &Pair, believed: &Believed) -> HashSet<ValueKey> {
    let values = believed.iter().filter_map(|belief| pair.value(belief.slot));
    values.map(crate::value::Value::key).collect()
}

fn sentences(
    view: &View,
    pair: &Pair,
    believed: &Believed,
    keep: impl Fn(&ValueKey) -> bool,
) -> Vec<String> {
    let (subject, predicate) = (view.subject_name(pair), view.predicate_name(pair));
    let mut sentences: Vec<String> = believed
        .iter()
        .filter_map(|belief| pair.value(belief.slot))
        .filter(|value| keep(&value.key()))
        .map(|value| sentence::spoken(&subject, &predicate, value))
        .collect();
    sentences.sort_unstable();
    sentences
}

impl PairDiff {
    fn write(&self, json: &mut Json) {
        json.key("subject").string(&self.subject);
        json.key("predicate").string(&self.predicate);
        json.key("before").strings(&self.before);
        json.key("after").strings(&self.after);
        if !self.added.is_empty() {
            json.key("added").strings(&self.added);
        }
        if !self.removed.is_empty() {
            json.key("removed").strings(&self.removed);
        }
    }
}
