//! How soon a key that died somewhere is refused everywhere: three servers on one polign_db, beside a
//! stand-in for the API server. Prints, in milliseconds and one line each, `gone` for a pod's object
//! gone to its key refused by all three, `revoked` for an admin's revocation answered by one to the
//! key refused by the other two, `taken` for the first call of a pod whose predecessor was killed and
//! is gone to its agent resumed, `taken-alone` for the same with one server on the embedded store, and
//! `stale`, the reads that missed a write another server had acknowledged.
//!
//! `recall-replicas ROUNDS PAIRS`; `cargo xtask bench --only replicas` runs it.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use recall_e2e::http::Client;
use recall_e2e::ownership::ground::tool_call;
use recall_e2e::programs;
use recall_e2e::world::{PodSpec, World};
use recall_testkit::polign::{FIX, Polign, program};
use recall_testkit::process::Server;
use serde_json::{Value, json};
use tokio::task::JoinSet;

const SERVERS: usize = 3;
const TENANT: &str = "agents";
/// The label that names the agent of a pod.
const LABEL: &str = "sandbox.users.io/agent";
/// How often a read is asked again that the store could not answer in time.
const RETRIES: u32 = 5;
/// A key that lives on for so long is as good as never refused.
const PATIENCE: Duration = Duration::from_secs(30);

/// Agents that are taken over, again and again: each has collections of its own in the store.
const AGENTS: u32 = 10;
/// The longest that the store is waited for to put in order what was written.
const SETTLING: Duration = Duration::from_secs(300);

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u32>());
    let usage = "usage: recall-replicas ROUNDS PAIRS";
    let rounds = arguments.next().context(usage)??;
    let pairs = arguments.next().context(usage)??;
    let dir = tempfile::tempdir()?;
    let world = World::simulated().await?;
    world.tenant(TENANT).await?;
    let mut flags = world.server_account(dir.path()).await?.flags();
    flags.extend([
        "--surface=typed".to_owned(),
        format!("--kubernetes-agent-label={LABEL}"),
    ]);
    alone(&world, dir.path(), &flags, rounds).await?;
    let mut db = Polign::start(&program().context(FIX)?, dir.path(), &[])?;
    let admin_file = dir.path().join("admin.key");
    std::fs::write(&admin_file, programs::ADMIN)?;
    flags.extend([
        "--backend=polign".to_owned(),
        format!("--backend-url={}", db.url()),
        format!("--bootstrap-key-file={}", admin_file.display()),
    ]);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let servers: Vec<Server> = (0..SERVERS)
        .map(|number| programs::server(dir.path(), &format!("server-{number}"), &flags))
        .collect::<Result<_, _>>()?;
    let fleet = Fleet {
        urls: servers.iter().map(|server| server.url.clone()).collect(),
        http: Client::default(),
    };
    // First, while the store has few collections: it looks through all of them all the time.
    let (stale, took) = write_then_read(&fleet, pairs).await?;
    writeln!(std::io::stdout(), "stale {stale}")?;
    tell("read", took)?;
    db.settle(SETTLING);
    for round in 0..rounds {
        let agent = format!("many-{}", round % AGENTS);
        let took = taken(&world, &fleet, &agent).await?;
        tell("taken", took)?;
    }
    for round in 0..rounds {
        let took = pod_gone(&world, &fleet, round).await?;
        tell("gone", took)?;
        let took = revoked(&fleet).await?;
        tell("revoked", took)?;
    }
    Ok(())
}

fn tell(what: &str, took: Duration) -> anyhow::Result<()> {
    let millis = took.as_secs_f64() * 1000.0;
    Ok(writeln!(std::io::stdout(), "{what} {millis:.3}")?)
}

/// The same as `taken` with one server on a store of its own.
async fn alone(world: &World, dir: &Path, flags: &[String], rounds: u32) -> anyhow::Result<()> {
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let server = programs::server(dir, "alone", &flags)?;
    let fleet = Fleet {
        urls: vec![server.url.clone()],
        http: Client::default(),
    };
    for round in 0..rounds {
        let took = taken(world, &fleet, &format!("one-{round}")).await?;
        tell("taken-alone", took)?;
    }
    Ok(())
}

struct Fleet {
    urls: Vec<String>,
    http: Client,
}

async fn pod_gone(world: &World, fleet: &Fleet, round: u32) -> anyhow::Result<Duration> {
    let name = format!("agent-{round}");
    let pod = PodSpec {
        namespace: TENANT,
        name: &name,
        labels: &[(LABEL, &name)],
    };
    world.add_pod(pod).await?;
    let token = world.token(TENANT, &name, "recall").await?;
    let key = fleet.exchange(round as usize, &token).await?;
    fleet.all_accept(&key).await?;
    world.delete_pod(TENANT, &name).await?;
    fleet.refused_by(&fleet.urls, &key).await
}

