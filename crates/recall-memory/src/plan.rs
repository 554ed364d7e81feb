//! Deciding a write: which events follow from it, given the view. Pure; nothing is changed here.

mod forget;
mod overlay;
mod quota;
mod remember;
mod text;

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value as Json;

use crate::card::Card;
use crate::error::Error;
use crate::event::{Kind, Placed, Source};
use crate::registry::Cardinality;
use crate::time;
use crate::value::{Value, ValueKey, name_key};
use crate::view::View;

pub(crate) use overlay::Draft;
pub use quota::Quota;
pub(crate) use quota::Room;

/// A write, read and checked as far as that goes without the view.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// One statement.
    Remember(Box<Statement>),
    /// A text and the statements drawn from it.
    Text(Box<TextStatements>),
    /// A withdrawal; of everything when no value is named.
    Forget {
        subject: Arc<str>,
        predicate: String,
        value: Option<Value>,
    },
    /// The withdrawal of what a sentence says, word for word.
    ForgetSentence(String),
}

/// A statement to be remembered.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub(crate) subject: Arc<str>,
    pub(crate) predicate: String,
    pub(crate) value: Value,
    pub(crate) kind: Option<Kind>,
    pub(crate) confidence: f64,
    pub(crate) source: Source,
    pub(crate) observed: Option<Timestamp>,
    pub(crate) replaces: Vec<Replace>,
    pub(crate) cardinality: Option<Cardinality>,
    pub(crate) description: Option<String>,
    pub(crate) evidence: Option<Arc<str>>,
    pub(crate) assistant: bool,
}

/// A belief that a statement makes untrue.
#[derive(Clone, Debug)]
pub(crate) struct Replace {
    pub(crate) predicate: String,
    pub(crate) value: Value,
    /// Predicate and value as they were sent, for answers that repeat them.
    pub(crate) sent: (Json, Json),
}

/// A statement that was drawn from a text.
#[derive(Clone, Debug)]
pub(crate) struct Proposal {
    pub(crate) statement: Statement,
    /// Subject and value as they were sent, for answers that repeat them.
    pub(crate) subject: Json,
    pub(crate) value: Json,
}

/// A text with what its reader drew from it.
#[derive(Clone, Debug)]
pub(crate) struct TextStatements {
    /// The note that keeps the whole text.
    pub(crate) episode: Statement,
    pub(crate) proposals: Vec<Proposal>,
    /// The text as it is kept already, where a model has read it since: then each statement stands or
    /// falls alone, instead of all together.
    pub(crate) kept: Option<Box<Remembered>>,
}

/// What a write came to.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    Remembered(Box<Remembered>),
    Text(Box<TextRemembered>),
    Withdrawn(u32),
    Forgotten(Vec<String>),
}

/// What a statement came to.
#[derive(Clone, Debug)]
pub(crate) struct Remembered {
    pub(crate) stored: Card,
    pub(crate) already_known: bool,
    pub(crate) superseded: Vec<Card>,
    pub(crate) unreplaced: Vec<Replace>,
}

/// What a text came to.
#[derive(Clone, Debug)]
pub(crate) struct TextRemembered {
    pub(crate) episode: Remembered,
    pub(crate) results: Vec<Remembered>,
    pub(crate) proposals: Vec<Proposal>,
    /// Places in `proposals` of those that no predicate fits.
    pub(crate) unfiled: Vec<usize>,
    /// What was refused where each stands alone, as sentences with the reason.
    pub(crate) refused: Vec<(String, String)>,
}

/// A decided write.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) events: Vec<Placed>,
    pub(crate) outcome: Outcome,
}

/// Gives each event its own instant of writing, later than all before it.
#[derive(Debug)]
pub(crate) struct Stamp {
    now: Timestamp,
    last: Timestamp,
    pub(crate) author: Author,
}

/// Who writes, and in which session if the caller names one.
#[derive(Clone, Debug)]
pub(crate) struct Author {
    pub(crate) key: Arc<str>,
    pub(crate) session: Option<Arc<str>>,
}

impl Author {
    pub(crate) fn nobody() -> Self {
        Self {
            key: Arc::from(""),
            session: None,
        }
    }
}

/// What a write may touch. Writes of one batch must not touch the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Touch {
    /// Subject and predicate.
    pub(crate) pair: (String, String),
    /// One value of the pair; the whole pair if none.
    pub(crate) value: Option<ValueKey>,
}

