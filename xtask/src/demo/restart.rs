//! A container that is killed and started again by the kubelet, in the same pod: the agent goes on at
//! once, under the epoch it had.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::ground::Ground;
use super::pods::SANDBOX;
use super::report::Report;
use crate::shell::run;

/// What the agent's process is called by its arguments.
const PROGRAM: &str = "agent.py";

/// Kills the agent's process as a crash would, from the node, and follows the pod.
pub(super) fn tell(ground: &Ground, report: &mut Report) -> anyhow::Result<()> {
    ground.hear(SANDBOX, |event| event["event"] == "resumed")?;
    // It came again when its server was replaced: the last time counts.
    let mut resumes = said(ground, |event| event["event"] == "resumed")?;
    let before = resumes.pop().context("it has resumed")?;
    let step = ground.hear(SANDBOX, |event| event["event"] == "step")?;
    let (uid, restarts, container) = standing(ground)?;
    let process = process_of(&container)?;
    let began = Instant::now();
    // No signal that a container sends itself ends its first process unheard; the node's does.
    run(Command::new("kill").args(["-KILL", &process.to_string()]))?;
    let again = format!(
        "jsonpath={{.status.containerStatuses[0].restartCount}}={}",
        restarts + 1
    );
    ground.wait(&format!("pod/{SANDBOX}"), &again)?;
    ground.wait(&format!("pod/{SANDBOX}"), "condition=Ready")?;
    let resumed = ground.hear(SANDBOX, |event| event["event"] == "resumed")?;
    ground.hear(SANDBOX, |event| event["event"] == "step")?;
    let after = standing(ground)?;
    ensure!(
        (after.0.as_str(), after.1) == (uid.as_str(), restarts + 1),
        "{after:?} is not one restart of {uid}"
    );
    let same = resumed["epoch"].is_u64() && resumed["epoch"] == before["epoch"];
    ensure!(same, "another epoch: {before}, then {resumed}");
    ensure!(
        resumed["step"].as_u64() >= step["step"].as_u64(),
        "{resumed}"
    );
    let waited = said(ground, |event| event["what"] == "resume")?;
    ensure!(
        waited.is_empty(),
        "it had to wait for its agent: {waited:?}"
    );
    report.step(
        "container killed and started again",
        began,
        &format!(
            "the same pod resumes at once with the same epoch, {}, after step {}",
            resumed["epoch"], resumed["step"]
        ),
    );
    Ok(())
}

/// The pod's UID, how often its container was started again, and the container's id.
fn standing(ground: &Ground) -> anyhow::Result<(String, u64, String)> {
    let pod = ground.done(&["get", "pod", "--namespace=agents", SANDBOX, "--output=json"])?;
    let pod: Value = serde_json::from_str(&pod)?;
    let container = &pod["status"]["containerStatuses"][0];
    let uid = pod["metadata"]["uid"].as_str().context("a pod has a UID")?;
    let restarts = container["restartCount"].as_u64();
    let id = container["containerID"].as_str();
    let id = id.and_then(|id| id.strip_prefix("containerd://"));
    Ok((
        uid.to_owned(),
        restarts.context("it was started")?,
        id.context("containerd runs it")?.to_owned(),
    ))
}

/// What the agent has said since its container was started, of what is asked for.
fn said(ground: &Ground, wanted: impl Fn(&Value) -> bool) -> anyhow::Result<Vec<Value>> {
    let words = ground.done(&["logs", "--namespace=agents", SANDBOX])?;
    let events = words
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    Ok(events.filter(|event| wanted(event)).collect())
}

/// The number of the agent's process on this machine, found by its container's control group.
fn process_of(container: &str) -> anyhow::Result<u32> {
    let found = fs::read_dir("/proc")?.flatten().find_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let group = fs::read_to_string(entry.path().join("cgroup")).ok()?;
        (group.contains(container) && runs_agent(&entry.path())).then_some(pid)
    });
    found.with_context(|| format!("no process of container {container} runs {PROGRAM}"))
}

fn runs_agent(process: &Path) -> bool {
    let command = fs::read(process.join("cmdline")).unwrap_or_default();
    let mut words = command.split(|byte| *byte == 0);
    words.any(|word| word.ends_with(PROGRAM.as_bytes()))
}
