//! Lines of the client as messages for the server, passed on as they were written.

use std::collections::HashMap;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::headers::{self, Repeated};
use crate::session::Repeat;

/// One message to pass on.
#[derive(Debug)]
pub(super) struct Message {
    /// What the answer must carry, as it was written: a number beyond what a float holds stays
    /// itself. `None` for a notification.
    pub(super) id: Option<String>,
    pub(super) body: Bytes,
    /// The headers of a message that says for itself which revision it speaks.
    pub(super) stateless: Option<Repeated>,
    /// Whether a client asks what the server is, before anything else.
    pub(super) probes: bool,
    /// Whether it may be sent again when the connection was lost.
    pub(super) repeat: Repeat,
    /// The tool and agent of a call that takes, works on or releases an agent. A key that is for one agent need
    /// not name it.
    pub(super) agent_call: Option<(String, Option<String>)>,
    /// The id of the call that this calls off.
    pub(super) cancels: Option<String>,
}

/// The messages of a line: one, or those of a batch, or why there is none. A blank line is nothing.
pub(super) fn split(line: &[u8]) -> Vec<Result<Message, String>> {
    if line.iter().all(u8::is_ascii_whitespace) {
        return Vec::new();
    }
    let invalid = |error: serde_json::Error| format!("this line is not valid JSON: {error}");
    let first = line.iter().find(|byte| !byte.is_ascii_whitespace());
    if first != Some(&b'[') {
        let whole = serde_json::from_slice::<&RawValue>(line).map_err(invalid);
        return vec![whole.and_then(Message::read)];
    }
    match serde_json::from_slice::<Vec<&RawValue>>(line).map_err(invalid) {
        Ok(items) if items.is_empty() => vec![Err("an empty batch holds no message".to_owned())],
        Ok(items) => items.into_iter().map(Message::read).collect(),
        Err(why) => vec![Err(why)],
    }
}

impl Message {
    /// Only what the bridge itself goes by is read; what is wrong with the rest is the server's to
    /// tell, under the message's own id.
    fn read(raw: &RawValue) -> Result<Self, String> {
        // A list would be read as the members in their order.
        if !raw.get().starts_with('{') {
            return Err("a message is one JSON object".to_owned());
        }
        let members: Members<'_> = serde_json::from_str(raw.get())
            .map_err(|error| format!("the names in this message cannot be read: {error}"))?;
        let read = |name: &str| members.get(name).and_then(|raw| parsed::<Value>(raw));
        let method = read("method").unwrap_or_default();
        let (method, params) = (
            method.as_str().unwrap_or_default(),
            read("params").unwrap_or_default(),
        );
        Ok(Self {
            id: members.get("id").map(|id| id.get().to_owned()),
            // Line ends between its tokens cannot be in a line.
            body: Bytes::copy_from_slice(raw.get().as_bytes()),
            stateless: headers::repeated(method, &params),
            probes: method == "server/discover",
            repeat: repeat(method, &params),
            agent_call: agent_call(method, &params),
            cancels: members
                .get("params")
                .and_then(|params| cancels(params, method)),
        })
    }
}

/// The members of an object as they were written; of two with one name the later counts.
type Members<'a> = HashMap<String, &'a RawValue>;

fn parsed<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Option<T> {
    serde_json::from_str(raw.get()).ok()
}

/// Tools that leave the same behind whether they are called once or twice, as the server's
/// annotations have it: they only read, or are idempotent.
const REPEATABLE: [&str; 18] = [
    "agent_context",
    "agent_release",
    "diff",
    "explain",
    "fetch_output",
    "forget",
    "history",
    "list_pointers",
    "list_predicates",
    "memory_history",
    "pending_actions",
    "recall",
    "recent_turns",
    "remember",
    "remove_pointer",
    "set_pointer",
    "timeline",
    "working_state_history",
];

/// Tools after which a process works on an agent.
const WORK: [&str; 10] = [
    "agent_acquire",
    "agent_milestone",
    "agent_resume",
    "begin_action",
    "end_action",
    "record_turn",
    "remove_pointer",
    "set_pointer",
    "store_output",
    "update_working_state",
];

/// No other method than a call of a tool changes anything.
fn repeat(method: &str, params: &Value) -> Repeat {
    let tool = params["name"].as_str().unwrap_or_default();
    match method != "tools/call" || REPEATABLE.contains(&tool) {
        true => Repeat::Safe,
        false => Repeat::Unsent,
    }
}

fn agent_call(method: &str, params: &Value) -> Option<(String, Option<String>)> {
    let tool = params["name"].as_str()?;
    let agent = params["arguments"]["agent_id"].as_str();
    let counts = WORK.contains(&tool) || tool == "agent_release";
    (counts && method == "tools/call").then(|| (tool.to_owned(), agent.map(str::to_owned)))
}

/// The id as it was written, to be compared with that of the call.
fn cancels(params: &RawValue, method: &str) -> Option<String> {
    if method != "notifications/cancelled" {
        return None;
    }
    let params: Members<'_> = parsed(params)?;
    Some(params.get("requestId")?.get().to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert, proptest};

    use super::*;

    #[test]
    fn what_is_wrong_further_in_leaves_the_id_readable() {
        let deep = format!(
            r#"{{"id":7,"params":{}{}}}"#,
            "[".repeat(500),
            "]".repeat(500)
        );
        for line in [
            r#"{"id":7,"method":"x","params":{"a":"\ud800"}}"#,
            r#"{"id":7,"method":"\ud800"}"#,
            r#"{"id":1,"method":"x","params":1e999,"id":7}"#,
            &deep,
        ] {
            let messages = split(line.as_bytes());
            let [Ok(message)] = messages.as_slice() else {
                panic!("{line}: {messages:?}")
            };
            assert_eq!(message.id.as_deref(), Some("7"), "{line}");
        }
        let unreadable = split(br#"{"\ud800":1}"#);
        assert!(matches!(unreadable.as_slice(), [Err(why)] if why.contains("cannot be read")));
    }

    #[test]
    fn a_list_in_a_batch_is_no_message() {
        assert!(matches!(split(b"[[{}]]").as_slice(), [Err(_)]));
        assert!(matches!(split(b"7").as_slice(), [Err(_)]));
    }

    proptest! {
        /// Whatever a line holds, what is passed on is one line of JSON.
        #[test]
        fn lines_never_panic(
            line in "\\PC{0,60}|[\\[{]{0,3}(\"(id|method|params|_meta|requestId)\":([0-9]{1,30}|null|\"\\PC{0,5}\"|[\\[{])?,?){0,6}[\\]}]{0,4}"
        ) {
            for message in split(line.as_bytes()).into_iter().flatten() {
                prop_assert!(!message.body.contains(&b'\n'));
                prop_assert!(serde_json::from_slice::<Value>(&message.body).is_ok_and(|it| it.is_object()));
                prop_assert!(message.id.is_none_or(|id| serde_json::from_str::<&RawValue>(&id).is_ok()));
            }
        }
    }
}