impl Replace {
    /// Whether two entries name the same belief.
    pub(crate) fn same(&self, other: &Self) -> bool {
        self.predicate == other.predicate && self.value.same(&other.value)
    }
}

impl Stamp {
    pub(crate) fn new(now: Timestamp, view: &View, author: Author) -> Self {
        // A log written by a clock far ahead must not drag the present along.
        let last = view.last_recorded();
        let near = now
            .checked_add(crate::limits::MAX_AHEAD)
            .unwrap_or(Timestamp::MAX);
        Self {
            now,
            last: if last <= near { last } else { Timestamp::MIN },
            author,
        }
    }

    /// Another write of the same batch.
    pub(crate) fn by(&mut self, author: &Author) {
        self.author = author.clone();
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.now
    }

    pub(crate) fn next(&mut self) -> Timestamp {
        self.last = self.now.max(time::after(self.last));
        self.last
    }
}

/// Decides a write.
///
/// # Errors
///
/// [`Error::Refused`] in words for the caller, [`Error::Full`] where there is no room for it; then
/// nothing of it may be written.
pub(crate) fn plan(
    view: &View,
    change: &Change,
    stamp: &mut Stamp,
    room: &mut Room,
) -> Result<Plan, Error> {
    let mut draft = Draft::new(view, stamp);
    let outcome = match change {
        Change::Remember(statement) => Outcome::Remembered(Box::new(draft.remember(statement)?)),
        Change::Text(text) => Outcome::Text(Box::new(draft.remember_text(text)?)),
        Change::Forget {
            subject,
            predicate,
            value,
        } => Outcome::Withdrawn(draft.forget(subject, predicate, value.as_ref())?),
        Change::ForgetSentence(text) => Outcome::Forgotten(draft.forget_sentence(text)?),
    };
    room.admit(&draft)?;
    Ok(Plan {
        events: draft.into_events(),
        outcome,
    })
}

/// What a write may touch, by the rules of the view.
pub(crate) fn touches(view: &View, change: &Change) -> Vec<Touch> {
    let mut touches = Vec::new();
    match change {
        Change::Remember(statement) => touch_statement(view, statement, &mut touches),
        Change::Text(text) => {
            touch_statement(view, &text.episode, &mut touches);
            for proposal in &text.proposals {
                touch_statement(view, &proposal.statement, &mut touches);
            }
        }
        Change::Forget {
            subject,
            predicate,
            value,
        } => touch_value(view, subject, predicate, value.as_ref(), &mut touches),
        // What a sentence names is found out later, so it goes alone.
        Change::ForgetSentence(_) => {}
    }
    touches
}

/// The most events that a write can come to.
pub(crate) fn weight(change: &Change) -> usize {
    let of = |statement: &Statement| 2 + statement.replaces.len();
    match change {
        Change::Remember(statement) => of(statement),
        Change::Text(text) => {
            let drawn = text.proposals.iter().map(|proposal| &proposal.statement);
            1 + drawn.map(of).sum::<usize>()
        }
        Change::Forget { .. } => 1,
        Change::ForgetSentence(_) => usize::MAX,
    }
}

fn touch_statement(view: &View, statement: &Statement, touches: &mut Vec<Touch>) {
    let subject = &*statement.subject;
    touch_value(
        view,
        subject,
        &statement.predicate,
        Some(&statement.value),
        touches,
    );
    for replace in &statement.replaces {
        touch_value(
            view,
            subject,
            &replace.predicate,
            Some(&replace.value),
            touches,
        );
    }
}

fn touch_value(
    view: &View,
    subject: &str,
    predicate: &str,
    value: Option<&Value>,
    touches: &mut Vec<Touch>,
) {
    let subject = name_key(subject);
    let key = name_key(&view.spelling(predicate));
    let Some(found) = view.predicate_no(&key).and_then(|no| view.predicate(no)) else {
        // A first use defines the predicate for every subject.
        touches.push(Touch {
            pair: (crate::registry::REGISTRY_SUBJECT.to_owned(), key.clone()),
            value: None,
        });
        touches.push(Touch {
            pair: (subject, key),
            value: None,
        });
        return;
    };
    for predicate in &found.group {
        let Some(other) = view.predicate(*predicate) else {
            continue;
        };
        let whole = other.definition.single();
        touches.push(Touch {
            pair: (subject.clone(), name_key(&other.name)),
            value: value.filter(|_| !whole).map(Value::key),
        });
    }
}
