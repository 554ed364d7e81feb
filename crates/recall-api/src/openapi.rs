//! `GET /openapi.json`: the REST routes in OpenAPI 3.1, made from the same tables that serve them.

mod agents;
mod errors;
mod exchange;
mod keys;
mod mcp;
mod memory;
mod operation;
mod system;

use std::sync::LazyLock;

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderValue, Method, header};
use serde_json::{Map, Value, json};

use crate::error::ApiError;

use operation::Operation;

static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| {
    let text = serde_json::to_string_pretty(&document()).unwrap_or_default();
    Bytes::from(text + "\n")
});

/// The document, to anybody: it says nothing about what is kept.
pub(crate) async fn handle(method: Method) -> Result<Response, ApiError> {
    if ![Method::GET, Method::HEAD].contains(&method) {
        return Err(ApiError::method_not_allowed("GET, HEAD"));
    }
    let mut response = DOCUMENT.clone().into_response();
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}

fn document() -> Value {
    let mut paths = Map::new();
    for operation in operations() {
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        path[operation.method] = operation.to_json();
    }
    json!({
        "openapi": "3.1.0",
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "info": {
            "title": "Recall Memory API",
            "version": "1",
            "summary": "The memory of AI agents that run in disposable pods",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "tags": tags(),
        "paths": paths,
        "components": {
            "securitySchemes": {
                "key": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A namespace key for memory and /mcp, an admin key for keys and agents.",
                },
            },
            "headers": errors::headers(),
            "schemas": { "Error": errors::envelope(), "Key": keys::record(), "Agent": agents::summary() },
            "responses": errors::responses(),
        },
    })
}

fn operations() -> Vec<Operation> {
    [
        system::operations(),
        exchange::operations(),
        keys::operations(),
        agents::operations(),
        memory::operations(),
        mcp::operations(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn tags() -> Value {
    json!([
        { "name": "memory", "description": "What a namespace key reads and writes." },
        { "name": "keys", "description": "From a pod's token to a key, and managing keys." },
        { "name": "agents", "description": "What operators see of agents." },
        { "name": "mcp", "description": "The tools of agents, over the Model Context Protocol." },
        { "name": "system", "description": "The server itself." },
    ])
}

#[cfg(test)]
mod tests {
    use expect_test::expect_file;

    use super::*;

    /// The committed document. `UPDATE_EXPECT=1 cargo test -p recall-api` writes it anew.
    #[test]
    fn the_committed_document_is_the_one_that_is_served() {
        let text = std::str::from_utf8(&DOCUMENT).expect("text");
        expect_file!["../../../docs/openapi.json"].assert_eq(text);
    }

    #[test]
    fn every_reference_leads_somewhere() {
        fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
            match value {
                Value::Object(members) => {
                    found.extend(members.get("$ref").and_then(Value::as_str));
                    members.values().for_each(|value| references(value, found));
                }
                Value::Array(items) => items.iter().for_each(|value| references(value, found)),
                _ => {}
            }
        }
        let document = document();
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(found.len() > 50, "{found:?}");
        for reference in found {
            let pointer = reference.trim_start_matches('#');
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
    }

    #[test]
    fn operations_have_names_of_their_own() {
        let mut names: Vec<_> = operations().iter().map(|it| it.id).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
