//! The published server, to compare with.

use std::path::Path;
use std::process::Command;

use recall_testkit::process::{Process, Stamp, free_port, wait_until};

use crate::http;
use crate::python::{self, program};

/// A running published server with its own local store.
#[derive(Debug)]
pub(crate) struct Original {
    process: Process,
    pub(crate) url: String,
}

impl Original {
    /// Starts it with the admin key in `admin_key_file`, everything it writes under `dir`.
    pub(crate) fn start(
        name: &str,
        dir: &Path,
        admin_key_file: &Path,
        flags: &[&str],
    ) -> anyhow::Result<Self> {
        let environment = python::environment(python::CURRENT)?;
        let port = free_port()?;
        let home = dir.join(format!("{name}-home"));
        std::fs::create_dir_all(&home)?;
        let mut command = Command::new(program(&environment, "recall")?);
        command
            .arg("serve")
            .arg("-listen")
            .arg(format!("127.0.0.1:{port}"))
            .arg("-bootstrap-key-file")
            .arg(admin_key_file)
            .args(flags)
            .env("HOME", &home)
            .env("RECALL_HOME", home.join("recall"))
            .env_remove("RECALL_URL");
        let mut process = Process::start(name, &mut command, &dir.join(format!("{name}.log")))?;
        let url = format!("http://127.0.0.1:{port}");
        let health = format!("{url}/healthz");
        wait_until(&mut process, || http::ok(&health))?;
        Ok(Self { process, url })
    }

    /// The server's process; the store that it runs is a child of it.
    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }
}

impl Drop for Original {
    /// It leaves the store that it runs behind when it ends.
    fn drop(&mut self) {
        let family = Stamp::family(self.process.pid());
        // A server that does not end is killed by its `Process`; the store is ended in any case.
        let _ = self.process.stop();
        family.iter().for_each(Stamp::end);
    }
}

/// The resident memory of one process, in bytes; 0 if it is gone.
pub(crate) fn resident_bytes(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes: u64 = line
        .and_then(|line| line.split_whitespace().next()?.parse().ok())
        .unwrap_or(0);
    kibibytes * 1024
}
