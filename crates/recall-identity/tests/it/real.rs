//! The same exchange against a real API server, where one is given by `RECALL_K8S_URL`,
//! `RECALL_K8S_CA` and `RECALL_K8S_ADMIN_TOKEN`.

use std::io::Write;
use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt;
use recall_identity::kube::{ApiServer, Connection, PodEvent, Watched, connect, watch_pods};
use recall_identity::{Call, Limits, PodRef, Resolver, Rules, TenantRule};
use serde_json::{Value, json};

use crate::support::{AGENT, outcome, rules};

/// An API server, and the right to do anything there.
struct Real {
    admin: kube::Client,
    connection: Connection,
    token_file: tempfile::NamedTempFile,
    namespace: String,
}

impl Real {
    /// None, said aloud, where no API server is given.
    async fn find(namespace: &str) -> Option<Self> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let Some(url) = variable("RECALL_K8S_URL") else {
            assert!(
                variable("RECALL_REQUIRE").is_none(),
                "RECALL_K8S_URL is not set"
            );
            println!("skipped: RECALL_K8S_URL not set");
            return None;
        };
        let ca_file = std::path::PathBuf::from(variable("RECALL_K8S_CA").unwrap());
        let token = variable("RECALL_K8S_ADMIN_TOKEN").unwrap();
        let mut token_file = tempfile::NamedTempFile::new().unwrap();
        token_file.write_all(token.as_bytes()).unwrap();
        let mut config = kube::Config::new(url.parse().unwrap());
        config.root_cert = Some(Vec::new());
        config.root_cert_file = Some(ca_file.clone());
        config.auth_info.token_file = Some(token_file.path().display().to_string());
        let connection = Connection {
            api: Some(url),
            ca_file: Some(ca_file),
            token_file: Some(token_file.path().to_owned()),
            kubeconfig: None,
        };
        let admin = kube::Client::try_from(config).unwrap();
        let namespace = format!("{namespace}-{}", std::process::id());
        let real = Self {
            admin,
            connection,
            token_file,
            namespace,
        };
        let name = real.namespace.clone();
        let labels = json!({ "tenant": "acme" });
        real.post(
            "/api/v1/namespaces",
            json!({ "metadata": { "name": name, "labels": labels } }),
        )
        .await;
        real.post(
            &real.path("serviceaccounts"),
            json!({ "metadata": { "name": "runner" } }),
        )
        .await;
        Some(real)
    }

    fn path(&self, rest: &str) -> String {
        format!("/api/v1/namespaces/{}/{rest}", self.namespace)
    }

    async fn send(&self, method: &str, path: &str, body: &Value) -> Value {
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("Content-Type", "application/json")
            .body(body.to_string().into_bytes());
        let text = self.admin.request_text(request.unwrap()).await.unwrap();
        serde_json::from_str(&text).unwrap()
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        self.send("POST", path, &body).await
    }

    async fn add_pod(&self, name: &str) -> PodRef {
        let pod = json!({
            "metadata": { "name": name, "labels": { AGENT: name } },
            "spec": {
                "serviceAccountName": "runner",
                "containers": [{ "name": "agent", "image": "agent" }],
            },
        });
        let pod = self.post(&self.path("pods"), pod).await;
        let uid = pod["metadata"]["uid"].as_str().unwrap().to_owned();
        PodRef {
            namespace: self.namespace.clone(),
            name: name.to_owned(),
            uid,
        }
    }

    async fn delete_pod(&self, name: &str) {
        let now = json!({ "gracePeriodSeconds": 0 });
        self.send("DELETE", &self.path(&format!("pods/{name}")), &now)
            .await;
    }

    async fn token(&self, audience: &str, pod: Option<&PodRef>) -> String {
        let bound = pod.map(
            |pod| json!({ "kind": "Pod", "apiVersion": "v1", "name": pod.name, "uid": pod.uid }),
        );
        let spec = json!({ "audiences": [audience], "boundObjectRef": bound });
        let path = self.path("serviceaccounts/runner/token");
        let request = self.post(&path, json!({ "spec": spec })).await;
        request["status"]["token"].as_str().unwrap().to_owned()
    }

    async fn exchange(&self, rules: Rules, token: &str) -> String {
        let api = ApiServer::new(connect(&self.connection).await.unwrap());
        let resolver = Resolver::new(api, rules, Limits::default());
        outcome(&recall_identity::Authenticate::authenticate(&resolver, token).await)
    }
}

