//! The routes about the server itself.

use serde_json::json;

use super::operation::{Access, Operation, answer};

pub(super) fn operations() -> Vec<Operation> {
    let alive = json!({
        "description": "The server answers; whether its store does, the admin listener tells.",
        "content": { "text/plain": { "schema": { "const": "ok\n" } } },
    });
    vec![
        Operation {
            method: "get",
            path: "/healthz",
            id: "health",
            tag: "system",
            summary: "Whether the server answers",
            description: "",
            access: Access::Public,
            parameters: Vec::new(),
            body: None,
            success: vec![(200, alive)],
            refusals: &[],
        },
        Operation {
            method: "get",
            path: "/openapi.json",
            id: "openapi",
            tag: "system",
            summary: "This document",
            description: "",
            access: Access::Public,
            parameters: Vec::new(),
            body: None,
            success: vec![(
                200,
                answer("The document.", json!({ "type": "object" }), &[]),
            )],
            refusals: &[405],
        },
    ]
}
