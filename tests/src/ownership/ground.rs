//! Servers, their store, a cluster, and the networks between them.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use parking_lot::Mutex;
use recall_testkit::polign::{FIX, Polign, program};
use recall_testkit::process::Server;
use recall_testkit::{FakeCluster, Reply, Route};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::hand::Body;
use super::log::Entry;
use super::proxy::{Net, Proxy};
use super::stored::{self, Stored};
use crate::http::{Answer, Client};
use crate::programs;
use crate::world::World;

/// The Kubernetes namespace of the pods.
pub const TENANT: &str = "agents";
/// The label that names the agent of a pod.
pub const LABEL: &str = "sandbox.users.io/agent";
/// The namespace of the agents that have no pods.
pub const TEAM: &str = "team:a";
/// How long servers may take to be ready once all faults have ended.
const RECOVERY: Duration = Duration::from_secs(60);

/// Where everything is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Store {
    /// One server with its own file.
    Embedded,
    /// Two servers on one polign_db.
    Polign,
    /// Two servers, each on a node of its own of one polign_db.
    PolignNodes,
}

/// Everything that a run needs.
#[derive(Debug)]
pub struct Ground {
    /// Which store.
    pub store: Store,
    /// The servers.
    pub slots: Vec<Slot>,
    /// The database, if the store is one.
    pub dbs: Vec<tokio::sync::Mutex<Polign>>,
    /// The clients' processes that live, by the names of their actors.
    pub bodies: Mutex<Vec<(String, Body)>>,
    world: World,
    dir: PathBuf,
    http: Client,
    turn: AtomicUsize,
    start: Instant,
    log: Mutex<Vec<Entry>>,
    over: watch::Sender<bool>,
}

/// A place for a server, which starts there again and again.
#[derive(Debug)]
pub struct Slot {
    /// The network to its clients.
    pub front: Proxy,
    /// The network to its store.
    pub back: Option<Proxy>,
    /// The server; `None` while it is away.
    pub server: tokio::sync::Mutex<Option<Server>>,
    number: usize,
    starts: AtomicUsize,
    flags: Vec<String>,
}

impl Ground {
    /// Starts all of it in `dir`.
    ///
    /// # Errors
    ///
    /// If a part does not start.
    pub async fn start(store: Store, dir: &Path) -> anyhow::Result<Self> {
        let world = World::simulated().await?;
        world.tenant(TENANT).await?;
        let mut flags = world.server_account(dir).await?.flags();
        let admin_file = dir.join("admin.key");
        std::fs::write(&admin_file, programs::ADMIN)?;
        flags.extend([
            format!("--bootstrap-key-file={}", admin_file.display()),
            format!("--kubernetes-agent-label={LABEL}"),
        ]);
        for limit in ["per-key", "per-source", "per-pod", "per-tenant"] {
            let part = if limit == "per-key" {
                ""
            } else {
                "kubernetes-"
            };
            flags.push(format!("--{part}limit-{limit}=off"));
        }
        let nodes = match store {
            Store::Embedded => 0,
            Store::Polign => 1,
            Store::PolignNodes => 2,
        };
        let mut dbs = Vec::new();
        for _ in 0..nodes {
            let db = Polign::start(&program().context(FIX)?, dir, &[])?;
            dbs.push(db);
        }
        let servers = if dbs.is_empty() { 1 } else { 2 };
        let mut slots = Vec::new();
        for number in 0..servers {
            let db = dbs.get(number % dbs.len().max(1)).map(Polign::url);
            slots.push(Slot::new(number, db, &flags, dir).await?);
        }
        let ground = Self {
            store,
            slots,
            dbs: dbs.into_iter().map(tokio::sync::Mutex::new).collect(),
            bodies: Mutex::default(),
            world,
            dir: dir.to_owned(),
            http: Client::default(),
            turn: AtomicUsize::new(0),
            start: Instant::now(),
            log: Mutex::default(),
            over: watch::channel(false).0,
        };
        for slot in &ground.slots {
            let mut server = slot.server.lock().await;
            ground.launch(slot, &mut server)?;
        }
        ground.recovered().await?;
        Ok(ground)
    }

    /// Starts the server of a slot.
    ///
    /// # Errors
    ///
    /// If it does not listen.
    pub fn launch(&self, slot: &Slot, server: &mut Option<Server>) -> anyhow::Result<()> {
        let start = slot.starts.fetch_add(1, Ordering::Relaxed);
        let name = format!("server-{}.{start}", slot.number);
        let flags: Vec<&str> = slot.flags.iter().map(String::as_str).collect();
        let program = programs::folder()?.join("recall-server");
        let started =
            tokio::task::block_in_place(|| Server::start(&program, &name, &self.dir, &flags))?;
        slot.front.lead_to(address(&started.url)?);
        *server = Some(started);
        Ok(())
    }

    /// The address of the next server in turn, as behind a load balancer.
    pub fn next(&self) -> String {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let slot = self.slots.get(turn % self.slots.len().max(1));
        slot.map(|slot| slot.front.url()).unwrap_or_default()
    }

    /// The cluster.
    pub fn cluster(&self) -> &FakeCluster {
        match &self.world {
            World::Simulated(simulated) => simulated.api().cluster(),
            World::Real(_) => unreachable!("a run has a stand-in"),
        }
    }

    /// Makes the API server answer nothing about pods and tokens, or all again.
    pub fn api_away(&self, away: bool) {
        let World::Simulated(simulated) = &self.world else {
            return;
        };
        match away {
            true => {
                for route in [Route::Pod, Route::TokenReviews, Route::PodList] {
                    simulated.api().script(route, Reply::Hangup);
                }
            }
            false => simulated.api().clear_scripts(),
        }
    }

