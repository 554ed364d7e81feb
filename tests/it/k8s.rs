//! The exchange against a real API server.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use recall_e2e::world::{PodSpec, World};

use super::*;

const LABEL: &str = "sandbox.users.io/agent";

struct Cluster {
    world: World,
    server: Server,
    http: Client,
    dir: TempDir,
    namespace: String,
}

impl Cluster {
    /// Each test has a namespace of its own in the one real cluster.
    async fn start(name: &str, flags: &[&str]) -> Self {
        let world = World::real().await.expect("a real API server");
        let namespace = format!("t-{name}");
        world.tenant(&namespace).await.expect("a tenant");
        let dir = tempfile::tempdir().expect("a folder");
        let access = world
            .server_account(dir.path())
            .await
            .expect("an account")
            .flags();
        let mut all: Vec<&str> = access.iter().map(String::as_str).collect();
        all.extend(flags);
        let server = programs::server(dir.path(), "recall", &all).expect("it starts");
        Self {
            world,
            server,
            http: Client::default(),
            dir,
            namespace,
        }
    }

    async fn pod(&self, name: &str, labels: &[(&str, &str)]) -> String {
        let pod = PodSpec {
            namespace: &self.namespace,
            name,
            labels,
        };
        self.world.add_pod(pod).await.expect("a pod");
        self.token(name, "recall").await
    }

    async fn token(&self, pod: &str, audience: &str) -> String {
        self.world
            .token(&self.namespace, pod, audience)
            .await
            .expect("a token")
    }

    async fn exchange(&self, token: &str) -> Answer {
        self.http
            .exchange(&self.server.url, token)
            .await
            .expect("an answer")
    }

    async fn key(&self, token: &str) -> String {
        let answer = self.exchange(token).await;
        assert_eq!(answer.status, 201, "{}", answer.json());
        answer.json()["key"].as_str().expect("a key").to_owned()
    }

    /// The status of a memory call under this key.
    async fn call(&self, key: &str) -> u16 {
        let url = format!("{}/v1/recall", self.server.url);
        let body = json!({ "question": "anything" });
        let answer = self.http.post(&url, key, &body).await;
        answer.expect("an answer").status
    }

