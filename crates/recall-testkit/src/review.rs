//! The review of a token, in the words of a real API server.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::cluster::{Issued, State, key};
use crate::route::Route;

/// An API server honours a token for this long after its end.
const LEEWAY: Duration = Duration::from_secs(60);

/// The answer to the review `asked`: a status and a body.
pub(crate) fn review(state: &State, asked: &Value) -> (u16, Value) {
    let token = asked["spec"]["token"].as_str().unwrap_or_default().trim();
    if token.is_empty() {
        let message = "token is required for TokenReview in authentication";
        return (400, crate::respond::status(400, "BadRequest", message));
    }
    let audiences: Vec<String> = asked["spec"]["audiences"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|audience| audience.as_str().map(str::to_owned))
        .collect();
    let verdict = match verdict(state, token, &audiences) {
        Ok(user) => user,
        Err(reason) => json!({ "user": {}, "error": reason }),
    };
    let body = json!({
        "kind": "TokenReview",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {},
        "spec": { "audiences": audiences, "token": token },
        "status": verdict,
    });
    (201, body)
}

fn verdict(state: &State, token: &str, asked: &[String]) -> Result<Value, String> {
    let issued = state.tokens.get(token).ok_or("invalid bearer token")?;
    let good: Vec<&String> = asked
        .iter()
        .filter(|a| issued.audiences.contains(a))
        .collect();
    if good.is_empty() {
        let (has, wants) = (&issued.audiences, asked);
        return Err(format!(
            "[invalid bearer token, token audiences {has:?} is invalid for the target audiences {wants:?}]"
        ));
    }
    if Instant::now() >= issued.expires + LEEWAY {
        return Err("[invalid bearer token, service account token has expired]".to_owned());
    }
    check_account(state, issued)?;
    check_pod(state, issued)?;
    Ok(json!({ "authenticated": true, "user": user(state, issued), "audiences": good }))
}

fn check_account(state: &State, issued: &Issued) -> Result<(), String> {
    let (namespace, name) = (&issued.namespace, &issued.service_account);
    match uid_of(state, Route::ServiceAccount, namespace, name) {
        None => Err(format!(
            "[invalid bearer token, serviceaccounts \"{name}\" not found]"
        )),
        Some(uid) if uid != issued.service_account_uid => Err(format!(
            "[invalid bearer token, service account UID ({uid}) does not match claim ({})]",
            issued.service_account_uid
        )),
        Some(_) => Ok(()),
    }
}

fn check_pod(state: &State, issued: &Issued) -> Result<(), String> {
    let Some((name, bound)) = &issued.pod else {
        return Ok(());
    };
    match uid_of(state, Route::Pod, &issued.namespace, name) {
        None => Err("[invalid bearer token, service account token has been invalidated]".into()),
        Some(uid) if uid != bound => Err(format!(
            "[invalid bearer token, pod UID ({uid}) does not match service account pod ref claim ({bound})]"
        )),
        Some(_) => Ok(()),
    }
}

fn user(state: &State, issued: &Issued) -> Value {
    let (namespace, account) = (&issued.namespace, &issued.service_account);
    let mut extra = json!({
        "authentication.kubernetes.io/credential-id": [format!("JTI={}", issued.id)],
    });
    if let Some((name, uid)) = &issued.pod {
        extra["authentication.kubernetes.io/pod-name"] = json!([name]);
        extra["authentication.kubernetes.io/pod-uid"] = json!([uid]);
        let pod = object(state, Route::Pod, namespace, name);
        if let Some(node) = pod.and_then(|pod| pod["spec"]["nodeName"].as_str()) {
            extra["authentication.kubernetes.io/node-name"] = json!([node]);
        }
    }
    json!({
        "username": format!("system:serviceaccount:{namespace}:{account}"),
        "uid": issued.service_account_uid,
        "groups": [
            "system:serviceaccounts",
            format!("system:serviceaccounts:{namespace}"),
            "system:authenticated",
        ],
        "extra": extra,
    })
}

fn uid_of<'a>(state: &'a State, route: Route, namespace: &str, name: &str) -> Option<&'a str> {
    object(state, route, namespace, name)?["metadata"]["uid"].as_str()
}

fn object<'a>(state: &'a State, route: Route, namespace: &str, name: &str) -> Option<&'a Value> {
    state.objects.get(&route)?.get(&key(namespace, name))
}
