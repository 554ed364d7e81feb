//! Keys die with their pods.

use std::time::Duration;

use recall_testkit::{Reply, Route};

use super::simulated::{Cluster, LABEL};
use super::*;

const IN_TIME: Duration = Duration::from_secs(2);

fn broken() -> Reply {
    Reply::Json(500, json!({}))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_key_of_a_deleted_pod_is_refused_within_two_seconds() {
    let mut cluster = Cluster::start(&[]).await;
    let (gone, other) = (
        cluster.pod("demo-1", &[]).await,
        cluster.pod("demo-2", &[]).await,
    );
    let (gone_key, other_key) = (cluster.key(&gone).await, cluster.key(&other).await);
    cluster.ready().await;
    assert_eq!(cluster.call(&gone_key).await.0, 200);
    cluster.cluster().delete_pod("agents", "demo-1");
    let took = cluster.refused_after(&gone_key).await;
    assert!(took <= IN_TIME, "{took:?}");
    assert_eq!(cluster.call(&other_key).await.0, 200, "another pod goes on");
    let again = cluster.renew(&gone_key, &json!({ "token": gone })).await;
    assert_eq!(
        (again.status, again.code().as_str()),
        (401, "unauthenticated")
    );

    let token = cluster.pod("demo-1", &[]).await;
    let key = cluster.key(&token).await;
    assert_eq!(
        cluster.call(&key).await.0,
        200,
        "the pod made again has a key of its own"
    );
    assert_eq!(cluster.call(&gone_key).await.0, 401);

    let log = cluster
        .server
        .log_with("\"decision\":\"revoked\"")
        .expect("an audit line");
    let line = log
        .lines()
        .find(|line| line.contains("\"decision\":\"revoked\""));
    let line: Value = serde_json::from_str(line.expect("a line")).expect("JSON");
    for (name, expected) in [
        ("code", "pod_gone"),
        ("tenant", "agents"),
        ("agent", "demo-1"),
        ("pod", "demo-1"),
        ("service_account", "runner"),
    ] {
        assert_eq!(line[name], expected, "{line}");
    }
    let metrics = cluster.metrics().await;
    for expected in [
        "recall_kubernetes_pods_gone_total 1",
        "recall_kubernetes_watching 1",
        "recall_keys_revoked_total{cause=\"pod_gone\"} 1",
    ] {
        assert!(metrics.contains(expected), "{expected} in {metrics}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_is_only_marked_for_deletion_keeps_its_key_and_gets_no_other() {
    let cluster = Cluster::start(&[]).await;
    let token = cluster.pod("demo-1", &[]).await;
    let key = cluster.key(&token).await;
    cluster.ready().await;
    cluster.cluster().mark_pod_deleted("agents", "demo-1");
    for answer in [
        cluster.exchange(&token).await,
        cluster.renew(&key, &json!({ "token": token })).await,
    ] {
        assert_eq!((answer.status, answer.code().as_str()), (401, "pod_gone"));
    }
    assert_eq!(cluster.call(&key).await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_watch_kills_no_key_and_lets_exchanges_go_on_and_is_named() {
    let cluster = Cluster::start(&[]).await;
    let token = cluster.pod("demo-1", &[]).await;
    let key = cluster.key(&token).await;
    cluster.ready().await;
    for route in [Route::PodWatch, Route::PodList] {
        cluster.api().script(route, broken());
    }
    cluster.api().cut_watches();
    simulated::until("the watch is said to be broken", async || {
        let (status, text) = cluster.readiness().await;
        status == 503 && text.starts_with("watch: ")
    })
    .await;
    assert!(
        cluster
            .metrics()
            .await
            .contains("recall_kubernetes_watching 0")
    );
    assert_eq!(cluster.call(&key).await.0, 200);
    let token = cluster.pod("demo-2", &[]).await;
    let young = cluster.key(&token).await;
    cluster.api().clear_scripts();
    cluster.ready().await;
    for key in [key, young] {
        assert_eq!(cluster.call(&key).await.0, 200);
    }
    let metrics = cluster.metrics().await;
    assert!(
        metrics.contains("recall_kubernetes_watch_breaks_total 1"),
        "{metrics}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn deletions_that_a_broken_watch_missed_are_caught_by_the_new_list() {
    let cluster = Cluster::start(&[]).await;
    let (gone, other) = (
        cluster.pod("demo-1", &[]).await,
        cluster.pod("demo-2", &[]).await,
    );
    let (gone_key, other_key) = (cluster.key(&gone).await, cluster.key(&other).await);
    cluster.ready().await;
    cluster.api().script(Route::PodWatch, broken());
    cluster.api().cut_watches();
    simulated::until("the watch is broken", async || {
        cluster.readiness().await.0 == 503
    })
    .await;
    cluster.cluster().delete_pod("agents", "demo-1");
    cluster.cluster().forget_events();
    assert_eq!(
        cluster.call(&gone_key).await.0,
        200,
        "nothing is known of it yet"
    );
    cluster.api().clear_scripts();
    cluster.refused_after(&gone_key).await;
    assert_eq!(cluster.call(&other_key).await.0, 200);
    cluster.ready().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_deleted_while_the_server_was_down_is_noticed_at_its_start() {
    let mut cluster = Cluster::start(&[]).await;
    let (gone, other) = (
        cluster.pod("demo-1", &[]).await,
        cluster.pod("demo-2", &[]).await,
    );
    let (gone_key, other_key) = (cluster.key(&gone).await, cluster.key(&other).await);
    cluster.restart(|cluster| cluster.cluster().delete_pod("agents", "demo-1"));
    cluster.refused_after(&gone_key).await;
    assert_eq!(cluster.call(&other_key).await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_the_selector_leaves_out_is_looked_up_before_its_keys_die() {
    let selector = format!("--kubernetes-pod-selector={LABEL}=demo-1");
    let mut cluster = Cluster::start(&[&selector]).await;
    let selected = cluster.pod("demo-1", &[(LABEL, "demo-1")]).await;
    let left_out = [
        cluster.pod("demo-2", &[]).await,
        cluster.pod("demo-3", &[]).await,
    ];
    let selected = cluster.key(&selected).await;
    let (stays, goes) = (
        cluster.key(&left_out[0]).await,
        cluster.key(&left_out[1]).await,
    );
    // Its start is a new list, and so a look at all pods that have keys.
    cluster.restart(|cluster| cluster.cluster().delete_pod("agents", "demo-3"));
    cluster.refused_after(&goes).await;
    assert_eq!(cluster.call(&stays).await.0, 200);
    cluster.ready().await;
    cluster.cluster().delete_pod("agents", "demo-1");
    let took = cluster.refused_after(&selected).await;
    assert!(took <= IN_TIME, "{took:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_right_to_watch_the_server_names_it_and_does_not_start() {
    let world = recall_e2e::world::World::simulated()
        .await
        .expect("a stand-in");
    let recall_e2e::world::World::Simulated(simulated) = &world else {
        panic!("it is simulated")
    };
    simulated.api().cluster().deny("watch", "pods");
    let dir = tempfile::tempdir().expect("a folder");
    let access = world.server_account(dir.path()).await.expect("an account");
    let mut flags = access.flags();
    let start = |flags: &[String]| {
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        programs::server(dir.path(), "recall", &flags)
    };
    let error = format!("{:#}", start(&flags).expect_err("it must not start"));
    assert!(error.contains("exit code Some(69)"), "{error}");
    assert!(error.contains("verb `watch` on resource `pods`"), "{error}");
    flags.push("--kubernetes-watch=false".to_owned());
    start(&flags).expect("without the watch it needs no such right");
}

#[tokio::test(flavor = "multi_thread")]
async fn with_namespaces_named_rights_are_needed_in_these_alone_and_no_other_is_served() {
    let cluster = Cluster::start(&["--kubernetes-namespaces=agents,more"]).await;
    let asked = cluster.api().requests();
    let places: Vec<_> = asked
        .iter()
        .filter(|request| request.route == Route::AccessReviews)
        .map(|request| request.body["spec"]["resourceAttributes"].clone())
        .filter(|asked| asked["resource"] == "pods")
        .map(|asked| asked["namespace"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert!(
        places
            .iter()
            .all(|place| ["agents", "more"].contains(&place.as_str())),
        "{places:?}"
    );
    assert!(places.contains(&"more".to_owned()), "{places:?}");
    let inside = cluster.pod_in("more", "demo-1", &[]).await;
    let key = cluster.key(&inside).await;
    let outside = cluster.pod_in("elsewhere", "demo-1", &[]).await;
    let looked_up = cluster.api().count(Route::Pod);
    let answer = cluster.exchange(&outside).await;
    assert_eq!((answer.status, answer.code().as_str()), (403, "forbidden"));
    assert_eq!(cluster.api().count(Route::Pod), looked_up);
    cluster.ready().await;
    cluster.cluster().delete_pod("more", "demo-1");
    assert!(cluster.refused_after(&key).await <= IN_TIME);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_listed_service_accounts_may_exchange() {
    let cluster = Cluster::start(&["--kubernetes-service-account=agents/runner"]).await;
    let listed = cluster.pod("demo-1", &[]).await;
    cluster.key(&listed).await;
    let other = cluster.pod_in("elsewhere", "demo-1", &[]).await;
    let answer = cluster.exchange(&other).await;
    assert_eq!((answer.status, answer.code().as_str()), (403, "forbidden"));
}
