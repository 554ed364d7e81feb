//! How soon a key that died somewhere is refused everywhere: three servers on one polign_db, beside a
//! stand-in for the API server. Prints, in milliseconds and one line each, `gone` for a pod's object
//! gone to its key refused by all three, `revoked` for an admin's revocation answered by one to the
//! key refused by the other two, and `stale`, the reads that missed a write another server had
//! acknowledged.
//!
//! `recall-replicas ROUNDS PAIRS`; `cargo xtask bench --only replicas` runs it.

use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use recall_e2e::http::Client;
use recall_e2e::programs;
use recall_e2e::world::{PodSpec, World};
use recall_testkit::polign::{FIX, Polign, program};
use recall_testkit::process::Server;
use serde_json::{Value, json};
use tokio::task::JoinSet;

const SERVERS: usize = 3;
const TENANT: &str = "agents";
/// A key that lives on for so long is as good as never refused.
const PATIENCE: Duration = Duration::from_secs(30);
const ADMIN: &str = "rcl_00000000000000aa_0123456789abcdef0123456789abcdef";

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
    let db = Polign::start(&program().context(FIX)?, dir.path(), &[])?;
    let admin_file = dir.path().join("admin.key");
    std::fs::write(&admin_file, ADMIN)?;
    flags.extend([
        "--surface=typed".to_owned(),
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
    for round in 0..rounds {
        let took = pod_gone(&world, &fleet, round).await?;
        tell("gone", took)?;
        let took = revoked(&fleet).await?;
        tell("revoked", took)?;
    }
    let (stale, took) = write_then_read(&fleet, pairs).await?;
    writeln!(std::io::stdout(), "stale {stale}")?;
    tell("read", took)
}

fn tell(what: &str, took: Duration) -> anyhow::Result<()> {
    let millis = took.as_secs_f64() * 1000.0;
    Ok(writeln!(std::io::stdout(), "{what} {millis:.3}")?)
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
        labels: &[],
    };
    world.add_pod(pod).await?;
    let token = world.token(TENANT, &name, "recall").await?;
    let at = fleet.url(round as usize);
    let answer = fleet.http.exchange(at, &token).await?;
    ensure!(answer.status == 201, "not exchanged: {}", answer.json());
    let key = answer.json()["key"].as_str().context("a key")?.to_owned();
    fleet.all_accept(&key).await?;
    world.delete_pod(TENANT, &name).await?;
    fleet.refused_by(&fleet.urls, &key).await
}

async fn revoked(fleet: &Fleet) -> anyhow::Result<Duration> {
    let spec = json!({ "namespace": "bench:revoked" });
    let (revoker, others) = fleet.urls.split_first().context("there are servers")?;
    let key = fleet.http.mint(revoker, ADMIN, &spec).await?;
    fleet.all_accept(&key).await?;
    let id = key.split('_').nth(1).context("a key has an id")?;
    let url = format!("{revoker}/v1/keys/{id}");
    let bearer = format!("Bearer {ADMIN}");
    let headers = [("authorization", bearer.as_str())];
    let answer = fleet.http.send("DELETE", &url, &headers, "").await?;
    ensure!(answer.status == 204, "not revoked: {}", answer.json());
    fleet.refused_by(others, &key).await
}

/// Writes to one server and reads from the next, over and over. Answers how many reads missed the
/// write, and the middle time of a read.
async fn write_then_read(fleet: &Fleet, pairs: u32) -> anyhow::Result<(u32, Duration)> {
    let spec = json!({ "namespace": "bench:pairs" });
    let key = fleet.http.mint(fleet.url(0), ADMIN, &spec).await?;
    let (mut stale, mut times) = (0, Vec::new());
    for pair in 0..pairs {
        let value = format!("v{pair}");
        let fact = json!({ "subject": "user", "predicate": "role", "value": value });
        let url = format!("{}/v1/remember", fleet.url(pair as usize));
        let written = fleet.http.post(&url, &key, &fact).await?;
        ensure!(written.status == 200, "not written: {}", written.json());
        let url = format!("{}/v1/recall", fleet.url(pair as usize + 1));
        let began = Instant::now();
        let read = fleet.http.post(&url, &key, &question()).await?;
        times.push(began.elapsed());
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
