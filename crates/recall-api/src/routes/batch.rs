//! `POST /v1/remember:batch`: many things to remember in one request, each with a result of its own.

use std::pin::Pin;
use std::task::Poll;

use futures_util::future::{MaybeDone, maybe_done, poll_fn};
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
    let items = items
        .into_iter()
        .map(|item| one(api, grant, namespace, item));
    let outcomes = match api.memory.queues_at_once() {
        true => together(items).await,
        false => one_by_one(items).await,
    };
    for outcome in outcomes {
        results.push(match outcome {
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

/// Asks for all in their order before the first is done: writes of one memory are decided in the order
/// in which they were asked for, and share commits.
async fn together<T>(calls: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut calls: Vec<Pin<Box<MaybeDone<_>>>> =
        calls.map(|call| Box::pin(maybe_done(call))).collect();
    poll_fn(|context| {
        let mut done = true;
        for call in &mut calls {
            done &= call.as_mut().poll(context).is_ready();
        }
        match done {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
    let outcome = |call: &mut Pin<Box<MaybeDone<_>>>| call.as_mut().take_output();
    calls.iter_mut().filter_map(outcome).collect()
}

async fn one_by_one<T>(calls: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut outcomes = Vec::new();
    for call in calls {
        outcomes.push(call.await);
    }
    outcomes
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
