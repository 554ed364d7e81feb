//! How soon a key that died on one server is refused by all: what `recall-replicas` measured.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::Context;

use super::report::{Bound, Report};
use super::sides::programs_dir;
use crate::python;
use crate::shell::output;

/// Runs it and reports its figures.
pub(super) fn run(rounds: u32, pairs: u32, report: &mut Report) -> anyhow::Result<()> {
    let environment = python::environment(python::CURRENT)?;
    let mut program = Command::new(programs_dir().join("recall-replicas"));
    program
        .args([rounds.to_string(), pairs.to_string()])
        .env("RECALL_BIN", programs_dir())
        .env(
            "RECALL_POLIGN_SERVER",
            python::program(&environment, "polign-server")?,
        );
    let text = output(&mut program)?;
    let mut found: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for line in text.lines() {
        let (what, figure) = line.split_once(' ').context("a name and a figure")?;
        found.entry(what).or_default().push(figure.parse()?);
    }
    for (what, name, most) in [
        ("gone", "pod gone to key refused by 3 servers", 2000.0),
        ("revoked", "key revoked to refused by 2 others", 1000.0),
    ] {
        let times = found.get_mut(what).context("it was measured")?;
        times.sort_by(f64::total_cmp);
        let at = |share: usize| times.get((times.len() - 1) * share / 100).copied();
        let (middle, p99) = at(50).zip(at(99)).context("it was measured")?;
        report.figure(format!("{name}, p50"), middle, "ms", Bound::None);
        report.figure(format!("{name}, p99"), p99, "ms", Bound::AtMost(most));
    }
    let only = |what: &str| found.get(what).and_then(|all| all.first()).copied();
    let stale = only("stale").context("it was measured")?;
    let name = format!("stale reads of {pairs} after writes to another server");
    report.figure(name, stale, "", Bound::AtMost(0.0));
    let read = only("read").context("it was measured")?;
    report.figure("such a read, p50", read, "ms", Bound::None);
    Ok(())
}
