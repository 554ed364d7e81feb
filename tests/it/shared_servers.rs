//! Several servers on one shared store, polign_db or Qdrant: none is special, and none needs to be
//! asked twice.

mod agents;
mod history;
mod interop;
mod moving;
mod outages;
mod pods;
mod published_local;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use recall_testkit::polign::{self, Polign};
use recall_testkit::qdrant::Qdrant;

use super::*;

/// How long anything may take that happens by itself.
const DEADLINE: Duration = Duration::from_secs(30);

/// A kind of shared store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Polign,
    Qdrant,
}

/// Makes tests of functions: `polign_::NAME` and `qdrant_::NAME`, each with its kind of store.
macro_rules! on_each_store {
    ($($name:ident),* $(,)?) => {
        mod polign_ {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                super::$name(super::Kind::Polign).await;
            })*
        }
        mod qdrant_ {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                super::$name(super::Kind::Qdrant).await;
            })*
        }
    };
}
use on_each_store;

/// A store that runs.
enum Database {
    Polign(Polign),
    Qdrant(Qdrant),
}

impl Database {
    /// `None` where there is none to start.
    fn start(kind: Kind, dir: &Path) -> Option<Self> {
        Some(match kind {
            Kind::Polign => {
                let program = polign::program()?;
                Self::Polign(Polign::start(&program, dir, &[]).expect("it starts"))
            }
            Kind::Qdrant => Self::Qdrant(Qdrant::start_own(dir, &[]).expect("it starts")?),
        })
    }

    /// The flags of a server that keeps memory here.
    fn flags(&self) -> Vec<String> {
        let mut flags = vec![
            format!("--backend={}", self.name()),
            format!("--backend-url={}", self.url()),
        ];
        if matches!(self, Self::Qdrant(_)) {
            flags.push("--qdrant-leases".to_owned());
        }
        flags
    }

    /// As `--backend` names it.
    fn name(&self) -> &'static str {
        match self {
            Self::Polign(_) => "polign",
            Self::Qdrant(_) => "qdrant",
        }
    }

    fn url(&self) -> String {
        match self {
            Self::Polign(db) => db.url(),
            Self::Qdrant(db) => db.url(),
        }
    }

    /// Where the published server finds it.
    fn published_url(&self) -> String {
        match self {
            Self::Polign(db) => db.url(),
            Self::Qdrant(db) => db.rest_url().expect("it is ours"),
        }
    }

    fn kill(&mut self) -> anyhow::Result<()> {
        match self {
            Self::Polign(db) => db.kill(),
            Self::Qdrant(db) => db.kill(),
        }
    }

    fn restart(&mut self) -> anyhow::Result<()> {
        match self {
            Self::Polign(db) => db.restart(),
            Self::Qdrant(db) => db.restart(),
        }
    }
}

/// A database and servers on it, reached in turn.
struct Fleet {
    db: Database,
    servers: Mutex<Vec<Option<Server>>>,
    turn: AtomicUsize,
    started: AtomicUsize,
    flags: Vec<String>,
    admin: String,
    http: Client,
    dir: TempDir,
    /// Folders that the servers read.
    kept: Vec<TempDir>,
}

impl Fleet {
    /// `None` where there is no database to start.
    fn start(kind: Kind, servers: usize, flags: &[&str]) -> Option<Self> {
        let fleet = Self::database(kind, flags)?;
        for _ in 0..servers {
            fleet.join();
        }
        Some(fleet)
    }

    /// A database without a server.
    fn database(kind: Kind, flags: &[&str]) -> Option<Self> {
        let dir = tempfile::tempdir().expect("a folder");
        let db = Database::start(kind, dir.path())?;
        let admin = programs::ADMIN.to_owned();
        std::fs::write(dir.path().join("admin.key"), &admin).expect("written");
        Some(Self {
            db,
            servers: Mutex::default(),
            turn: AtomicUsize::new(0),
            started: AtomicUsize::new(0),
            flags: flags.iter().map(|flag| (*flag).to_owned()).collect(),
            admin,
            http: Client::default(),
            dir,
            kept: Vec::new(),
        })
    }

    /// One server more.
    fn join(&self) -> usize {
        let name = format!("server-{}", self.started.fetch_add(1, Ordering::Relaxed));
        let server = self.server(&name, &[]).expect("it starts");
        let mut servers = self.servers.lock();
        servers.push(Some(server));
        servers.len() - 1
    }

    fn server(&self, name: &str, flags: &[&str]) -> anyhow::Result<Server> {
        let key = format!("--bootstrap-key-file={}", self.admin_file().display());
        let store = self.db.flags();
        let mut all = vec![key.as_str()];
        all.extend(store.iter().chain(&self.flags).map(String::as_str));
        all.extend(flags);
        programs::server(self.dir.path(), name, &all)
    }

    fn admin_file(&self) -> std::path::PathBuf {
        Path::join(self.dir.path(), "admin.key")
    }

    /// Kills a server as a crash would.
    fn kill(&self, at: usize) {
        if let Some(mut server) = self.servers.lock()[at].take() {
            server.process().kill().expect("it runs");
        }
    }

    /// Stops a server as an update would.
    fn stop(&self, at: usize) {
        if let Some(mut server) = self.servers.lock()[at].take() {
            assert_eq!(server.process().stop().expect("it ends"), 0);
        }
    }

    fn url(&self, at: usize) -> String {
        self.servers.lock()[at]
            .as_ref()
            .expect("it runs")
            .url
            .clone()
    }

    /// The next server in turn, as behind a load balancer.
    fn next(&self) -> String {
        let servers = self.servers.lock();
        let live: Vec<_> = servers.iter().flatten().collect();
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        live[turn % live.len()].url.clone()
    }

