//! Whether the dashboard and the alerts name metrics that the server has.

use std::collections::BTreeSet;
use std::path::Path;

use super::{Report, dir};
use crate::shell::root;

/// What the exposition format adds to a registered name.
const SUFFIXES: [&str; 9] = [
    "_seconds_bucket",
    "_seconds_count",
    "_seconds_sum",
    "_bytes",
    "_seconds",
    "_bucket",
    "_count",
    "_total",
    "",
];

pub(super) fn check(report: &mut Report) -> anyhow::Result<()> {
    let registered = registered()?;
    for file in ["files/dashboard.json", "templates/prometheusrule.yaml"] {
        let text = std::fs::read_to_string(dir().join(file))?;
        let used = names(&text);
        report.check(
            file,
            match used.is_empty() {
                true => Err("it names no metric".to_owned()),
                false => Ok(()),
            },
        );
        for name in used {
            let known = SUFFIXES.iter().any(|suffix| {
                name.strip_suffix(suffix)
                    .is_some_and(|base| registered.contains(base))
            });
            report.check(
                file,
                match known {
                    true => Ok(()),
                    false => Err(format!("the server has no metric {name}")),
                },
            );
        }
    }
    Ok(())
}

/// The names that the crates register.
fn registered() -> anyhow::Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    collect(&root().join("crates"), &mut found)?;
    Ok(found)
}

fn collect(path: &Path, found: &mut BTreeSet<String>) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(path)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path)?;
            for call in text.split(".register").skip(1) {
                // The name is the first argument of `register` and of `register_with_unit`.
                let name = call.split('"').nth(1).unwrap_or_default();
                if name.starts_with("recall_") {
                    found.insert(name.to_owned());
                }
            }
        }
    }
    Ok(())
}

/// The words of a text that name metrics of ours.
fn names(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'));
    words.filter(|word| word.starts_with("recall_")).collect()
}
