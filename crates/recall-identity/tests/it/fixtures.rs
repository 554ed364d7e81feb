//! Answers recorded from kube-apiserver v1.37.2 and agent-sandbox v0.5.6, replayed.

use std::collections::BTreeSet;
use std::path::Path;

use recall_testkit::{Reply, Route};
use serde_json::{Value, json};

use crate::support::{World, label_is_optional, limits, rules};

fn fixture(name: &str) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let text = std::fs::read(folder.join(format!("{name}.json"))).unwrap();
    serde_json::from_slice(&text).unwrap()
}

fn reply(name: &str) -> Reply {
    let fixture = fixture(name);
    let status = fixture["http_status"]
        .as_u64()
        .and_then(|s| u16::try_from(s).ok())
        .unwrap();
    Reply::Json(status, fixture["body"].clone())
}

fn extra<'a>(review: &'a Value, key: &str) -> &'a Value {
    &review["body"]["status"]["user"]["extra"][format!("authentication.kubernetes.io/{key}")][0]
}

/// The outcome of a recorded review, with a live pod of the name and UID that it says.
async fn outcome(name: &str) -> String {
    let world = World::new().await;
    let review = fixture(name);
    let mut pod = fixture("pod-plain-sandbox");
    pod["metadata"]["name"] = extra(&review, "pod-name").clone();
    pod["metadata"]["uid"] = extra(&review, "pod-uid").clone();
    world.server.script(Route::TokenReviews, reply(name));
    world.server.script(Route::Pod, Reply::Json(200, pod));
    world.outcome("token").await
}

#[tokio::test]
async fn recorded_reviews() {
    let expected = [
        ("ok", "agents:demo-1"),
        ("ok-two-audiences", "agents:demo-1"),
        ("multi-audience-token", "agents:demo-1"),
        ("pod-without-node", "agents:demo-1"),
        ("sa-only", "not_pod_bound"),
        ("secret-bound", "not_pod_bound"),
        ("node-bound", "not_pod_bound"),
        ("empty-token", "upstream"),
        ("alg-none", "token_rejected"),
        ("api-audience-token-asked-recall", "token_rejected"),
        ("api-audience-token-no-audience", "token_rejected"),
        ("empty-audience-list", "token_rejected"),
        ("expired", "token_rejected"),
        ("garbage", "token_rejected"),
        ("garbage-jwtlike", "token_rejected"),
        ("no-audience", "token_rejected"),
        ("other-audience", "token_rejected"),
        ("pod-deleted", "token_rejected"),
        ("pod-deleted-after-cache", "token_rejected"),
        ("pod-recreated", "token_rejected"),
        ("pod-terminating-past-leeway", "token_rejected"),
        ("serviceaccount-deleted", "token_rejected"),
        ("serviceaccount-recreated", "token_rejected"),
        ("static-admin-token", "token_rejected"),
        ("static-admin-token-no-audience", "token_rejected"),
        ("tampered-payload", "token_rejected"),
        ("tampered-signature", "token_rejected"),
    ];
    for (name, expected) in expected {
        assert_eq!(
            outcome(&format!("tokenreview-{name}")).await,
            expected,
            "{name}"
        );
    }
}

#[tokio::test]
async fn a_review_of_a_dying_or_finished_pod_is_good_and_the_pod_is_not() {
    for (name, change, expected) in [
        (
            "pod-terminating",
            json!({ "metadata": { "deletionTimestamp": "2026-11-29T21:50:00Z" } }),
            "pod_gone",
        ),
        (
            "pod-succeeded",
            json!({ "status": { "phase": "Succeeded" } }),
            "forbidden",
        ),
    ] {
        let world = World::new().await;
        let review = fixture(&format!("tokenreview-{name}"));
        let mut pod = fixture("pod-plain-sandbox");
        pod["metadata"]["name"] = extra(&review, "pod-name").clone();
        pod["metadata"]["uid"] = extra(&review, "pod-uid").clone();
        for (part, fields) in change.as_object().unwrap() {
            pod[part]
                .as_object_mut()
                .unwrap()
                .extend(fields.as_object().unwrap().clone());
        }
        world
            .server
            .script(Route::TokenReviews, reply(&format!("tokenreview-{name}")));
        world.server.script(Route::Pod, Reply::Json(200, pod));
        assert_eq!(world.outcome("token").await, expected, "{name}");
    }
}

/// The outcome for a recorded pod, with a good review of it.
async fn of_pod(world: &World, pod: &str) -> String {
    let pod = fixture(pod);
    let mut review = fixture("tokenreview-ok")["body"].clone();
    let extra = &mut review["status"]["user"]["extra"];
    extra["authentication.kubernetes.io/pod-name"] = json!([pod["metadata"]["name"]]);
    extra["authentication.kubernetes.io/pod-uid"] = json!([pod["metadata"]["uid"]]);
    world
        .server
        .script(Route::TokenReviews, Reply::Json(201, review));
    world.server.script(Route::Pod, Reply::Json(200, pod));
    world.outcome("token").await
}

