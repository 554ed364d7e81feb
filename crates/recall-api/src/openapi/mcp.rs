//! The Model Context Protocol, as far as it is HTTP.

use serde_json::{Value, json};

use super::operation::{Access, Operation, answer, body, empty};

pub(super) fn operations() -> Vec<Operation> {
    vec![post(), delete()]
}

fn post() -> Operation {
    let ask = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
    let told = json!({ "jsonrpc": "2.0", "id": 1, "result": { "tools": [] } });
    let unknown = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "error": { "code": -32601, "message": "this server has no such method" },
    });
    let refused = |description: &str| {
        let envelope = json!({ "$ref": "#/components/schemas/Error" });
        let schema = json!({ "anyOf": [message("error"), envelope] });
        answer(description, schema, &[("unknown method", unknown.clone())])
    };
    Operation {
        method: "post",
        path: "/mcp",
        id: "mcp",
        tag: "mcp",
        summary: "One message of the Model Context Protocol",
        description: "Revisions 2024-11-05 to 2025-11-25 and 2026-07-28, each judged by what the message claims.",
        access: Access::Key,
        parameters: Vec::new(),
        body: Some(body(request(), &[("list tools", ask)])),
        success: vec![
            (
                200,
                answer("The answer to a request.", either(), &[("tools", told)]),
            ),
            (202, empty("A notification was taken.")),
            (
                400,
                refused("What was sent is no message, or not one of its revision."),
            ),
            (404, refused("Revision 2026-07-28 has no such method.")),
        ],
        refusals: &[401, 403, 405, 408, 413, 415, 429, 503],
    }
}

fn delete() -> Operation {
    Operation {
        method: "delete",
        path: "/mcp",
        id: "endMcpSession",
        tag: "mcp",
        summary: "End a session; there are none, so this does nothing",
        description: "",
        access: Access::Key,
        parameters: Vec::new(),
        body: None,
        success: vec![(200, empty("Nothing was kept."))],
        refusals: &[401, 403, 405, 429, 503],
    }
}

fn request() -> Value {
    json!({
        "type": "object",
        "properties": {
            "jsonrpc": { "const": "2.0" },
            "id": { "type": ["string", "integer"] },
            "method": { "type": "string" },
            "params": { "description": "An object of the method's parameters." },
        },
    })
}

fn message(member: &str) -> Value {
    json!({
        "type": "object",
        "properties": { "jsonrpc": { "const": "2.0" }, member: { "type": "object" } },
        "required": ["jsonrpc", member],
    })
}

fn either() -> Value {
    json!({ "oneOf": [message("result"), message("error")] })
}
