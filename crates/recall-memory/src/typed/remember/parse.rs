//! Reading the arguments of `remember`.

use std::sync::Arc;

use jiff::Timestamp;

use crate::args::{Args, Fields};
use crate::error::Error;
use crate::event::{Kind, Source};
use crate::limits::{
    MAX_DESCRIPTION_BYTES, MAX_REPLACES, MAX_SPELLING_BYTES, MAX_STATEMENTS, MAX_SUBJECT_BYTES,
    MAX_TEXT_BYTES, MAX_VALUE_BYTES,
};
use crate::plan::{Change, Proposal, Replace, Statement, TextStatements};
use crate::registry::{Cardinality, NOTE};
use crate::value::{Value, lower};

/// Whom a text is about when nothing else is said.
const USER: &str = "user";
const NOTE_CONFIDENCE: f64 = 0.5;
/// How sure a statement is that was drawn from a text.
pub(crate) const DRAWN_CONFIDENCE: f64 = 0.8;

const ONE: [&str; 10] = [
    "subject",
    "predicate",
    "value",
    "kind",
    "confidence",
    "source",
    "observed_at",
    "replaces",
    "cardinality",
    "description",
];
const TEXT: [&str; 3] = ["text", "statements", "observed_at"];

/// A write as it is sent.
pub(crate) enum Parsed {
    /// It can be decided as it is.
    Change(Change),
    /// A text of which a model must say what it states.
    Unread(Box<Statement>),
}

/// `reads` says whether there is a model for texts without statements.
pub(crate) fn parse(args: Args, reads: bool) -> Result<Parsed, Error> {
    let mut known: Vec<&str> = ONE.to_vec();
    known.extend(["text", "statements"]);
    let mut fields = args.read(&known)?;
    if !fields.holds("text") && !fields.holds("statements") {
        let observed = fields.instant("observed_at")?;
        let one = Box::new(one(&mut fields, observed)?);
        return Ok(Parsed::Change(Change::Remember(one)));
    }
    if let Some(other) = ONE
        .iter()
        .find(|name| !TEXT.contains(name) && fields.has(name))
    {
        return Err(fields.fault(
            other,
            "cannot go with text, which takes text, statements and observed_at only",
        ));
    }
    text(&mut fields, reads)
}

/// A text as a note about the user.
pub(crate) fn note(text: &str, observed: Option<Timestamp>, assistant: bool) -> Statement {
    Statement {
        subject: Arc::from(USER),
        predicate: NOTE.to_owned(),
        value: Value::text(text),
        kind: None,
        confidence: NOTE_CONFIDENCE,
        source: Source::AgentInferred,
        observed,
        replaces: Vec::new(),
        cardinality: None,
        description: None,
        evidence: None,
        assistant,
    }
}

fn one(fields: &mut Fields, observed: Option<Timestamp>) -> Result<Statement, Error> {
    let confidence = fields.number("confidence")?;
    if confidence.is_some_and(|confidence| !(0.0..=1.0).contains(&confidence)) {
        return Err(fields.fault("confidence", "must be between 0 and 1"));
    }
    let statement = statement(fields, observed)?;
    Ok(Statement {
        kind: fields.word("kind", Kind::parse, "fact or preference")?,
        confidence: confidence.unwrap_or(1.0),
        source: fields
            .word(
                "source",
                Source::parse,
                "user_stated, agent_inferred or tool_result",
            )?
            .unwrap_or(Source::UserStated),
        ..statement
    })
}

fn text(fields: &mut Fields, reads: bool) -> Result<Parsed, Error> {
    let text = fields.need_string("text", MAX_TEXT_BYTES)?;
    let observed = fields.instant("observed_at")?;
    let known = [
        "subject",
        "predicate",
        "value",
        "evidence",
        "replaces",
        "cardinality",
        "description",
    ];
    let Some(list) = fields.list("statements", MAX_STATEMENTS, &known)? else {
        if reads {
            return Ok(Parsed::Unread(Box::new(note(&text, observed, false))));
        }
        return Err(Error::refused(
            "this server has no extraction model, so pass the statements that you draw from the \
             text in `statements`, or an empty list to keep the text alone",
        ));
    };
    let mut proposals = Vec::with_capacity(list.len());
    for mut item in list {
        let (subject, value) = (item.sent("subject"), item.sent("value"));
        let mut drawn = statement(&mut item, observed)?;
        let evidence = item.need_string("evidence", MAX_TEXT_BYTES)?;
        if !text.contains(&evidence) {
            return Err(item.fault("evidence", "must be quoted from the text, letter by letter"));
        }
        drawn.evidence = Some(Arc::from(evidence));
        proposals.push(Proposal {
            statement: drawn,
            subject,
            value,
        });
    }
    Ok(Parsed::Change(Change::Text(Box::new(TextStatements {
        episode: note(&text, observed, false),
        proposals,
        kept: None,
    }))))
}

/// What every statement has, with the confidence and source of one drawn from a text.
fn statement(fields: &mut Fields, observed: Option<Timestamp>) -> Result<Statement, Error> {
    let subject = fields.need_string("subject", MAX_SUBJECT_BYTES)?;
    let predicate = predicate(fields)?;
    let Some(value) = fields.value("value", MAX_VALUE_BYTES)? else {
        return Err(fields.fault("value", "is required"));
    };
    Ok(Statement {
        subject: Arc::from(lower(subject.trim())),
        predicate,
        value,
        kind: None,
        confidence: DRAWN_CONFIDENCE,
        source: Source::AgentInferred,
        observed,
        replaces: replaces(fields)?,
        cardinality: fields.word("cardinality", Cardinality::parse, "single or multi")?,
        description: fields.string("description", MAX_DESCRIPTION_BYTES)?,
        evidence: None,
        assistant: false,
    })
}

fn predicate(fields: &mut Fields) -> Result<String, Error> {
    let predicate = fields.need_string("predicate", MAX_SPELLING_BYTES)?;
    Ok(predicate.trim().to_owned())
}

fn replaces(fields: &mut Fields) -> Result<Vec<Replace>, Error> {
    let list = fields.list("replaces", MAX_REPLACES, &["predicate", "value"])?;
    let read = |mut item: Fields| {
        let sent = (item.sent("predicate"), item.sent("value"));
        let predicate = predicate(&mut item)?;
        let value = item.value("value", MAX_VALUE_BYTES)?;
        let value = value.ok_or_else(|| item.fault("value", "is required"))?;
        Ok(Replace {
            predicate,
            value,
            sent,
        })
    };
    list.unwrap_or_default().into_iter().map(read).collect()
}
