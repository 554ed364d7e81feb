//! The watch of pods.

use std::collections::HashSet;
use std::pin::pin;
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use recall_identity::kube::{Connection, PodEvent, Watched, watch_pods};
use recall_testkit::{FakeApiServer, FakeCluster, NewPod, Reply, Route};
use serde_json::json;

use crate::support::{AGENT, client, demo_pod};

async fn server() -> FakeApiServer {
    let server = FakeApiServer::start(FakeCluster::new()).await.unwrap();
    server.cluster().add_pod(&demo_pod());
    server
}

async fn watch(server: &FakeApiServer, watched: Watched) -> impl Stream<Item = PodEvent> {
    watch_pods(client(server, Connection::default()).await, watched)
}

/// The next event, in words, or that there is none.
async fn next(events: &mut (impl Stream<Item = PodEvent> + Unpin)) -> String {
    let event = tokio::time::timeout(Duration::from_secs(5), events.next()).await;
    match event
        .expect("an event in time")
        .expect("a stream without an end")
    {
        PodEvent::Listed(uids) => format!("listed {}", uids.len()),
        PodEvent::Alive(pod) => format!("alive {}/{}", pod.namespace, pod.name),
        PodEvent::Gone(pod) => format!("gone {}/{}", pod.namespace, pod.name),
        PodEvent::Broken => "broken".to_owned(),
        PodEvent::Resumed => "resumed".to_owned(),
    }
}

#[tokio::test]
async fn pods_are_listed_and_then_told_of_as_they_come_and_go() {
    let server = server().await;
    let mut events = pin!(watch(&server, Watched::default()).await);
    let uid = server
        .cluster()
        .uid(Route::Pod, "agents", "demo-1")
        .unwrap();
    assert_eq!(
        events.next().await,
        Some(PodEvent::Listed(HashSet::from([uid])))
    );
    server.cluster().add_pod(&NewPod::new("other", "b"));
    assert_eq!(next(&mut events).await, "alive other/b");
    server.cluster().label_pod("other", "b", "changed", "yes");
    server.cluster().mark_pod_deleted("other", "b");
    server.cluster().delete_pod("other", "b");
    assert_eq!(next(&mut events).await, "gone other/b");
}

#[tokio::test]
async fn a_long_list_comes_in_pages() {
    let server = server().await;
    for n in 0..600 {
        server
            .cluster()
            .add_pod(&NewPod::new("agents", &format!("pod-{n}")));
    }
    let mut events = pin!(watch(&server, Watched::default()).await);
    assert_eq!(next(&mut events).await, "listed 601");
    assert_eq!(server.count(Route::PodList), 3);
}

#[tokio::test]
async fn a_watch_that_ends_properly_goes_on_from_where_it_stood() {
    let server = server().await;
    let mut events = pin!(watch(&server, Watched::default()).await);
    assert_eq!(next(&mut events).await, "listed 1");
    server.cluster().add_pod(&NewPod::new("agents", "a"));
    assert_eq!(next(&mut events).await, "alive agents/a");
    server.cut_watches();
    server.cluster().delete_pod("agents", "a");
    assert_eq!(next(&mut events).await, "gone agents/a");
    assert_eq!(server.count(Route::PodList), 1);
}

#[tokio::test]
async fn a_broken_watch_is_no_deletion_and_misses_none() {
    let server = server().await;
    let mut events = pin!(watch(&server, Watched::default()).await);
    assert_eq!(next(&mut events).await, "listed 1");
    server.script_once(Route::PodWatch, Reply::Json(500, json!({})));
    server.script_once(Route::PodWatch, Reply::Hangup);
    assert_eq!(next(&mut events).await, "broken");
    server.cluster().delete_pod("agents", "demo-1");
    assert_eq!(next(&mut events).await, "resumed");
    assert_eq!(next(&mut events).await, "gone agents/demo-1");
    assert_eq!(server.count(Route::PodList), 1);
}

#[tokio::test]
async fn events_that_were_forgotten_lead_to_a_new_list() {
    for in_the_stream in [false, true] {
        let server = server().await;
        let mut events = pin!(watch(&server, Watched::default()).await);
        assert_eq!(next(&mut events).await, "listed 1");
        if in_the_stream {
            let error = json!({ "type": "ERROR", "object": { "kind": "Status", "code": 410 } });
            let line = format!("{error}\n");
            server.script_once(Route::PodWatch, Reply::Text(200, "application/json", line));
        }
        server.cluster().delete_pod("agents", "demo-1");
        server.cluster().forget_events();
        assert_eq!(next(&mut events).await, "listed 0");
    }
}

#[tokio::test]
async fn a_list_that_is_forbidden_is_asked_for_until_it_is_not() {
    let server = server().await;
    server.cluster().deny("list", "pods");
    let mut events = pin!(watch(&server, Watched::default()).await);
    assert_eq!(next(&mut events).await, "broken");
    server.cluster().allow("list", "pods");
    assert_eq!(next(&mut events).await, "listed 1");
}

#[tokio::test]
async fn a_pod_that_leaves_the_selector_is_not_gone() {
    let server = server().await;
    let lines: String = ["demo-1", "gone"]
        .map(|name| {
            let uid = server
                .cluster()
                .uid(Route::Pod, "agents", name)
                .unwrap_or_default();
            let meta = json!({ "namespace": "agents", "name": name, "uid": uid });
            format!(
                "{}\n",
                json!({ "type": "DELETED", "object": { "metadata": meta } })
            )
        })
        .concat();
    server.script_once(Route::PodWatch, Reply::Text(200, "application/json", lines));
    let selector = Some(format!("{AGENT}=demo-1"));
    let mut events = pin!(
        watch(
            &server,
            Watched {
                selector,
                ..Watched::default()
            }
        )
        .await
    );
    assert_eq!(next(&mut events).await, "listed 1");
    assert_eq!(next(&mut events).await, "gone agents/gone");
}

#[tokio::test]
async fn only_what_is_watched_is_told() {
    let server = server().await;
    server
        .cluster()
        .add_pod(&NewPod::new("other", "demo-1").label(AGENT, "demo-1"));
    server.cluster().add_pod(&NewPod::new("agents", "plain"));
    let watched = Watched {
        namespace: Some("agents".to_owned()),
        selector: Some(format!("{AGENT}=demo-1")),
    };
    let mut events = pin!(watch(&server, watched).await);
    assert_eq!(next(&mut events).await, "listed 1");
    let asked = &server.requests()[0];
    assert!(
        asked.path.starts_with("/api/v1/namespaces/agents/pods?"),
        "{}",
        asked.path
    );
    assert!(
        asked.accept.contains("as=PartialObjectMetadataList"),
        "{}",
        asked.accept
    );
}

#[tokio::test]
async fn a_line_that_makes_no_sense_leads_to_a_new_list() {
    for line in ["[]\n", "{\n", "{\"type\":\"DANCED\"}\n"] {
        let server = server().await;
        server.script_once(
            Route::PodWatch,
            Reply::Text(200, "application/json", line.to_owned()),
        );
        let mut events = pin!(watch(&server, Watched::default()).await);
        assert_eq!(next(&mut events).await, "listed 1");
        assert_eq!(next(&mut events).await, "broken");
        assert_eq!(next(&mut events).await, "listed 1");
    }
}
