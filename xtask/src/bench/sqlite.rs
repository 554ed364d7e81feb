//! LangGraph's `SqliteStore`, called in process, beside ours over HTTP: what many would pick instead.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;

use super::Plan;
use super::load::{self, Load};
use super::report::{Bound, Report};
use super::requests::{self, Dice};
use super::sides::Side;
use crate::python;
use crate::shell::{output, root, say};

const PACKAGES: &str = "xtask/src/bench/sqlite/requirements.txt";
const SCRIPT: &str = "xtask/src/bench/sqlite/store.py";
const CALLERS: usize = 8;

pub(super) fn run(
    plan: &Plan,
    dir: &Path,
    admin_key_file: &Path,
    report: &mut Report,
) -> anyhow::Result<()> {
    say("LangGraph's SqliteStore, in process");
    let theirs = theirs(plan, dir)?;
    let ours = ours(plan, dir, admin_key_file)?;
    for (what, least) in [("writes", 3.0), ("reads", 2.0)] {
        let (Some(theirs), Some(ours)) = (theirs.get(what), ours.get(what)) else {
            continue;
        };
        let name = format!("SqliteStore: {what}, {CALLERS} threads");
        report.figure(name, *theirs, "/s", Bound::None);
        let name = format!("ours over HTTP: {what}, {CALLERS} callers");
        report.figure(name, *ours, "/s", Bound::None);
        let name = format!("{what}: ours / SqliteStore");
        report.figure(name, ours / theirs, "", Bound::AtLeast(least));
    }
    match (theirs.get("search"), ours.get("search")) {
        (Some(theirs), Some(ours)) => {
            report.figure(
                "SqliteStore: search p50, vectors",
                *theirs,
                "ms",
                Bound::None,
            );
            let name = "search p50: ours / SqliteStore";
            report.figure(name, ours / theirs, "", Bound::AtMost(0.2));
        }
        _ => say(
            "  its search was left out: this Python's sqlite3 loads no extensions, and it needs one",
        ),
    }
    Ok(())
}

/// What the script printed.
fn theirs(plan: &Plan, dir: &Path) -> anyhow::Result<BTreeMap<String, f64>> {
    let environment = python::environment(PACKAGES)?;
    let mut program = python::python(&environment);
    program
        .arg(root().join(SCRIPT))
        .arg(dir.join("langgraph.sqlite"))
        .args([plan.facts.to_string(), CALLERS.to_string()])
        .arg(plan.round.as_secs_f64().to_string());
    let figure = |line: &str| {
        let (what, figure) = line.split_once(' ')?;
        Some((what.to_owned(), figure.parse().ok()?))
    };
    let text = output(&mut program)?;
    let found = text
        .lines()
        .map(|line| figure(line).context("a name and a figure"));
    found.collect()
}

fn ours(
    plan: &Plan,
    dir: &Path,
    admin_key_file: &Path,
) -> anyhow::Result<BTreeMap<&'static str, f64>> {
    let flags = ["--surface=typed".to_owned()];
    let side = Side::ours("beside-sqlite", dir, admin_key_file, &flags)?;
    let mut dice = Dice::new(plan.seed);
    let mut put = |load: Load, kind: Kind| {
        let mut write = |number: u64, out: &mut Vec<u8>| {
            let (path, body) = match kind {
                Kind::Fill => ("/v1/remember", requests::fact(number, &mut dice)),
                Kind::Read => ("/v1/recall", requests::pair(plan.facts, &mut dice)),
                Kind::Search => ("/v1/recall", requests::query(&mut dice)),
                Kind::Write => ("/v1/remember", requests::statement(number)),
            };
            requests::post(out, path, &side.key, &body);
        };
        load::run(side.address, load, &mut write)?.all_served()
    };
    put(Load::of(plan.facts, CALLERS), Kind::Fill)?;
    let all = Load::during(plan.round, CALLERS);
    let reads = put(all, Kind::Read)?.rate();
    let search = put(Load::during(plan.round, 1), Kind::Search)?.percentile(0.5);
    let writes = put(all, Kind::Write)?.rate();
    Ok(BTreeMap::from([
        ("reads", reads),
        ("search", search),
        ("writes", writes),
    ]))
}

#[derive(Clone, Copy)]
enum Kind {
    Fill,
    Read,
    Search,
    Write,
}
