//! `tools/call`.

use recall_keys::Grant;
use recall_memory::Args;
use serde_json::{Map, Value, json};

use super::tools;
use crate::arguments;
use crate::auth;
use crate::error::ApiError;
use crate::routes::writer;
use crate::state::Api;

/// Runs a tool. What the tool refuses is a result that says so; only trouble that has nothing to do
/// with the call (the store away, the key not allowed) is an HTTP error.
pub(super) async fn call(
    api: &Api,
    grant: &Grant,
    mut params: Map<String, Value>,
) -> Result<Value, ApiError> {
    let name = match params.remove("name") {
        Some(Value::String(name)) => name,
        Some(_) | None => String::new(),
    };
    let Some(tool) = tools::find(api.memory.surface(), &name) else {
        let name: String = name.chars().take(128).collect();
        return Ok(refusal(&format!("unknown memory tool {name:?}")));
    };
    let mut arguments = match params.remove("arguments") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(arguments)) => arguments,
        Some(_) => return Ok(refusal("arguments: must be an object")),
    };
    if let Err(error) = arguments::settle(&mut arguments, grant) {
        return Ok(refusal(&coded(&error)));
    }
    let namespace = auth::namespace(grant)?;
    let args = Args::from(arguments);
    match api
        .memory
        .call(namespace, &writer(grant), tool.operation, args)
        .await
    {
        Ok(answer) => Ok(success(&String::from_utf8_lossy(&answer.json))),
        Err(recall_memory::Error::Store(error)) => Err(error.into()),
        Err(recall_memory::Error::Invalid(message) | recall_memory::Error::Refused(message)) => {
            Ok(refusal(&message))
        }
    }
}

fn coded(error: &ApiError) -> String {
    match error.code {
        "invalid_argument" => error.message.clone(),
        code => format!("{code}: {}", error.message),
    }
}

fn success(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }], "isError": false })
}

fn refusal(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }], "isError": true })
}
