//! Attacks with the answer to a review.

use recall_testkit::{Reply, Route};
use serde_json::{Value, json};

use crate::support::World;

const POD_NAME: &str = "authentication.kubernetes.io/pod-name";
const POD_UID: &str = "authentication.kubernetes.io/pod-uid";

/// A review that is good for the pod of `world`.
fn good(world: &World) -> Value {
    let uid = world.cluster().uid(Route::Pod, "agents", "demo-1");
    let account = world
        .cluster()
        .uid(Route::ServiceAccount, "agents", "runner");
    json!({
        "kind": "TokenReview",
        "apiVersion": "authentication.k8s.io/v1",
        "status": {
            "authenticated": true,
            "audiences": ["recall"],
            "user": {
                "username": "system:serviceaccount:agents:runner",
                "uid": account,
                "groups": ["system:serviceaccounts", "system:serviceaccounts:agents"],
                "extra": { POD_NAME: ["demo-1"], POD_UID: [uid] },
            },
        },
    })
}

/// The outcome where the API server answers with a good review after `change`.
async fn outcome(change: impl FnOnce(&mut Value)) -> String {
    let world = World::new().await;
    let mut review = good(&world);
    change(&mut review);
    world
        .server
        .script(Route::TokenReviews, Reply::Json(201, review));
    world.outcome("token").await
}

fn user(review: &mut Value) -> &mut Value {
    &mut review["status"]["user"]
}

fn remove(value: &mut Value, key: &str) {
    value.as_object_mut().unwrap().remove(key);
}

#[tokio::test]
async fn the_review_the_others_are_made_of_is_good() {
    assert_eq!(outcome(|_| ()).await, "agents:demo-1");
}

#[tokio::test]
async fn authenticated_without_our_audience_is_rejected() {
    for audiences in [json!([]), json!(["other"]), json!(["Recall"]), json!(null)] {
        let refused = outcome(|r| r["status"]["audiences"] = audiences.clone()).await;
        assert_eq!(refused, "token_rejected", "{audiences}");
    }
    assert_eq!(
        outcome(|r| remove(&mut r["status"], "audiences")).await,
        "token_rejected"
    );
}

#[tokio::test]
async fn a_verdict_other_than_a_clean_yes_is_rejected() {
    assert_eq!(
        outcome(|r| remove(&mut r["status"], "authenticated")).await,
        "token_rejected"
    );
    assert_eq!(
        outcome(|r| r["status"]["authenticated"] = json!(false)).await,
        "token_rejected"
    );
    assert_eq!(
        outcome(|r| r["status"]["error"] = json!("odd")).await,
        "token_rejected"
    );
}

#[tokio::test]
async fn authenticated_without_a_user_is_no_verdict() {
    assert_eq!(
        outcome(|r| remove(&mut r["status"], "user")).await,
        "upstream"
    );
    assert_eq!(outcome(|r| *user(r) = json!({})).await, "upstream");
    assert_eq!(
        outcome(|r| user(r)["username"] = json!("")).await,
        "upstream"
    );
}

#[tokio::test]
async fn a_body_that_is_no_review_is_no_verdict() {
    assert_eq!(outcome(|r| remove(r, "status")).await, "upstream");
    assert_eq!(outcome(|r| r["kind"] = json!("Status")).await, "upstream");
    assert_eq!(outcome(|r| *r = json!({})).await, "upstream");
    assert_eq!(outcome(|r| *r = json!([])).await, "upstream");
    assert_eq!(
        outcome(|r| r["status"]["authenticated"] = json!("true")).await,
        "upstream"
    );
    assert_eq!(
        outcome(|r| user(r)["extra"] = json!({ POD_NAME: "demo-1" })).await,
        "upstream"
    );
}

#[tokio::test]
async fn a_user_name_that_is_nearly_a_service_accounts_is_rejected() {
    for name in [
        "system:serviceaccount:agents:runner:x",
        "system:serviceaccount::runner",
        "system:serviceaccountx:agents:runner",
        "SYSTEM:SERVICEACCOUNT:agents:runner",
        "system:serviceaccount:Agents:runner",
        "system:serviceaccount:agents/..:runner",
        "admin",
    ] {
        assert_eq!(
            outcome(|r| user(r)["username"] = json!(name)).await,
            "token_rejected",
            "{name}"
        );
    }
}

#[tokio::test]
async fn group_of_another_namespace_is_rejected() {
    for groups in [
        json!(["system:serviceaccounts", "system:serviceaccounts:other"]),
        json!(["system:serviceaccounts"]),
        json!([]),
        json!(null),
    ] {
        let refused = outcome(|r| user(r)["groups"] = groups.clone()).await;
        assert_eq!(refused, "token_rejected", "{groups}");
    }
}

#[tokio::test]
async fn anything_but_one_pod_name_and_one_pod_uid_is_not_pod_bound() {
    for key in [POD_NAME, POD_UID] {
        let extra = |change: Value| outcome(move |r| user(r)["extra"][key] = change);
        assert_eq!(extra(json!([])).await, "not_pod_bound");
        assert_eq!(extra(json!(null)).await, "upstream");
        assert_eq!(extra(json!([""])).await, "not_pod_bound");
        assert_eq!(extra(json!(["demo-1", "demo-1"])).await, "not_pod_bound");
        assert_eq!(extra(json!(["../demo-1"])).await, "not_pod_bound");
        assert_eq!(
            outcome(|r| remove(&mut user(r)["extra"], key)).await,
            "not_pod_bound"
        );
    }
    assert_eq!(outcome(|r| remove(user(r), "extra")).await, "not_pod_bound");
}

#[tokio::test]
async fn another_issuer_posing_as_a_service_account_is_not_pod_bound() {
    let posing = |r: &mut Value| {
        *user(r) = json!({
            "username": "system:serviceaccount:agents:runner",
            "groups": ["system:serviceaccounts:agents"],
            "extra": { "example.com/pod-name": ["demo-1"] },
        });
    };
    assert_eq!(outcome(posing).await, "not_pod_bound");
}

#[tokio::test]
async fn a_node_that_is_not_said_or_said_oddly_is_left_out() {
    let world = World::new().await;
    let mut review = good(&world);
    user(&mut review)["extra"]["authentication.kubernetes.io/node-name"] = json!(["a", "b"]);
    user(&mut review)["extra"]["authentication.kubernetes.io/credential-id"] = json!(["odd"]);
    world
        .server
        .script(Route::TokenReviews, Reply::Json(201, review));
    let caller = world.exchange("token").await.unwrap();
    assert_eq!((caller.node, caller.token_id), (None, None));
}
