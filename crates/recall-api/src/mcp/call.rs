//! `tools/call`.

use std::fmt;

use recall_agent::{Agents, Session, SessionKind, Tool};
use recall_keys::Grant;
use recall_memory::{Answer, Operation};
use recall_store::AgentId;
use serde_json::{Map, Value, json};
use tracing::Instrument;

use super::process::Process;
use super::tools;
use crate::arguments;
use crate::auth;
use crate::bounds;
use crate::error::ApiError;
use crate::routes::{self, args, writer};
use crate::state::Api;
use crate::trace;

/// How much of a name that no tool has is repeated.
const MAX_NAME_CHARS: usize = 128;

/// No tool has this name. The two eras of the protocol tell it differently.
#[derive(Debug)]
pub(super) struct UnknownTool(String);

impl fmt::Display for UnknownTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown memory tool {:?}", self.0)
    }
}

/// Runs a tool. What the tool refuses is a result that says so; only trouble that has nothing to do
/// with the call (the store away, the key not allowed) is an HTTP error.
pub(super) async fn call(
    api: &Api,
    grant: &Grant,
    process: &Process,
    mut params: Map<String, Value>,
) -> Result<Result<Value, UnknownTool>, ApiError> {
    let name = match params.remove("name") {
        Some(Value::String(name)) => name,
        Some(_) | None => String::new(),
    };
    let tool = known(api, &name);
    trace::mcp("tools/call", tool.as_ref().map(Known::name));
    match tool {
        Some(tool) => run(api, grant, process, tool, params).await.map(Ok),
        None => Ok(Err(UnknownTool(
            name.chars().take(MAX_NAME_CHARS).collect(),
        ))),
    }
}

async fn run(
    api: &Api,
    grant: &Grant,
    process: &Process,
    tool: Known<'_>,
    mut params: Map<String, Value>,
) -> Result<Value, ApiError> {
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
    let _place = api.bounds.pools.memory.enter().await?;
    let _turn = match begin(api, grant, &tool, &arguments).await? {
        Ok(turn) => turn,
        Err(refusal) => return Ok(refusal),
    };
    match tool {
        Known::Memory(tool) => {
            let operation = tool.operation;
            let args = args(grant, operation, arguments);
            let writer = writer(grant, named);
            let answer = routes::call(api, namespace, &writer, operation, args).await;
            memory_answer(operation, answer)
        }
        Known::Agent(agents, tool) => {
            // A key that is for one agent need not name it.
            if let Some(agent) = &grant.agent {
                arguments.insert("agent_id".to_owned(), agent.clone().into());
            }
            let session = session(grant, process);
            let agent = arguments.get("agent_id").and_then(Value::as_str);
            let agent: Option<AgentId> = agent.and_then(|agent| agent.parse().ok());
            let span = trace::agent(tool, agent.as_ref(), api.place(namespace));
            let answer = async {
                match (tool, process.leaves) {
                    (Tool::Release, true) => agents.leave(namespace, &session, arguments).await,
                    _ => agents.call(namespace, &session, tool, arguments).await,
                }
            };
            let answer = answer.instrument(span.clone()).await;
            if let Err(error) = &answer {
                span.record("error.type", error.code());
            }
            let fresh = match (&answer, &agent) {
                (Ok(Value::Array(rows)), Some(agent)) if rows.is_empty() => {
                    Some(agents.is_fresh(namespace, agent).await)
                }
                _ => None,
            };
            agent_answer(answer, fresh.transpose())
        }
    }
}

