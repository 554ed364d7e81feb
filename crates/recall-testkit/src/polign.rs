//! A real polign_db on loopback, from the program that its Python package installs.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::process::{Process, processor_time, tail, wait_until};

/// Names the program.
pub const VARIABLE: &str = "RECALL_POLIGN_SERVER";
/// What to do where it is missing.
pub const FIX: &str = "cargo xtask test --only polign installs it, or: pip install polign_db==0.14.0 and set \
                       RECALL_POLIGN_SERVER to the path of its polign-server";

/// How often a store is looked at that puts things in order, and what share of a processor counts as none.
const LOOK: Duration = Duration::from_secs(1);
const CALM: f64 = 0.1;

/// A running server. What it keeps is in a folder, so it can be stopped and started again.
#[derive(Debug)]
pub struct Polign {
    process: Option<Process>,
    program: PathBuf,
    dir: PathBuf,
    http: SocketAddr,
    flags: Vec<String>,
}

/// The program, if the environment names one.
///
/// # Panics
///
/// If there is none although `RECALL_REQUIRE` names `polign`.
#[must_use]
pub fn program() -> Option<PathBuf> {
    let program = std::env::var_os(VARIABLE)
        .map(PathBuf::from)
        .filter(|path| path.exists());
    let required = std::env::var("RECALL_REQUIRE").unwrap_or_default();
    assert!(
        program.is_some() || !required.split(',').any(|part| part == "polign"),
        "RECALL_REQUIRE names polign, and there is no polign-server: {FIX}"
    );
    program
}

impl Polign {
    /// Starts a server that keeps everything under `dir`, with more flags.
    ///
    /// # Errors
    ///
    /// If it does not start; the error holds the end of its log.
    pub fn start(program: &Path, dir: &Path, flags: &[&str]) -> anyhow::Result<Self> {
        let http = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let mut server = Self {
            process: None,
            program: program.to_owned(),
            dir: dir.to_owned(),
            http,
            flags: flags.iter().map(|flag| (*flag).to_owned()).collect(),
        };
        server.restart()?;
        Ok(server)
    }

    /// Its address.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.http)
    }

    /// Starts it at the same address once more; it must not run.
    ///
    /// # Errors
    ///
    /// If it does not start.
    pub fn restart(&mut self) -> anyhow::Result<()> {
        let log = self.dir.join("polign.log");
        let mut command = Command::new(&self.program);
        command
            .arg("-telemetry=false")
            .arg("-store")
            .arg(format!("fs:{}", self.dir.join("polign").display()))
            .args(["-http", &self.http.to_string(), "-grpc", "127.0.0.1:0"])
            .args(&self.flags)
            .env("HOME", &self.dir);
        let mut process = Process::start("polign-server", &mut command, &log)?;
        wait_until(&mut process, || TcpStream::connect(self.http).is_ok())
            .with_context(|| tail(&log))?;
        self.process = Some(process);
        Ok(())
    }

    /// Kills it at once, as a crash would.
    ///
    /// # Errors
    ///
    /// If it does not run.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        self.process
            .take()
            .context("polign-server does not run")?
            .kill()
    }

    /// Waits until it has put in order what was written, which it does by itself for a while after the
    /// last write, on the processors of whoever measures; at most for `within`.
    pub fn settle(&mut self, within: Duration) {
        let Some(pid) = self.process().map(|process| process.pid()) else {
            return;
        };
        let began = Instant::now();
        while began.elapsed() < within {
            let (looked, before) = (Instant::now(), processor_time(pid));
            while looked.elapsed() < LOOK {
                std::thread::park_timeout(LOOK);
            }
            if processor_time(pid).saturating_sub(before) < LOOK.mul_f64(CALM) {
                return;
            }
        }
    }

    /// The process, while it runs.
    pub fn process(&mut self) -> Option<&mut Process> {
        self.process.as_mut()
    }
}
