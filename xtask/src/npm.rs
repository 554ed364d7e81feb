//! Packages of the npm registry, pinned with their hashes, installed once and kept.

use std::path::{Path, PathBuf};

use anyhow::Context;
use sha2::{Digest, Sha256};

use crate::shell::{cache, command, has, root, run, say};

/// What to do about a machine without npm.
pub(crate) const FIX: &str = "install Node.js with npm";

const PACKAGES: &str = "tests/mcp";

/// Whether packages can be installed.
pub(crate) fn available() -> bool {
    has("npm", "--version")
}

/// Puts the scripts of the tests beside what they import, in an empty folder.
pub(crate) fn set_up(dir: &Path) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(root().join(PACKAGES))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "mjs") {
            let name = path.file_name().context("a file has a name")?;
            std::fs::copy(&path, dir.join(name))?;
        }
    }
    std::os::unix::fs::symlink(installed()?.join("node_modules"), dir.join("node_modules"))?;
    Ok(())
}

/// The folder with the packages.
fn installed() -> anyhow::Result<PathBuf> {
    let lock = std::fs::read(root().join(PACKAGES).join("package-lock.json"))?;
    let name = hex::encode(&Sha256::digest(&lock)[..8]);
    let dir = cache()?.join("npm").join(name);
    if dir.join("ready").exists() {
        return Ok(dir);
    }
    say(&format!("installing the packages of {PACKAGES}"));
    if dir.exists() {
        std::fs::remove_dir_all(&dir)?;
    }
    std::fs::create_dir_all(&dir)?;
    for file in ["package.json", "package-lock.json", ".npmrc"] {
        std::fs::copy(root().join(PACKAGES).join(file), dir.join(file))?;
    }
    let flags = ["ci", "--no-audit", "--no-fund", "--silent"];
    run(command("npm").args(flags).current_dir(&dir))?;
    std::fs::write(dir.join("ready"), "")?;
    Ok(dir)
}
