//! `recall doctor`: each fault planted, and found by name with its fix.

use std::process::Command;
use std::time::Duration;

use recall_testkit::NewToken;

use super::simulated::Cluster;
use super::*;

/// What a doctor found: whether all is well, and of each check its name, outcome, detail and fix.
struct Findings {
    status: i32,
    report: Value,
}

impl Findings {
    fn passed(&self) -> Vec<&str> {
        self.checks(true)
    }

    fn checks(&self, ok: bool) -> Vec<&str> {
        let checks = self.report["checks"].as_array().expect("checks");
        let chosen = checks.iter().filter(|check| check["ok"] == ok);
        chosen.filter_map(|check| check["check"].as_str()).collect()
    }

    /// The one failure, by its check; its words must name the fault and its fix what to do.
    #[track_caller]
    fn fails_at(&self, check: &str, wrong: &str, fix: &str) {
        assert_eq!(self.checks(false), [check], "{}", self.report);
        let failed = self.report["checks"].as_array().and_then(|all| all.last());
        let failed = failed.expect("it is the last");
        let text = |name: &str| failed[name].as_str().expect("a text");
        assert!(text("detail").contains(wrong), "{failed}");
        assert!(text("fix").contains(fix), "{failed}");
        assert_eq!(self.status, 1);
    }
}

/// Runs the doctor with nothing but these arguments.
async fn doctor(url: &str, arguments: &[&str]) -> Findings {
    let mut command = Command::new(programs::folder().expect("built").join("recall"));
    command
        .env_clear()
        .args(["doctor", "--json", "--server", url])
        .args(arguments);
    let output = tokio::task::spawn_blocking(move || command.output()).await;
    let output = output.expect("no panic").expect("it starts");
    let report = serde_json::from_slice(&output.stdout);
    Findings {
        status: output.status.code().expect("an exit code"),
        report: report
            .unwrap_or_else(|_| panic!("no report: {}", String::from_utf8_lossy(&output.stderr))),
    }
}

/// A file with this token, as a volume would hold it.
fn token_file(cluster: &Cluster, token: &str) -> String {
    let path = cluster.dir.path().join("token");
    std::fs::write(&path, token).expect("a file");
    path.display().to_string()
}

