//! Attacks with the pod that is read back.

use recall_testkit::{FakeCluster, NewPod, NewToken, Reply, Route};
use serde_json::{Value, json};

use crate::support::{World, demo_pod};

/// The outcome of a second exchange, after the pod changed behind a review that still stands.
async fn after(change: impl FnOnce(&FakeCluster)) -> String {
    let world = World::new().await;
    let token = world.token();
    assert_eq!(world.outcome(&token).await, "agents:demo-1");
    change(world.cluster());
    let outcome = world.outcome(&token).await;
    assert_eq!(
        world.server.count(Route::TokenReviews),
        1,
        "the review was not taken again"
    );
    outcome
}

fn edit(change: impl FnOnce(&mut Value)) -> impl FnOnce(&FakeCluster) {
    |cluster| cluster.edit_pod("agents", "demo-1", change)
}

#[tokio::test]
async fn deleted_pod_is_gone_at_once() {
    assert_eq!(
        after(|cluster| cluster.delete_pod("agents", "demo-1")).await,
        "pod_gone"
    );
}

#[tokio::test]
async fn pod_made_again_under_the_same_name_is_not_the_tokens() {
    let recreate = |cluster: &FakeCluster| {
        cluster.recreate_pod(&demo_pod());
    };
    assert_eq!(after(recreate).await, "pod_gone");
}

#[tokio::test]
async fn pod_being_deleted_is_gone_while_its_grace_period_runs() {
    assert_eq!(
        after(|cluster| cluster.mark_pod_deleted("agents", "demo-1")).await,
        "pod_gone"
    );
}

#[tokio::test]
async fn finished_pod_is_forbidden() {
    for phase in ["Succeeded", "Failed"] {
        let finish = edit(|pod| pod["status"]["phase"] = json!(phase));
        assert_eq!(after(finish).await, "forbidden", "{phase}");
    }
}

#[tokio::test]
async fn pending_pod_may_exchange() {
    for phase in ["Pending", "Unknown"] {
        let pending = edit(|pod| pod["status"]["phase"] = json!(phase));
        assert_eq!(after(pending).await, "agents:demo-1", "{phase}");
    }
}

#[tokio::test]
async fn pod_without_a_phase_proves_nothing() {
    assert_eq!(
        after(edit(|pod| pod["status"] = json!({}))).await,
        "upstream"
    );
    assert_eq!(
        after(edit(|pod| pod["status"]["phase"] = json!("Dancing"))).await,
        "upstream"
    );
}

#[tokio::test]
async fn pod_of_another_service_account_is_forbidden() {
    let other = edit(|pod| pod["spec"]["serviceAccountName"] = json!("other"));
    assert_eq!(after(other).await, "forbidden");
    assert_eq!(
        after(edit(|pod| pod["spec"] = json!({}))).await,
        "forbidden"
    );
}

#[tokio::test]
async fn pod_is_read_in_the_tokens_namespace() {
    let world = World::new().await;
    let other = NewPod::new("other", "demo-1").label("sandbox.users.io/agent", "stranger");
    world.cluster().add_pod(&other);
    let theirs = world
        .cluster()
        .issue_token(&NewToken::of_pod("other", "demo-1"));
    assert_eq!(world.outcome(&world.token()).await, "agents:demo-1");
    assert_eq!(world.outcome(&theirs).await, "other:stranger");
    let read = world
        .server
        .requests()
        .into_iter()
        .filter(|r| r.route == Route::Pod);
    let paths: Vec<String> = read.map(|request| request.path).collect();
    let expected = ["agents", "other"].map(|ns| format!("/api/v1/namespaces/{ns}/pods/demo-1"));
    assert_eq!(paths, expected);
}

#[tokio::test]
async fn answer_about_another_object_is_no_answer() {
    let change = |field: &'static str, value: Value| {
        move |mut pod: Value| {
            pod["metadata"][field] = value;
            pod
        }
    };
    check_answer(change("name", json!("demo-2")), "upstream").await;
    check_answer(change("namespace", json!("other")), "upstream").await;
    check_answer(change("namespace", json!("")), "upstream").await;
    check_answer(change("uid", json!("")), "upstream").await;
    check_answer(change("uid", json!("another")), "pod_gone").await;
    check_answer(|_| json!({}), "upstream").await;
    check_answer(
        |_| json!({ "kind": "Status", "code": 404, "reason": "NotFound" }),
        "upstream",
    )
    .await;
}

async fn check_answer(change: impl FnOnce(Value) -> Value, expected: &str) {
    let world = World::new().await;
    let pod = world.cluster().get(Route::Pod, "agents", "demo-1").unwrap();
    let answer = change(pod);
    world
        .server
        .script(Route::Pod, Reply::Json(200, answer.clone()));
    assert_eq!(world.outcome(&world.token()).await, expected, "{answer}");
}

#[tokio::test]
async fn forbidden_to_read_pods_never_falls_back_to_the_tokens_word() {
    let world = World::new().await;
    world.cluster().deny("get", "pods");
    assert_eq!(world.outcome(&world.token()).await, "upstream");
}

#[tokio::test]
async fn a_404_that_is_not_the_api_servers_word_on_the_pod_is_no_answer() {
    for reply in [
        Reply::Text(404, "text/plain", "404 page not found".to_owned()),
        Reply::Text(404, "text/html", "<html>".to_owned()),
        Reply::Json(404, json!({})),
        Reply::Json(404, json!({ "kind": "Status", "reason": "Forbidden" })),
    ] {
        let world = World::new().await;
        world.server.script(Route::Pod, reply.clone());
        assert_eq!(world.outcome(&world.token()).await, "upstream", "{reply:?}");
    }
}
