//! The Helm chart: what is generated in it, and whether it holds.

mod deploy;
mod guide;
mod helm;
mod live;
mod metrics;
mod readme;
mod refusals;
mod render;
mod schema;
mod settings;
mod values;

use std::path::PathBuf;

use anyhow::bail;

use crate::shell::{root, say};
use crate::tally::Tally;

pub(crate) use helm::{FIX, Tools};
pub(crate) use render::crate_version;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Change nothing; fail if something is not as it would be generated.
    #[arg(long)]
    check: bool,
}

/// Generates the README's table, the schema's generated parts and the snapshots.
pub(crate) fn run(arguments: &Args) -> anyhow::Result<()> {
    let mode = match arguments.check {
        true => Mode::Check,
        false => Mode::Write,
    };
    let mut report = Report::default();
    generated(mode, &mut report)?;
    if Tools::possible() {
        render::snapshots(&Tools::find_or_fetch()?, mode, &mut report)?;
    } else {
        say(&format!("skipped: snapshots ({FIX})"));
    }
    report.finish().map(drop)
}

/// The test part `chart`: all of it, with the real programs.
pub(crate) fn test() -> anyhow::Result<Tally> {
    let tools = Tools::find_or_fetch()?;
    let mut report = Report::default();
    generated(Mode::Check, &mut report)?;
    render::lint(&tools, &mut report)?;
    render::snapshots(&tools, Mode::Check, &mut report)?;
    refusals::check(&tools, &mut report)?;
    live::check(&tools, &mut report)?;
    report.finish()
}

/// What needs no program beyond this one.
fn generated(mode: Mode, report: &mut Report) -> anyhow::Result<()> {
    let entries = values::read()?;
    let settings = settings::read()?;
    schema::generate(&entries, &settings, mode, report)?;
    readme::generate(&entries, mode, report)?;
    render::version(report)?;
    metrics::check(report)?;
    guide::check(&entries, report)
}

/// Whether generated files are written or compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Write,
    Check,
}

/// Counts checks and names those that fail.
#[derive(Debug, Default)]
struct Report {
    tally: Tally,
}

impl Report {
    /// Counts one check, whose outcome is nothing or what is wrong.
    fn check(&mut self, name: &str, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => self.tally.passed += 1,
            Err(wrong) => {
                self.tally.failed += 1;
                say(&format!("chart: {name}: {wrong}"));
            }
        }
    }

    /// Writes a generated file, or checks that it is as it would be written.
    fn file(&mut self, path: &str, content: &str, mode: Mode) -> anyhow::Result<()> {
        let full = dir().join(path);
        let old = std::fs::read_to_string(&full).unwrap_or_default();
        let same = old == content;
        if mode == Mode::Write && !same {
            if let Some(parent) = full.parent() {
                std::fs::create_dir_all(parent)?;
            }
            std::fs::write(&full, content)?;
            say(&format!("written: charts/recall/{path}"));
        }
        let stale = || first_difference(&old, content);
        self.check(
            path,
            match same || mode == Mode::Write {
                true => Ok(()),
                false => Err(format!(
                    "run cargo xtask chart and look at the change: {}",
                    stale()
                )),
            },
        );
        Ok(())
    }

    fn finish(self) -> anyhow::Result<Tally> {
        if self.tally.failed > 0 {
            bail!("the chart: {}", self.tally);
        }
        Ok(self.tally)
    }
}

fn first_difference(old: &str, new: &str) -> String {
    let different = old.lines().zip(new.lines()).enumerate();
    let mut different = different.filter(|(_, (old, new))| old != new);
    match different.next() {
        Some((at, (old, new))) => format!("line {} is {old:?} and would be {new:?}", at + 1),
        None => "one is longer than the other".to_owned(),
    }
}

/// The folder of the chart.
pub(crate) fn dir() -> PathBuf {
    root().join("charts/recall")
}
