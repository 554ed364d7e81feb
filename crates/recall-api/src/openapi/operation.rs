//! One operation of a route, and how it is written down.

use serde_json::{Map, Value, json};

use super::errors;

/// Who may ask.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Anybody.
    Public,
    /// Whoever has a key that fits.
    Key,
}

/// One method of one path.
pub(super) struct Operation {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    pub(super) id: &'static str,
    pub(super) tag: &'static str,
    pub(super) summary: &'static str,
    pub(super) description: &'static str,
    pub(super) access: Access,
    pub(super) parameters: Vec<Value>,
    pub(super) body: Option<Value>,
    /// What it answers when it does what it was asked.
    pub(super) success: Vec<(u16, Value)>,
    /// The statuses that it refuses with.
    pub(super) refusals: &'static [u16],
}

impl Operation {
    pub(super) fn to_json(&self) -> Value {
        let mut responses = Map::new();
        for (status, response) in &self.success {
            responses.insert(status.to_string(), response.clone());
        }
        for status in self.refusals {
            responses.insert(status.to_string(), errors::reference(*status));
        }
        let mut object = json!({
            "operationId": self.id,
            "tags": [self.tag],
            "summary": self.summary,
            "responses": responses,
        });
        if !self.description.is_empty() {
            object["description"] = self.description.into();
        }
        if !self.parameters.is_empty() {
            object["parameters"] = self.parameters.clone().into();
        }
        if let Some(body) = &self.body {
            object["requestBody"] = body.clone();
        }
        object["security"] = match self.access {
            Access::Public => json!([]),
            Access::Key => json!([{ "key": [] }]),
        };
        object
    }
}

/// A JSON body with named examples.
pub(super) fn body(schema: Value, examples: &[(&str, Value)]) -> Value {
    json!({ "required": true, "content": content(schema, examples) })
}

/// An answer in JSON with named examples.
pub(super) fn answer(description: &str, schema: Value, examples: &[(&str, Value)]) -> Value {
    let request_id = json!({ "$ref": "#/components/headers/RequestId" });
    json!({
        "description": description,
        "headers": { "X-Request-Id": request_id },
        "content": content(schema, examples),
    })
}

/// An answer without a body.
pub(super) fn empty(description: &str) -> Value {
    json!({ "description": description })
}

fn content(schema: Value, examples: &[(&str, Value)]) -> Value {
    let mut media = Map::from_iter([("schema".to_owned(), schema)]);
    if !examples.is_empty() {
        let named = examples
            .iter()
            .map(|(name, value)| ((*name).to_owned(), json!({ "value": value })));
        media.insert("examples".to_owned(), Value::Object(named.collect()));
    }
    json!({ "application/json": media })
}

/// A parameter of the query string or the path.
pub(super) fn parameter(place: &str, name: &str, description: &str, schema: Value) -> Value {
    let mut parameter = json!({
        "in": place,
        "name": name,
        "description": description,
        "required": place == "path",
    });
    parameter["schema"] = schema;
    parameter
}

/// How many of a listing.
pub(super) fn limit(most: u32) -> Value {
    let schema = json!({ "type": "integer", "minimum": 1, "maximum": most });
    let description = format!("How many at most; {most} if left out.");
    parameter("query", "limit", &description, schema)
}

/// Where a listing goes on.
pub(super) fn cursor(pattern: &str) -> Value {
    let schema = json!({ "type": "string", "pattern": pattern });
    let description = "The next_cursor of the page before.";
    parameter("query", "cursor", description, schema)
}