    async fn key(&self, spec: &Value) -> String {
        self.http
            .mint(&self.next(), &self.admin, spec)
            .await
            .expect("a key")
    }

    async fn post_to(&self, server: &str, path: &str, key: &str, body: &Value) -> Answer {
        self.http
            .post(&format!("{server}{path}"), key, body)
            .await
            .expect("an answer")
    }

    /// What the servers complained about, for a failed test to show.
    fn complaints(&self) -> String {
        let logs = std::fs::read_dir(self.dir.path())
            .into_iter()
            .flatten()
            .flatten();
        let logs = logs.filter(|entry| entry.path().extension().is_some_and(|end| end == "log"));
        let lines = logs.flat_map(|entry| {
            let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
            let name = entry.file_name().to_string_lossy().into_owned();
            let bad = text
                .lines()
                .filter(|line| line.contains("WARN") || line.contains("ERROR"));
            bad.map(|line| format!("{name}: {line}\n"))
                .collect::<Vec<_>>()
        });
        lines.collect()
    }

    /// Asks the next server.
    async fn post(&self, path: &str, key: &str, body: &Value) -> Answer {
        self.post_to(&self.next(), path, key, body).await
    }
}

fn fact(predicate: &str, value: &str) -> Value {
    json!({ "subject": "user", "predicate": predicate, "value": value })
}

fn about(predicate: &str) -> Value {
    json!({ "subject": "user", "predicate": predicate })
}

/// The one value that an answer holds, if it holds any.
fn value_of(answer: &Answer) -> Option<String> {
    assert_eq!(answer.status, 200, "{}", answer.json());
    let body = answer.json();
    let beliefs = body.as_array().expect("beliefs");
    assert!(beliefs.len() <= 1, "{body}");
    beliefs
        .first()
        .map(|belief| belief["value"].as_str().expect("a text").to_owned())
}

on_each_store![
    what_one_server_acknowledged_every_other_answers,
    what_was_forgotten_on_one_server_no_other_finds,
    a_key_revoked_on_one_server_is_refused_by_all_within_a_second,
];

async fn what_one_server_acknowledged_every_other_answers(kind: Kind) {
    let Some(fleet) = Fleet::start(kind, 3, &["--surface=typed"]) else {
        return;
    };
    let key = fleet.key(&json!({ "namespace": "team:a" })).await;
    for n in 0..300 {
        let (predicate, value) = (["prefers_editor", "role"][n % 2], format!("v{n}"));
        let answer = fleet
            .post("/v1/remember", &key, &fact(predicate, &value))
            .await;
        assert_eq!(answer.status, 200, "{}", answer.json());
        let read = fleet.post("/v1/recall", &key, &about(predicate)).await;
        assert_eq!(value_of(&read), Some(value), "stale after write {n}");
    }
}

async fn what_was_forgotten_on_one_server_no_other_finds(kind: Kind) {
    let Some(fleet) = Fleet::start(kind, 3, &["--surface=typed"]) else {
        return;
    };
    let key = fleet.key(&json!({ "namespace": "team:a" })).await;
    let reads = [
        ("/v1/recall", json!({ "query": "helixcanary" })),
        ("/v1/recall", json!({ "subject": "user" })),
        ("/v1/recall", about("prefers_editor")),
        ("/v1/explain", json!({ "question": "helixcanary" })),
        (
            "/mcp",
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": { "name": "recall", "arguments": { "query": "helixcanary" } } }),
        ),
    ];
    let found = async |at: usize| {
        let mut found = Vec::new();
        for (path, body) in &reads {
            let answer = fleet.post_to(&fleet.url(at), path, &key, body).await;
            assert_eq!(answer.status, 200, "{}", answer.json());
            found.push(String::from_utf8_lossy(&answer.body).contains("helixcanary"));
        }
        found
    };
    for at in 0..3 {
        let (there, next) = (fleet.url(at), fleet.url((at + 1) % 3));
        let kept = fact("prefers_editor", "helixcanary");
        let kept = fleet.post_to(&there, "/v1/remember", &key, &kept).await;
        assert_eq!(kept.status, 200, "{}", kept.json());
        for other in 0..3 {
            assert_eq!(found(other).await, vec![true; reads.len()], "{at} {other}");
        }
        let gone = about("prefers_editor");
        let gone = fleet.post_to(&next, "/v1/forget", &key, &gone).await;
        assert_eq!(gone.json()["withdrawn"], 1, "{}", gone.json());
        for other in 0..3 {
            assert_eq!(found(other).await, vec![false; reads.len()], "{at} {other}");
        }
    }
}

async fn a_key_revoked_on_one_server_is_refused_by_all_within_a_second(kind: Kind) {
    let Some(fleet) = Fleet::start(kind, 3, &["--surface=typed"]) else {
        return;
    };
    let key = fleet.key(&json!({ "namespace": "team:a" })).await;
    let question = about("role");
    for at in 0..3 {
        assert_eq!(
            fleet
                .post_to(&fleet.url(at), "/v1/recall", &key, &question)
                .await
                .status,
            200
        );
    }
    let id = key.split('_').nth(1).expect("an id");
    let bearer = format!("Bearer {}", fleet.admin);
    let url = format!("{}/v1/keys/{id}", fleet.url(0));
    let revoked = fleet
        .http
        .send("DELETE", &url, &[("authorization", &bearer)], "")
        .await;
    assert!(revoked.expect("an answer").status < 300);
    let began = Instant::now();
    for at in 0..3 {
        while fleet
            .post_to(&fleet.url(at), "/v1/recall", &key, &question)
            .await
            .status
            != 401
        {
            assert!(
                began.elapsed() < Duration::from_secs(1),
                "server {at} still takes it"
            );
        }
    }
}
