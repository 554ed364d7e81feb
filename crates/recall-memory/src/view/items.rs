//! What the search index is told of a statement, and who speaks in it.

use std::sync::Arc;

use jiff::Timestamp;

use crate::event::Event;
use crate::search::{NewItem, Place};

/// Whom a text is about when nothing else is said; not worth a search.
const USER: &str = "user";
/// The role whose words a question about its asker does not prefer.
const ASSISTANT: &str = "assistant";
/// Bytes of a value that may be a name.
const MAX_NAME: usize = 64;
/// How the lines of remembered messages begin.
const ROLES: [(&str, bool); 2] = [("User: ", false), ("Assistant: ", true)];

/// A statement before it is indexed: one item, or one for each message of a conversation.
#[derive(Debug)]
pub(super) struct IndexText {
    text: String,
    speaker: Option<Arc<str>>,
    assistant: bool,
    /// Whether each line is a message.
    messages: bool,
    session: Option<String>,
    /// Whether its writer named the session.
    named: bool,
    observed_at: Timestamp,
    arrival: u32,
    /// A value short enough to be a name.
    name: Option<String>,
}

impl IndexText {
    pub(super) fn new(
        text: String,
        subject: Arc<str>,
        note: bool,
        named: bool,
        event: &Event,
    ) -> Self {
        let messages = note && is_conversation(&text);
        let speaks = *subject == *ASSISTANT || (note && is_assistants(&text));
        Self {
            messages,
            assistant: event.assistant || speaks,
            // The sentence of a fact begins with its subject; a note is only its words.
            speaker: (note && *subject != *USER).then_some(subject),
            session: (event.session != 0).then(|| event.session.to_string()),
            named,
            observed_at: event.observed,
            arrival: event.arrival,
            name: None,
            text,
        }
    }

    /// Where its items belong among the others.
    pub(super) fn place(&self) -> Place {
        Place {
            order: self.arrival,
            named: self.named,
        }
    }

    /// The value of a fact, which may be a name.
    pub(super) fn set_name(&mut self, value: &str) {
        self.name = (value.len() <= MAX_NAME).then(|| value.to_owned());
    }

    pub(super) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// The items, in order.
    pub(super) fn items(&self) -> impl Iterator<Item = NewItem<'_>> {
        let whole = (!self.messages).then_some((self.text.as_str(), self.assistant));
        let lines = self.text.lines().filter(|_| self.messages);
        let messages = lines.filter_map(|line| Some((line, role(line)?)));
        whole
            .into_iter()
            .chain(messages)
            .map(|(text, assistant)| NewItem {
                text,
                speaker: self.speaker.as_deref(),
                assistant,
                session: self.session.as_deref(),
                observed_at: self.observed_at,
            })
    }
}

/// Whether a text is messages that were remembered together.
fn is_conversation(text: &str) -> bool {
    text.contains('\n') && text.lines().all(|line| role(line).is_some())
}

/// Whether the assistant speaks in a line that begins with a role.
fn role(line: &str) -> Option<bool> {
    let (_, assistant) = ROLES.iter().find(|(role, _)| line.starts_with(role))?;
    Some(*assistant)
}

/// Whether a text begins with the assistant's name.
fn is_assistants(text: &str) -> bool {
    let named = text.split_once(':');
    named.is_some_and(|(name, rest)| {
        name.trim().eq_ignore_ascii_case(ASSISTANT) && rest.starts_with(char::is_whitespace)
    })
}

#[cfg(test)]
mod tests;
