//! Everything that must hold before a change lands.

use crate::shell::{self, cargo, has, say};
use crate::{layers, test};

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
    licences()?;
    test::run(&test::Args::default())
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
    step(
        "licences and sources",
        cargo().args([
            "deny",
            "--log-level=error",
            "check",
            "bans",
            "licenses",
            "sources",
        ]),
    )
}
