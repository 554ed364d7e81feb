//! `tools/call`.

use recall_agent::{Agents, Session, SessionKind, Tool};
use recall_keys::Grant;
use recall_memory::{Answer, Args, Operation};
use serde_json::{Map, Value, json};

use super::tools;
use crate::arguments;
use crate::auth;
use crate::error::ApiError;
use crate::routes::{count, writer};
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
    let Some(tool) = known(api, &name) else {
        let name: String = name.chars().take(128).collect();
        return Ok(refusal(&format!("unknown memory tool {name:?}")));
    };
    let mut arguments = match params.remove("arguments") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(arguments)) => arguments,
        Some(_) => return Ok(refusal("arguments: must be an object")),
    };
    let named = match arguments::settle(&mut arguments, grant) {
        Ok(named) => named,
        Err(error) => return Ok(refusal(&coded(&error))),
    };
    let namespace = auth::namespace(grant)?;
    match tool {
        Known::Memory(operation) => {
            let args = Args::from(arguments);
            let answer = api
                .memory
                .call(namespace, &writer(grant, named), operation, args)
                .await;
            if let Ok(answer) = &answer {
                count(api, answer);
            }
            memory_answer(operation, answer)
        }
        Known::Agent(agents, tool) => {
            // A key that is for one agent need not name it.
            if let Some(agent) = &grant.agent {
                arguments.insert("agent_id".to_owned(), agent.clone().into());
            }
            let session = session(grant);
            agent_answer(agents.call(namespace, &session, tool, arguments).await)
        }
    }
}

/// What a tool name stands for.
enum Known<'a> {
    Memory(Operation),
    Agent(&'a Agents, Tool),
}

fn known<'a>(api: &'a Api, name: &str) -> Option<Known<'a>> {
    if let Some(tool) = tools::find(api.memory.surface(), name) {
        return Some(Known::Memory(tool.operation));
    }
    Some(Known::Agent(api.agents.as_ref()?, Tool::find(name)?))
}

/// Whom an agent belongs to once this key resumes it: the pod, so that all its processes and later
/// keys are one owner; else the session that the key carries; else the key.
fn session(grant: &Grant) -> Session {
    let key = grant.key.as_ref().map(|key| key.as_str().to_owned());
    let (kind, label) = match (&grant.pod_uid, &grant.session, &key) {
        (Some(uid), pod, _) => (
            SessionKind::Pod(uid.clone()),
            format!("pod {}", pod.as_deref().unwrap_or("?")),
        ),
        (None, Some(name), _) => (SessionKind::Named(name.clone()), format!("session {name}")),
        (None, None, Some(key)) => (SessionKind::Key(key.clone()), format!("key {key}")),
        (None, None, None) => (SessionKind::Fixed, "a fixed key".to_owned()),
    };
    Session { kind, key, label }
}

fn memory_answer(
    operation: Operation,
    answer: Result<Answer, recall_memory::Error>,
) -> Result<Value, ApiError> {
    match answer {
        Ok(answer) => {
            let mut result = success(&String::from_utf8_lossy(&answer.json));
            if operation.reads() {
                result["structuredContent"] = structured(&answer);
            }
            Ok(result)
        }
        Err(error) => memory_refusal(error),
    }
}

/// The answer as an object, which it must be in every revision of the protocol, with what it was
/// taken from. Clients that prefer it to the text miss nothing.
fn structured(answer: &Answer) -> Value {
    let read = |json: &[u8]| serde_json::from_slice::<Value>(json).unwrap_or_default();
    let mut object = match read(&answer.json) {
        Value::Object(object) => object,
        other => Map::from_iter([("result".to_owned(), other)]),
    };
    let coverage = read(&answer.coverage.to_json(answer.revision));
    object.insert("coverage".to_owned(), coverage);
    Value::Object(object)
}

fn memory_refusal(error: recall_memory::Error) -> Result<Value, ApiError> {
    use recall_memory::Error as E;
    match error {
        E::Store(error) => Err(error.into()),
        E::Invalid(message) | E::Refused(message) => Ok(refusal(&message)),
    }
}

fn agent_answer(answer: Result<Value, recall_agent::Error>) -> Result<Value, ApiError> {
    use recall_agent::Error as E;
    match answer {
        Ok(answer) => Ok(success(&answer.to_string())),
        Err(E::Store(error)) => Err(error.into()),
        Err(E::Memory(error)) => memory_refusal(error),
        Err(
            refused @ (E::Refused(_) | E::Held { .. } | E::Lost { .. } | E::NotAcquired { .. }),
        ) => Ok(refusal(&refused.to_string())),
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
