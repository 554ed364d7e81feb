//! `remember` of the text surface: without a model, the words are kept as a note.

use crate::answer::{Answer, Coverage};
use crate::args::{Args, Fields};
use crate::card::Card;
use crate::error::Error;
use crate::extraction::{Drawn, DrawnKind};
use crate::json::Json;
use crate::limits::MAX_TEXT_BYTES;
use crate::plan::{Outcome, Remembered, Statement};
use crate::typed::remember::note;
use crate::view::{Find, View};
use crate::writer::Done;

/// The most messages of one call; their joined text has its own limit.
const MAX_MESSAGES: usize = 1_024;

const KEPT: &str = "The text was kept as it is, because this server has no extraction model. \
                    Recall finds it by its words; nothing that was remembered before is replaced by it.";

pub(crate) fn parse(args: Args) -> Result<Box<Statement>, Error> {
    let mut fields = args.read(&["text", "messages", "observed_at"])?;
    let observed = fields.instant("observed_at")?;
    let text = fields
        .string("text", MAX_TEXT_BYTES)?
        .filter(|text| !text.trim().is_empty());
    let messages = fields
        .list("messages", MAX_MESSAGES, &["role", "content"])?
        .unwrap_or_default();
    let (text, assistant) = match (text, messages.is_empty()) {
        (Some(text), true) => (text, false),
        (None, false) => join(messages)?,
        (Some(_), false) => {
            return Err(fields.fault("messages", "cannot go with text; send one of them"));
        }
        (None, true) => {
            return Err(Error::refused(
                "text or messages is required and must say something",
            ));
        }
    };
    if text.len() > MAX_TEXT_BYTES {
        let reason = format!(
            "may have at most {MAX_TEXT_BYTES} bytes together, got {}",
            text.len()
        );
        return Err(fields.fault("messages", &reason));
    }
    Ok(Box::new(note(&text, observed, assistant)))
}

/// Joins messages, each to one line; says whether all of them are an assistant's.
fn join(messages: Vec<Fields>) -> Result<(String, bool), Error> {
    let mut lines = Vec::with_capacity(messages.len());
    let mut assistant = true;
    for mut message in messages {
        let role = message.need_string("role", MAX_TEXT_BYTES)?;
        let speaker = match role.as_str() {
            "user" => "User",
            "assistant" => "Assistant",
            _ => {
                return Err(
                    message.fault("role", &format!("must be user or assistant, got {role:?}"))
                );
            }
        };
        assistant &= speaker == "Assistant";
        let content = message.need_string("content", MAX_TEXT_BYTES)?;
        let words: Vec<&str> = content.split_whitespace().collect();
        lines.push(format!("{speaker}: {}", words.join(" ")));
    }
    Ok((lines.join("\n"), assistant))
}

pub(crate) fn answer(view: Option<&View>, done: &Done) -> Answer {
    let kept = match &done.outcome {
        Outcome::Remembered(remembered) => Some(remembered),
        Outcome::Text(_) | Outcome::Withdrawn(_) | Outcome::Forgotten(_) => None,
    };
    let known = kept.is_some_and(|kept| kept.already_known);
    // Texts were read here before: one that repeats what is no longer so does not answer with it.
    let outdated = view
        .zip(kept)
        .and_then(|(view, kept)| Find::new(view, None).outdated_text(&kept.stored.id));
    let mut json = Json::default();
    json.object(|json| {
        json.key("kept_as_text").bool(true);
        if known {
            json.key("already_known").bool(true);
        }
        if let Some(outdated) = &outdated {
            not_remembered(json, outdated.sentences());
        }
        json.key("note").string(KEPT);
    });
    Answer::new(json, done.revision, 1, Coverage::default())
}

const UNREAD: &str = "The text was kept and recall finds it by its words, but the extraction model did not \
                      answer as it should, so nothing was drawn from it and nothing that was \
                      remembered before is replaced. Send the same text again to have it read.";
const ECHO: &str = "The text only repeats what was answered from this memory, so it was not kept and \
                    nothing was added or changed.";
/// Why what was repeated is not believed.
pub(crate) const GONE: &str = "it is no longer so, and an answer that is repeated does not make it so \
                               again; who means it says it in a sentence";

/// Words the answer of a server with a model.
pub(crate) fn drawn(drawn: &Drawn) -> Answer {
    let mut items = 0;
    let mut json = Json::default();
    json.object(|json| match &drawn.kind {
        DrawnKind::Read(read) => {
            let (text, refused) = (&read.text, &read.not_so());
            let results = text.results.iter().enumerate();
            let own = results.filter(|(no, it)| {
                it.stored.id != text.episode.stored.id && !read.late.contains(no)
            });
            let own: Vec<&Remembered> = own.map(|(_, it)| it).collect();
            items = own.len();
            json.key("kept_as_text").bool(true);
            json.key("remembered")
                .array(own, |json, it| json.object(|json| result(json, it)));
            if !refused.is_empty() {
                json.key("not_remembered")
                    .array(refused, |json, (text, reason)| {
                        json.object(|json| {
                            json.key("text").string(text);
                            json.key("reason").string(reason);
                        });
                    });
            }
        }
        DrawnKind::Known(believed) => known(json, believed, &[], None),
        DrawnKind::Echo(echo) => known(json, &echo.known, &echo.gone, Some(ECHO)),
        DrawnKind::Unread(kept) => {
            json.key("kept_as_text").bool(true);
            json.key("remembered").array([(); 0], |_, ()| {});
            if kept.already_known {
                json.key("already_known").bool(true);
            }
            json.key("note").string(UNREAD);
        }
    });
    Answer::new(json, drawn.revision, items, Coverage::default())
}

fn result(json: &mut Json, it: &Remembered) {
    json.key("text").string(&it.stored.sentence());
    if it.already_known {
        json.key("already_known").bool(true);
    }
    if !it.superseded.is_empty() {
        let ended = it.superseded.iter().map(Card::sentence);
        json.key("replaces").strings(ended);
    }
}

/// What a text says that is no longer so.
fn not_remembered(json: &mut Json, gone: impl Iterator<Item = String>) {
    json.key("not_remembered").array(gone, |json, text| {
        json.object(|json| {
            json.key("text").string(&text);
            json.key("reason").string(GONE);
        });
    });
}

/// Words that nothing was added: `held` is believed as it was, `gone` is no longer so.
fn known(json: &mut Json, held: &[String], gone: &[String], note: Option<&str>) {
    json.key("kept_as_text").bool(note.is_none());
    if gone.is_empty() {
        json.key("already_known").bool(true);
    }
    json.key("remembered").array(held, |json, text| {
        json.object(|json| {
            json.key("text").string(text);
            json.key("already_known").bool(true);
        });
    });
    if !gone.is_empty() {
        not_remembered(json, gone.iter().cloned());
    }
    if let Some(note) = note {
        json.key("note").string(note);
    }
}
