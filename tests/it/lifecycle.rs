//! Starting, stopping, being killed, and refusing to start.

use std::process::Command;

use super::*;

fn output(flags: &[&str]) -> (Option<i32>, String) {
    let program = programs::folder().expect("built").join("recall-server");
    let output = Command::new(program)
        .args(flags)
        .output()
        .expect("it starts");
    (
        output.status.code(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_start_makes_an_admin_key_for_the_owner_alone() {
    let mut running = Running::start(&[]);
    let path = running.dir.path().join("recall-data/admin.key");
    let first = std::fs::read_to_string(&path).expect("it was made");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&path)
            .expect("it is there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    assert!(
        running
            .server
            .read_log()
            .expect("a log")
            .contains("admin.key"),
        "the log names the file"
    );
    assert_eq!(running.get("/v1/keys", &running.admin).await.status, 200);
    running.server.process().stop().expect("it ends");
    let again = programs::server(running.dir.path(), "recall", &[]).expect("it starts again");
    assert_eq!(std::fs::read_to_string(&path).expect("it is there"), first);
    drop(again);
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_drains_and_ends_with_0_and_nothing_is_lost() {
    let mut running = Running::start(&["--surface=typed"]);
    let key = running.key("team:a").await;
    let fact = json!({ "subject": "user", "predicate": "prefers_editor", "value": "helix" });
    assert_eq!(running.post("/v1/remember", &key, &fact).await.status, 200);
    assert_eq!(
        running.server.process().stop().expect("it ends by itself"),
        0
    );
    let server =
        programs::server(running.dir.path(), "recall", &["--surface=typed"]).expect("it starts");
    let url = format!("{}/v1/recall", server.url);
    let found = running
        .http
        .post(&url, &key, &json!({ "subject": "user" }))
        .await
        .expect("an answer");
    assert_eq!(found.json()[0]["value"], "helix");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_admin_listener_tells_health_and_the_api_does_not() {
    let running = Running::start(&[]);
    for path in ["/livez", "/readyz"] {
        let url = format!("{}{path}", running.server.admin_url);
        let answer = running
            .http
            .send("GET", &url, &[], "")
            .await
            .expect("an answer");
        assert_eq!(
            (answer.status, answer.body.as_ref()),
            (200, &b"ok\n"[..]),
            "{path}"
        );
    }
    assert_eq!(
        running.get("/healthz", "").await.status,
        200,
        "so that there is a request to count"
    );
    let url = format!("{}/metrics", running.server.admin_url);
    let metrics = running
        .http
        .send("GET", &url, &[], "")
        .await
        .expect("an answer");
    let text = String::from_utf8(metrics.body.to_vec()).expect("text");
    assert!(
        text.contains("# TYPE recall_http_requests counter"),
        "{text}"
    );
    assert!(text.ends_with("# EOF\n"), "OpenMetrics ends so");
    for path in ["/metrics", "/readyz", "/livez"] {
        let url = format!("{}{path}", running.server.url);
        assert_eq!(
            running
                .http
                .send("GET", &url, &[], "")
                .await
                .expect("an answer")
                .status,
            404
        );
    }
    let data = format!("{}/v1/recall", running.server.admin_url);
    let answer = running
        .http
        .post(&data, &running.admin, &json!({}))
        .await
        .expect("an answer");
    assert_eq!(answer.status, 404, "the admin listener serves no data");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_server_on_the_same_folder_is_told_who_holds_it() {
    let mut running = Running::start(&[]);
    let pid = running.server.process().pid();
    let data = format!(
        "--data-dir={}",
        running.dir.path().join("recall-data").display()
    );
    let (code, text) = output(&[&data, "--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0"]);
    assert_eq!(code, Some(69), "{text}");
    assert!(text.contains(&format!("in use by process {pid}")), "{text}");
    assert!(text.contains("over HTTP"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_ends_the_start_with_70_and_changes_nothing() {
    let mut running = Running::start(&[]);
    running.key("team:a").await;
    running.server.process().stop().expect("it ends");
    let file = running.dir.path().join("recall-data/recall.redb");
    let whole = std::fs::read(&file).expect("it is there");
    std::fs::write(&file, &whole[..whole.len() / 2]).expect("it can be cut");
    let data = format!(
        "--data-dir={}",
        running.dir.path().join("recall-data").display()
    );
    let (code, text) = output(&[&data, "--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0"]);
    assert_eq!(code, Some(70), "{text}");
    assert!(text.contains("damaged store"), "{text}");
    assert_eq!(
        std::fs::read(&file).expect("it is there").len(),
        whole.len() / 2
    );
}

#[test]
fn bad_settings_end_the_start_with_64_and_one_sentence() {
    for (flags, expected) in [
        (
            &["--surface=both"][..],
            "--surface \"both\" (flag): must be text or typed",
        ),
        (&["--listn=x"], "--listn"),
        (
            &["--backend=memory", "--kubernetes", "--kubernetes-audience="],
            "--kubernetes-audience",
        ),
        (
            &["--backend=memory", "--log-filter=recall=loud"],
            "--log-filter",
        ),
        (
            &["--backend=memory", "--keys-file=/no/such/file"],
            "--keys-file /no/such/file",
        ),
        (&["--backend=memory", "--kubernetes"], "no API server"),
    ] {
        let (code, text) = output(flags);
        assert_eq!(code, Some(64), "{flags:?}: {text}");
        let last = text.lines().last().unwrap_or_default();
        assert!(
            last.starts_with("recall-server: ") && last.contains(expected),
            "{flags:?}: {text}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bootstrap_and_static_keys_come_from_files() {
    let dir = tempfile::tempdir().expect("a folder");
    let (bootstrap, keys) = (dir.path().join("bootstrap"), dir.path().join("keys"));
    let admin = format!("rcl_00112233445566ff_{}", "x".repeat(32));
    std::fs::write(&bootstrap, format!("{admin}\n")).expect("a file");
    std::fs::write(&keys, "# fixed\nplain-secret team:fixed\n").expect("a file");
    let flags = [
        format!("--bootstrap-key-file={}", bootstrap.display()),
        format!("--keys-file={}", keys.display()),
    ];
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let server = programs::server(dir.path(), "recall", &flags).expect("it starts");
    assert!(
        !dir.path().join("recall-data/admin.key").exists(),
        "no second admin key is made"
    );
    let http = Client::default();
    let (keys, bearer) = (format!("{}/v1/keys", server.url), format!("Bearer {admin}"));
    let headers = [("authorization", bearer.as_str())];
    let listed = http
        .send("GET", &keys, &headers, "")
        .await
        .expect("an answer")
        .json();
    assert_eq!(listed["keys"][0]["note"], "bootstrap admin key");
    let url = format!("{}/v1/remember", server.url);
    let kept = http
        .post(&url, "plain-secret", &json!({ "text": "tea" }))
        .await
        .expect("an answer");
    assert_eq!(kept.status, 200);
    let renew = format!("{}/v1/keys/renew", server.url);
    assert_eq!(
        http.post(&renew, "plain-secret", &json!({}))
            .await
            .expect("an answer")
            .status,
        400
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_was_lost_takes_its_admin_key_again() {
    let mut running = Running::start(&[]);
    running.server.process().stop().expect("it ends");
    let data = running.dir.path().join("recall-data");
    for file in ["recall.redb", "store.json"] {
        std::fs::remove_file(data.join(file)).expect("it is there");
    }
    let server = programs::server(running.dir.path(), "recall", &[]).expect("it starts");
    let (url, bearer) = (
        format!("{}/v1/keys", server.url),
        format!("Bearer {}", running.admin),
    );
    let listed = running
        .http
        .send("GET", &url, &[("authorization", bearer.as_str())], "")
        .await;
    assert_eq!(listed.expect("an answer").status, 200);
}
