//! The whole story, step by step, with what each step proves and how long it took.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use recall_e2e::http::Client;
use recall_e2e::programs;
use recall_e2e::world::{PodSpec, World};
use serde_json::{Value, json};

const TENANT: &str = "agents";
const POD: &str = "demo-1";
const LABEL: &str = "sandbox.users.io/agent";
const FACT: &str = "The user prefers helix and deploys on Fridays.";

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let simulated = arguments.iter().any(|argument| argument == "--simulated");
    let json_file = arguments.iter().position(|argument| argument == "--json");
    let json_file = json_file
        .and_then(|at| arguments.get(at + 1))
        .map(PathBuf::from);
    let world = if simulated {
        World::simulated().await?
    } else {
        World::real().await?
    };
    let mut story = Story::default();
    tell(&world, &mut story).await?;
    story.finish(simulated, json_file.as_deref())
}

async fn tell(world: &World, story: &mut Story) -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let http = Client::default();

    world.tenant(TENANT).await?;
    let access = world.server_account(dir.path()).await?;
    let began = Instant::now();
    let label = format!("--kubernetes-agent-label={LABEL}");
    let access_flags = access.flags();
    let mut flags: Vec<&str> = access_flags.iter().map(String::as_str).collect();
    flags.extend([label.as_str(), "--surface=text"]);
    let server = programs::server(dir.path(), "recall", &flags)?;
    story.step(
        "server started",
        began,
        "one program, its own store, no database beside it",
    );

    let uid = world.add_pod(pod(POD)).await?;
    let token = world.token(TENANT, POD, "recall").await?;
    let began = Instant::now();
    let answer = http.exchange(&server.url, &token).await?;
    ensure!(
        answer.status == 201,
        "the exchange was refused: {}",
        answer.json()
    );
    let first = answer.json();
    ensure!(first["namespace"] == "agents:demo-1", "{first}");
    story.step(
        "token exchanged",
        began,
        "the API server vouches for the pod; the key reaches agents:demo-1 alone",
    );

    let key = text(&first, "key")?;
    let began = Instant::now();
    remember(&server.url, &key, dir.path(), &token)?;
    story.step(
        "remembered",
        began,
        &format!("{} wrote; what is acknowledged is on disk", client_name()),
    );
    let began = Instant::now();
    ensure!(
        recall(&server.url, &key, dir.path(), &token)?.contains("helix"),
        "it is not found"
    );
    story.step(
        "recalled",
        began,
        "the very next call finds it, by its words",
    );

    refuse(world, &http, &server.url, &key, story).await?;

    world.delete_pod(TENANT, POD).await?;
    let began = Instant::now();
    let gone = http.exchange(&server.url, &token).await?;
    ensure!(
        gone.status == 401,
        "a dead pod's token was taken: {}",
        gone.json()
    );
    story.step(
        "pod deleted: token refused",
        began,
        &format!("HTTP 401 {}", gone.code()),
    );

    let began = Instant::now();
    let new_uid = world.add_pod(pod(POD)).await?;
    ensure!(new_uid != uid, "the new pod is another one");
    let token = world.token(TENANT, POD, "recall").await?;
    let answer = http.exchange(&server.url, &token).await?;
    ensure!(
        answer.status == 201,
        "the exchange was refused: {}",
        answer.json()
    );
    let key = text(&answer.json(), "key")?;
    ensure!(
        recall(&server.url, &key, dir.path(), &token)?.contains("helix"),
        "the memory is lost"
    );
    story.step(
        "pod made again: memory found",
        began,
        "another UID, the same name: the agent carries on",
    );

    restart(world, &http, server, dir.path(), &flags, story).await
}

/// What must not work.
async fn refuse(
    world: &World,
    http: &Client,
    server: &str,
    key: &str,
    story: &mut Story,
) -> anyhow::Result<()> {
    let token = world.token(TENANT, POD, "vault").await?;
    let began = Instant::now();
    let answer = http.exchange(server, &token).await?;
    ensure!(
        answer.status == 401 && answer.code() == "token_rejected",
        "{}",
        answer.json()
    );
    story.step(
        "token for another audience refused",
        began,
        "HTTP 401 token_rejected",
    );

    world.add_pod(pod("other-1")).await?;
    let other = world.token(TENANT, "other-1", "recall").await?;
    let other = http.exchange(server, &other).await?.json();
    let other_key = text(&other, "key")?;
    let url = format!("{server}/v1/recall");
    let began = Instant::now();
    let stolen = http
        .post(
            &url,
            &other_key,
            &json!({ "namespace": "agents:demo-1", "question": "editor" }),
        )
        .await?;
    ensure!(
        stolen.status == 403 && stolen.code() == "namespace_mismatch",
        "{}",
        stolen.json()
    );
    let own = http
        .post(&url, &other_key, &json!({ "question": "which editor?" }))
        .await?;
    ensure!(
        own.json()["memories"] == json!([]),
        "another agent's memory shows: {}",
        own.json()
    );
    story.step(
        "another pod sees nothing of it",
        began,
        "HTTP 403 namespace_mismatch; its own memory is empty",
    );

    let began = Instant::now();
    let (keys, bearer) = (format!("{server}/v1/keys"), format!("Bearer {key}"));
    let admin = http
        .send("GET", &keys, &[("authorization", &bearer)], "")
        .await?;
    ensure!(
        admin.status == 403,
        "a pod's key manages keys: {}",
        admin.json()
    );
    story.step("a pod's key manages nothing", began, "HTTP 403 forbidden");
    Ok(())
}

