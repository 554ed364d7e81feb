//! Everything that must hold before a change lands.

use crate::shell::{self, cargo, has, say};
use crate::{bench, layers, test};

/// Named in `RECALL_REQUIRE` where the licence check must not be left out.
const DENY: &str = "deny";

fn step(name: &str, command: &mut std::process::Command) -> anyhow::Result<()> {
    say(&format!("== {name}"));
    shell::run(command)
}

pub(crate) fn run() -> anyhow::Result<()> {
    step("format", cargo().args(["fmt", "--all", "--check"]))?;
    layers::run()?;
    step(
        "lints",
        cargo().args([
            "clippy",
            "--workspace",
            "--all-targets",
            "--features=recall-e2e/k8s",
            "--quiet",
            "--",
            "-D",
            "warnings",
        ]),
    )?;
    step(
        "docs",
        cargo()
            .args(["doc", "--workspace", "--no-deps", "--quiet"])
            .env("RUSTDOCFLAGS", "-D warnings"),
    )?;
    features()?;
    licences()?;
    say("== retrieval");
    bench::retrieval::gate()?;
    test::run(&test::Args::default())
}

/// Every choice of features of the crate that others embed, each alone: what one of them needs must
/// not come in by another.
fn features() -> anyhow::Result<()> {
    let all = ["kube", "tower", "jwks"];
    for choice in 0_u8..1 << all.len() {
        let chosen = all.iter().enumerate();
        let chosen: Vec<_> = chosen
            .filter(|(place, _)| choice & (1 << place) != 0)
            .map(|(_, name)| *name)
            .collect();
        let name = format!("recall-identity with features [{}]", chosen.join(", "));
        let features = format!("--features={}", chosen.join(","));
        step(
            &name,
            cargo()
                .args(["check", "--package=recall-identity", "--lib", "--quiet"])
                .arg(features),
        )?;
    }
    Ok(())
}

/// cargo-deny takes minutes to build, so it is used where it is and asked for where it is required.
fn licences() -> anyhow::Result<()> {
    if !has("cargo-deny", "--version") {
        let fix = "cargo install --locked cargo-deny";
        if test::required(DENY) {
            step(
                "cargo-deny",
                cargo().args(["install", "--locked", "--quiet", "cargo-deny"]),
            )?;
        } else {
            say(&format!(
                "skipped: licences and sources (no cargo-deny: {fix})"
            ));
            return Ok(());
        }
    }
    // What only a test brings is held to the same rules.
    for manifest in [
        "Cargo.toml",
        "tests/rmcp/Cargo.toml",
        "tests/fuzz/Cargo.toml",
    ] {
        step(
            &format!("licences and sources of {manifest}"),
            cargo()
                .args(["deny", "--log-level=error", "--config=deny.toml"])
                .arg(format!("--manifest-path={manifest}"))
                .args(["check", "bans", "licenses", "sources"]),
        )?;
    }
    Ok(())
}