/// Refuses a call that takes an agent more than its namespace may have; else answers what is to be
/// held until the call is done.
async fn begin(
    api: &Api,
    grant: &Grant,
    tool: &Known<'_>,
    arguments: &Map<String, Value>,
) -> Result<Result<Option<bounds::Turn>, Value>, ApiError> {
    let namespace = auth::namespace(grant)?;
    let within = match tool {
        // Only taking an agent can be the first of it; every other tool needs an owner.
        Known::Agent(agents, Tool::Resume | Tool::Acquire) => {
            let named = grant
                .agent
                .as_deref()
                .or(arguments.get("agent_id").and_then(Value::as_str));
            match named.and_then(|agent| agent.parse().ok()) {
                Some(agent) => api.bounds.begin(agents, namespace, &agent).await,
                // The tool itself says what is wrong with it.
                None => Ok(None),
            }
        }
        Known::Memory(_) | Known::Agent(..) => Ok(None),
    };
    match within {
        Ok(turn) => Ok(Ok(turn)),
        Err(error) if error.code == "quota_exceeded" => Ok(Err(refusal(&coded(&error)))),
        Err(error) => Err(error),
    }
}

/// What a tool name stands for.
enum Known<'a> {
    Memory(&'static tools::Tool),
    Agent(&'a Agents, Tool),
}

impl Known<'_> {
    fn name(&self) -> &'static str {
        match self {
            Self::Memory(tool) => tool.name,
            Self::Agent(_, tool) => tool.name(),
        }
    }
}

fn known<'a>(api: &'a Api, name: &str) -> Option<Known<'a>> {
    if let Some(tool) = tools::find(api.memory.surface(), name) {
        return Some(Known::Memory(tool));
    }
    Some(Known::Agent(api.agents.as_ref()?, Tool::find(name)?))
}

/// Whom an agent belongs to once this key resumes it: the pod, so that all its processes and later
/// keys are one owner; else the session that the key carries; else the key.
fn session(grant: &Grant, process: &Process) -> Session {
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
    Session {
        kind,
        key,
        label,
        process: process.name.clone(),
    }
}

fn memory_answer(
    operation: Operation,
    answer: Result<Answer, recall_memory::Error>,
) -> Result<Value, ApiError> {
    match answer {
        Ok(answer) => {
            let text = String::from_utf8_lossy(&answer.json);
            let mut structured = structured(read(&answer.json));
            if operation.reads() {
                let coverage = read(&answer.coverage.to_json(answer.revision));
                structured.insert("coverage".to_owned(), coverage);
                if let Some(next) = answer.next {
                    structured.insert("next_cursor".to_owned(), next.into());
                }
            }
            Ok(success(&text, structured))
        }
        Err(error) => memory_refusal(error),
    }
}

/// The answer as an object, which it must be in most revisions of the protocol. Clients that prefer
/// it to the text miss nothing.
fn structured(answer: Value) -> Map<String, Value> {
    match answer {
        Value::Object(object) => object,
        other => Map::from_iter([("result".to_owned(), other)]),
    }
}

fn read(json: &[u8]) -> Value {
    serde_json::from_slice(json).unwrap_or_default()
}

fn memory_refusal(error: recall_memory::Error) -> Result<Value, ApiError> {
    use recall_memory::Error as E;
    match error {
        E::Store(error) => Err(error.into()),
        E::Invalid(message) | E::Refused(message) => Ok(refusal(&message)),
        E::Full(_) => Ok(refusal(&coded(&error.into()))),
    }
}

/// `fresh` says of an empty list whether nothing was ever kept of the agent, so that a misspelt name does
/// not look like an agent without anything.
fn agent_answer(
    answer: Result<Value, recall_agent::Error>,
    fresh: Result<Option<bool>, recall_agent::Error>,
) -> Result<Value, ApiError> {
    use recall_agent::Error as E;
    let answer = answer.and_then(|answer| Ok((answer, fresh?)));
    match answer {
        Ok((answer, fresh)) => {
            let text = answer.to_string();
            let mut structured = structured(answer);
            structured.extend(fresh.map(|fresh| ("fresh".to_owned(), fresh.into())));
            Ok(success(&text, structured))
        }
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

fn success(text: &str, structured: Map<String, Value>) -> Value {
    let mut result = json!({ "content": [{ "type": "text", "text": text }], "isError": false });
    result["structuredContent"] = Value::Object(structured);
    result
}

pub(super) fn refusal(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }], "isError": true })
}
