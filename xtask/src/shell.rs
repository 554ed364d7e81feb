//! Running programs, and where things are.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

/// Prints a line.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// The root of the checkout.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// Where builds go.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Scratch space of one chore, emptied.
pub(crate) fn scratch(name: &str) -> anyhow::Result<PathBuf> {
    let dir = target().join("xtask").join(name);
    if dir.exists() {
        std::fs::remove_dir_all(&dir).with_context(|| format!("cannot empty {}", dir.display()))?;
    }
    std::fs::create_dir_all(&dir)?;
    Ok(dir)
}

/// What is slow to make and the same for every checkout.
pub(crate) fn cache() -> anyhow::Result<PathBuf> {
    let set = |name| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let base = set("RECALL_CACHE")
        .or_else(|| Some(set("XDG_CACHE_HOME")?.join("recall")))
        .or_else(|| Some(set("HOME")?.join(".cache/recall")));
    let base =
        base.context("set RECALL_CACHE, XDG_CACHE_HOME or HOME: there is no place for a cache")?;
    std::fs::create_dir_all(&base)?;
    Ok(base)
}

/// A command in the root of the checkout.
pub(crate) fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root()).stdin(Stdio::null());
    command
}

/// Cargo, as this task was started by.
pub(crate) fn cargo() -> Command {
    let mut cargo = command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // What cargo says about xtask would make build scripts that look at it run again.
    let ours = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(ours)) {
        cargo.env_remove(name);
    }
    cargo
}

/// Shows and runs a command, its output going where ours goes.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let text = shown(command);
    say(&format!("$ {text}"));
    let status = command
        .status()
        .with_context(|| format!("{text} cannot be started"))?;
    if !status.success() {
        bail!("failed ({status}): {text}");
    }
    Ok(())
}

/// Runs a command and returns what it printed.
pub(crate) fn output(command: &mut Command) -> anyhow::Result<String> {
    let text = shown(command);
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("{text} cannot be started"))?;
    if !output.status.success() {
        bail!("failed ({}): {text}", output.status);
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether a program is on PATH and starts.
pub(crate) fn has(program: &str, argument: &str) -> bool {
    let mut command = Command::new(program);
    command
        .arg(argument)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// A command as one would type it, with paths of this checkout shortened.
pub(crate) fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let root = format!("{}/", root().display());
    words.join(" ").replace(&root, "")
}
