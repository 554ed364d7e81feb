//! `POST /v1/remember:batch`: many things to remember in one request, each with a result of its own.

use recall_keys::Grant;
use recall_memory::Operation;
use recall_store::{Namespace, Revision};
use serde_json::{Map, Value, json};

use super::memory;
use crate::body::nothing_left;
use crate::error::ApiError;
use crate::idempotency::Kept;
use crate::state::Api;

/// The most items of one batch.
pub(crate) const MAX_ITEMS: usize = 100;

/// Does the items in their order; one that is refused stops none of the others.
pub(super) async fn remember(
    api: &Api,
    grant: &Grant,
    namespace: &Namespace,
    mut object: Map<String, Value>,
) -> Result<Kept, ApiError> {
    let Some(Value::Array(items)) = object.remove("items") else {
        return Err(ApiError::invalid("items: must be a list"));
    };
    nothing_left(&object, "items")?;
    if items.len() > MAX_ITEMS {
        let message = format!("items: at most {MAX_ITEMS} at once");
        return Err(ApiError::invalid(message));
    }
    let (mut results, mut last) = (Vec::with_capacity(items.len()), None);
    let (mut passes, mut retry_after) = (false, None);
    for item in items {
        results.push(match one(api, grant, namespace, item).await {
            Ok((result, revision)) => {
                last = Some(revision);
                json!({ "ok": true, "result": result })
            }
            Err(error) => {
                // Under the same name the items may be tried again.
                passes |= !error.lasts();
                retry_after = retry_after.max(error.retry_after);
                json!({ "ok": false, "error": { "code": error.code, "message": error.message } })
            }
        });
    }
    let body = json!({ "results": results }).to_string();
    Ok(Kept {
        passes,
        retry_after,
        ..Kept::new(body, last)
    })
}

async fn one(
    api: &Api,
    grant: &Grant,
    namespace: &Namespace,
    item: Value,
) -> Result<(Value, Revision), ApiError> {
    let Value::Object(arguments) = item else {
        return Err(ApiError::invalid("an item must be an object"));
    };
    api.bounds.call(grant)?;
    let answer = memory::one(api, grant, namespace, Operation::Remember, arguments).await?;
    let result = serde_json::from_slice(&answer.json).unwrap_or_default();
    Ok((result, answer.revision))
}
