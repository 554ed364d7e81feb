//! Where and with what a run was made.

use std::fs::read_to_string;

use serde_json::{Value, json};

use super::Plan;
use crate::python;
use crate::shell::{command, output, root};

/// The load of the last minute.
pub(super) fn load_average() -> f64 {
    let text = read_to_string("/proc/loadavg").unwrap_or_default();
    let first = text.split(' ').next();
    first
        .and_then(|figure| figure.parse().ok())
        .unwrap_or(f64::NAN)
}

pub(super) fn describe(plan: &Plan, load_before: f64) -> Value {
    json!({
        "cores": std::thread::available_parallelism().map_or(0, usize::from),
        "model": model(),
        "load_average_before": load_before,
        "load_average_after": load_average(),
        "commit": commit(),
        "published": published(),
        "seed": plan.seed,
        "connections": plan.connections,
        "rounds": plan.rounds,
        "seconds_a_round": plan.round.as_secs_f64(),
        "facts": plan.facts,
        "texts": plan.texts,
    })
}

/// The same in a line.
pub(super) fn line(machine: &Value) -> String {
    let text = |name: &str| match &machine[name] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    format!(
        "{} cores of {}; load average {} before and {} after; commit {}; beside {}; seed {}; {} \
         connections, {} rounds of {} s, {} facts, {} texts",
        text("cores"),
        text("model"),
        text("load_average_before"),
        text("load_average_after"),
        text("commit"),
        text("published"),
        text("seed"),
        text("connections"),
        text("rounds"),
        text("seconds_a_round"),
        text("facts"),
        text("texts"),
    )
}

/// Cores and model.
pub(super) fn name() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!("{cores} cores of {}", model())
}

fn model() -> String {
    let text = read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("model name"));
    let name = line.and_then(|line| line.split_once(": "));
    name.map_or_else(|| "unknown".to_owned(), |(_, name)| name.to_owned())
}

fn commit() -> String {
    let mut git = command("git");
    git.args(["describe", "--always", "--dirty"]);
    output(&mut git).map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
}

/// The pinned packages that the published server is made of.
fn published() -> String {
    let text = read_to_string(root().join(python::CURRENT)).unwrap_or_default();
    let ours = text.lines().filter(|line| line.starts_with("polign"));
    ours.collect::<Vec<_>>().join(", ")
}
