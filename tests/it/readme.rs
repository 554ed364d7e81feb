//! The README's examples work as pasted.

use std::process::Command;

use super::*;

/// The fenced blocks of a language.
fn blocks(language: &str) -> Vec<String> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let text = std::fs::read_to_string(path).expect("a README");
    let fence = format!("```{language}\n");
    text.split(&fence)
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap_or_default().to_owned())
        .collect()
}

fn block(language: &str, holding: &str) -> String {
    let found = blocks(language)
        .into_iter()
        .find(|block| block.contains(holding));
    found.unwrap_or_else(|| panic!("the README has no {language} block with {holding}"))
}

/// What a program says on both streams; it must end well.
fn said(command: &mut Command) -> (String, String) {
    let output = command.output().expect("it starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
    (out, err)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_key_and_curl_examples_work_as_pasted() {
    let running = Running::start(&[]);
    // The block sets the default address and finds the key of the default folder; the test's server
    // has others.
    let make_key = block("sh", "recall key create")
        .replace("http://127.0.0.1:8080", &running.server.url)
        .replace(
            "$PWD/target/release",
            &programs::folder().expect("built").display().to_string(),
        );
    // A second key can be made in the same shell, although a memory's key is exported by then.
    let again = "recall key create --namespace demo:other";
    let script = format!("set -eu\n{make_key}\n{}\n{again}", block("sh", "curl -s"));
    let mut command = Command::new("bash");
    command
        .arg("-c")
        .arg(&script)
        .env("RECALL_DATA_DIR", running.dir.path().join("recall-data"))
        .env_remove("RECALL_API_KEY");
    let (out, err) = said(&mut command);
    assert!(
        out.contains("\"kept_as_text\":true")
            && out.contains("is helix.")
            && out.contains("namespace: demo:other"),
        "{out}{err}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_of_the_typed_surface_works_as_pasted() {
    let running = Running::start(&["--surface=typed"]);
    let script = format!("set -eu\n{}", block("sh", "/v1/history"));
    let mut command = Command::new("bash");
    command
        .arg("-c")
        .arg(&script)
        .env("RECALL_URL", &running.server.url)
        .env("RECALL_API_KEY", running.key("demo:me").await);
    let (out, err) = said(&mut command);
    let history = out.rsplit_once("}{").map_or("", |(_, history)| history);
    assert!(
        history.contains("vim") && history.contains("helix"),
        "{out}{err}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_python_example_works_as_pasted() {
    let Some(python) = std::env::var_os("RECALL_PYTHON") else {
        let required = std::env::var("RECALL_REQUIRE").unwrap_or_default();
        assert!(
            !required.contains("python"),
            "RECALL_PYTHON is not set: run cargo xtask test --only e2e"
        );
        return;
    };
    let running = Running::start(&[]);
    let key = running.key("demo:me").await;
    let mut command = Command::new(python);
    command
        .arg("-c")
        .arg(block("python", "polign_recall"))
        .env("RECALL_URL", &running.server.url)
        .env("RECALL_API_KEY", key);
    let (out, err) = said(&mut command);
    assert!(out.contains("The user deploys on Fridays."), "{out}{err}");
}

#[test]
fn every_crate_stands_in_the_table() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let readme = std::fs::read_to_string(root.join("README.md")).expect("a README");
    for entry in std::fs::read_dir(root.join("crates")).expect("crates") {
        let name = entry
            .expect("an entry")
            .file_name()
            .into_string()
            .expect("text");
        assert!(
            readme.contains(&format!("(crates/{name})")),
            "{name} is not in the README's table"
        );
    }
}

#[test]
fn links_between_documents_lead_somewhere() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for document in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = std::fs::read_to_string(root.join(document)).expect(document);
        for link in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            let inner = !link.starts_with("http") && !link.starts_with('#');
            assert!(
                !inner || root.join(link).exists(),
                "{document} links to {link}"
            );
        }
    }
}
