//! How soon a key that died on one server is refused by all, and how soon the successor of a pod that
//! is gone carries on: what `recall-replicas` measured.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::Context;

use super::report::{Bound, Report};
use super::sides::programs_dir;
use crate::python;
use crate::shell::output;

/// The middle of what was measured, and what so many percent kept within.
fn percentiles(
    found: &mut BTreeMap<&str, Vec<f64>>,
    what: &str,
    high: usize,
) -> anyhow::Result<(f64, f64)> {
    let times = found.get_mut(what).context("it was measured")?;
    times.sort_by(f64::total_cmp);
    let at = |share: usize| times.get((times.len() - 1) * share / 100).copied();
    at(50).zip(at(high)).context("it was measured")
}

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
        let (middle, p99) = percentiles(&mut found, what, 99)?;
        report.figure(format!("{name}, p50"), middle, "ms", Bound::None);
        report.figure(format!("{name}, p99"), p99, "ms", Bound::AtMost(most));
    }
    for (what, store) in [("taken-alone", "embedded"), ("taken", "polign_db")] {
        let (middle, p95) = percentiles(&mut found, what, 95)?;
        let name = format!("old pod gone, first call to resumed, {store}");
        report.figure(format!("{name}, p50"), middle, "ms", Bound::None);
        report.figure(format!("{name}, p95"), p95, "ms", Bound::AtMost(1000.0));
    }
    let only = |what: &str| found.get(what).and_then(|all| all.first()).copied();
    let stale = only("stale").context("it was measured")?;
    let name = format!("stale reads of {pairs} after writes to another server");
    report.figure(name, stale, "", Bound::AtMost(0.0));
    let read = only("read").context("it was measured")?;
    report.figure("such a read, p50", read, "ms", Bound::None);
    Ok(())
}
