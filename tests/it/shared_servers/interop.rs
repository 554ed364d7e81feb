//! The published server and ours on one store: what either wrote, both answer; and on polign_db, where
//! it has leases, what one holds the other respects.

use std::process::Command;

use recall_testkit::process::{Process, free_port, tail, wait_until};

use super::super::agents::call;
use super::*;

/// Both programs on one database.
struct Both {
    fleet: Fleet,
    theirs: String,
    _process: Process,
}

impl Both {
    /// `None` where one of them is not here.
    fn start(kind: Kind) -> Option<Self> {
        let program = std::env::var_os("RECALL_ORIGINAL")?;
        let fleet = Fleet::start(kind, 1, &["--surface=typed", "--open"])?;
        let port = free_port().expect("a port");
        let home = fleet.dir.path().join("original");
        std::fs::create_dir(&home).expect("a folder");
        let log = fleet.dir.path().join("original.log");
        let mut command = Command::new(program);
        command
            .args([
                "serve",
                "-typed",
                "-open",
                "-backend",
                fleet.db.name(),
                "-url",
                &fleet.db.published_url(),
            ])
            .args([
                "-listen",
                &format!("127.0.0.1:{port}"),
                "-auth-cache-ttl",
                "500ms",
            ])
            .arg("-bootstrap-key-file")
            .arg(fleet.admin_file())
            .env("HOME", &home)
            .env("RECALL_HOME", home.join("recall"))
            .env_remove("RECALL_URL");
        let mut process = Process::start("original", &mut command, &log).expect("it starts");
        let listens = || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok();
        wait_until(&mut process, listens).unwrap_or_else(|error| panic!("{error}: {}", tail(&log)));
        Some(Self {
            fleet,
            theirs: format!("http://127.0.0.1:{port}"),
            _process: process,
        })
    }

    fn ours(&self) -> String {
        self.fleet.url(0)
    }

