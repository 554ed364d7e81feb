//! The published server's own local store is served by ours, by the commands of docs/moving.md.

use std::path::Path;
use std::process::Command;

use recall_testkit::process::{Process, free_port, tail, wait_until};

use super::*;

/// What the page says, and only in this test stands otherwise.
const FOLDER: &str = "store=~/.local/share/recall";
const PORTS: [&str; 2] = ["23000", "23001"];

fn listens(port: u16) -> bool {
    std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
}

/// Starts a program and waits until it listens.
fn start(name: &str, command: &mut Command, dir: &Path, port: u16) -> Process {
    let log = dir.join(format!("{name}.log"));
    let mut process = Process::start(name, command, &log).expect("it starts");
    wait_until(&mut process, || listens(port))
        .unwrap_or_else(|error| panic!("{error}: {}", tail(&log)));
    process
}

/// The commands of the page, one a line: the folder, the database, the server.
fn commands() -> Vec<String> {
    let page = include_str!("../../../docs/moving.md");
    let at = page.find(FOLDER).expect("the page names the folder");
    let block = page[at..].split("```").next().unwrap_or_default();
    let joined = block.replace("\\\n", " ");
    joined
        .lines()
        .map(|line| line.trim().to_owned())
        .filter(|line| !line.is_empty())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn polign_of_the_published_server_is_taken_over_by_the_page() {
    let Some(published) = std::env::var_os("RECALL_ORIGINAL") else {
        return;
    };
    let Some(database) = recall_testkit::polign::program() else {
        return;
    };
    let dir = tempfile::tempdir().expect("a folder");
    let admin_file = dir.path().join("admin.key");
    std::fs::write(&admin_file, programs::ADMIN).expect("written");
    let http = Client::default();
    let store = dir.path().join("recall");
    let key = {
        let port = free_port().expect("a port");
        let mut command = Command::new(published);
        command
            .args(["serve", "-typed", "-listen"])
            .arg(format!("127.0.0.1:{port}"))
            .arg("-bootstrap-key-file")
            .arg(&admin_file)
            .env("HOME", dir.path())
            .env("RECALL_HOME", &store)
            .env_remove("RECALL_URL");
        let mut process = start("published", &mut command, dir.path(), port);
        let url = format!("http://127.0.0.1:{port}");
        let spec = json!({ "namespace": "team:a" });
        let key = http
            .mint(&url, programs::ADMIN, &spec)
            .await
            .expect("a key");
        for value in ["vim", "helix"] {
            let told = http
                .post(
                    &format!("{url}/v1/remember"),
                    &key,
                    &fact("prefers_editor", value),
                )
                .await;
            assert_eq!(told.expect("an answer").status, 200);
        }
        // The database that it runs outlives it, and holds the store.
        let family = recall_testkit::process::Stamp::family(process.pid());
        process.stop().expect("it ends");
        family.iter().for_each(recall_testkit::process::Stamp::end);
        let began = Instant::now();
        while family.iter().any(recall_testkit::process::Stamp::runs) {
            assert!(began.elapsed() < DEADLINE, "its database does not end");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        key
    };

    let commands = commands();
    let [folder, start_database, start_server] = commands.as_slice() else {
        panic!("the page has three commands: {commands:?}");
    };
    let ports = [free_port().expect("a port"), free_port().expect("a port")];
    let here = |command: &str, program: &Path| {
        let mut text = format!("{folder}; exec {command}")
            .replace(FOLDER, &format!("store={}", store.display()));
        for (written, port) in PORTS.iter().zip(ports) {
            text = text.replace(written, &port.to_string());
        }
        let path = program.parent().expect("it is in a folder");
        let mut shell = Command::new("sh");
        shell
            .arg("-c")
            .arg(text)
            .env("HOME", dir.path())
            .env("PATH", format!("{}:/usr/bin:/bin", path.display()))
            .current_dir(dir.path());
        shell
    };
    let _database = start(
        "database",
        &mut here(start_database, &database),
        dir.path(),
        ports[0],
    );
    let port = free_port().expect("a port");
    let server = programs::folder().expect("built").join("recall-server");
    let own = format!(
        "{start_server} --surface=typed --listen=127.0.0.1:{port} --admin-listen=127.0.0.1:0 --data-dir={}",
        dir.path().join("ours").display()
    );
    let _server = start("ours", &mut here(&own, &server), dir.path(), port);
    let url = format!("http://127.0.0.1:{port}");
    let found = http
        .post(&format!("{url}/v1/recall"), &key, &about("prefers_editor"))
        .await
        .expect("an answer");
    assert_eq!(value_of(&found).as_deref(), Some("helix"));
    let history = http
        .post(&format!("{url}/v1/history"), &key, &about("prefers_editor"))
        .await
        .expect("an answer");
    assert_eq!(history.json().as_array().expect("events").len(), 2);
}