#[tokio::test]
async fn recorded_pods() {
    for (pod, expected) in [
        ("pod-plain-sandbox", "agents:demo-1"),
        ("pod-real-running", "agents:demo-1"),
        ("pod-adopted", "agents:run-1"),
        ("pod-warm-unclaimed", "sandbox_unclaimed"),
    ] {
        assert_eq!(of_pod(&World::new().await, pod).await, expected, "{pod}");
    }
}

#[tokio::test]
async fn recorded_owners() {
    for (sandbox, expected) in [
        ("sandbox-warm-unclaimed", "sandbox_unclaimed"),
        ("sandbox-adopted", "sandbox_unclaimed"),
    ] {
        let world = World::with(label_is_optional(), limits()).await;
        world
            .server
            .script(Route::Sandbox, Reply::Json(200, fixture(sandbox)));
        world.server.script(
            Route::SandboxClaim,
            Reply::Json(200, fixture("claim-ready")),
        );
        let pod = fixture("pod-adopted");
        let mut unlabelled = pod.clone();
        unlabelled["metadata"]["labels"] = json!({});
        let mut review = fixture("tokenreview-ok")["body"].clone();
        let extra = &mut review["status"]["user"]["extra"];
        extra["authentication.kubernetes.io/pod-name"] = json!([pod["metadata"]["name"]]);
        extra["authentication.kubernetes.io/pod-uid"] = json!([pod["metadata"]["uid"]]);
        world
            .server
            .script(Route::TokenReviews, Reply::Json(201, review));
        world
            .server
            .script(Route::Pod, Reply::Json(200, unlabelled));
        assert_eq!(world.outcome("token").await, expected, "{sandbox}");
    }
}

#[tokio::test]
async fn recorded_claim_names_the_agent() {
    let rules = recall_identity::Rules {
        agent: recall_identity::AgentRule::SandboxClaim,
        ..rules()
    };
    let world = World::with(rules, limits()).await;
    world
        .server
        .script(Route::Sandbox, Reply::Json(200, fixture("sandbox-adopted")));
    world.server.script(
        Route::SandboxClaim,
        Reply::Json(200, fixture("claim-ready")),
    );
    assert_eq!(of_pod(&world, "pod-adopted").await, "agents:run-1");
}

#[tokio::test]
async fn recorded_refusals_of_our_own_account() {
    for (route, name, expected) in [
        (
            Route::TokenReviews,
            "server-403-tokenreviews-create",
            "upstream",
        ),
        (
            Route::TokenReviews,
            "server-anonymous-tokenreview-403",
            "upstream",
        ),
        (
            Route::TokenReviews,
            "server-own-token-garbage-401",
            "upstream",
        ),
        (Route::Pod, "server-403-pods-get", "upstream"),
        (Route::Pod, "server-get-pod-missing", "pod_gone"),
    ] {
        let world = World::new().await;
        world.server.script(route, reply(name));
        assert_eq!(world.outcome(&world.token()).await, expected, "{name}");
    }
}

/// The members of an object, all the way down; lists and plain values count as present.
fn members(value: &Value, at: &str, found: &mut BTreeSet<String>) {
    for (name, inner) in value.as_object().into_iter().flatten() {
        let path = format!("{at}/{name}");
        members(inner, &path, found);
        found.insert(path);
    }
}

#[tokio::test]
async fn the_fake_reviews_tokens_in_the_shape_of_the_real_one() {
    let world = World::new().await;
    for (fixture_name, token) in [("ok", world.token()), ("garbage", "garbage".to_owned())] {
        let reviewed = review_by(&world, &token).await;
        let (mut real, mut fake) = (BTreeSet::new(), BTreeSet::new());
        members(
            &fixture(&format!("tokenreview-{fixture_name}"))["body"],
            "",
            &mut real,
        );
        members(&reviewed, "", &mut fake);
        // The recording leaves out the token, and the fake has no nodes.
        real.insert("/spec/token".to_owned());
        real.remove("/status/user/extra/authentication.kubernetes.io/node-uid");
        assert_eq!(fake, real, "{fixture_name}");
    }
}

/// What the fake says about a token, as it stands on the wire.
async fn review_by(world: &World, token: &str) -> Value {
    let config = kube::Config::new(world.server.url().parse().unwrap());
    let client = kube::Client::try_from(config).unwrap();
    let body = json!({ "spec": { "token": token, "audiences": ["recall"] } }).to_string();
    let request = http::Request::post("/apis/authentication.k8s.io/v1/tokenreviews");
    client
        .request(request.body(body.into_bytes()).unwrap())
        .await
        .unwrap()
}