    /// Asks both the same until they agree: theirs at once, ours within the freshness.
    async fn agree(&self, path: &str, key: &str, body: &Value) -> Value {
        let began = Instant::now();
        loop {
            let theirs = self.fleet.post_to(&self.theirs, path, key, body).await;
            let ours = self.fleet.post_to(&self.ours(), path, key, body).await;
            assert_eq!(
                (theirs.status, ours.status),
                (200, 200),
                "{} {}",
                theirs.json(),
                ours.json()
            );
            let (theirs, ours) = (plain(&theirs.json()), plain(&ours.json()));
            if theirs == ours {
                return ours;
            }
            assert!(
                began.elapsed() < Duration::from_secs(3),
                "{path} {body}\ntheirs {theirs:#}\nours {ours:#}"
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// What both must say alike, in one order: what is believed since when and what it replaced.
fn plain(list: &Value) -> Value {
    let told = [
        "subject",
        "predicate",
        "value",
        "kind",
        "source",
        "confidence",
        "observed_at",
        "event_id",
        "retraction",
        "evidence",
    ];
    let mut rows: Vec<Value> = list
        .as_array()
        .into_iter()
        .flatten()
        .map(|row| {
            let mut plain = serde_json::Map::new();
            for name in told {
                if let Some(value) = row.get(name) {
                    let value = value.as_f64().map_or_else(|| value.clone(), Value::from);
                    plain.insert(name.to_owned(), value);
                }
            }
            plain.into()
        })
        .collect();
    rows.sort_by_key(Value::to_string);
    rows.into()
}

on_each_store![
    beliefs_with_corrections_and_evidence_are_the_same_to_both,
    what_ours_wrote_the_published_server_finds_by_words_at_once,
    keys_of_either_open_both_and_a_revocation_by_either_closes_both,
];

async fn beliefs_with_corrections_and_evidence_are_the_same_to_both(kind: Kind) {
    let Some(both) = Both::start(kind) else {
        return;
    };
    let key = both.fleet.key(&json!({ "namespace": "Team:blue.1" })).await;
    let writes = [
        (
            "remember",
            json!({ "subject": "user", "predicate": "prefers_editor", "value": "vim" }),
        ),
        (
            "remember",
            json!({ "subject": "user", "predicate": "prefers_editor", "value": "Helix",
                             "source": "user_stated" }),
        ),
        (
            "remember",
            json!({ "subject": "user", "predicate": "likes", "value": "green tea" }),
        ),
        (
            "remember",
            json!({ "subject": "user", "predicate": "dislikes", "value": "green tea" }),
        ),
        (
            "remember",
            json!({ "subject": "User", "predicate": "age", "value": 42.5 }),
        ),
        (
            "remember",
            json!({ "subject": "user", "predicate": "remote", "value": true, "confidence": 0.25 }),
        ),
        (
            "remember",
            json!({ "subject": "user", "predicate": "allergic_to", "value": "ΣΊΣΥΦΟΣ İ" }),
        ),
        (
            "remember",
            json!({ "subject": "user", "predicate": "lives_in", "value": "Zürich 🦀" }),
        ),
        (
            "forget",
            json!({ "subject": "user", "predicate": "lives_in" }),
        ),
        (
            "forget",
            json!({ "subject": "user", "predicate": "allergic_to", "value": "ΣΊΣΥΦΟΣ İ" }),
        ),
    ];
    // Each is written by one and read by both, in turn.
    for (n, (act, body)) in writes.iter().enumerate() {
        let writer = if n % 2 == 0 {
            both.theirs.clone()
        } else {
            both.ours()
        };
        let answer = both
            .fleet
            .post_to(&writer, &format!("/v1/{act}"), &key, body)
            .await;
        assert_eq!(answer.status, 200, "{act} {body}: {}", answer.json());
        let pair = about(body["predicate"].as_str().expect("a predicate"));
        both.agree("/v1/recall", &key, &pair).await;
    }
    for predicate in [
        "prefers_editor",
        "likes",
        "dislikes",
        "age",
        "remote",
        "allergic_to",
        "lives_in",
    ] {
        let beliefs = both.agree("/v1/recall", &key, &about(predicate)).await;
        let events = both.agree("/v1/history", &key, &about(predicate)).await;
        assert!(
            !events.as_array().expect("events").is_empty(),
            "{predicate}"
        );
        let none = ["likes", "allergic_to", "lives_in"].contains(&predicate);
        assert_eq!(
            beliefs.as_array().expect("beliefs").is_empty(),
            none,
            "{predicate}: {beliefs}"
        );
    }
}

async fn what_ours_wrote_the_published_server_finds_by_words_at_once(kind: Kind) {
    let Some(both) = Both::start(kind) else {
        return;
    };
    let key = both.fleet.key(&json!({ "namespace": "team:a" })).await;
    let fact = fact("prefers_editor", "helix");
    assert_eq!(
        both.fleet
            .post_to(&both.ours(), "/v1/remember", &key, &fact)
            .await
            .status,
        200
    );
    for server in [both.ours(), both.theirs.clone()] {
        let answer = both
            .fleet
            .post_to(
                &server,
                "/v1/recall",
                &key,
                &json!({ "query": "helix editor" }),
            )
            .await;
        assert_eq!(answer.json()[0]["value"], "helix", "{}", answer.json());
    }
}

async fn keys_of_either_open_both_and_a_revocation_by_either_closes_both(kind: Kind) {
    let Some(both) = Both::start(kind) else {
        return;
    };
    let admin = &both.fleet.admin;
    for (minter, revoker) in [
        (both.ours(), both.theirs.clone()),
        (both.theirs.clone(), both.ours()),
    ] {
        let spec = json!({ "namespace": "team:a", "note": "n", "session": "s" });
        let key = both
            .fleet
            .http
            .mint(&minter, admin, &spec)
            .await
            .expect("a key");
        for server in [both.ours(), both.theirs.clone()] {
            let answer = both
                .fleet
                .post_to(&server, "/v1/recall", &key, &about("role"))
                .await;
            assert_eq!(answer.status, 200, "{server}: {}", answer.json());
        }
        let id = key.split('_').nth(1).expect("an id");
        let bearer = format!("Bearer {admin}");
        let url = format!("{revoker}/v1/keys/{id}");
        let revoked = both
            .fleet
            .http
            .send("DELETE", &url, &[("authorization", &bearer)], "")
            .await;
        assert!(revoked.expect("an answer").status < 300);
        let began = Instant::now();
        for server in [both.ours(), both.theirs.clone()] {
            while both
                .fleet
                .post_to(&server, "/v1/recall", &key, &about("role"))
                .await
                .status
                != 401
            {
                assert!(
                    began.elapsed() < Duration::from_secs(2),
                    "{server} still takes it"
                );
            }
        }
    }
}

/// What a run leaves behind.
async fn work(both: &Both, server: &str, key: &str, session: &str) -> Value {
    let context = call(&both.fleet.http, server, key, "agent_resume", json!({}))
        .await
        .expect("it is free");
    let steps = [
        (
            "record_turn",
            json!({ "role": "user", "content": format!("hello from {session}") }),
        ),
        (
            "record_turn",
            json!({ "role": "assistant", "content": "hi" }),
        ),
        (
            "update_working_state",
            json!({ "goal": format!("goal of {session}"), "plan": ["a", "b"] }),
        ),
        (
            "store_output",
            json!({ "tool": "sh", "content": format!("output of {session}") }),
        ),
        (
            "set_pointer",
            json!({ "name": "repo", "type": "git_ref", "fields": { "branch": session } }),
        ),
        (
            "begin_action",
            json!({ "tool": "deploy", "class": "external" }),
        ),
    ];
    for (tool, arguments) in steps {
        let done = call(&both.fleet.http, server, key, tool, arguments).await;
        done.unwrap_or_else(|text| panic!("{tool} on {server}: {text}"));
    }
    context
}

#[tokio::test(flavor = "multi_thread")]
async fn polign_either_carries_on_what_the_other_left_and_respects_its_lease() {
    let Some(both) = Both::start(Kind::Polign) else {
        return;
    };
    let http = &both.fleet.http;
    let key = both.fleet.key(&json!({ "namespace": "team:a" })).await;
    let mut rounds = 0;
    for (first, second) in [
        (both.theirs.clone(), both.ours()),
        (both.ours(), both.theirs.clone()),
    ] {
        rounds += 1;
        let session = format!("round {rounds}");
        let before = work(&both, &first, &key, &session).await;
        // While one holds it, the other does not get it.
        let refusal = call(http, &second, &key, "agent_resume", json!({}))
            .await
            .expect_err("it is held");
        assert!(refusal.contains("lease is held"), "{second}: {refusal}");
        call(http, &first, &key, "agent_release", json!({}))
            .await
            .expect("it is the holder's");
        let after = call(http, &second, &key, "agent_resume", json!({}))
            .await
            .expect("it is free");
        assert!(
            after["epoch"].as_u64() > before["epoch"].as_u64(),
            "{before} {after}"
        );
        assert_eq!(after["fresh"], false);
        assert_eq!(after["turn_seq"], 2 * rounds);
        assert_eq!(after["working_state"]["goal"], format!("goal of {session}"));
        assert_eq!(after["pointers"][0]["fields"]["branch"], session);
        assert_eq!(
            after["pending_actions"].as_array().expect("actions").len(),
            rounds
        );
        let turns = after["recent_turns"].as_array().expect("turns");
        assert_eq!(
            turns[2 * rounds - 2]["content"],
            format!("hello from {session}")
        );
        let outputs = after["outputs"].as_array().expect("outputs");
        let summaries: Vec<_> = outputs
            .iter()
            .map(|output| output["summary"].clone())
            .collect();
        assert!(
            summaries.contains(&json!(format!("output of {session}"))),
            "{second}: {summaries:?}"
        );
        let reference = outputs[0]["ref"].as_str().expect("a reference");
        let output = call(
            http,
            &second,
            &key,
            "fetch_output",
            json!({ "ref": reference }),
        )
        .await
        .expect("it is there");
        assert!(
            output["content"]
                .as_str()
                .expect("a text")
                .starts_with("output of"),
            "{output}"
        );
        call(http, &second, &key, "agent_release", json!({}))
            .await
            .expect("it is the holder's");
    }
}