async fn with_token(cluster: &Cluster, token: &str) -> Findings {
    let file = token_file(cluster, token);
    doctor(&cluster.server.url, &["--token-file", &file]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sound_pod_passes_every_check_and_its_memory_is_as_before() {
    for surface in ["--surface=text", "--surface=typed"] {
        let cluster = Cluster::start(&[surface]).await;
        let token = cluster.pod("demo-1", &[]).await;
        let findings = with_token(&cluster, &token).await;
        let all = [
            "address",
            "resolve",
            "connect",
            "client",
            "server",
            "credential",
            "token",
            "exchange",
            "identity",
            "key",
            "memory",
            "lease",
        ];
        assert_eq!(findings.passed(), all, "{}", findings.report);
        assert_eq!(findings.status, 0);
        assert!(findings.report.to_string().contains("agents:demo-1"));
        let key = cluster.key(&token).await;
        let url = format!("{}/v1/recall", cluster.server.url);
        let everything = match surface {
            "--surface=typed" => json!({ "subject": "recall-doctor" }),
            _ => json!({}),
        };
        let left = cluster
            .http
            .post(&url, &key, &everything)
            .await
            .expect("an answer");
        assert!(
            !left.json().to_string().contains("doctor was here"),
            "{}",
            left.json()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_doctor_that_may_only_read_writes_nothing() {
    let running = Running::start(&[]);
    let key = running.key("team:a").await;
    let file = running.dir.path().join("key");
    std::fs::write(&file, &key).expect("a file");
    let file = file.display().to_string();
    let arguments = ["--key-file", &file, "--read-only", "--agent", "coder"];
    let findings = doctor(&running.server.url, &arguments).await;
    assert_eq!(findings.status, 0, "{}", findings.report);
    assert!(findings.passed().contains(&"lease"), "{}", findings.report);
    let history = running
        .post("/v1/history", &key, &json!({ "question": "doctor" }))
        .await;
    assert!(
        !history.json().to_string().contains("was here"),
        "{}",
        history.json()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn every_planted_fault_of_the_token_is_named_with_its_fix() {
    let label = "sandbox.users.io/agent";
    let cluster = Cluster::start(&[&format!("--kubernetes-agent-label={label}")]).await;
    let good = cluster.pod("demo-1", &[(label, "demo-1")]).await;
    let of_pod = || NewToken::of_pod("agents", "demo-1");

    let wrong = cluster
        .cluster()
        .issue_token(&of_pod().audiences(&["vault"]));
    let findings = with_token(&cluster, &wrong).await;
    findings.fails_at("exchange", "token_rejected", "audience");

    let expired = cluster
        .cluster()
        .issue_token(&of_pod().lifetime(Duration::ZERO));
    with_token(&cluster, &expired)
        .await
        .fails_at("token", "expired", "kubelet renews");

    let unbound = cluster
        .cluster()
        .issue_token(&NewToken::unbound("agents", "runner"));
    with_token(&cluster, &unbound)
        .await
        .fails_at("token", "bound to no pod", "projected");

    with_token(&cluster, "a word")
        .await
        .fails_at("token", "no service-account token", "projected");
    with_token(&cluster, "\n")
        .await
        .fails_at("token", "is empty", "projected");

    let plain = cluster.pod("plain", &[]).await;
    let findings = with_token(&cluster, &plain).await;
    findings.fails_at("exchange", "agent_label_missing", "put the label");

    cluster.cluster().add_warm_pod("agents", "pool", "pool-x");
    let waiting = cluster
        .world
        .token("agents", "pool-x", "recall")
        .await
        .expect("a token");
    let findings = with_token(&cluster, &waiting).await;
    findings.fails_at("exchange", "sandbox_unclaimed", "SandboxClaim");

    cluster.cluster().deny("create", "tokenreviews");
    let findings = with_token(&cluster, &good).await;
    findings.fails_at("exchange", "upstream", "tokenreviews");
    cluster.cluster().allow("create", "tokenreviews");

    cluster
        .world
        .delete_pod("agents", "demo-1")
        .await
        .expect("deleted");
    let findings = with_token(&cluster, &good).await;
    let code = ["pod_gone", "token_rejected"]
        .into_iter()
        .find(|code| findings.report.to_string().contains(code));
    assert!(code.is_some(), "{}", findings.report);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_planted_fault_of_the_way_is_named_with_its_fix() {
    let running = Running::start(&[]);
    let url = &running.server.url;
    let key = running.key("team:a").await;
    let file = running.dir.path().join("key");
    std::fs::write(&file, &key).expect("a file");
    let file = file.display().to_string();
    let key = ["--key-file", file.as_str()];

    doctor("no address", &key)
        .await
        .fails_at("address", "no URL", "Service");
    doctor("http://192.0.2.1:8080", &key)
        .await
        .fails_at("address", "in the clear", "Service");
    doctor("http://recall.invalid.localhost:1", &key)
        .await
        .fails_at_way();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let closed = format!("http://{}", listener.local_addr().expect("an address"));
    drop(listener);
    doctor(&closed, &key)
        .await
        .fails_at("connect", "refused", "NetworkPolicies");
    let https = url.replace("http://", "https://");
    doctor(&https, &key)
        .await
        .fails_at("server", "reached", "http:// if it does not");
    let other = Cluster::start(&[]).await;
    doctor(other.api().url(), &key)
        .await
        .fails_at("server", "something else", "8080");
    doctor(url, &[])
        .await
        .fails_at("credential", "no credential", "RECALL_TOKEN_FILE");

    std::fs::write(&file, "rcl_0123456789abcdef_unknown").expect("a file");
    doctor(url, &key)
        .await
        .fails_at("key", "unauthenticated", "get a new one");
    std::fs::write(&file, &running.admin).expect("a file");
    let findings = doctor(url, &key).await;
    assert_eq!(findings.status, 1, "{}", findings.report);
    assert!(
        findings
            .report
            .to_string()
            .contains("an admin key reaches none")
    );
}

impl Findings {
    /// A name without an address: resolvers may answer loopback for names under localhost.
    #[track_caller]
    fn fails_at_way(&self) {
        match self.checks(false)[..] {
            ["resolve"] => self.fails_at("resolve", "has no address", "DNS"),
            ["connect"] => self.fails_at("connect", "refused", "NetworkPolicies"),
            _ => panic!("{}", self.report),
        }
    }
}