    /// How long it takes until the key is refused.
    async fn refused_after(&self, key: &str) -> Duration {
        let began = Instant::now();
        while self.call(key).await != 401 {
            assert!(began.elapsed() < 10 * IN_TIME, "the key is still good");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        began.elapsed()
    }

    #[track_caller]
    fn refused(answer: &Answer, status: u16, code: &str) {
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (status, code),
            "{}",
            answer.json()
        );
        let text = answer.json()["error"]["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        assert!(!text.contains("uid") && !text.contains("UID"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn k8s_a_bound_token_becomes_a_key_for_its_agent_alone() {
    let flag = format!("--kubernetes-agent-label={LABEL}");
    let cluster = Cluster::start("label", &[&flag]).await;
    let token = cluster.pod("pool-abcde", &[(LABEL, "run-1")]).await;
    let answer = cluster.exchange(&token).await;
    assert_eq!(answer.status, 201, "{}", answer.json());
    assert_eq!(
        answer.json()["namespace"],
        format!("{}:run-1", cluster.namespace)
    );
    let token = cluster.pod("unlabelled", &[]).await;
    Cluster::refused(&cluster.exchange(&token).await, 403, "agent_label_missing");
}

#[tokio::test(flavor = "multi_thread")]
async fn k8s_tokens_for_another_audience_are_refused() {
    let cluster = Cluster::start("audience", &[]).await;
    cluster.pod("p", &[]).await;
    for audience in ["vault", "", "Recall", "recall/"] {
        let token = cluster.token("p", audience).await;
        Cluster::refused(&cluster.exchange(&token).await, 401, "token_rejected");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn k8s_tampered_and_forged_tokens_are_refused() {
    let cluster = Cluster::start("tamper", &[]).await;
    let token = cluster.pod("p", &[]).await;
    let parts: Vec<&str> = token.split('.').collect();
    let [head, payload, signature] = parts[..] else {
        panic!("a token has three parts")
    };
    // {"alg":"none"}
    let none = "eyJhbGciOiJub25lIn0";
    for forged in [
        format!("{none}.{payload}."),
        format!("{none}.{payload}.{signature}"),
        format!(
            "{head}.{payload}.{}",
            signature.chars().rev().collect::<String>()
        ),
        format!("{head}.{payload}"),
        "a.b.c".to_owned(),
    ] {
        Cluster::refused(&cluster.exchange(&forged).await, 401, "token_rejected");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn k8s_a_token_that_is_bound_to_no_pod_is_refused() {
    let cluster = Cluster::start("unbound", &[]).await;
    let World::Real(real) = &cluster.world else {
        panic!("it is real")
    };
    let token = real
        .unbound_token(&cluster.namespace, "recall")
        .await
        .expect("a token");
    Cluster::refused(&cluster.exchange(&token).await, 403, "not_pod_bound");
}

#[tokio::test(flavor = "multi_thread")]
async fn k8s_a_pod_made_again_carries_on_and_the_old_token_does_not() {
    let cluster = Cluster::start("recreate", &["--surface=typed"]).await;
    let old = cluster.pod("demo-1", &[]).await;
    let key = cluster.exchange(&old).await.json()["key"]
        .as_str()
        .expect("a key")
        .to_owned();
    let fact = json!({ "subject": "user", "predicate": "prefers_editor", "value": "helix" });
    let url = |path: &str| format!("{}{path}", cluster.server.url);
    assert_eq!(
        cluster
            .http
            .post(&url("/v1/remember"), &key, &fact)
            .await
            .expect("an answer")
            .status,
        200
    );
    cluster
        .world
        .delete_pod(&cluster.namespace, "demo-1")
        .await
        .expect("it is there");
    Cluster::refused(&cluster.exchange(&old).await, 401, "pod_gone");
    let new = cluster.pod("demo-1", &[]).await;
    Cluster::refused(&cluster.exchange(&old).await, 401, "pod_gone");
    let answer = cluster.exchange(&new).await;
    assert_eq!(answer.status, 201, "{}", answer.json());
    let renewed = cluster
        .http
        .post(&url("/v1/keys/renew"), &key, &json!({ "token": new }))
        .await;
    assert_eq!(
        renewed.expect("an answer").status,
        401,
        "the old key is not extended for the new pod"
    );
    let key = answer.json()["key"].as_str().expect("a key").to_owned();
    let found = cluster
        .http
        .post(&url("/v1/recall"), &key, &json!({ "subject": "user" }))
        .await;
    assert_eq!(found.expect("an answer").json()[0]["value"], "helix");
}

#[tokio::test(flavor = "multi_thread")]
async fn k8s_without_its_rules_the_server_names_them_and_does_not_start() {
    let world = World::real().await.expect("a real API server");
    world.tenant("t-norules").await.expect("a tenant");
    let World::Real(real) = &world else {
        panic!("it is real")
    };
    let dir = tempfile::tempdir().expect("a folder");
    let access = real
        .powerless_account(dir.path(), "t-norules")
        .await
        .expect("an account")
        .flags();
    let flags: Vec<&str> = access.iter().map(String::as_str).collect();
    let error = format!(
        "{:#}",
        programs::server(dir.path(), "recall", &flags).expect_err("it must not start")
    );
    for named in [
        "exit code Some(69)",
        "`create`",
        "`tokenreviews`",
        "`get`",
        "`list`",
        "`watch`",
        "`pods`",
        "RBAC",
    ] {
        assert!(error.contains(named), "{named} in {error}");
    }
}

/// What a deleted pod's key may live on.
const IN_TIME: Duration = Duration::from_secs(2);

#[tokio::test(flavor = "multi_thread")]
async fn k8s_the_key_of_a_deleted_pod_is_refused_within_two_seconds_and_no_other_is() {
    let cluster = Cluster::start("watch", &[]).await;
    let bystander = cluster.pod("bystander", &[]).await;
    let bystander = cluster.key(&bystander).await;
    let mut slowest = Duration::ZERO;
    for _ in 0..10 {
        let token = cluster.pod("demo-1", &[]).await;
        let key = cluster.key(&token).await;
        assert_eq!(cluster.call(&key).await, 200);
        let deleted = cluster.world.delete_pod(&cluster.namespace, "demo-1").await;
        deleted.expect("it is there");
        slowest = slowest.max(cluster.refused_after(&key).await);
    }
    assert!(slowest <= IN_TIME, "{slowest:?}");
    println!("the slowest of ten was refused {slowest:?} after its pod was seen to be gone");
    let token = cluster.pod("demo-1", &[]).await;
    let key = cluster.key(&token).await;
    for key in [key, bystander] {
        assert_eq!(cluster.call(&key).await, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn k8s_a_pod_that_leaves_the_selector_keeps_its_key_until_it_is_gone() {
    let selector = format!("--kubernetes-pod-selector={LABEL}");
    let cluster = Cluster::start("selector", &[&selector]).await;
    let leaver = cluster.pod("leaver", &[(LABEL, "x")]).await;
    let goner = cluster.pod("goner", &[(LABEL, "x")]).await;
    let (leaver, goner) = (cluster.key(&leaver).await, cluster.key(&goner).await);
    let World::Real(real) = &cluster.world else {
        panic!("it is real")
    };
    let unlabelled = real.unlabel_pod(&cluster.namespace, "leaver", LABEL).await;
    unlabelled.expect("it is there");
    // Events come in order: once this one has worked, the one before it was dealt with.
    let deleted = cluster.world.delete_pod(&cluster.namespace, "goner").await;
    deleted.expect("it is there");
    assert!(cluster.refused_after(&goner).await <= IN_TIME);
    assert_eq!(cluster.call(&leaver).await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn k8s_rights_in_one_namespace_are_enough_for_a_server_of_that_namespace() {
    let world = World::real().await.expect("a real API server");
    world.tenant("t-narrow").await.expect("a tenant");
    let World::Real(real) = &world else {
        panic!("it is real")
    };
    let dir = tempfile::tempdir().expect("a folder");
    let access = real.narrow_account(dir.path(), "t-narrow").await;
    let access = access.expect("an account").flags();
    let mut flags: Vec<&str> = access.iter().map(String::as_str).collect();
    let everywhere = programs::server(dir.path(), "everywhere", &flags);
    let error = format!("{:#}", everywhere.expect_err("it must not start"));
    assert!(error.contains("verb `watch` on resource `pods`"), "{error}");
    flags.push("--kubernetes-namespaces=t-narrow");
    let server = programs::server(dir.path(), "recall", &flags).expect("it starts");
    let cluster = Cluster {
        world,
        server,
        http: Client::default(),
        dir,
        namespace: "t-narrow".to_owned(),
    };
    let token = cluster.pod("demo-1", &[]).await;
    let key = cluster.key(&token).await;
    let deleted = cluster.world.delete_pod("t-narrow", "demo-1").await;
    deleted.expect("it is there");
    assert!(cluster.refused_after(&key).await <= IN_TIME);
}

/// The published clients' tests that need a pod's token, run by the Python of this variable.
async fn published_client(variable: &str, file: &str, namespace: &str) {
    let Some(python) = std::env::var_os(variable) else {
        let required = std::env::var("RECALL_REQUIRE").unwrap_or_default();
        assert!(
            !required.contains("python"),
            "{variable} is required and not set"
        );
        return;
    };
    let cluster = Cluster::start(namespace, &["--surface=typed"]).await;
    let token_file = cluster.dir.path().join("token");
    std::fs::write(&token_file, cluster.pod("demo-1", &[]).await).expect("a file");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("python");
    let output = Command::new(python)
        .args([
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-k",
            "token_file_alone or with_a_token_file or not_take",
        ])
        .arg(file)
        .current_dir(folder)
        .env("RECALL_TEST_TYPED_K8S_URL", &cluster.server.url)
        .env("RECALL_TEST_TOKEN_FILE", &token_file)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env_remove("RECALL_API_KEY")
        .output()
        .expect("it starts");
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{out}{err}");
    assert!(!out.contains("skipped") && out.contains(" passed"), "{out}");
}

#[tokio::test(flavor = "multi_thread")]
async fn k8s_the_published_client_works_with_a_real_token() {
    published_client("RECALL_PYTHON", "test_published_client.py", "client").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn k8s_the_older_published_client_works_with_a_real_token() {
    published_client(
        "RECALL_PYTHON_OLDER",
        "test_published_client_016.py",
        "older",
    )
    .await;
}
