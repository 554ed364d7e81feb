//! What the server's own account may do.

use recall_identity::kube::{ApiServer, Connection};
use recall_identity::{Call, Rules, TenantRule};
use recall_testkit::{FakeApiServer, FakeCluster, Reply, Route};
use serde_json::json;

use crate::support::{client, rules};

async fn api() -> (FakeApiServer, ApiServer) {
    let server = FakeApiServer::start(FakeCluster::new()).await.unwrap();
    let api = ApiServer::new(client(&server, Connection::default()).await);
    (server, api)
}

#[tokio::test]
async fn a_missing_rule_is_named_by_verb_and_resource() {
    let (server, api) = api().await;
    let tenant = TenantRule::NamespaceLabel("tenant".to_owned());
    let rules = Rules { tenant, ..rules() };
    assert_eq!(api.check_permissions(&rules).await, Ok(()));
    server.cluster().deny("create", "tokenreviews");
    server.cluster().deny("get", "namespaces");
    server.cluster().deny("get", "serviceaccounts");
    let missing = api.check_permissions(&rules).await.unwrap_err();
    let texts: Vec<String> = missing.iter().map(ToString::to_string).collect();
    let expected = [
        "verb `create` on resource `tokenreviews` of API group `authentication.k8s.io`",
        "verb `get` on resource `namespaces`",
    ];
    assert_eq!(texts, expected);
}

#[tokio::test]
async fn rules_can_be_asked_for_by_namespace() {
    let (server, api) = api().await;
    server.cluster().deny("watch", "pods");
    let places = ["a".to_owned(), "b".to_owned()];
    let missing = api
        .check_calls(&[Call::ReviewToken, Call::WatchPods], &places)
        .await;
    let texts: Vec<String> = missing
        .unwrap_err()
        .iter()
        .map(ToString::to_string)
        .collect();
    let expected =
        ["a", "b"].map(|ns| format!("verb `watch` on resource `pods` in namespace `{ns}`"));
    assert_eq!(texts, expected);
    assert_eq!(server.count(Route::AccessReviews), 3);
}

#[tokio::test]
async fn what_cannot_be_told_is_not_missing() {
    let (server, api) = api().await;
    for reply in [Reply::Json(500, json!({})), Reply::Json(201, json!({}))] {
        server.script(Route::AccessReviews, reply);
        assert_eq!(api.check_permissions(&rules()).await, Ok(()));
    }
}

#[tokio::test]
async fn a_ping_needs_an_answer() {
    let (server, api) = api().await;
    assert!(api.ping().await.is_ok());
    server.script(Route::Version, Reply::Json(500, json!({})));
    assert!(api.ping().await.is_err());
}
