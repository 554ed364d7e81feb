//! From a pod's token to a key.

use serde_json::{Value, json};

use super::keys::{example, minted};
use super::operation::{Access, Operation, answer, body};

pub(super) fn operations() -> Vec<Operation> {
    vec![Operation {
        method: "post",
        path: "/v1/auth/kubernetes",
        id: "exchangeToken",
        tag: "keys",
        summary: "Exchange a pod's token for a key",
        description: "The token is a projected service-account token for this server's audience. The key \
            reaches the one memory of the pod's tenant and agent, and dies with the pod.",
        access: Access::Public,
        parameters: Vec::new(),
        body: Some(body(
            token(),
            &[("token", json!({ "token": "eyJhbGciOi…" }))],
        )),
        success: vec![(
            201,
            answer(
                "The key, shown only here.",
                minted(),
                &[("minted", example(true))],
            ),
        )],
        refusals: &[400, 401, 403, 404, 405, 408, 409, 413, 415, 429, 503],
    }]
}

pub(super) fn token() -> Value {
    json!({
        "type": "object",
        "properties": { "token": { "type": "string", "minLength": 1 } },
        "required": ["token"],
        "additionalProperties": false,
    })
}
