//! Several servers on one polign_db: none is special, and none needs to be asked twice.

mod agents;
mod history;
mod interop;
mod moving;
mod outages;
mod pods;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use recall_testkit::polign::{self, Polign};

use super::*;

/// How long anything may take that happens by itself.
const DEADLINE: Duration = Duration::from_secs(30);

/// A database and servers on it, reached in turn.
struct Fleet {
    db: Polign,
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
    fn start(servers: usize, flags: &[&str]) -> Option<Self> {
        let fleet = Self::database(flags)?;
        for _ in 0..servers {
            fleet.join();
        }
        Some(fleet)
    }

    /// A database without a server.
    fn database(flags: &[&str]) -> Option<Self> {
        let program = polign::program()?;
        let dir = tempfile::tempdir().expect("a folder");
        let db = Polign::start(&program, dir.path(), &[]).expect("it starts");
        let admin = "rcl_00000000000000aa_0123456789abcdef0123456789abcdef".to_owned();
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
        let url = format!("--backend-url={}", self.db.url());
        let key = format!("--bootstrap-key-file={}", self.admin_file().display());
        let mut all = vec!["--backend=polign", &url, &key];
        all.extend(self.flags.iter().map(String::as_str));
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

#[tokio::test(flavor = "multi_thread")]
async fn what_one_server_acknowledged_every_other_answers() {
    let Some(fleet) = Fleet::start(3, &["--surface=typed"]) else {
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

#[tokio::test(flavor = "multi_thread")]
async fn a_key_revoked_on_one_server_is_refused_by_all_within_a_second() {
    let Some(fleet) = Fleet::start(3, &["--surface=typed"]) else {
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
