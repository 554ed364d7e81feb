//! The programs under test.

use std::path::{Path, PathBuf};

use anyhow::Context;
use recall_testkit::process::Server;

/// An operator's key, for servers that are given one.
pub const ADMIN: &str = "rcl_00000000000000aa_0123456789abcdef0123456789abcdef";

/// Where the built programs are: `RECALL_BIN`, else beside this very program.
///
/// # Errors
///
/// If they are not there; the message says how to build them.
pub fn folder() -> anyhow::Result<PathBuf> {
    let dir = match std::env::var_os("RECALL_BIN") {
        Some(dir) => PathBuf::from(dir),
        None => {
            let mut dir = std::env::current_exe()?;
            dir.pop();
            if dir.ends_with("deps") {
                dir.pop();
            }
            dir
        }
    };
    for program in ["recall-server", "recall"] {
        anyhow::ensure!(
            dir.join(program).exists(),
            "{program} is not built: run cargo xtask test --only e2e, or cargo build first"
        );
    }
    Ok(dir)
}

/// Starts a server with everything it keeps under `dir`.
///
/// # Errors
///
/// If it cannot be started; the message holds the end of its log.
pub fn server(dir: &Path, name: &str, flags: &[&str]) -> anyhow::Result<Server> {
    let data = format!("--data-dir={}", dir.join(format!("{name}-data")).display());
    let flags = [&[data.as_str()], flags].concat();
    Server::start(&folder()?.join("recall-server"), name, dir, &flags)
}

/// The admin key that a server made for itself at its first start.
///
/// # Errors
///
/// If there is none.
pub fn admin_key(dir: &Path, name: &str) -> anyhow::Result<String> {
    let path = dir.join(format!("{name}-data/admin.key"));
    let text = std::fs::read_to_string(&path).context("the server made an admin key")?;
    Ok(text.trim().to_owned())
}
