//! Whether the guide names codes, files and values that exist.

use std::collections::BTreeSet;

use super::Report;
use super::values::Entry;
use crate::shell::root;

const GUIDE: &str = "docs/guide-agent-sandbox.md";
/// Pages whose links are followed.
const PAGES: [&str; 3] = [GUIDE, "docs/demo.md", "charts/recall/README.md"];
/// Codes that are not about a pod and its identity.
const ELSEWHERE: [&str; 5] = [
    "conflict",
    "invalid_argument",
    "method_not_allowed",
    "not_found",
    "tool_error",
];

pub(super) fn check(entries: &[Entry], report: &mut Report) -> anyhow::Result<()> {
    let guide = std::fs::read_to_string(root().join(GUIDE))?;
    codes(&guide, report)?;
    for page in PAGES {
        links(page, report)?;
    }
    for path in words(&guide).filter(|word| word.starts_with("deploy/") && !word.contains('*')) {
        exists(GUIDE, path, report);
    }
    let known = |name: &str| entries.iter().any(|entry| entry.path == name);
    let groups: BTreeSet<&str> = entries
        .iter()
        .filter_map(|entry| entry.path.split_once('.'))
        .map(|(group, _)| group)
        .collect();
    for name in quoted(&guide).filter(|name| {
        name.split_once('.')
            .is_some_and(|(group, _)| groups.contains(group))
    }) {
        report.check(
            GUIDE,
            match known(name) {
                true => Ok(()),
                false => Err(format!("the chart has no value {name}")),
            },
        );
    }
    Ok(())
}

/// The table of refusals has every code that a pod can meet, and no other.
fn codes(guide: &str, report: &mut Report) -> anyhow::Result<()> {
    let errors = std::fs::read_to_string(root().join("docs/errors.md"))?;
    let known: BTreeSet<&str> = errors
        .lines()
        .filter_map(|line| line.strip_prefix("## `")?.strip_suffix('`'))
        .collect();
    let (_, table) = guide.split_once("| code |").unwrap_or_default();
    let rows = table
        .lines()
        .skip(1)
        .take_while(|line| line.starts_with('|'));
    let named: BTreeSet<&str> = rows
        .filter_map(|row| row.split('|').nth(1))
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .collect();
    for code in named.union(&known) {
        let right = match (named.contains(code), known.contains(code)) {
            (true, true) => Ok(()),
            (true, false) => Err(format!("docs/errors.md has no {code}")),
            (false, _) if ELSEWHERE.contains(code) => Ok(()),
            (false, _) => Err(format!("the table of refusals lacks {code}")),
        };
        report.check(GUIDE, right);
    }
    Ok(())
}

/// Links to files of this repository.
fn links(page: &str, report: &mut Report) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(root().join(page))?;
    let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
    let targets = text
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next());
    for target in targets.filter(|target| !target.contains("://")) {
        exists(page, &format!("{folder}/{target}"), report);
    }
    Ok(())
}

fn exists(page: &str, path: &str, report: &mut Report) {
    report.check(
        page,
        match root().join(path).exists() {
            true => Ok(()),
            false => Err(format!("there is no {path}")),
        },
    );
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| letter.is_whitespace() || "`()[],".contains(letter))
}

fn quoted(text: &str) -> impl Iterator<Item = &str> {
    // Fenced blocks have three: what is between two single ones is a word.
    let parts = text.split('`').skip(1);
    parts.filter(|part| part.split_whitespace().count() == 1)
}
