//! Lines of the client as messages for the server, passed on as they were written.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::headers::{self, Repeated};

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
    /// The tool and agent of a call that takes or releases an agent.
    pub(super) agent_call: Option<(String, String)>,
    /// The id of the call that this calls off.
    pub(super) cancels: Option<String>,
}

/// What the bridge looks at in a message.
#[derive(Deserialize)]
struct Seen<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(default)]
    method: Value,
    #[serde(default)]
    params: Value,
}

/// Tells `null` from nothing.
fn present<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
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
    fn read(raw: &RawValue) -> Result<Self, String> {
        let none = || "a message is one JSON object".to_owned();
        // A list would be read as the members in their order.
        if !raw.get().starts_with('{') {
            return Err(none());
        }
        let seen: Seen<'_> = serde_json::from_str(raw.get()).map_err(|_| none())?;
        let method = seen.method.as_str().unwrap_or_default();
        Ok(Self {
            id: seen.id.map(|id| id.get().to_owned()),
            // Line ends between its tokens cannot be in a line.
            body: Bytes::copy_from_slice(raw.get().as_bytes()),
            stateless: headers::repeated(method, &seen.params),
            probes: method == "server/discover",
            agent_call: agent_call(method, &seen.params),
            cancels: cancels(raw, method),
        })
    }
}

fn agent_call(method: &str, params: &Value) -> Option<(String, String)> {
    let tool = params["name"].as_str()?;
    let agent = params["arguments"]["agent_id"].as_str()?;
    let counts = ["agent_resume", "agent_acquire", "agent_release"].contains(&tool);
    (counts && method == "tools/call").then(|| (tool.to_owned(), agent.to_owned()))
}

/// The id as it was written, to be compared with that of the call.
fn cancels(raw: &RawValue, method: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Cancel<'a> {
        #[serde(borrow)]
        params: Named<'a>,
    }
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(borrow, rename = "requestId")]
        request: &'a RawValue,
    }
    if method != "notifications/cancelled" {
        return None;
    }
    let cancel: Cancel<'_> = serde_json::from_str(raw.get()).ok()?;
    Some(cancel.params.request.get().to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert, proptest};

    use super::*;

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
