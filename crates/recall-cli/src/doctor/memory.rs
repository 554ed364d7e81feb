//! What a key reaches: its surface, a write and a read, and the lease of its agent.

use bytes::Bytes;
use http::{Method, StatusCode};
use secrecy::SecretString;
use serde_json::{Value, json};

use super::fix;
use super::report::Finding;
use crate::client::Client;
use crate::output::text;

/// The subject of what is written for a moment on a typed surface.
const SUBJECT: &str = "recall-doctor";

/// What a server offers under a key.
#[derive(Debug)]
pub(super) struct Surface {
    typed: bool,
    /// Whether agents can be resumed.
    pub(super) agents: bool,
}

/// Asks what the key may do, and the server's version with it.
pub(super) async fn surface(client: &Client, key: &SecretString) -> Finding<Surface> {
    let hello = json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "recall doctor", "version": env!("CARGO_PKG_VERSION")},
    });
    let hello = rpc(client, key, "initialize", &hello).await?;
    let tools = rpc(client, key, "tools/list", &json!({})).await?;
    let has = |name: &str| {
        let tools = tools["tools"].as_array();
        tools.is_some_and(|tools| tools.iter().any(|tool| tool["name"] == name))
    };
    let surface = Surface {
        typed: has("list_predicates"),
        agents: has("agent_resume"),
    };
    let version = text(&hello["serverInfo"], "version");
    let kind = if surface.typed { "typed" } else { "text" };
    let agents = if surface.agents {
        "agents can be resumed"
    } else {
        "agents cannot be resumed on this store"
    };
    let detail = format!("accepted by recall {version}: {kind} surface, {agents}");
    Ok((surface, detail))
}

pub(super) async fn read(client: &Client, key: &SecretString, surface: &Surface) -> Finding<()> {
    let body = match surface.typed {
        true => json!({ "subject": SUBJECT }),
        false => json!({ "question": "recall doctor" }),
    };
    call(client, key, "recall", &body).await?;
    Ok(((), "can be read".to_owned()))
}

/// Writes, reads it back, and takes it back.
pub(super) async fn write_and_read(
    client: &Client,
    key: &SecretString,
    surface: &Surface,
) -> Finding<()> {
    if surface.typed && !has_notes(client, key).await? {
        read(client, key, surface).await?;
        let detail = "can be read; nothing was written: the registry has no predicate \"note\"";
        return Ok(((), detail.to_owned()));
    }
    let mark = format!("recall doctor was here at {}", jiff::Timestamp::now());
    let (written, asked, forgotten) = match surface.typed {
        true => (
            json!({ "subject": SUBJECT, "predicate": "note", "value": mark }),
            json!({ "subject": SUBJECT }),
            json!({ "subject": SUBJECT, "predicate": "note", "value": mark }),
        ),
        false => (
            json!({ "text": mark }),
            json!({ "question": mark }),
            json!({ "text": mark }),
        ),
    };
    call(client, key, "remember", &written).await?;
    let found = call(client, key, "recall", &asked).await?;
    call(client, key, "forget", &forgotten).await?;
    match found.to_string().contains(&mark) {
        true => {
            let detail = "written, read back and withdrawn again (its history keeps both)";
            Ok(((), detail.to_owned()))
        }
        false => Err((
            "what was written was not read back".to_owned(),
            fix::of("").to_owned(),
        )),
    }
}

/// Whether the typed surface has the predicate of free words.
async fn has_notes(client: &Client, key: &SecretString) -> Result<bool, (String, String)> {
    let registry = call(client, key, "list_predicates", &json!({})).await?;
    Ok(registry.to_string().contains("\"note\""))
}

/// Looks at the agent without taking it.
pub(super) async fn lease(client: &Client, key: &SecretString, agent: &str) -> Finding<()> {
    let arguments = json!({ "agent_id": agent, "defer_lease": true });
    let context = call(client, key, "agent_resume", &arguments).await?;
    let state = match (context["lease_held"].as_bool(), text(&context, "held_by")) {
        (Some(true), _) => "held by this very session".to_owned(),
        (_, "") => "free".to_owned(),
        (_, holder) => format!("held by {holder} until {}", text(&context, "held_until")),
    };
    let open = context["pending_actions"].as_array().map_or(0, Vec::len);
    let known = match context["fresh"] == json!(true) {
        true => "nothing kept so far".to_owned(),
        false => format!("{} turns, {open} open actions", context["turn_seq"]),
    };
    Ok(((), format!("agent {agent}: {state}; {known}")))
}

async fn call(
    client: &Client,
    key: &SecretString,
    tool: &str,
    arguments: &Value,
) -> Result<Value, (String, String)> {
    let params = json!({ "name": tool, "arguments": arguments });
    let result = rpc(client, key, "tools/call", &params).await?;
    let said = text(&result["content"][0], "text").to_owned();
    if result["isError"] == json!(true) {
        return Err((
            format!("{tool} was refused: {said}"),
            fix::of("").to_owned(),
        ));
    }
    serde_json::from_str(&said)
        .map_err(|_| (format!("{tool} answered no JSON"), fix::of("").to_owned()))
}

async fn rpc(
    client: &Client,
    key: &SecretString,
    method: &str,
    params: &Value,
) -> Result<Value, (String, String)> {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let answer = client
        .send(
            Method::POST,
            "/mcp",
            Some(key),
            Bytes::from(body.to_string()),
        )
        .await
        .map_err(|error| (format!("{error:#}"), fix::unreachable().to_owned()))?;
    if answer.status != StatusCode::OK {
        let (code, message) = answer.error();
        let status = answer.status.as_u16();
        return Err((
            format!("{method} was refused: {message} ({code}, HTTP {status})"),
            fix::of(&code).to_owned(),
        ));
    }
    let answer = answer
        .json()
        .map_err(|error| (format!("{error:#}"), fix::of("").to_owned()))?;
    match answer["error"]["message"].as_str() {
        Some(message) => Err((format!("{method}: {message}"), fix::of("").to_owned())),
        None => Ok(answer["result"].clone()),
    }
}
