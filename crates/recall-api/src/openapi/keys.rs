//! Managing keys.

use recall_keys::MAX_LISTED;
use serde_json::{Value, json};

use super::exchange::token;
use super::operation::{Access, Operation, answer, body, cursor, empty, limit, parameter};

/// What a duration looks like: numbers with units, or zero alone.
const DURATION: &str = r"^(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(h|ms?|s|[uµμ]s|ns))*)$";
const KEY_ID: &str = "^[0-9a-f]{16}$";
const CURSOR: &str = "^[0-9a-f]{8}\\.[0-9a-f]{16}$";

/// A key without its secret.
pub(super) fn record() -> Value {
    json!({
        "type": "object",
        "properties": {
            "id": { "type": "string", "pattern": KEY_ID },
            "namespace": { "type": "string", "description": "Empty for an admin key." },
            "agent": { "type": "string" },
            "session": { "type": "string" },
            "note": { "type": "string" },
            "admin": { "type": "boolean" },
            "created_at": { "type": "string", "format": "date-time" },
            "expires_at": { "type": "string", "format": "date-time" },
            "ttl": { "type": "string", "examples": ["15m0s"] },
            "renewable": { "type": "boolean" },
            "revoked": { "type": "boolean" },
            "pod_uid": { "type": "string", "description": "The pod that the key dies with." },
        },
        "required": ["id", "namespace", "admin", "created_at", "revoked"],
    })
}

/// A key with its secret.
pub(super) fn minted() -> Value {
    let secret = json!({
        "properties": { "key": { "type": "string" } },
        "required": ["key"],
    });
    json!({ "allOf": [{ "$ref": "#/components/schemas/Key" }, secret] })
}

pub(super) fn example(secret: bool) -> Value {
    let mut key = json!({
        "id": "0191a1b2c3d4e5f6",
        "namespace": "shop:builder",
        "agent": "builder",
        "admin": false,
        "created_at": "2026-11-29T12:00:00Z",
        "expires_at": "2026-11-29T12:15:00Z",
        "ttl": "15m0s",
        "renewable": true,
        "revoked": false,
    });
    if secret {
        key["key"] = "rcl_0191a1b2c3d4e5f6_…".into();
    }
    key
}

fn spec() -> Value {
    json!({
        "type": "object",
        "properties": {
            "namespace": {
                "type": ["string", "null"],
                "description": "The memory that the key reaches; none for an admin key.",
                "maxLength": 128,
                "pattern": "^[A-Za-z0-9][A-Za-z0-9_.:-]*$",
            },
            "agent": {
                "type": ["string", "null"],
                "description": "The only agent that the key acts as.",
                "maxLength": 128,
                "pattern": "^[A-Za-z0-9._-]*$",
            },
            "session": { "type": ["string", "null"], "description": "What its writes belong together under." },
            "note": { "type": ["string", "null"], "description": "A remark for operators." },
            "admin": { "type": ["boolean", "null"] },
            "expires_in": {
                "type": ["string", "null"],
                "description": "A time such as 15m, 1h30m or 1.5s. Left out, empty or zero (0, 0s), the \
                    key never expires.",
                "pattern": DURATION,
            },
        },
        "additionalProperties": false,
    })
}

fn filters() -> Vec<Value> {
    [
        ("namespace", "Only keys that reach this memory."),
        ("tenant", "Only keys of this tenant's pods."),
        ("agent", "Only keys of this agent."),
        ("pod_uid", "Only keys of this pod."),
    ]
    .into_iter()
    .map(|(name, description)| parameter("query", name, description, json!({ "type": "string" })))
    .collect()
}

fn listing() -> Value {
    json!({
        "type": "object",
        "properties": {
            "keys": { "type": "array", "items": { "$ref": "#/components/schemas/Key" } },
            "next_cursor": { "type": "string" },
        },
        "required": ["keys"],
    })
}

pub(super) fn operations() -> Vec<Operation> {
    vec![mint(), list(), revoke_matching(), revoke(), renew()]
}

fn operation(method: &'static str, path: &'static str, id: &'static str) -> Operation {
    Operation {
        method,
        path,
        id,
        tag: "keys",
        summary: "",
        description: "",
        access: Access::Key,
        parameters: Vec::new(),
        body: None,
        success: Vec::new(),
        refusals: &[400, 401, 403, 405, 429, 503],
    }
}

fn mint() -> Operation {
    let asked = json!({ "namespace": "shop:builder", "agent": "builder", "expires_in": "15m" });
    let minted = answer(
        "The key, shown only here.",
        minted(),
        &[("minted", example(true))],
    );
    Operation {
        summary: "Mint a key",
        description: "For admin keys alone. Without admin, a namespace is needed.",
        body: Some(body(spec(), &[("for an agent", asked)])),
        success: vec![(201, minted)],
        refusals: &[400, 401, 403, 405, 408, 413, 415, 429, 503],
        ..operation("post", "/v1/keys", "mintKey")
    }
}

fn list() -> Operation {
    let state = json!({ "type": "string", "enum": ["live", "dead"] });
    let mut parameters = vec![limit(MAX_LISTED), cursor(CURSOR)];
    parameters.push(parameter(
        "query",
        "state",
        "Only live or only dead keys.",
        state,
    ));
    parameters.extend(filters());
    let page = json!({ "keys": [example(false)], "next_cursor": "6f1a09c2.0191a1b2c3d4e5f6" });
    Operation {
        summary: "List keys, oldest first",
        description: "For admin keys alone. Secrets are never listed.",
        parameters,
        success: vec![(200, answer("A page of keys.", listing(), &[("page", page)]))],
        ..operation("get", "/v1/keys", "listKeys")
    }
}

fn revoke_matching() -> Operation {
    let count = json!({
        "type": "object",
        "properties": { "revoked": { "type": "integer", "minimum": 0 } },
        "required": ["revoked"],
    });
    let example = json!({ "revoked": 3 });
    Operation {
        summary: "Revoke all live keys of a memory, tenant, agent or pod",
        description: "For admin keys alone. At least one parameter is needed; all of them must fit.",
        parameters: filters(),
        success: vec![(
            200,
            answer("How many were revoked.", count, &[("three", example)]),
        )],
        ..operation("delete", "/v1/keys", "revokeKeys")
    }
}

fn revoke() -> Operation {
    let schema = json!({ "type": "string", "pattern": KEY_ID });
    Operation {
        summary: "Revoke a key",
        description: "For admin keys alone. Revoking a revoked key does nothing.",
        parameters: vec![parameter("path", "id", "The key's id.", schema)],
        success: vec![(204, empty("It is revoked."))],
        refusals: &[400, 401, 403, 404, 405, 429, 503],
        ..operation("delete", "/v1/keys/{id}", "revokeKey")
    }
}

fn renew() -> Operation {
    let key = json!({ "$ref": "#/components/schemas/Key" });
    let mut proof = body(token(), &[("proof", json!({ "token": "eyJhbGciOi…" }))]);
    proof["required"] = false.into();
    Operation {
        summary: "Renew the key that asks, by its own time to live",
        description: "A key minted for a pod needs the pod's current token; other keys need no body.",
        body: Some(proof),
        success: vec![(
            200,
            answer(
                "The key with its new end.",
                key,
                &[("renewed", example(false))],
            ),
        )],
        refusals: &[400, 401, 403, 405, 408, 409, 413, 415, 429, 503],
        ..operation("post", "/v1/keys/renew", "renewKey")
    }
}