/// kill -9 between two calls: nothing acknowledged is lost.
async fn restart(
    world: &World,
    http: &Client,
    mut server: recall_testkit::process::Server,
    dir: &Path,
    flags: &[&str],
    story: &mut Story,
) -> anyhow::Result<()> {
    server.process().kill()?;
    drop(server);
    let began = Instant::now();
    let server = programs::server(dir, "recall", flags)?;
    let token = world.token(TENANT, POD, "recall").await?;
    let key = text(&http.exchange(&server.url, &token).await?.json(), "key")?;
    ensure!(
        recall(&server.url, &key, dir, &token)?.contains("helix"),
        "the memory is lost"
    );
    story.step(
        "server killed (-9) and started again",
        began,
        "the memory is there",
    );
    Ok(())
}

fn pod(name: &str) -> PodSpec<'_> {
    // The agent's name is its label; in this story both are the pod's name.
    let labels: &'static [(&str, &str)] = if name == POD {
        &[(LABEL, "demo-1")]
    } else {
        &[(LABEL, "other-1")]
    };
    PodSpec {
        namespace: TENANT,
        name,
        labels,
    }
}

fn text(value: &Value, name: &str) -> anyhow::Result<String> {
    value[name]
        .as_str()
        .map(str::to_owned)
        .with_context(|| format!("no {name} in {value}"))
}

/// The published Python client where there is a Python, else the `recall` program.
fn client_name() -> &'static str {
    match std::env::var_os("RECALL_PYTHON") {
        Some(_) => "the published Python client",
        None => "the recall program",
    }
}

const REMEMBER: &str = "import sys; from polign_recall import Client\n\
    with Client.from_env() as memory: print(memory.remember(text=sys.argv[1]).kept_as_text)";
const ASK: &str = "from polign_recall import Client\n\
    with Client.from_env() as memory: print([found.text for found in memory.ask('Which editor does the user prefer?')])";

fn remember(server: &str, key: &str, dir: &Path, token: &str) -> anyhow::Result<()> {
    let python = client(
        server,
        key,
        dir,
        token,
        &["-c", REMEMBER, FACT],
        &["remember", FACT],
    )?;
    run(python).map(drop)
}

fn recall(server: &str, key: &str, dir: &Path, token: &str) -> anyhow::Result<String> {
    run(client(
        server,
        key,
        dir,
        token,
        &["-c", ASK],
        &["ask", "Which editor does the user prefer?"],
    )?)
}

/// The published client gets the token, as in a pod; the recall program gets the key.
fn client(
    server: &str,
    key: &str,
    dir: &Path,
    token: &str,
    python: &[&str],
    program: &[&str],
) -> anyhow::Result<Command> {
    let mut command = match std::env::var_os("RECALL_PYTHON") {
        Some(interpreter) => {
            let token_file = dir.join("pod.token");
            std::fs::write(&token_file, token)?;
            let mut command = Command::new(interpreter);
            command
                .args(python)
                .env("RECALL_TOKEN_FILE", token_file)
                .env_remove("RECALL_API_KEY");
            command
        }
        None => {
            let mut command = Command::new(programs::folder()?.join("recall"));
            command
                .args(program)
                .env("RECALL_API_KEY", key)
                .env_remove("RECALL_TOKEN_FILE");
            command
        }
    };
    command.env("RECALL_URL", server);
    Ok(command)
}

fn run(mut command: Command) -> anyhow::Result<String> {
    let output = command.output()?;
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    ensure!(output.status.success(), "the client failed: {err}");
    Ok(out.into_owned())
}

/// The steps so far.
#[derive(Default)]
struct Story {
    steps: Vec<(&'static str, Duration)>,
}

impl Story {
    fn step(&mut self, name: &'static str, began: Instant, proves: &str) {
        let took = began.elapsed();
        print(&format!(
            "{:>2}. {name} ({} ms)\n    {proves}",
            self.steps.len() + 1,
            took.as_millis()
        ));
        self.steps.push((name, took));
    }

    fn finish(&self, simulated: bool, json_file: Option<&Path>) -> anyhow::Result<()> {
        print("\n  step                                     ms");
        for (name, took) in &self.steps {
            print(&format!(
                "  {name:<38} {:>6.1}",
                took.as_secs_f64() * 1000.0
            ));
        }
        if let Some(path) = json_file {
            let steps: Vec<_> = self
                .steps
                .iter()
                .map(|(name, took)| json!({ "step": name, "ms": took.as_secs_f64() * 1000.0 }))
                .collect();
            let api_server = if simulated { "simulated" } else { "real" };
            let table = json!({ "api_server": api_server, "steps": steps });
            std::fs::write(path, serde_json::to_string_pretty(&table)?)?;
        }
        print("\nThe story holds.");
        Ok(())
    }
}

fn print(line: &str) {
    use std::io::Write;
    // A closed pipe is the reader's choice.
    let _ = writeln!(std::io::stdout(), "{line}");
}
