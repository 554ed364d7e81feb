//! What operators see of agents.

use serde_json::{Value, json};

use super::operation::{Access, Operation, answer, cursor, limit, parameter};
use crate::routes::MAX_AGENTS_LISTED;

const AGENT_ID: &str = "^[A-Za-z0-9._-]{1,128}$";
const CURSOR: &str = "^[0-9a-f]{8}\\.[A-Za-z0-9._-]{1,128}$";

/// An agent as it is listed.
pub(super) fn summary() -> Value {
    json!({
        "type": "object",
        "properties": {
            "agent_id": { "type": "string" },
            "lease": { "type": ["object", "null"], "description": "Who holds it, and until when." },
            "turn_seq": { "type": "integer" },
            "version": { "type": "integer" },
            "open_actions": { "type": "integer" },
        },
        "required": ["agent_id", "turn_seq", "version", "open_actions"],
    })
}

fn example() -> Value {
    json!({
        "agent_id": "builder",
        "lease": null,
        "turn_seq": 12,
        "version": 3,
        "open_actions": 0,
    })
}

fn namespace() -> Value {
    let schema = json!({
        "type": "string",
        "minLength": 1,
        "maxLength": 128,
        "pattern": "^[A-Za-z0-9][A-Za-z0-9_.:-]*$",
    });
    let mut parameter = parameter("query", "namespace", "The memory it acts in.", schema);
    parameter["required"] = true.into();
    parameter
}

fn id() -> Value {
    let schema = json!({ "type": "string", "pattern": AGENT_ID });
    parameter("path", "id", "The agent.", schema)
}

fn operation(method: &'static str, path: &'static str, id: &'static str) -> Operation {
    Operation {
        method,
        path,
        id,
        tag: "agents",
        summary: "",
        description: "For admin keys alone.",
        access: Access::Key,
        parameters: Vec::new(),
        body: None,
        success: Vec::new(),
        refusals: &[400, 401, 403, 404, 405, 429, 503],
    }
}

pub(super) fn operations() -> Vec<Operation> {
    vec![list(), show(), break_lease()]
}

fn list() -> Operation {
    let page = json!({
        "type": "object",
        "properties": {
            "agents": { "type": "array", "items": { "$ref": "#/components/schemas/Agent" } },
            "next_cursor": { "type": "string" },
        },
        "required": ["agents"],
    });
    let one = json!({ "agents": [example()] });
    Operation {
        summary: "List agents",
        parameters: vec![namespace(), limit(MAX_AGENTS_LISTED), cursor(CURSOR)],
        success: vec![(200, answer("A page of agents.", page, &[("one", one)]))],
        ..operation("get", "/v1/agents", "listAgents")
    }
}

fn show() -> Operation {
    let open = json!({ "properties": { "pending_actions": { "type": "array" } } });
    let schema = json!({ "allOf": [{ "$ref": "#/components/schemas/Agent" }, open] });
    let mut shown = example();
    shown["pending_actions"] = json!([]);
    Operation {
        summary: "Show an agent with its unfinished actions",
        parameters: vec![id(), namespace()],
        success: vec![(200, answer("The agent.", schema, &[("idle", shown)]))],
        ..operation("get", "/v1/agents/{id}", "showAgent")
    }
}

fn break_lease() -> Operation {
    let schema = json!({
        "type": "object",
        "properties": {
            "broken": { "type": "boolean", "description": "Whether anybody held it." },
            "lease": { "type": ["object", "null"] },
        },
        "required": ["broken", "lease"],
    });
    let free = json!({ "broken": false, "lease": null });
    Operation {
        summary: "End an agent's lease",
        description: "For admin keys alone. The owner's next write is refused as lost.",
        parameters: vec![id(), namespace()],
        success: vec![(200, answer("Who held it.", schema, &[("free", free)]))],
        ..operation("delete", "/v1/agents/{id}/lease", "breakLease")
    }
}