/// A pod takes its agent, works and is gone in the middle of it, without a word. The time from the
/// first call of a pod that takes its place, under another name, until it has the agent and what was
/// begun.
async fn taken(world: &World, fleet: &Fleet, agent: &str) -> anyhow::Result<Duration> {
    let (old, new) = (format!("{agent}-old"), format!("{agent}-new"));
    let labels = [(LABEL, agent)];
    let pod = |name| PodSpec {
        namespace: TENANT,
        name,
        labels: &labels,
    };
    world.add_pod(pod(&old)).await?;
    let token = world.token(TENANT, &old, "recall").await?;
    let key = fleet.exchange(0, &token).await?;
    let first = fleet
        .tool(0, &key, agent, "agent_resume", json!({}))
        .await?;
    let turn = json!({ "role": "user", "content": "half done" });
    fleet.tool(1, &key, agent, "record_turn", turn).await?;
    let action = json!({ "tool": "deploy", "class": "external" });
    fleet.tool(2, &key, agent, "begin_action", action).await?;
    world.delete_pod(TENANT, &old).await?;
    world.add_pod(pod(&new)).await?;
    let token = world.token(TENANT, &new, "recall").await?;
    let began = Instant::now();
    let key = fleet.exchange(1, &token).await?;
    let context = fleet
        .tool(2, &key, agent, "agent_resume", json!({}))
        .await?;
    let took = began.elapsed();
    ensure!(context["epoch"].as_u64() > first["epoch"].as_u64());
    let turns = |context: &Value| context["turn_seq"].as_u64().unwrap_or_default();
    ensure!(turns(&context) == turns(&first) + 1, "{context}");
    ensure!(
        context["pending_actions"][0]["status"] == "unknown",
        "{context}"
    );
    world.delete_pod(TENANT, &new).await?;
    Ok(took)
}

async fn revoked(fleet: &Fleet) -> anyhow::Result<Duration> {
    let spec = json!({ "namespace": "bench:revoked" });
    let (revoker, others) = fleet.urls.split_first().context("there are servers")?;
    let key = fleet.http.mint(revoker, programs::ADMIN, &spec).await?;
    fleet.all_accept(&key).await?;
    let id = key.split('_').nth(1).context("a key has an id")?;
    let url = format!("{revoker}/v1/keys/{id}");
    let bearer = format!("Bearer {}", programs::ADMIN);
    let headers = [("authorization", bearer.as_str())];
    let answer = fleet.http.send("DELETE", &url, &headers, "").await?;
    ensure!(answer.status == 204, "not revoked: {}", answer.json());
    fleet.refused_by(others, &key).await
}

/// Writes to one server and reads from the next, over and over. Answers how many reads missed the
/// write, and the middle time of a read.
async fn write_then_read(fleet: &Fleet, pairs: u32) -> anyhow::Result<(u32, Duration)> {
    let spec = json!({ "namespace": "bench:pairs" });
    let key = fleet
        .http
        .mint(fleet.url(0), programs::ADMIN, &spec)
        .await?;
    let (mut stale, mut times) = (0, Vec::new());
    for pair in 0..pairs {
        let value = format!("v{pair}");
        let fact = json!({ "subject": "user", "predicate": "role", "value": value });
        let url = format!("{}/v1/remember", fleet.url(pair as usize));
        let written = fleet.http.post(&url, &key, &fact).await?;
        ensure!(written.status == 200, "not written: {}", written.json());
        let url = format!("{}/v1/recall", fleet.url(pair as usize + 1));
        let mut began = Instant::now();
        let mut read = fleet.http.post(&url, &key, &question()).await?;
        // A server that cannot tell says so, and is asked again: it tells nothing stale.
        for _ in 0..RETRIES {
            if read.status != 503 {
                break;
            }
            began = Instant::now();
            read = fleet.http.post(&url, &key, &question()).await?;
        }
        times.push(began.elapsed());
        ensure!(read.status == 200, "not read: {}", read.json());
        stale += u32::from(read.json()[0]["value"] != value.as_str());
    }
    times.sort_unstable();
    let middle = times.get(times.len() / 2).copied().unwrap_or_default();
    Ok((stale, middle))
}

fn question() -> Value {
    json!({ "subject": "user", "predicate": "role" })
}

impl Fleet {
    /// The server of this number, counted round and round.
    fn url(&self, number: usize) -> &str {
        self.urls
            .get(number % self.urls.len())
            .map_or("", String::as_str)
    }

    /// The key of a token, from the server of this number.
    async fn exchange(&self, number: usize, token: &str) -> anyhow::Result<String> {
        let answer = self.http.exchange(self.url(number), token).await?;
        ensure!(answer.status == 201, "not exchanged: {}", answer.json());
        Ok(answer.json()["key"].as_str().context("a key")?.to_owned())
    }

    /// Calls a tool on the server of this number; the answer.
    async fn tool(
        &self,
        number: usize,
        key: &str,
        agent: &str,
        tool: &str,
        arguments: Value,
    ) -> anyhow::Result<Value> {
        let url = format!("{}/mcp", self.url(number));
        let body = tool_call(agent, tool, arguments);
        let result = self.http.post(&url, key, &body).await?.json()["result"].take();
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        ensure!(result["isError"] == false, "{tool}: {text}");
        Ok(serde_json::from_str(text)?)
    }

    async fn all_accept(&self, key: &str) -> anyhow::Result<()> {
        for url in &self.urls {
            let url = format!("{url}/v1/recall");
            let answer = self.http.post(&url, key, &question()).await?;
            ensure!(answer.status == 200, "not served: {}", answer.json());
        }
        Ok(())
    }

    /// The time until the last of these servers refuses the key.
    async fn refused_by(&self, urls: &[String], key: &str) -> anyhow::Result<Duration> {
        let began = Instant::now();
        let mut refusals = JoinSet::new();
        for url in urls {
            let (http, url, key) = (self.http.clone(), url.clone(), key.to_owned());
            refusals.spawn(async move { until_refused(&http, &url, &key).await });
        }
        for refused in refusals.join_all().await {
            refused?;
        }
        Ok(began.elapsed())
    }
}

async fn until_refused(http: &Client, url: &str, key: &str) -> anyhow::Result<()> {
    let url = format!("{url}/v1/recall");
    let began = Instant::now();
    loop {
        let answer = http.post(&url, key, &question()).await?;
        if answer.status == 401 {
            return Ok(());
        }
        ensure!(answer.status == 200, "{}", answer.json());
        ensure!(began.elapsed() < PATIENCE, "a dead key is served on");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
