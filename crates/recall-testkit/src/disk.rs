//! A disk of a few megabytes for a program under test: a tmpfs that only this program sees, so a test can
//! fill it and free it again.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

/// What to do where there can be none.
pub const FIX: &str = "a small disk needs `unshare -Urm` (util-linux) and leave to use it: on Linux, allow user \
                       namespaces or run as root";
const BLOCK: [u8; 4096] = [0x5a; 4096];

/// Where a program finds its small disk.
#[derive(Debug)]
pub struct SmallDisk {
    dir: PathBuf,
}

impl SmallDisk {
    /// A disk of `megabytes` at `dir`, and a program to start in place of `program`: it mounts the disk
    /// and becomes `program`, under the same process number. `None` where the system has none to give.
    ///
    /// # Errors
    ///
    /// If the folder or the program cannot be made.
    ///
    /// # Panics
    ///
    /// If there is none although `RECALL_REQUIRE` names `e2e`.
    pub fn under(
        program: &Path,
        dir: &Path,
        megabytes: u32,
    ) -> anyhow::Result<Option<(Self, PathBuf)>> {
        let may = Command::new("unshare").args(["-Urm", "true"]).output();
        let may = may.is_ok_and(|output| output.status.success());
        let required = std::env::var("RECALL_REQUIRE").unwrap_or_default();
        assert!(
            may || !required.split(',').any(|part| part == "e2e"),
            "RECALL_REQUIRE names e2e, and there is no small disk: {FIX}"
        );
        if !may {
            return Ok(None);
        }
        fs::create_dir_all(dir)?;
        let starter = dir.with_extension("sh");
        let script = format!(
            "#!/bin/sh\nexec unshare -Urm sh -c 'mount -t tmpfs -o size={megabytes}m tmpfs \"$0\" && exec \"$@\"' \
             '{}' '{}' \"$@\"\n",
            dir.display(),
            program.display()
        );
        fs::write(&starter, script)?;
        let status = Command::new("chmod").arg("700").arg(&starter).status()?;
        anyhow::ensure!(
            status.success(),
            "{} cannot be made a program",
            starter.display()
        );
        let disk = Self {
            dir: dir.to_owned(),
        };
        Ok(Some((disk, starter)))
    }

    /// Where the disk of a running program is for everybody else.
    #[must_use]
    pub fn seen_by(&self, pid: u32) -> PathBuf {
        let inside = self.dir.strip_prefix("/").unwrap_or(&self.dir);
        Path::new("/proc")
            .join(pid.to_string())
            .join("root")
            .join(inside)
    }

    /// Leaves no room on it.
    ///
    /// # Errors
    ///
    /// If it fails in another way than by being full.
    pub fn fill(&self, pid: u32) -> anyhow::Result<()> {
        let path = self.filler(pid);
        let mut filler = File::create(&path).with_context(|| format!("no {}", path.display()))?;
        loop {
            match filler.write_all(&BLOCK) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::StorageFull => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Frees what [`fill`](Self::fill) took.
    ///
    /// # Errors
    ///
    /// If it was not filled.
    pub fn free(&self, pid: u32) -> anyhow::Result<()> {
        Ok(fs::remove_file(self.filler(pid))?)
    }

    fn filler(&self, pid: u32) -> PathBuf {
        self.seen_by(pid).join("filler")
    }
}
