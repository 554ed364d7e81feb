//! Attacks with the token itself.

use std::time::Duration;

use recall_identity::Caller;
use recall_testkit::{NewPod, NewToken, Route};

use crate::support::{World, demo_pod};

#[tokio::test]
async fn a_good_token_becomes_a_caller() {
    let world = World::new().await;
    let uid = world.cluster().uid(Route::Pod, "agents", "demo-1").unwrap();
    let caller = world.exchange(&world.token()).await.unwrap();
    let Caller {
        tenant,
        agent,
        pod,
        service_account,
        node,
        token_id,
    } = caller;
    assert_eq!((tenant.as_str(), agent.as_str()), ("agents", "demo-1"));
    assert_eq!(
        (pod.namespace.as_str(), pod.name.as_str(), pod.uid),
        ("agents", "demo-1", uid)
    );
    assert_eq!(
        (service_account.as_str(), node.as_deref()),
        ("runner", Some("n1"))
    );
    assert!(token_id.is_some_and(|id| !id.starts_with("JTI=")));
    let asked = world.server.requests();
    assert_eq!(
        asked[0].body["spec"]["audiences"],
        serde_json::json!(["recall"])
    );
    assert_eq!(asked[1].path, "/api/v1/namespaces/agents/pods/demo-1");
    assert_eq!(asked.len(), 2);
}

#[tokio::test]
async fn what_is_no_token_is_refused_without_an_api_call() {
    let world = World::new().await;
    let dots = ".".repeat(16 * 1024);
    let long = "a".repeat(16 * 1024 + 1);
    let million = ".".repeat(1_000_000);
    let with_bom = format!("\u{feff}{}", world.token());
    let with_newline = format!("{}\n", world.token());
    for token in [
        "",
        " ",
        "\n",
        "a b",
        "a\nb",
        "tökèn",
        &with_bom,
        &with_newline,
        &dots,
        &long,
        &million,
    ] {
        assert_eq!(
            world.outcome(token).await,
            "invalid_argument",
            "{token:.20}"
        );
    }
    assert!(world.server.requests().is_empty());
}

#[tokio::test]
async fn a_forged_token_is_rejected_after_one_api_call() {
    for token in [
        "..",
        "!!!.###.$$$",
        "eyJhbGciOiJub25lIn0.e30.",
        "eyJhbGciOiJIUzI1NiJ9.e30.c2ln",
        "eyJraWQiOiIuLi8uLi9ldGMvcGFzc3dkIn0.e30.c2ln",
        "eyJqa3UiOiJodHRwOi8vMTI3LjAuMC4xLyJ9.e30.c2ln",
        "opaque",
    ] {
        let world = World::new().await;
        assert_eq!(world.outcome(token).await, "token_rejected", "{token}");
        assert_eq!(world.server.requests().len(), 1, "{token}");
    }
}

#[tokio::test]
async fn token_for_other_audience_is_refused() {
    let world = World::new().await;
    for audience in [
        "vault",
        "https://kubernetes.default.svc",
        "Recall",
        "recall ",
        "recall/",
    ] {
        let token = NewToken::of_pod("agents", "demo-1").audiences(&[audience]);
        let token = world.cluster().issue_token(&token);
        assert_eq!(
            world.outcome(&token).await,
            "token_rejected",
            "{audience:?}"
        );
    }
}

#[tokio::test]
async fn token_for_recall_among_others_is_taken() {
    let world = World::new().await;
    let token = NewToken::of_pod("agents", "demo-1").audiences(&["recall", "other"]);
    let token = world.cluster().issue_token(&token);
    assert_eq!(world.outcome(&token).await, "agents:demo-1");
}

#[tokio::test]
async fn expiry_is_the_api_servers_to_judge() {
    let world = World::new().await;
    let ended = NewToken::of_pod("agents", "demo-1").lifetime(Duration::ZERO);
    let inside_leeway = world.cluster().issue_token(&ended);
    assert_eq!(world.outcome(&inside_leeway).await, "agents:demo-1");
}

#[tokio::test]
async fn unbound_token_is_not_pod_bound() {
    let world = World::new().await;
    let token = world
        .cluster()
        .issue_token(&NewToken::unbound("agents", "runner"));
    assert_eq!(world.outcome(&token).await, "not_pod_bound");
    assert_eq!(world.server.count(Route::Pod), 0);
}

#[tokio::test]
async fn service_account_off_the_list_is_forbidden() {
    let mut world = World::new().await;
    world
        .cluster()
        .add_pod(&NewPod::new("agents", "other").service_account("stranger"));
    let stranger = world
        .cluster()
        .issue_token(&NewToken::of_pod("agents", "other"));
    let good = world.token();
    let runner = ("agents".to_owned(), "runner".to_owned());
    world.resolver = world.resolver.allow_only([runner]);
    assert_eq!(world.outcome(&stranger).await, "forbidden");
    assert_eq!(world.outcome(&good).await, "agents:demo-1");
}

#[tokio::test]
async fn token_of_a_pod_with_the_same_names_elsewhere_is_rejected() {
    let (here, there) = (World::new().await, World::new().await);
    assert_eq!(here.outcome(&there.token()).await, "token_rejected");
}

#[tokio::test]
async fn the_same_token_many_times_at_once_is_reviewed_once() {
    let world = World::new().await;
    world.server.script(
        Route::Pod,
        recall_testkit::Reply::Late(Duration::from_millis(100)),
    );
    let token = world.token();
    let all = futures_util::future::join_all((0..1000).map(|_| world.exchange(&token))).await;
    assert!(all.iter().all(Result::is_ok));
    assert_eq!(
        (
            world.server.count(Route::TokenReviews),
            world.server.count(Route::Pod)
        ),
        (1, 1)
    );
}

#[tokio::test]
async fn the_pod_is_read_anew_for_every_exchange() {
    let world = World::new().await;
    let token = world.token();
    for _ in 0..3 {
        assert_eq!(world.outcome(&token).await, "agents:demo-1");
    }
    assert_eq!(
        (
            world.server.count(Route::TokenReviews),
            world.server.count(Route::Pod)
        ),
        (1, 3)
    );
}

#[tokio::test]
async fn a_token_replayed_from_elsewhere_is_the_same_caller() {
    let world = World::new().await;
    let token = world.token();
    assert_eq!(world.exchange(&token).await, world.exchange(&token).await);
}

#[tokio::test]
async fn token_of_the_pod_before_is_rejected() {
    let world = World::new().await;
    let old = world.token();
    world.cluster().recreate_pod(&demo_pod());
    assert_eq!(world.outcome(&old).await, "token_rejected");
    assert_eq!(world.outcome(&world.token()).await, "agents:demo-1");
}
