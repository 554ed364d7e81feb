//! Agents over the wire: one owner at a time, and what the others are told.

use std::time::{Duration, Instant};

use recall_e2e::world::{PodSpec, World};

use super::*;

/// The label that names the agent of a pod.
const LABEL: &str = "sandbox.users.io/agent";
/// How long a lease may take to pass on; far beyond any that is asked for here.
const DEADLINE: Duration = Duration::from_secs(30);

/// Calls a tool; the answer, or the text of the refusal.
pub(super) async fn call(
    http: &Client,
    url: &str,
    key: &str,
    tool: &str,
    more: Value,
) -> Result<Value, String> {
    let mut arguments = json!({ "agent_id": "coder" });
    for (name, value) in more.as_object().expect("an object") {
        arguments[name] = value.clone();
    }
    let message = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": tool, "arguments": arguments },
    });
    let answer = http
        .post(&format!("{url}/mcp"), key, &message)
        .await
        .expect("an answer");
    assert_eq!(answer.status, 200, "{}", answer.json());
    let result = answer.json()["result"].take();
    let text = result["content"][0]["text"]
        .as_str()
        .expect("a text")
        .to_owned();
    match result["isError"] == json!(false) {
        true => Ok(serde_json::from_str(&text).expect("JSON")),
        false => Err(text),
    }
}

impl Running {
    async fn tool(&self, key: &str, tool: &str, more: Value) -> Result<Value, String> {
        call(&self.http, &self.server.url, key, tool, more).await
    }

    async fn mint(&self, spec: Value) -> String {
        let mut all = json!({ "namespace": "team:a" });
        for (name, value) in spec.as_object().expect("an object") {
            all[name] = value.clone();
        }
        let minted = self.http.mint(&self.server.url, &self.admin, &all).await;
        minted.expect("a key")
    }

