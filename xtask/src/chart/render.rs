//! Linting, rendering, and comparing with what was rendered before.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use super::helm::{Tools, printed, said};
use super::settings;
use super::{Mode, Report, dir};
use crate::shell::root;

/// A set of values that the chart is tried with.
#[derive(Debug)]
pub(super) struct Set {
    pub(super) name: String,
    pub(super) file: PathBuf,
}

/// The sets of `ci` and the example for several replicas.
pub(super) fn sets() -> anyhow::Result<Vec<Set>> {
    let mut files = vec![dir().join("values-ha.yaml")];
    for entry in std::fs::read_dir(dir().join("ci"))? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "yaml")
        {
            files.push(path);
        }
    }
    files.sort();
    let name = |path: &Path| {
        path.file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    };
    Ok(files
        .into_iter()
        .map(|file| Set {
            name: name(&file),
            file,
        })
        .collect())
}

pub(super) fn lint(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    for set in sets()? {
        let mut lint = tools.helm();
        lint.args(["lint", "--strict", "--quiet"])
            .arg(dir())
            .arg("--values")
            .arg(&set.file);
        let output = said(&mut lint)?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        report.check(
            &format!("helm lint, {}", set.name),
            match output.status.success() {
                true => Ok(()),
                false => Err(text),
            },
        );
    }
    Ok(())
}

/// Renders every set and compares it with its snapshot, or writes that.
pub(super) fn snapshots(tools: &Tools, mode: Mode, report: &mut Report) -> anyhow::Result<()> {
    let known = settings::read()?;
    let known = |name: &str| known.iter().any(|setting| setting.name == name);
    for set in sets()? {
        match printed(template(tools, &set.file).args(MONITORING))? {
            Ok(rendered) => {
                let names = config_names(&rendered);
                let unknown = names.iter().find(|name| !known(name));
                report.check(
                    &format!("settings, {}", set.name),
                    match unknown {
                        Some(name) => Err(format!("the server has no setting {name}")),
                        None if names.is_empty() => Err("no settings were found".to_owned()),
                        None => Ok(()),
                    },
                );
                report.file(&format!("ci/snapshots/{}.yaml", set.name), &rendered, mode)?;
            }
            Err(wrong) => report.check(&format!("helm template, {}", set.name), Err(wrong)),
        }
    }
    Ok(())
}

/// A cluster that knows the kinds of the Prometheus Operator.
const MONITORING: [&str; 4] = [
    "--api-versions=monitoring.coreos.com/v1",
    "--api-versions=monitoring.coreos.com/v1/ServiceMonitor",
    "--api-versions=monitoring.coreos.com/v1/PrometheusRule",
    "--kube-version=1.34.0",
];

/// Renders the chart with a file of values.
pub(super) fn template(tools: &Tools, values: &Path) -> Command {
    let mut template = tools.helm();
    template
        .args(["template", "recall"])
        .arg(dir())
        .arg("--namespace=recall")
        .arg("--values")
        .arg(values);
    template
}

/// The names of the server's settings in a rendered ConfigMap.
fn config_names(rendered: &str) -> Vec<&str> {
    let config = rendered
        .split("recall.toml: |\n")
        .nth(1)
        .unwrap_or_default();
    let lines = config.lines().take_while(|line| line.starts_with("    "));
    lines
        .filter_map(|line| Some(line.split_once(" = ")?.0.trim()))
        .collect()
}

/// The chart says the version of the programs.
pub(super) fn version(report: &mut Report) -> anyhow::Result<()> {
    let chart = std::fs::read_to_string(dir().join("Chart.yaml"))?;
    let stated = field(&chart, "appVersion: ").context("Chart.yaml has an appVersion")?;
    let actual = crate_version()?;
    report.check(
        "Chart.yaml",
        match stated == actual {
            true => Ok(()),
            false => Err(format!(
                "appVersion is {stated} and the programs' version is {actual}"
            )),
        },
    );
    Ok(())
}

/// The version of all crates.
pub(crate) fn crate_version() -> anyhow::Result<String> {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml"))?;
    let (_, package) = manifest
        .split_once("[workspace.package]")
        .context("there is a workspace")?;
    Ok(field(package, "version = ")
        .context("it has a version")?
        .to_owned())
}

fn field<'a>(text: &'a str, start: &str) -> Option<&'a str> {
    let line = text.lines().find_map(|line| line.strip_prefix(start))?;
    Some(line.trim().trim_matches('"'))
}
