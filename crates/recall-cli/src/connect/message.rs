//! Lines of the client as messages for the server.

use bytes::Bytes;
use serde_json::{Value, json};

/// One message to pass on.
#[derive(Debug)]
pub(super) struct Message {
    /// What the answer must carry; `None` for a notification.
    pub(super) id: Option<Value>,
    pub(super) body: Bytes,
    /// The tool and agent of a call that takes or releases an agent.
    pub(super) agent_call: Option<(String, String)>,
}

/// The messages of a line: one, or those of a batch, or why there is none. A blank line is nothing.
pub(super) fn split(line: &[u8]) -> Vec<Result<Message, String>> {
    if line.iter().all(u8::is_ascii_whitespace) {
        return Vec::new();
    }
    match serde_json::from_slice::<Value>(line) {
        Ok(Value::Array(items)) if items.is_empty() => {
            vec![Err("an empty batch holds no message".to_owned())]
        }
        Ok(Value::Array(items)) => items.iter().map(|item| Ok(Message::new(item))).collect(),
        Ok(value) => vec![Ok(Message::new(&value))],
        Err(error) => vec![Err(format!("this line is not valid JSON: {error}"))],
    }
}

/// A JSON-RPC error as a line.
pub(super) fn failure(id: &Value, code: i32, message: &str) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } }).to_string()
}

impl Message {
    fn new(value: &Value) -> Self {
        Self {
            id: value.get("id").cloned(),
            body: Bytes::from(value.to_string()),
            agent_call: agent_call(value),
        }
    }
}

fn agent_call(value: &Value) -> Option<(String, String)> {
    let params = value.get("params")?;
    let tool = params["name"].as_str()?;
    let agent = params["arguments"]["agent_id"].as_str()?;
    let counts = ["agent_resume", "agent_acquire", "agent_release"].contains(&tool);
    (counts && value["method"] == "tools/call").then(|| (tool.to_owned(), agent.to_owned()))
}
