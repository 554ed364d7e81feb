//! The first admin key of a fresh store, for whoever owns the data directory.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use recall_keys::{Filter, Keys};
use secrecy::ExposeSecret;

/// Mints an admin key into `<dir>/admin.key` (0600) if the store has no key at all and the file is
/// not there. Answers where it is if it was made now.
pub(crate) async fn ensure(keys: &Keys, dir: &Path) -> anyhow::Result<Option<PathBuf>> {
    let path = dir.join("admin.key");
    let any = keys.list(&Filter::default(), None, 1).await?;
    if !any.keys.is_empty() || path.exists() {
        return Ok(None);
    }
    let minted = keys.mint_admin("first admin key").await?;
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options
        .open(&path)
        .with_context(|| format!("cannot make {}", path.display()))?;
    writeln!(file, "{}", minted.key.expose_secret())?;
    file.sync_all()?;
    Ok(Some(path))
}
