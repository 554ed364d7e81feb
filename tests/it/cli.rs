//! What the command line says when there is nothing to show, and where it looks for keys.

use std::process::{Command, Output};

use super::*;

fn recall(running: &Running, key: &str, arguments: &[&str]) -> Output {
    Command::new(programs::folder().expect("built").join("recall"))
        .args(arguments)
        .env_clear()
        .env("RECALL_URL", &running.server.url)
        .env("RECALL_API_KEY", key)
        .output()
        .expect("it starts")
}

/// Nothing on standard output, and a reason on standard error.
#[track_caller]
fn says(output: &Output, part: &str) {
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{out}{err}");
    assert_eq!(out, "", "talk is no data");
    assert!(err.contains(part), "{err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_answer_is_told_in_words() {
    let running = Running::start(&[]);
    let key = running.key("team:a").await;
    says(
        &recall(&running, &key, &["ask", "anything"]),
        "this memory is empty",
    );
    says(
        &recall(&running, &key, &["history", "the cat"]),
        "this memory is empty",
    );
    says(
        &recall(&running, &key, &["diff", "--from", "7d"]),
        "nothing",
    );
    let kept = json!({ "text": "My cat is called Figaro." });
    assert_eq!(running.post("/v1/remember", &key, &kept).await.status, 200);
    says(
        &recall(&running, &key, &["ask", "quartz telescope"]),
        "fits the question",
    );
    says(&recall(&running, &key, &["history", "cat"]), "kept whole");
    let agents = ["agents", "list", "--namespace", "team:a"];
    says(
        &recall(&running, &running.admin, &agents),
        "no agent was ever resumed in team:a",
    );
    let found = recall(&running, &key, &["ask", "cat"]);
    assert!(String::from_utf8_lossy(&found.stdout).contains("Figaro"));
    assert_eq!(String::from_utf8_lossy(&found.stderr), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_subject_is_told_from_an_empty_memory() {
    let running = Running::start(&["--surface=typed"]);
    let key = running.key("team:a").await;
    let fact = json!({ "subject": "user", "predicate": "role", "value": "pilot" });
    assert_eq!(running.post("/v1/remember", &key, &fact).await.status, 200);
    let history = |subject: &str, predicate: &str| {
        let arguments = ["history", "--subject", subject, "--predicate", predicate];
        recall(&running, &key, &arguments)
    };
    says(&history("usre", "role"), "this subject");
    says(&history("user", "rolle"), "no such predicate");
}

/// A server that keeps its data elsewhere made its admin key there.
#[tokio::test(flavor = "multi_thread")]
async fn the_admin_key_of_another_data_directory_is_named() {
    let running = Running::start(&[]);
    let home = tempfile::tempdir().expect("a folder");
    let list = |data: Option<&std::path::Path>| {
        let mut command = Command::new(programs::folder().expect("built").join("recall"));
        command
            .args(["key", "list"])
            .env_clear()
            .env("HOME", home.path())
            .env("RECALL_URL", &running.server.url);
        if let Some(data) = data {
            command.env("RECALL_DATA_DIR", data);
        }
        command.output().expect("it starts")
    };
    let said = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let none = said(&list(None));
    let usual = home.path().join(".local/share/recall/admin.key");
    assert!(none.contains(&usual.display().to_string()), "{none}");
    assert!(
        none.contains("--data-dir DIR") && none.contains("--key-file"),
        "{none}"
    );
    // The key of a server that ran here before.
    std::fs::create_dir_all(usual.parent().expect("a folder")).expect("a folder");
    std::fs::write(
        &usual,
        "rcl_00000000000000aa_0123456789abcdef0123456789abcdef",
    )
    .expect("a file");
    let stale = said(&list(None));
    assert!(
        stale.contains("HTTP 401") && stale.contains("--data-dir DIR"),
        "{stale}"
    );
    let named = list(Some(&running.dir.path().join("recall-data")));
    assert!(named.status.success(), "{}", said(&named));
}

/// Whoever gets hold of the address that a command goes to must not get the admin key of this machine.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn the_admin_key_of_this_machine_is_sent_to_no_other_address() {
    let data = tempfile::tempdir().expect("a folder");
    let key = "rcl_00000000000000aa_0123456789abcdef0123456789abcdef";
    std::fs::write(data.path().join("admin.key"), key).expect("a file");
    let stranger = std::net::TcpListener::bind("127.0.0.2:0").expect("an address");
    stranger.set_nonblocking(true).expect("it is looked at");
    let url = format!("http://{}", stranger.local_addr().expect("an address"));
    for arguments in [
        &["key", "list"][..],
        &["agents", "list", "--namespace", "team:a"],
    ] {
        let output = Command::new(programs::folder().expect("built").join("recall"))
            .args(arguments)
            .env_clear()
            .env("HOME", data.path())
            .env("RECALL_URL", &url)
            .env("RECALL_DATA_DIR", data.path())
            .output()
            .expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{said}");
        assert!(
            said.contains("--key-file") && said.contains("another machine"),
            "{said}"
        );
        let came = stranger.accept().map(|_| ());
        assert_eq!(
            came.map_err(|error| error.kind()),
            Err(std::io::ErrorKind::WouldBlock),
            "{arguments:?} asked a stranger"
        );
    }
}