    /// Resumes as soon as the agent can be had.
    async fn resume_when_free(&self, key: &str) -> Value {
        let began = Instant::now();
        loop {
            match self.tool(key, "agent_resume", json!({})).await {
                Ok(context) => return context,
                Err(text) => assert!(text.contains("lease is held"), "{text}"),
            }
            assert!(began.elapsed() < DEADLINE, "the lease never passed on");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

fn turn(content: &str) -> Value {
    json!({ "role": "user", "content": content })
}

#[tokio::test(flavor = "multi_thread")]
async fn once_a_lease_has_run_out_another_takes_over_and_the_old_owners_write_fails() {
    let running = Running::start(&[]);
    let old = running
        .mint(json!({ "session": "s1", "expires_in": "2s" }))
        .await;
    let new = running.mint(json!({})).await;
    let first = running
        .tool(&old, "agent_resume", json!({ "lease_ttl_seconds": 5 }))
        .await
        .expect("it is free");
    running
        .tool(&old, "record_turn", turn("from the old one"))
        .await
        .expect("it owns the agent");
    let refusal = running
        .tool(&new, "agent_resume", json!({}))
        .await
        .expect_err("it is held");
    assert!(
        refusal.starts_with("lease is held by another process: held by \"session s1\" until "),
        "{refusal}"
    );

    let taken = running.resume_when_free(&new).await;
    assert!(taken["epoch"].as_u64() > first["epoch"].as_u64(), "{taken}");
    assert_eq!(taken["turn_seq"], 1);
    let late = running.mint(json!({ "session": "s1" })).await;
    let refusal = running
        .tool(&late, "record_turn", turn("stale"))
        .await
        .expect_err("it has lost");
    assert!(refusal.starts_with("lease was lost"), "{refusal}");
    let turns = running
        .tool(&new, "recent_turns", json!({}))
        .await
        .expect("turns");
    assert_eq!(turns.as_array().map(Vec::len), Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_whose_key_is_revoked_is_gone_at_once() {
    let running = Running::start(&[]);
    let (old, new) = (running.mint(json!({})).await, running.mint(json!({})).await);
    running
        .tool(&old, "agent_resume", json!({ "lease_ttl_seconds": 3600 }))
        .await
        .expect("it is free");
    let refusal = running
        .tool(&new, "agent_resume", json!({}))
        .await
        .expect_err("it is held");
    assert!(refusal.contains("lease is held"), "{refusal}");
    let id = old.split('_').nth(1).expect("an id");
    let url = format!("{}/v1/keys/{id}", running.server.url);
    let bearer = format!("Bearer {}", running.admin);
    let revoked = running
        .http
        .send("DELETE", &url, &[("authorization", &bearer)], "")
        .await;
    assert_eq!(revoked.expect("an answer").status, 204);
    running
        .tool(&new, "agent_resume", json!({}))
        .await
        .expect("its owner is gone");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_costs_the_owner_nothing() {
    let mut running = Running::start(&[]);
    let (mine, other) = (running.mint(json!({})).await, running.mint(json!({})).await);
    let before = running
        .tool(&mine, "agent_resume", json!({}))
        .await
        .expect("it is free");
    running
        .tool(
            &mine,
            "begin_action",
            json!({ "tool": "deploy", "class": "external" }),
        )
        .await
        .expect("begun");
    for kill in [true, false] {
        match kill {
            true => running.server.process().kill().expect("it dies"),
            false => drop(running.server.process().stop().expect("it ends")),
        }
        running.server = programs::server(running.dir.path(), "recall", &[]).expect("it starts");
        running
            .tool(&mine, "record_turn", turn("x"))
            .await
            .expect("it owns the agent still");
        let refusal = running
            .tool(&other, "agent_resume", json!({}))
            .await
            .expect_err("it is held");
        assert!(refusal.contains("lease is held"), "{refusal}");
    }
    let context = running
        .tool(&mine, "agent_context", json!({}))
        .await
        .expect("a context");
    assert_eq!(
        (&context["epoch"], &context["turn_seq"]),
        (&before["epoch"], &json!(2))
    );
    assert_eq!(context["pending_actions"][0]["status"], "started");
}

#[tokio::test(flavor = "multi_thread")]
async fn turns_written_at_once_over_the_wire_have_no_gap() {
    let running = std::sync::Arc::new(Running::start(&[]));
    let key = running.mint(json!({})).await;
    running
        .tool(&key, "agent_resume", json!({}))
        .await
        .expect("it is free");
    let writes = (0..20).map(|number| {
        let (running, key) = (running.clone(), key.clone());
        tokio::spawn(async move {
            let turn = running
                .tool(&key, "record_turn", turn(&number.to_string()))
                .await;
            turn.expect("a turn")["seq"].as_u64().expect("a number")
        })
    });
    let mut numbers = Vec::new();
    for write in writes.collect::<Vec<_>>() {
        numbers.push(write.await.expect("no panic"));
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=20).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_for_one_agent_names_no_other_and_need_not_name_it() {
    let running = Running::start(&["--surface=typed"]);
    let key = running.mint(json!({ "agent": "bound" })).await;
    let refusal = running
        .tool(&key, "agent_resume", json!({}))
        .await
        .expect_err("another agent");
    assert!(refusal.starts_with("namespace_mismatch:"), "{refusal}");
    let context = running
        .tool(&key, "agent_resume", json!({ "agent_id": null }))
        .await
        .expect("its own");
    assert_eq!(context["agent_id"], "bound");
}

/// A server with the token exchange, and pods.
struct Pods {
    world: World,
    server: Server,
    http: Client,
    flags: Vec<String>,
    dir: TempDir,
}

impl Pods {
    async fn start() -> Self {
        let world = World::simulated().await.expect("a stand-in");
        world.tenant("agents").await.expect("a tenant");
        let dir = tempfile::tempdir().expect("a folder");
        let account = world.server_account(dir.path()).await.expect("an account");
        let label = format!("--kubernetes-agent-label={LABEL}");
        let mut flags = account.flags();
        flags.push(label);
        Self {
            server: Self::serve(dir.path(), &flags),
            world,
            http: Client::default(),
            flags,
            dir,
        }
    }

    fn serve(dir: &std::path::Path, flags: &[String]) -> Server {
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        programs::server(dir, "recall", &flags).expect("it starts")
    }

    /// Kills the server as a crash would, and starts it again over what it left.
    fn crash(&mut self) {
        self.server.process().kill().expect("it runs");
        self.server = Self::serve(self.dir.path(), &self.flags);
    }

    /// The lease of the agent, as an operator sees it.
    async fn lease(&self) -> Value {
        let admin = programs::admin_key(self.dir.path(), "recall").expect("an admin key");
        lease(&self.http, &self.server.url, &admin).await
    }

    /// A pod that runs as the agent `coder`.
    async fn add(&self, name: &str) {
        let labels = &[(LABEL, "coder")];
        let namespace = "agents";
        let pod = PodSpec {
            namespace,
            name,
            labels,
        };
        self.world.add_pod(pod).await.expect("a pod");
    }

    async fn key(&self, pod: &str) -> String {
        let token = self
            .world
            .token("agents", pod, "recall")
            .await
            .expect("a token");
        let answer = self
            .http
            .exchange(&self.server.url, &token)
            .await
            .expect("an answer");
        assert_eq!(answer.status, 201, "{}", answer.json());
        answer.json()["key"].as_str().expect("a key").to_owned()
    }

    async fn tool(&self, key: &str, tool: &str, more: Value) -> Result<Value, String> {
        call(&self.http, &self.server.url, key, tool, more).await
    }
}

/// The lease of the agent `coder` of the tenant `agents`, as an operator sees it.
pub(super) async fn lease(http: &Client, url: &str, admin: &str) -> Value {
    let url = format!("{url}/v1/agents/coder?namespace=agents:coder");
    let bearer = format!("Bearer {admin}");
    let headers = [("authorization", bearer.as_str())];
    let shown = http.send("GET", &url, &headers, "");
    shown.await.expect("an answer").json()["lease"].take()
}

/// When a lease ends unless it is renewed.
pub(super) fn ends(lease: &Value) -> jiff::Timestamp {
    let end = lease["expires_at"].as_str();
    let end = end.unwrap_or_else(|| panic!("it is not held: {lease}"));
    end.parse().expect("an instant")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_of_the_only_server_costs_a_silent_pod_nothing() {
    let mut pods = Pods::start().await;
    pods.add("pool-1").await;
    pods.add("pool-2").await;
    let (mine, other) = (pods.key("pool-1").await, pods.key("pool-2").await);
    let ttl = Duration::from_secs(5);
    pods.tool(&mine, "agent_resume", json!({ "lease_ttl_seconds": 5 }))
        .await
        .expect("it is free");
    let first = pods.lease().await;
    pods.crash();
    let (began, mut now) = (Instant::now(), pods.lease().await);
    while ends(&now) < ends(&first) + 3 * ttl {
        assert!(began.elapsed() < DEADLINE, "nobody renews {now}");
        tokio::time::sleep(Duration::from_millis(100)).await;
        now = pods.lease().await;
    }
    assert_eq!(now["epoch"], first["epoch"]);
    let refusal = pods.tool(&other, "agent_resume", json!({})).await;
    let refusal = refusal.expect_err("the owner is alive");
    assert!(refusal.contains("held by \"pod pool-1\""), "{refusal}");
    pods.tool(&mine, "record_turn", turn("x"))
        .await
        .expect("it owns the agent still");
}

/// A server of one fixed key, started again without it.
#[tokio::test(flavor = "multi_thread")]
async fn a_fixed_key_that_is_taken_out_of_the_file_holds_nothing_any_more() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("keys");
    let flag = format!("--keys-file={}", file.display());
    let start = |keys: &str| {
        std::fs::write(&file, keys).expect("written");
        programs::server(dir.path(), "recall", &[&flag]).expect("it starts")
    };
    let http = Client::default();
    let hour = json!({ "lease_ttl_seconds": 3600 });
    let first = start("a-fixed-key team:a\nanother-key team:b\n");
    let held = call(&http, &first.url, "a-fixed-key", "agent_resume", hour).await;
    held.expect("it is free");
    let admin = programs::admin_key(dir.path(), "recall").expect("an admin key");
    let spec = json!({ "namespace": "team:a" });
    let other = http.mint(&first.url, &admin, &spec).await.expect("a key");
    drop(first);

    let again = start("a-fixed-key team:a\nanother-key team:b\n");
    let resume = call(&http, &again.url, &other, "agent_resume", json!({})).await;
    let refusal = resume.expect_err("its key is there still");
    assert!(refusal.contains("held by \"a fixed key\""), "{refusal}");
    drop(again);

    let without = start("another-key team:b\n");
    let taken = call(&http, &without.url, &other, "agent_resume", json!({})).await;
    taken.expect("its owner cannot call any more");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_restarted_in_its_pod_resumes_at_once_with_the_same_epoch() {
    let pods = Pods::start().await;
    pods.add("pool-1").await;
    let first = pods
        .tool(&pods.key("pool-1").await, "agent_resume", json!({}))
        .await
        .expect("it is free");
    let again = pods
        .tool(&pods.key("pool-1").await, "agent_resume", json!({}))
        .await
        .expect("the same pod");
    assert_eq!(again["epoch"], first["epoch"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_takes_over_at_once_from_one_that_is_gone_and_never_from_one_that_is_alive() {
    let pods = Pods::start().await;
    pods.add("pool-1").await;
    pods.add("pool-2").await;
    let (old, new) = (pods.key("pool-1").await, pods.key("pool-2").await);
    let first = pods
        .tool(&old, "agent_resume", json!({ "lease_ttl_seconds": 3600 }))
        .await
        .expect("it is free");
    let refusal = pods
        .tool(&new, "agent_resume", json!({}))
        .await
        .expect_err("the owner is alive");
    assert!(refusal.contains("held by \"pod pool-1\""), "{refusal}");

    pods.world
        .delete_pod("agents", "pool-1")
        .await
        .expect("deleted");
    let began = Instant::now();
    let taken = pods
        .tool(&new, "agent_resume", json!({}))
        .await
        .expect("the owner is gone");
    assert!(
        began.elapsed() < Duration::from_secs(1),
        "{:?}",
        began.elapsed()
    );
    assert!(taken["epoch"].as_u64() > first["epoch"].as_u64());
    pods.tool(&new, "record_turn", turn("carried on"))
        .await
        .expect("it owns the agent");
}

impl Running {
    /// Sends a request of an operator, or of somebody who wants to be one.
    async fn operator(&self, method: &str, path: &str, key: &str) -> Answer {
        let (url, bearer) = (
            format!("{}{path}", self.server.url),
            format!("Bearer {key}"),
        );
        let headers = [("authorization", bearer.as_str())];
        let answer = self.http.send(method, &url, &headers, "");
        answer.await.expect("an answer")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_sees_agents_and_ends_a_lease_on_record() {
    let mut running = Running::start(&[]);
    let owner = running.mint(json!({})).await;
    running
        .tool(&owner, "agent_resume", json!({ "holder": "stuck" }))
        .await
        .expect("it is free");
    let begun = json!({ "tool": "deploy", "class": "external" });
    running
        .tool(&owner, "begin_action", begun)
        .await
        .expect("it owns the agent");

    let admin = running.admin.clone();
    let list = running
        .operator("GET", "/v1/agents?namespace=team:a", &admin)
        .await;
    let seen = list.json()["agents"][0].take();
    assert_eq!(
        (list.status, &seen["lease"]["holder"]),
        (200, &json!("stuck")),
        "{seen}"
    );
    let show = running
        .operator("GET", "/v1/agents/coder?namespace=team:a", &admin)
        .await;
    assert_eq!(show.json()["pending_actions"][0]["tool"], "deploy");

    let lease = "/v1/agents/coder/lease?namespace=team:a";
    let broken = running.operator("DELETE", lease, &admin).await;
    assert_eq!(
        (broken.status, &broken.json()["broken"]),
        (200, &json!(true))
    );
    let again = running.operator("DELETE", lease, &admin).await;
    assert_eq!(
        (again.status, &again.json()["broken"]),
        (200, &json!(false))
    );
    let refusal = running
        .tool(&owner, "record_turn", turn("x"))
        .await
        .expect_err("it has lost");
    assert!(refusal.starts_with("lease was lost"), "{refusal}");
    let log = running
        .server
        .log_with("lease_broken")
        .expect("it is on record");
    let line = log
        .lines()
        .find(|line| line.contains("lease_broken"))
        .expect("a line");
    for part in ["recall::audit", "team:a", "coder", "stuck"] {
        assert!(line.contains(part), "{line}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_an_operator_sees_agents_and_only_by_a_whole_name() {
    let running = Running::start(&[]);
    let owner = running.mint(json!({})).await;
    for (method, path, key, expected) in [
        (
            "GET",
            "/v1/agents?namespace=team:a",
            &owner,
            (403, "forbidden"),
        ),
        (
            "DELETE",
            "/v1/agents/coder/lease?namespace=team:a",
            &owner,
            (403, "forbidden"),
        ),
        (
            "GET",
            "/v1/agents",
            &running.admin,
            (400, "invalid_argument"),
        ),
        (
            "GET",
            "/v1/agents?namespace=",
            &running.admin,
            (400, "invalid_argument"),
        ),
        (
            "GET",
            "/v1/agents?namespace=team:a&limit=0",
            &running.admin,
            (400, "invalid_argument"),
        ),
        (
            "GET",
            "/v1/agents?namespace=team:a&cursor=x",
            &running.admin,
            (400, "invalid_argument"),
        ),
        (
            "GET",
            "/v1/agents?namespace=team:a&x=1",
            &running.admin,
            (400, "invalid_argument"),
        ),
        (
            "GET",
            "/v1/agents/a%20b?namespace=team:a",
            &running.admin,
            (400, "invalid_argument"),
        ),
        (
            "GET",
            "/v1/agents/coder?namespace=team:a",
            &running.admin,
            (404, "not_found"),
        ),
        (
            "GET",
            "/v1/agents/coder/x?namespace=team:a",
            &running.admin,
            (404, "not_found"),
        ),
        (
            "POST",
            "/v1/agents?namespace=team:a",
            &running.admin,
            (405, "method_not_allowed"),
        ),
    ] {
        let answer = running.operator(method, path, key).await;
        let found = (answer.status, answer.code());
        assert_eq!((found.0, found.1.as_str()), expected, "{method} {path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_recall_program_shows_agents_and_ends_leases() {
    let running = Running::start(&[]);
    let owner = running.mint(json!({})).await;
    running
        .tool(&owner, "agent_resume", json!({ "holder": "stuck" }))
        .await
        .expect("it is free");
    let begun = json!({ "tool": "deploy", "class": "idempotent" });
    running
        .tool(&owner, "begin_action", begun)
        .await
        .expect("it owns the agent");
    let recall = |arguments: &[&str]| {
        let output = std::process::Command::new(programs::folder().expect("built").join("recall"))
            .args(["agents"])
            .args(arguments)
            .args(["--namespace", "team:a", "--server", &running.server.url])
            .env_remove("RECALL_TOKEN_FILE")
            .env("RECALL_API_KEY", &running.admin)
            .output()
            .expect("it starts");
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        (String::from_utf8_lossy(&output.stdout).into_owned(), err)
    };
    let (listed, err) = recall(&["list"]);
    assert!(
        listed.starts_with("coder\theld by stuck until "),
        "{listed}{err}"
    );
    let (shown, err) = recall(&["show", "coder"]);
    assert!(
        shown.contains("action 1\tdeploy\tidempotent\tstarted"),
        "{shown}{err}"
    );
    let (ended, err) = recall(&["break", "coder"]);
    assert_eq!(ended, "ended: stuck held it under epoch 1\n", "{err}");
    let (ended, err) = recall(&["break", "coder"]);
    assert_eq!(
        (ended.as_str(), err.contains("nobody holds")),
        ("", true),
        "{err}"
    );
}