#[tokio::test]
async fn real_tokens() {
    let Some(real) = Real::find("tokens").await else {
        return;
    };
    let pod = real.add_pod("demo-1").await;
    let good = real.token("recall", Some(&pod)).await;
    let expected = format!("{}:demo-1", real.namespace);
    assert_eq!(real.exchange(rules(), &good).await, expected);
    let tenant = TenantRule::NamespaceLabel("tenant".to_owned());
    assert_eq!(
        real.exchange(Rules { tenant, ..rules() }, &good).await,
        "acme:demo-1"
    );
    let tenant = TenantRule::ServiceAccountLabel("tenant".to_owned());
    let refused = real.exchange(Rules { tenant, ..rules() }, &good).await;
    assert_eq!(refused, "tenant_label_missing");
    let vault = real.token("vault", Some(&pod)).await;
    assert_eq!(real.exchange(rules(), &vault).await, "token_rejected");
    let unbound = real.token("recall", None).await;
    assert_eq!(real.exchange(rules(), &unbound).await, "not_pod_bound");
    assert_eq!(real.exchange(rules(), "garbage").await, "token_rejected");
    // The API server still says yes for ten seconds, to the token of a pod that is gone.
    real.delete_pod("demo-1").await;
    assert_eq!(real.exchange(rules(), &good).await, "pod_gone");
    real.add_pod("demo-1").await;
    assert_eq!(real.exchange(rules(), &good).await, "pod_gone");
}

/// Lets everybody through whom the check before it lets through.
#[cfg(feature = "jwks")]
struct Passed;

#[cfg(feature = "jwks")]
impl recall_identity::Authenticate for Passed {
    fn authenticate<'a>(&'a self, _: &'a str) -> recall_identity::Authenticating<'a> {
        Box::pin(async { Err(recall_identity::Error::PodGone) })
    }
}

#[cfg(feature = "jwks")]
#[tokio::test]
async fn real_keys_tell_real_tokens_from_tampered_ones() {
    use recall_identity::Authenticate;
    use recall_identity::jwks::{Expected, Prechecked};

    let Some(real) = Real::find("jwks").await else {
        return;
    };
    let discovery = real.send("GET", "/.well-known/openid-configuration", &Value::Null);
    let issuer = discovery.await["issuer"].as_str().unwrap().to_owned();
    let api = ApiServer::new(connect(&real.connection).await.unwrap());
    let checked = Prechecked::new(Passed, api, Expected::new(issuer, "recall"));
    let check = async |token: &str| checked.authenticate(token).await.unwrap_err().code();
    let pod = real.add_pod("demo-1").await;
    let good = real.token("recall", Some(&pod)).await;
    let (message, signature) = good.rsplit_once('.').unwrap();
    let tampered: String = signature.chars().rev().collect();
    assert_eq!(check(&good).await, "pod_gone", "it passes");
    assert_eq!(
        check(&format!("{message}.{tampered}")).await,
        "token_rejected"
    );
    let vault = real.token("vault", Some(&pod)).await;
    assert_eq!(check(&vault).await, "token_rejected");
}

#[tokio::test]
async fn real_permissions() {
    let Some(mut real) = Real::find("permissions").await else {
        return;
    };
    let api = ApiServer::new(connect(&real.connection).await.unwrap());
    assert!(api.ping().await.is_ok());
    assert_eq!(api.check_permissions(&rules()).await, Ok(()));
    let nobody = real
        .token("https://kubernetes.default.svc.cluster.local", None)
        .await;
    real.token_file.as_file_mut().set_len(0).unwrap();
    std::fs::write(real.token_file.path(), &nobody).unwrap();
    let missing = api.check_permissions(&rules()).await.unwrap_err();
    let calls: Vec<Call> = missing.iter().map(|rule| rule.call).collect();
    assert_eq!(calls, rules().calls());
    assert_eq!(real.exchange(rules(), "a.b.c").await, "upstream");
    std::fs::write(real.token_file.path(), "garbage").unwrap();
    assert_eq!(real.exchange(rules(), "a.b.c").await, "upstream");
}

#[tokio::test]
async fn a_real_kubeconfig_is_enough() {
    if Real::find("kubeconfig").await.is_some() {
        let kubeconfig = std::env::var_os("KUBECONFIG").map(Into::into);
        let connection = Connection {
            kubeconfig,
            ..Connection::default()
        };
        let api = ApiServer::new(connect(&connection).await.unwrap());
        assert_eq!(api.check_permissions(&rules()).await, Ok(()));
    }
}

#[tokio::test]
async fn real_pods_come_and_go() {
    let Some(real) = Real::find("watch").await else {
        return;
    };
    let namespace = Some(real.namespace.clone());
    let client = connect(&real.connection).await.unwrap();
    let mut events = pin!(watch_pods(
        client,
        Watched {
            namespace,
            selector: None
        }
    ));
    let next = tokio::time::timeout(Duration::from_secs(5), events.next());
    assert!(matches!(next.await, Ok(Some(PodEvent::Listed(_)))));
    let pod = real.add_pod("demo-1").await;
    assert_eq!(events.next().await, Some(PodEvent::Alive(pod.clone())));
    real.delete_pod("demo-1").await;
    let next = tokio::time::timeout(Duration::from_secs(2), events.next());
    assert_eq!(next.await, Ok(Some(PodEvent::Gone(pod))));
}
