//! Which crate may use which, checked on `cargo metadata`.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, bail};
use serde_json::Value;

use crate::shell::{cargo, output, say};

/// Workspace crates and the workspace crates that each may use, tests aside. A crate that is not
/// here is refused; one that does not exist yet keeps its place.
const ALLOWED: [(&str, &[&str]); 17] = [
    ("recall-identity", &[]),
    ("recall-telemetry", &[]),
    ("recall-store", &[]),
    ("recall-keys", &["recall-identity", "recall-store"]),
    ("recall-memory", &["recall-store"]),
    ("recall-models", &["recall-memory"]),
    ("recall-agent", &["recall-store", "recall-memory"]),
    ("recall-store-embedded", &["recall-store"]),
    ("recall-store-rows", &["recall-store"]),
    (
        "recall-store-polign",
        &["recall-store", "recall-store-rows"],
    ),
    (
        "recall-store-qdrant",
        &["recall-store", "recall-store-rows"],
    ),
    (
        "recall-api",
        &[
            "recall-identity",
            "recall-keys",
            "recall-memory",
            "recall-agent",
            "recall-store",
        ],
    ),
    (
        "recall-server",
        &[
            "recall-identity",
            "recall-telemetry",
            "recall-store",
            "recall-keys",
            "recall-memory",
            "recall-models",
            "recall-agent",
            "recall-store-embedded",
            "recall-store-polign",
            "recall-store-qdrant",
            "recall-store-rows",
            "recall-api",
        ],
    ),
    ("recall-cli", &[]),
    ("recall-testkit", &[]),
    ("xtask", &["recall-testkit"]),
    (
        "recall-e2e",
        &[
            "recall-identity",
            "recall-testkit",
            "recall-store",
            "recall-store-embedded",
        ],
    ),
];

/// Outside crates and the only workspace crates that may name them, tests aside.
const RESERVED: [(&str, &[&str]); 12] = [
    ("tonic", &["recall-store-qdrant"]),
    ("prost", &["recall-store-qdrant"]),
    ("qdrant-client", &["recall-store-qdrant"]),
    ("redb", &["recall-store-embedded"]),
    ("kube", &["recall-identity", "recall-server", "recall-e2e"]),
    (
        "k8s-openapi",
        &["recall-identity", "recall-server", "recall-e2e"],
    ),
    ("axum", &["recall-api", "recall-server", "recall-identity"]),
    (
        "anyhow",
        &[
            "recall-server",
            "recall-cli",
            "recall-testkit",
            "recall-e2e",
            "xtask",
        ],
    ),
    ("opentelemetry", &["recall-telemetry"]),
    ("opentelemetry-otlp", &["recall-telemetry"]),
    ("opentelemetry_sdk", &["recall-telemetry"]),
    (
        "hyper-rustls",
        &[
            "recall-cli",
            "recall-identity",
            "recall-models",
            "recall-store-polign",
        ],
    ),
];

/// What `recall-identity` must not pull in unless it is asked to.
const NOT_BY_DEFAULT: [&str; 6] = [
    "kube",
    "k8s-openapi",
    "axum",
    "tonic",
    "rustls",
    "jsonwebtoken",
];

pub(crate) fn run() -> anyhow::Result<()> {
    let metadata = output(cargo().args(["metadata", "--format-version=1", "--no-deps"]))?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let crates = crates(&metadata)?;
    let mut faults = Vec::new();
    for (name, uses) in &crates {
        check_inner(name, uses, &crates, &mut faults);
        check_reserved(name, uses, &mut faults);
    }
    check_lints(&metadata, &mut faults)?;
    check_identity(&mut faults)?;
    if !faults.is_empty() {
        bail!(
            "the crates do not keep to their layers:\n  {}",
            faults.join("\n  ")
        );
    }
    say(&format!(
        "layers: {} crates keep to their places",
        crates.len()
    ));
    Ok(())
}

/// Each workspace crate with what it uses outside tests.
fn crates(metadata: &Value) -> anyhow::Result<BTreeMap<String, BTreeSet<String>>> {
    let packages = metadata["packages"]
        .as_array()
        .context("metadata has packages")?;
    let named = |value: &Value| value["name"].as_str().unwrap_or_default().to_owned();
    let uses = |package: &Value| {
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        dependencies
            .filter(|dependency| dependency["kind"] != "dev")
            .map(named)
            .collect()
    };
    Ok(packages
        .iter()
        .map(|package| (named(package), uses(package)))
        .collect())
}

fn check_inner(
    name: &str,
    uses: &BTreeSet<String>,
    crates: &BTreeMap<String, BTreeSet<String>>,
    faults: &mut Vec<String>,
) {
    let Some((_, allowed)) = ALLOWED.iter().find(|(known, _)| *known == name) else {
        faults.push(format!(
            "{name} has no place: give it one in xtask/src/layers.rs"
        ));
        return;
    };
    let inner = uses
        .iter()
        .filter(|used| crates.contains_key(*used) && *used != name);
    for used in inner.filter(|used| !allowed.contains(&used.as_str())) {
        faults.push(format!("{name} uses {used}, which is not below it"));
    }
}

fn check_reserved(name: &str, uses: &BTreeSet<String>, faults: &mut Vec<String>) {
    for (outer, owners) in RESERVED {
        if uses.contains(outer) && !owners.contains(&name) {
            faults.push(format!(
                "{name} names {outer}, which belongs to {}",
                owners.join(", ")
            ));
        }
    }
}

/// Every crate takes its lints from the workspace.
fn check_lints(metadata: &Value, faults: &mut Vec<String>) -> anyhow::Result<()> {
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let manifest = package["manifest_path"]
            .as_str()
            .context("a package has a manifest")?;
        let text = std::fs::read_to_string(manifest)?;
        if !text.contains("[lints]\nworkspace = true") {
            faults.push(format!(
                "{} does not take the workspace's lints",
                package["name"]
            ));
        }
    }
    Ok(())
}

fn check_identity(faults: &mut Vec<String>) -> anyhow::Result<()> {
    let tree = output(cargo().args([
        "tree",
        "--package=recall-identity",
        "--edges=normal",
        "--prefix=none",
        "--format={p}",
    ]))?;
    for line in tree.lines() {
        let name = line.split(' ').next().unwrap_or_default();
        if NOT_BY_DEFAULT.contains(&name) {
            faults.push(format!("recall-identity pulls in {name} by default"));
        }
    }
    Ok(())
}