    /// Asks as the admin, until some server does it.
    ///
    /// # Errors
    ///
    /// If none does for long.
    pub async fn admin(&self, method: &str, path: &str, body: &str) -> anyhow::Result<Answer> {
        let began = Instant::now();
        let bearer = format!("Bearer {}", programs::ADMIN);
        let headers = [("authorization", bearer.as_str())];
        loop {
            let url = format!("{}{path}", self.next());
            let sent = self.http.send(method, &url, &headers, body.to_owned());
            let answer = tokio::time::timeout(Duration::from_secs(4), sent).await;
            let last = match answer {
                Ok(Ok(answer)) if answer.status < 500 => return Ok(answer),
                Ok(Ok(answer)) => answer.json().to_string(),
                Ok(Err(error)) => format!("{error:#}"),
                Err(_) => "no answer".to_owned(),
            };
            ensure!(
                began.elapsed() < RECOVERY,
                "no server does {method} {path}: {last}"
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Mints a key.
    ///
    /// # Errors
    ///
    /// If no server does.
    pub async fn mint(&self, spec: &Value) -> anyhow::Result<String> {
        let answer = self.admin("POST", "/v1/keys", &spec.to_string()).await?;
        ensure!(answer.status == 201, "not minted: {}", answer.json());
        let key = answer.json()["key"].as_str().map(str::to_owned);
        key.context("a minted key is shown")
    }

    /// Microseconds since the start.
    pub fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Puts down what was done.
    pub fn note(&self, entry: Entry) {
        self.log.lock().push(entry);
    }

    /// Everything that was put down.
    pub fn log(&self) -> Vec<Entry> {
        self.log.lock().clone()
    }

    /// Ends the work of all actors.
    pub fn end(&self) {
        self.over.send_replace(true);
    }

    /// Whether the work has ended.
    pub fn over(&self) -> bool {
        *self.over.borrow()
    }

    /// Waits, but not past the end of the work.
    pub async fn rest(&self, time: Duration) {
        let mut over = self.over.subscribe();
        let _ = tokio::time::timeout(time, over.wait_for(|over| *over)).await;
    }

    /// Makes every network whole and waits until every server is ready.
    ///
    /// # Errors
    ///
    /// If one is not ready for long.
    pub async fn recovered(&self) -> anyhow::Result<()> {
        self.api_away(false);
        for slot in &self.slots {
            slot.front.set(Net::Whole);
            if let Some(back) = &slot.back {
                back.set(Net::Whole);
            }
        }
        for slot in &self.slots {
            let server = slot.server.lock().await;
            let server = server.as_ref().context("every server was started again")?;
            let log = || recall_testkit::process::tail(&server.log);
            let ready = self.ready(server, RECOVERY).await;
            ensure!(ready, "it does not recover: {}", log());
        }
        Ok(())
    }

    /// Waits until a server is ready; whether it was within that time.
    pub async fn ready(&self, server: &Server, patience: Duration) -> bool {
        let began = Instant::now();
        let url = format!("{}/readyz", server.admin_url);
        while began.elapsed() < patience {
            let sent = self.http.send("GET", &url, &[], "");
            let answer = tokio::time::timeout(Duration::from_secs(2), sent).await;
            if answer.is_ok_and(|sent| sent.is_ok_and(|answer| answer.status == 200)) {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        false
    }

    /// What the store holds, as `recall-server export` tells once all servers have ended. Leaves the
    /// export beside the logs.
    ///
    /// # Errors
    ///
    /// If it cannot be told.
    pub async fn stored(&self) -> anyhow::Result<Stored> {
        for slot in &self.slots {
            let ended = slot.server.lock().await.take();
            tokio::task::block_in_place(|| drop(ended));
        }
        let slot = self.slots.first().context("there is a server")?;
        let store = ["--data-dir=", "--backend=", "--backend-url="];
        let flags = slot.flags.iter();
        let flags = flags.filter(|flag| store.iter().any(|name| flag.starts_with(name)));
        let mut export = Command::new(programs::folder()?.join("recall-server"));
        export.arg("export").args(flags).stdin(Stdio::null());
        let output = tokio::task::block_in_place(|| export.output())?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "it cannot be exported: {said}");
        std::fs::write(self.dir.join("export.jsonl"), &output.stdout)?;
        stored::read(&String::from_utf8(output.stdout)?)
    }
}

impl Slot {
    async fn new(
        number: usize,
        db: Option<String>,
        flags: &[String],
        dir: &Path,
    ) -> anyhow::Result<Self> {
        let mut flags = flags.to_vec();
        // What a server keeps for itself; of the embedded store, everything.
        let data = dir.join(format!("data-{number}"));
        flags.push(format!("--data-dir={}", data.display()));
        let back = match db {
            None => None,
            Some(db) => {
                let back = Proxy::start(address(&db)?).await?;
                flags.push("--backend=polign".to_owned());
                flags.push(format!("--backend-url={}", back.url()));
                flags.push("--wait-for-backend=off".to_owned());
                Some(back)
            }
        };
        // It leads nowhere until the server has started.
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 1));
        Ok(Self {
            front: Proxy::start(nowhere).await?,
            back,
            server: tokio::sync::Mutex::new(None),
            number,
            starts: AtomicUsize::new(0),
            flags,
        })
    }
}

fn address(url: &str) -> anyhow::Result<SocketAddr> {
    let address = url.strip_prefix("http://").context("an http address")?;
    Ok(address.parse()?)
}

/// The body of a call of a tool.
#[must_use]
pub fn tool_call(agent: &str, tool: &str, mut arguments: Value) -> Value {
    arguments["agent_id"] = agent.into();
    json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": tool, "arguments": arguments },
    })
}
