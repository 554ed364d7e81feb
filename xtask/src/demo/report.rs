//! What a story showed, and how long it took.

use std::path::Path;
use std::time::Instant;

use serde_json::json;

use crate::shell::say;

/// The steps told so far.
#[derive(Debug, Default)]
pub(super) struct Report {
    steps: Vec<Step>,
}

#[derive(Debug)]
struct Step {
    name: String,
    proves: String,
    ms: f64,
}

impl Report {
    /// A step that began then and has just been seen to hold.
    pub(super) fn step(&mut self, name: &str, began: Instant, proves: &str) {
        self.measured(name, began.elapsed().as_secs_f64() * 1000.0, proves);
    }

    /// A step that something else has measured.
    pub(super) fn measured(&mut self, name: &str, ms: f64, proves: &str) {
        say(&format!(
            "{:>3}. {name} ({}): {proves}",
            self.steps.len() + 1,
            shown(ms)
        ));
        self.steps.push(Step {
            name: name.to_owned(),
            proves: proves.to_owned(),
            ms,
        });
    }

    /// Prints the table, and writes it where it is asked for.
    pub(super) fn finish(&self, cluster: &str, json_file: Option<&Path>) -> anyhow::Result<()> {
        say("");
        say(&self.table());
        if let Some(path) = json_file {
            let steps: Vec<_> = self
                .steps
                .iter()
                .map(|step| json!({ "step": step.name, "ms": step.ms, "proves": step.proves }))
                .collect();
            let report = json!({ "cluster": cluster, "steps": steps });
            std::fs::write(
                path,
                format!("{}\n", serde_json::to_string_pretty(&report)?),
            )?;
        }
        Ok(())
    }

    fn table(&self) -> String {
        let rows = self
            .steps
            .iter()
            .map(|step| format!("| {} | {} |", step.name, shown(step.ms)));
        let head = ["| step | took |", "|---|---:|"].map(str::to_owned);
        head.into_iter().chain(rows).collect::<Vec<_>>().join("\n")
    }
}

fn shown(ms: f64) -> String {
    match ms < 10_000.0 {
        true => format!("{ms:.0} ms"),
        false => format!("{:.1} s", ms / 1000.0),
    }
}
