//! Micro-benchmarks of fold, index, JSON and key check, and how they stand beside recorded ones.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};

use super::machine;
use crate::shell::{cargo, output, root, say};

/// Recorded on one machine: others compare with their own record.
const BASELINE: &str = "xtask/micro-baseline.json";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Write what was found into the baseline.
    #[arg(long)]
    record: bool,
    /// The baseline; the committed one by default.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Fail if one takes so many times what the baseline says.
    #[arg(long, value_name = "RATIO")]
    most: Option<f64>,
}

/// What each benchmark took.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    machine: String,
    /// The median in nanoseconds, by name.
    nanoseconds: BTreeMap<String, f64>,
}

pub(crate) fn run(arguments: &Args) -> anyhow::Result<()> {
    let path = arguments
        .baseline
        .clone()
        .unwrap_or_else(|| root().join(BASELINE));
    let mut found = BTreeMap::new();
    for (package, bench) in [("recall-memory", "memory"), ("recall-keys", "keys")] {
        let mut command = cargo();
        command.args(["bench", "--quiet", "--package", package, "--bench", bench]);
        let printed = output(&mut command)?;
        say(&printed);
        found.extend(medians(&printed)?);
    }
    let found = Record {
        machine: machine::name(),
        nanoseconds: found,
    };
    if arguments.record {
        let text = serde_json::to_string_pretty(&found)?;
        return std::fs::write(&path, text + "\n")
            .with_context(|| format!("cannot write {}", path.display()));
    }
    let text = std::fs::read_to_string(&path).with_context(|| {
        format!(
            "there is no baseline in {}: make one with --record",
            path.display()
        )
    })?;
    compare(&serde_json::from_str(&text)?, &found, arguments.most)
}

fn compare(baseline: &Record, found: &Record, most: Option<f64>) -> anyhow::Result<()> {
    if baseline.machine != found.machine {
        say(&format!(
            "The baseline is of another machine ({}; this is {}): make your own with --record --baseline FILE.",
            baseline.machine, found.machine
        ));
    }
    let mut slower = Vec::new();
    for (name, now) in &found.nanoseconds {
        let Some(then) = baseline.nanoseconds.get(name) else {
            say(&format!("{name:<32} {now:>12.0} ns   new"));
            continue;
        };
        let ratio = now / then;
        say(&format!(
            "{name:<32} {now:>12.0} ns   {ratio:.2} of the baseline"
        ));
        if most.is_some_and(|most| ratio > most) {
            slower.push(name.as_str());
        }
    }
    for gone in baseline.nanoseconds.keys() {
        if !found.nanoseconds.contains_key(gone) {
            say(&format!("{gone:<32} is no longer measured"));
        }
    }
    ensure!(
        slower.is_empty(),
        "slower than allowed: {}",
        slower.join(", ")
    );
    Ok(())
}

/// The medians of what divan prints as a tree: names with their ancestors, times in nanoseconds.
fn medians(printed: &str) -> anyhow::Result<BTreeMap<String, f64>> {
    const BRANCHES: [&str; 2] = ["├─ ", "╰─ "];
    let mut found = BTreeMap::new();
    let mut parent = String::new();
    for line in printed.lines() {
        let branch = BRANCHES.iter().filter_map(|branch| line.split_once(branch));
        let Some((before, row)) = branch.min_by_key(|(before, _)| before.len()) else {
            continue;
        };
        let mut cells = row.split('│').map(str::trim);
        let name = cells
            .next()
            .and_then(|first| first.split_whitespace().next());
        let name = name.with_context(|| format!("divan printed a row without a name: {line}"))?;
        // The first cell holds the name and the fastest; the slowest and the median follow.
        let median = cells.nth(1).unwrap_or_default();
        if before.is_empty() {
            name.clone_into(&mut parent);
        }
        if median.is_empty() {
            continue;
        }
        let name = match before.is_empty() {
            true => parent.clone(),
            false => format!("{parent} {name}"),
        };
        found.insert(name, nanoseconds(median)?);
    }
    ensure!(!found.is_empty(), "divan printed no times:\n{printed}");
    Ok(found)
}

fn nanoseconds(text: &str) -> anyhow::Result<f64> {
    let (number, unit) = text.split_once(' ').unwrap_or((text, ""));
    let unit = match unit {
        "ns" => 1.0,
        "µs" | "μs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => anyhow::bail!("divan printed a time in another unit: {text}"),
    };
    Ok(number.parse::<f64>()? * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "\
Timer precision: 20 ns
memory              fastest       │ slowest       │ median        │ mean          │ samples │ iters
├─ fold_a_log                     │               │               │               │         │
│  ├─ 2000          12.3 ms       │ 14 ms         │ 12.9 ms       │ 13 ms         │ 10      │ 10
│  │                162 Kitem/s   │ 142 Kitem/s   │ 155 Kitem/s   │ 153 Kitem/s   │         │
│  ╰─ 24000         1.3 s         │ 1.4 s         │ 1.35 s        │ 1.3 s         │ 10      │ 10
╰─ remember         13.1 µs       │ 95.2 µs       │ 14.5 µs       │ 15 µs         │ 100     │ 100
";

    #[test]
    fn medians_of_a_tree_are_named_by_their_ancestors() {
        let found = medians(PRINTED).expect("it is a tree");
        let expected = [
            ("fold_a_log 2000", 12.9e6),
            ("fold_a_log 24000", 1.35e9),
            ("remember", 14.5e3),
        ];
        let expected = expected.map(|(name, time)| (name.to_owned(), time));
        assert_eq!(found, BTreeMap::from(expected));
    }

    #[test]
    fn what_is_slower_than_allowed_fails_by_name() {
        let record = |time| Record {
            machine: "one".to_owned(),
            nanoseconds: BTreeMap::from([("remember".to_owned(), time)]),
        };
        compare(&record(100.0), &record(140.0), Some(1.5)).expect("it is allowed");
        compare(&record(100.0), &record(900.0), None).expect("nothing is asked");
        let error = compare(&record(100.0), &record(160.0), Some(1.5)).expect_err("it is slower");
        assert!(error.to_string().contains("remember"));
    }

    #[test]
    fn no_times_are_an_error() {
        assert!(medians("error: no such bench\n").is_err());
    }
}
