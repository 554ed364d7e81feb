//! A full disk refuses writes by name, loses nothing that was acknowledged, goes on reading, and is over
//! without a restart once there is room.

use std::time::{Duration, Instant};

use recall_testkit::disk::{FIX, SmallDisk};
use recall_testkit::polign::{self, Polign};

use super::*;

/// More of these than the disk holds.
const MANY: usize = 4_000;
const DEADLINE: Duration = Duration::from_secs(30);
const FLAGS: &str = "--surface=typed";

fn fact(number: usize) -> Value {
    let value = format!("{number} {}", "x".repeat(3_000));
    json!({ "subject": "user", "predicate": "note", "value": value })
}

/// Whatever writes to a disk of its own.
struct Ground<'a> {
    disk: SmallDisk,
    pid: u32,
    server: &'a Server,
    admin: String,
    http: Client,
}

impl Ground<'_> {
    async fn post(&self, path: &str, key: &str, body: &Value) -> Answer {
        let url = format!("{}{path}", self.server.url);
        self.http.post(&url, key, body).await.expect("an answer")
    }

    async fn key(&self, namespace: &str) -> String {
        let spec = json!({ "namespace": namespace });
        let minted = self.http.mint(&self.server.url, &self.admin, &spec).await;
        minted.expect("a key")
    }

    async fn ready(&self) -> (u16, String) {
        let url = format!("{}/readyz", self.server.admin_url);
        let answer = self
            .http
            .send("GET", &url, &[], "")
            .await
            .expect("an answer");
        (
            answer.status,
            String::from_utf8_lossy(&answer.body).into_owned(),
        )
    }

    /// Writes until the disk is full, then frees it; `says` is in the reason for not being ready.
    async fn holds(&self, says: &str) {
        let (key, untouched) = (self.key("team:a").await, self.key("team:b").await);
        let early = json!({ "subject": "user", "predicate": "prefers_editor", "value": "helix" });
        assert_eq!(self.post("/v1/remember", &key, &early).await.status, 200);
        self.disk.fill(self.pid).expect("it can be filled");
        let mut acknowledged = 0;
        let refused = loop {
            let answer = self.post("/v1/remember", &key, &fact(acknowledged)).await;
            match answer.status {
                200 => acknowledged += 1,
                _ => break answer,
            }
            assert!(acknowledged < MANY, "the disk is never full");
        };
        assert_eq!(
            (refused.status, refused.code().as_str()),
            (503, "store_unavailable")
        );
        assert!(refused.headers.contains_key("retry-after"));
        let (status, text) = self.ready().await;
        assert_eq!(status, 503, "{text}");
        assert!(text.contains(says), "{text}");
        // Reads go on, of what is resident and of what is not.
        let about = json!({ "subject": "user", "predicate": "prefers_editor" });
        let found = self.post("/v1/recall", &key, &about).await;
        assert_eq!(found.json()[0]["value"], "helix", "{}", found.json());
        let none = self.post("/v1/recall", &untouched, &about).await;
        assert_eq!((none.status, none.json()), (200, json!([])));
        self.disk.free(self.pid).expect("it was filled");
        let began = Instant::now();
        while self.ready().await.0 != 200 {
            assert!(began.elapsed() < DEADLINE, "it is not ready again");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let again = self.post("/v1/remember", &key, &fact(acknowledged)).await;
        assert_eq!(again.status, 200, "{}", again.json());
        let about = json!({ "subject": "user", "predicate": "note" });
        let found = self.post("/v1/history", &key, &about).await.json();
        let Some(events) = found.as_array() else {
            panic!("no list of events: {found}");
        };
        let values = events.iter();
        let mut numbers: Vec<usize> = values
            .filter_map(|event| event["value"].as_str()?.split(' ').next()?.parse().ok())
            .collect();
        numbers.sort_unstable();
        let all: Vec<usize> = (0..=acknowledged).collect();
        assert_eq!(numbers, all, "each acknowledged write is there once");
    }
}

/// A server whose data directory is on the small disk.
#[tokio::test(flavor = "multi_thread")]
async fn of_the_embedded_store_refuses_writes_and_is_over_by_itself() {
    let dir = tempfile::tempdir().expect("a folder");
    let data = dir.path().join("recall-data");
    let program = programs::folder().expect("built").join("recall-server");
    let Some((disk, starter)) = SmallDisk::under(&program, &data, 8).expect("a disk") else {
        return eprintln!("skipped: {FIX}");
    };
    let flag = format!("--data-dir={}", data.display());
    let mut server =
        Server::start(&starter, "recall", dir.path(), &[&flag, FLAGS]).expect("it starts");
    let pid = server.process().pid();
    let seen = disk.seen_by(pid);
    let seen = seen.parent().expect("it is in a folder");
    let admin = programs::admin_key(seen, "recall").expect("an admin key");
    let ground = Ground {
        disk,
        pid,
        server: &server,
        admin,
        http: Client::default(),
    };
    ground.holds("full").await;
}

/// A server whose polign_db is on the small disk.
#[tokio::test(flavor = "multi_thread")]
async fn of_polign_refuses_writes_and_is_over_by_itself() {
    let Some(program) = polign::program() else {
        return;
    };
    let dir = tempfile::tempdir().expect("a folder");
    let kept = dir.path().join("polign");
    let Some((disk, starter)) = SmallDisk::under(&program, &kept, 8).expect("a disk") else {
        return eprintln!("skipped: {FIX}");
    };
    let mut polign = Polign::start(&starter, dir.path(), &[]).expect("it starts");
    let pid = polign.process().expect("it runs").pid();
    let url = format!("--backend-url={}", polign.url());
    let admin_file = dir.path().join("first.key");
    std::fs::write(&admin_file, programs::ADMIN).expect("written");
    let first = format!("--bootstrap-key-file={}", admin_file.display());
    let flags = ["--backend=polign", url.as_str(), FLAGS, first.as_str()];
    let server = programs::server(dir.path(), "recall", &flags).expect("it starts");
    let ground = Ground {
        disk,
        pid,
        server: &server,
        admin: programs::ADMIN.to_owned(),
        http: Client::default(),
    };
    ground.holds("polign").await;
}
