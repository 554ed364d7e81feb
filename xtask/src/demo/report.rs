//! What a story showed, and how long it took.

use std::time::Instant;

use serde_json::json;

use super::Args;
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
    pub(super) fn finish(&self, cluster: &str, arguments: &Args) -> anyhow::Result<()> {
        say("");
        say(&self.table());
        say(&format!(
            "The story holds: {} steps, each with what it shows.",
            self.steps.len()
        ));
        if let Some(path) = &arguments.page {
            std::fs::write(path, self.page(cluster, arguments))?;
        }
        if let Some(path) = &arguments.json {
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

    fn page(&self, cluster: &str, arguments: &Args) -> String {
        let processors = std::thread::available_parallelism().map_or(0, usize::from);
        let rows = self
            .steps
            .iter()
            .map(|step| format!("| {} | {} | {} |\n", step.name, shown(step.ms), step.proves));
        let faults = if arguments.faults { " --faults" } else { "" };
        format!(
            "# The demo, as it went\n\n\
             Made by `cargo xtask demo --cluster {cluster}{faults} --page docs/demo.md` on a machine with {processors} \
             processors. Each step\nfails, and the demo with it, if what it says does not hold. Times hold for this \
             machine, on which other work may have run,\nand contain the start of kubectl or Python where one is used.{}\n\n\
             | step | took | what it shows |\n|---|---:|---|\n{}",
            match arguments.programs {
                // What cargo builds unless told otherwise.
                None => " The programs were built for debugging.",
                Some(_) => "",
            },
            rows.collect::<String>(),
        )
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
