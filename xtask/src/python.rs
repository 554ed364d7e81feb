//! Virtual environments with pinned packages, made once and kept.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use sha2::{Digest, Sha256};

use crate::shell::{cache, has, root, run, say};

/// What to do about a machine without Python.
pub(crate) const FIX: &str = "install Python 3.11 or later with its venv module";

/// The pinned packages: the current published programs, and the older client.
pub(crate) const CURRENT: &str = "tests/python/requirements.txt";
/// What checks the server against its OpenAPI document.
pub(crate) const OPENAPI: &str = "tests/openapi/requirements.txt";
/// The published adapter for LangGraph.
pub(crate) const LANGGRAPH: &str = "tests/langgraph/requirements.txt";
pub(crate) const OLDER: &str = "tests/python/requirements-016.txt";

/// Whether there is a Python that can make an environment.
pub(crate) fn available() -> bool {
    let mut command = Command::new("python3");
    let check = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))";
    command
        .args(["-c", check])
        .stderr(std::process::Stdio::null());
    command.status().is_ok_and(|status| status.success()) && has("python3", "--version")
}

/// The folder of an environment that holds the packages of this requirements file.
pub(crate) fn environment(requirements: &str) -> anyhow::Result<PathBuf> {
    let file = root().join(requirements);
    let content = std::fs::read(&file).with_context(|| format!("cannot read {requirements}"))?;
    let name = hex::encode(&Sha256::digest(&content)[..8]);
    let dir = cache()?.join("python").join(name);
    if dir.join("ready").exists() {
        return Ok(dir);
    }
    say(&format!("making a Python environment for {requirements}"));
    if dir.exists() {
        std::fs::remove_dir_all(&dir)?;
    }
    run(Command::new("python3").args(["-m", "venv"]).arg(&dir))?;
    let pip = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--requirement",
    ];
    run(python(&dir).args(pip).arg(&file))?;
    std::fs::write(dir.join("ready"), "")?;
    Ok(dir)
}

/// The environment's interpreter.
pub(crate) fn python(environment: &Path) -> Command {
    let mut command = Command::new(environment.join("bin/python"));
    command
        .current_dir(root().join("tests/python"))
        .env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

/// A program of the environment.
pub(crate) fn program(environment: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let path = environment.join("bin").join(name);
    if !path.exists() {
        bail!("the Python environment holds no {name}");
    }
    Ok(path)
}
