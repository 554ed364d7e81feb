//! The first admin key of a data directory, for whoever owns it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use recall_keys::{Filter, Keys, parse_bootstrap_key};
use secrecy::ExposeSecret;

/// Registers the key in `<dir>/admin.key`, making the file (0600) first if it is not there and the
/// store has no key at all. Answers where the file is if it was made now.
///
/// The file comes before the record, so a crash between the two is mended by the next start, and a
/// store that was lost takes its old admin key again. A key that was revoked stays revoked.
pub(crate) async fn ensure(keys: &Keys, dir: &Path) -> anyhow::Result<Option<PathBuf>> {
    let path = dir.join("admin.key");
    if path.exists() {
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let key = parse_bootstrap_key(&text).with_context(|| path.display().to_string())?;
        keys.bootstrap(&key).await?;
        return Ok(None);
    }
    if !keys
        .list(&Filter::default(), None, 1)
        .await?
        .keys
        .is_empty()
    {
        return Ok(None);
    }
    let key = keys.generate()?;
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options
        .open(&path)
        .with_context(|| format!("cannot make {}", path.display()))?;
    writeln!(file, "{}", key.expose_secret())?;
    file.sync_all()?;
    keys.bootstrap(&key).await?;
    Ok(Some(path))
}
