//! Keys and leases die with their pods on every server.

use recall_e2e::world::{PodSpec, World};
use recall_testkit::FakeCluster;

use super::super::agents::{call, ends, lease};
use super::*;

/// Servers that exchange tokens of one cluster's pods.
struct Clustered {
    world: World,
    fleet: Fleet,
}

impl Clustered {
    async fn start(kind: Kind) -> Option<Self> {
        let world = World::simulated().await.expect("a stand-in");
        world.tenant("agents").await.expect("a tenant");
        let dir = tempfile::tempdir().expect("a folder");
        let access = world.server_account(dir.path()).await.expect("an account");
        let mut flags = access.flags();
        flags.push("--surface=typed".to_owned());
        flags.push("--kubernetes-agent-label=recall/agent".to_owned());
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let mut fleet = Fleet::start(kind, 3, &flags)?;
        // The servers' own token lies there.
        fleet.kept.push(dir);
        Some(Self { world, fleet })
    }

    fn cluster(&self) -> &FakeCluster {
        match &self.world {
            World::Simulated(simulated) => simulated.api().cluster(),
            World::Real(_) => panic!("it is simulated"),
        }
    }

    /// A key of a new pod of the agent `coder`, from the server of this number.
    async fn pod_key(&self, name: &str, server: usize) -> String {
        let labels = [("recall/agent", "coder")];
        let pod = PodSpec {
            namespace: "agents",
            name,
            labels: &labels,
        };
        self.world.add_pod(pod).await.expect("a pod");
        let token = self
            .world
            .token("agents", name, "recall")
            .await
            .expect("a token");
        let answer = self
            .fleet
            .http
            .exchange(&self.fleet.url(server), &token)
            .await
            .expect("an answer");
        assert_eq!(answer.status, 201, "{}", answer.json());
        answer.json()["key"].as_str().expect("a key").to_owned()
    }
}

on_each_store![
    another_server_keeps_up_the_lease_of_a_silent_pod_when_the_one_that_did_is_killed,
    a_deleted_pods_key_and_lease_end_on_every_server,
    while_the_store_is_down_no_key_is_handed_out_and_nobody_is_told_401,
];

async fn another_server_keeps_up_the_lease_of_a_silent_pod_when_the_one_that_did_is_killed(
    kind: Kind,
) {
    let Some(clustered) = Clustered::start(kind).await else {
        return;
    };
    let fleet = &clustered.fleet;
    let mine = clustered.pod_key("coder-1", 0).await;
    let other = clustered.pod_key("coder-2", 1).await;
    let resume = json!({ "lease_ttl_seconds": 5 });
    call(&fleet.http, &fleet.url(0), &mine, "agent_resume", resume)
        .await
        .expect("it is free");
    let first = lease(&fleet.http, &fleet.url(1), &fleet.admin).await;
    fleet.kill(0);
    let (began, mut now) = (Instant::now(), first.clone());
    while ends(&now) < ends(&first) + 3 * Duration::from_secs(5) {
        assert!(began.elapsed() < DEADLINE, "nobody renews {now}");
        tokio::time::sleep(Duration::from_millis(100)).await;
        now = lease(&fleet.http, &fleet.url(1), &fleet.admin).await;
    }
    assert_eq!(now["epoch"], first["epoch"]);
    let refusal = call(
        &fleet.http,
        &fleet.url(2),
        &other,
        "agent_resume",
        json!({}),
    )
    .await;
    let refusal = refusal.expect_err("the owner is alive");
    assert!(refusal.contains("lease is held"), "{refusal}");
    let turn = json!({ "role": "user", "content": "x" });
    call(&fleet.http, &fleet.url(1), &mine, "record_turn", turn)
        .await
        .expect("it owns the agent still");
}

async fn a_deleted_pods_key_and_lease_end_on_every_server(kind: Kind) {
    let Some(clustered) = Clustered::start(kind).await else {
        return;
    };
    let fleet = &clustered.fleet;
    let old = clustered.pod_key("coder-1", 0).await;
    for at in 0..3 {
        let answer = fleet
            .post_to(&fleet.url(at), "/v1/recall", &old, &about("role"))
            .await;
        assert_eq!(answer.status, 200, "server {at}: {}", answer.json());
    }
    call(&fleet.http, &fleet.url(0), &old, "agent_resume", json!({}))
        .await
        .expect("it is free");
    let turn = json!({ "role": "user", "content": "half done" });
    call(&fleet.http, &fleet.url(1), &old, "record_turn", turn)
        .await
        .expect("the owner writes");

    let new = clustered.pod_key("coder-2", 1).await;
    let refusal = call(&fleet.http, &fleet.url(2), &new, "agent_resume", json!({})).await;
    assert!(
        refusal
            .expect_err("the old pod lives")
            .contains("lease is held")
    );

    clustered.cluster().delete_pod("agents", "coder-1");
    let began = Instant::now();
    for at in 0..3 {
        while fleet
            .post_to(&fleet.url(at), "/v1/recall", &old, &about("role"))
            .await
            .status
            != 401
        {
            assert!(
                began.elapsed() < Duration::from_secs(3),
                "server {at} still takes it"
            );
        }
    }
    let context = call(&fleet.http, &fleet.url(2), &new, "agent_resume", json!({})).await;
    let context = context.expect("the lease passed on at once");
    assert_eq!(context["recent_turns"][0]["content"], "half done");
}

async fn while_the_store_is_down_no_key_is_handed_out_and_nobody_is_told_401(kind: Kind) {
    let Some(mut clustered) = Clustered::start(kind).await else {
        return;
    };
    clustered.pod_key("coder-1", 0).await;
    let token = clustered.world.token("agents", "coder-1", "recall").await;
    let token = token.expect("a token");
    clustered.fleet.db.kill().expect("it runs");
    let (http, url) = (clustered.fleet.http.clone(), clustered.fleet.url(0));
    let answer = http.exchange(&url, &token).await.expect("an answer");
    let found = (answer.status, answer.code());
    assert_eq!(
        found,
        (503, "store_unavailable".to_owned()),
        "{}",
        answer.json()
    );
    assert!(answer.headers.contains_key("retry-after"));
    assert_eq!(answer.json()["key"], Value::Null);
    clustered.fleet.db.restart().expect("it starts again");
    let began = Instant::now();
    while http.exchange(&url, &token).await.expect("an answer").status != 201 {
        assert!(began.elapsed() < DEADLINE, "it never recovers");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
