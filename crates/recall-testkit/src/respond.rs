//! What a healthy API server answers.

use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};

use crate::cluster::{FakeCluster, State};
use crate::objects::metadata_only;
use crate::route::{Route, Target};
use crate::{review, watch};

/// The answer to a request that is not a watch: a status and an object.
pub(crate) fn respond(
    cluster: &FakeCluster,
    target: Target<'_>,
    query: &str,
    accept: &str,
    body: &Value,
) -> (u16, Value) {
    cluster.with_state(|state| {
        if let Some(refusal) = forbidden(state, target) {
            return refusal;
        }
        match target.route {
            Route::TokenReviews => review::review(state, body),
            Route::AccessReviews => (201, access(state, body)),
            Route::PodList => (
                200,
                watch::list(state, &watch::Selection::new(target.namespace, query)),
            ),
            Route::Version => (
                200,
                json!({ "major": "1", "minor": "34", "gitVersion": "v1.34.0" }),
            ),
            Route::Pod
            | Route::ServiceAccount
            | Route::Namespace
            | Route::Sandbox
            | Route::SandboxClaim => object(state, target, accept),
            Route::PodWatch | Route::Other => (
                404,
                status(
                    404,
                    "NotFound",
                    "the server could not find the requested resource",
                ),
            ),
        }
    })
}

/// The refusal, if the server's own account may not do this.
pub(crate) fn forbidden(state: &State, target: Target<'_>) -> Option<(u16, Value)> {
    let (verb, group, resource) = target.route.rule()?;
    if !state
        .denied
        .contains(&(verb.to_owned(), resource.to_owned()))
    {
        return None;
    }
    let name = target.name;
    let message = format!(
        "{resource} \"{name}\" is forbidden: User \"system:serviceaccount:recall:recall\" cannot \
         {verb} resource \"{resource}\" in API group \"{group}\""
    );
    Some((403, status(403, "Forbidden", &message)))
}

fn object(state: &State, target: Target<'_>, accept: &str) -> (u16, Value) {
    let key = crate::cluster::key(target.namespace, target.name);
    let found = state
        .objects
        .get(&target.route)
        .and_then(|objects| objects.get(&key));
    match found {
        Some(object) if accept.contains("as=PartialObjectMetadata") => (200, metadata_only(object)),
        Some(object) => (200, object.clone()),
        None => {
            let kind = target.route.rule().map_or("", |(_, _, resource)| resource);
            let message = format!("{kind} \"{}\" not found", target.name);
            (404, status(404, "NotFound", &message))
        }
    }
}

fn access(state: &State, body: &Value) -> Value {
    let asked = &body["spec"]["resourceAttributes"];
    let text = |field: &str| asked[field].as_str().unwrap_or_default().to_owned();
    let allowed = !state.denied.contains(&(text("verb"), text("resource")));
    json!({
        "kind": "SelfSubjectAccessReview",
        "apiVersion": "authorization.k8s.io/v1",
        "metadata": {},
        "spec": body["spec"],
        "status": { "allowed": allowed },
    })
}

/// A refusal in words.
pub(crate) fn status(code: u16, reason: &str, message: &str) -> Value {
    json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    })
}

/// The reason in a refusal with this status.
pub(crate) fn reason(code: u16) -> &'static str {
    match code {
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "NotFound",
        410 => "Expired",
        429 => "TooManyRequests",
        503 => "ServiceUnavailable",
        _ => StatusCode::from_u16(code)
            .ok()
            .and_then(|s| s.canonical_reason())
            .unwrap_or(""),
    }
}

/// One line of a watch.
pub(crate) fn line(kind: &str, object: &Value) -> Bytes {
    Bytes::from(format!("{}\n", json!({ "type": kind, "object": object })))
}
