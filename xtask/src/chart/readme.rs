//! The table of settings in the chart's README.

use anyhow::Context;

use super::values::Entry;
use super::{Mode, Report, dir};

const BEGIN: &str = "<!-- values: made by `cargo xtask chart` -->";
const END: &str = "<!-- end of values -->";

pub(super) fn generate(entries: &[Entry], mode: Mode, report: &mut Report) -> anyhow::Result<()> {
    let old = std::fs::read_to_string(dir().join("README.md"))?;
    let (head, rest) = old
        .split_once(BEGIN)
        .context("README.md has no place for the table")?;
    let (_, tail) = rest
        .split_once(END)
        .context("the table in README.md does not end")?;
    let new = format!("{head}{BEGIN}\n{}{END}{tail}", table(entries));
    report.file("README.md", &new, mode)
}

fn table(entries: &[Entry]) -> String {
    let mut table = "\n| value | default | what it is |\n|---|---|---|\n".to_owned();
    for entry in entries {
        let default = match &entry.default {
            Some(default) => format!("`{default}`"),
            None => "see [values.yaml](values.yaml)".to_owned(),
        };
        // A bar would end the cell.
        let description = entry.description.replace('|', "\\|");
        table.push_str(&format!(
            "| `{}` | {default} | {description} |\n",
            entry.path
        ));
    }
    table.push('\n');
    table
}
