//! A Qdrant on loopback: the stand-in of `tests/qdrant`, or a real server where one is named.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::process::{Process, tail, wait_until};

/// Names the gRPC address of a real server.
pub const URL: &str = "RECALL_TEST_QDRANT_URL";
/// Names the program that stands in for one.
pub const STANDIN: &str = "RECALL_QDRANT_STANDIN";
/// What to do where both are missing.
pub const FIX: &str = "cargo xtask test --only qdrant builds the stand-in; or set RECALL_QDRANT_STANDIN to the program \
                       that cargo build --manifest-path tests/qdrant/Cargo.toml makes";

/// A server, real or not.
#[derive(Debug)]
pub struct Qdrant {
    url: String,
    prefix: String,
    own: Option<Own>,
}

/// A stand-in that this process started. What it keeps is in a folder, so it can be stopped and
/// started again.
#[derive(Debug)]
struct Own {
    process: Option<Process>,
    program: PathBuf,
    dir: PathBuf,
    address: SocketAddr,
    rest: SocketAddr,
    flags: Vec<String>,
}

impl Qdrant {
    /// The real server if one is named, else a stand-in that keeps everything under `dir`. `None`
    /// where there is neither.
    ///
    /// # Errors
    ///
    /// If it does not start; the error holds the end of its log.
    pub fn start(dir: &Path) -> anyhow::Result<Option<Self>> {
        match std::env::var(URL) {
            Ok(url) if !url.is_empty() => Ok(Some(Self {
                url,
                prefix: unique(dir),
                own: None,
            })),
            _ => Self::start_own(dir, &[]),
        }
    }

    /// A stand-in with more flags, for tests that kill it or trouble it.
    ///
    /// # Errors
    ///
    /// If it does not start; the error holds the end of its log.
    pub fn start_own(dir: &Path, flags: &[&str]) -> anyhow::Result<Option<Self>> {
        let Some(program) = program() else {
            return Ok(None);
        };
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let rest = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let mut server = Self {
            url: format!("http://{address}"),
            prefix: "recall_lexical_v1".to_owned(),
            own: Some(Own {
                process: None,
                program,
                dir: dir.to_owned(),
                address,
                rest,
                flags: flags.iter().map(|flag| (*flag).to_owned()).collect(),
            }),
        };
        server.restart()?;
        Ok(Some(server))
    }

    /// Its address.
    #[must_use]
    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// Where a stand-in answers over REST, as the published server asks.
    ///
    /// # Errors
    ///
    /// If it is a real server.
    pub fn rest_url(&self) -> anyhow::Result<String> {
        let own = self.own.as_ref().context("a real server is not ours")?;
        Ok(format!("http://{}", own.rest))
    }

    /// What the names of collections are to begin with, so that tests on one real server keep apart.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Starts a stand-in at the same address once more; it must not run.
    ///
    /// # Errors
    ///
    /// If it does not start, or is not ours to start.
    pub fn restart(&mut self) -> anyhow::Result<()> {
        let own = self.own.as_mut().context("a real server is not ours")?;
        let log = own.dir.join("qdrant.log");
        let kept = own.dir.join("qdrant");
        std::fs::create_dir_all(&kept)?;
        let mut command = Command::new(&own.program);
        command
            .args(["--listen", &own.address.to_string()])
            .args(["--rest", &own.rest.to_string()])
            .arg("--dir")
            .arg(kept)
            .args(&own.flags);
        let mut process = Process::start("qdrant-standin", &mut command, &log)?;
        let address = own.address;
        wait_until(&mut process, || TcpStream::connect(address).is_ok())
            .with_context(|| tail(&log))?;
        own.process = Some(process);
        Ok(())
    }

    /// Kills a stand-in at once, as a crash would.
    ///
    /// # Errors
    ///
    /// If it does not run, or is not ours to kill.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        let own = self.own.as_mut().context("a real server is not ours")?;
        own.process
            .take()
            .context("the stand-in does not run")?
            .kill()
    }

    /// Orders trouble of a stand-in, as the head of its `faults.rs` says.
    ///
    /// # Errors
    ///
    /// If it is a real server, or the order cannot be written.
    pub fn trouble(&self, lines: &str) -> anyhow::Result<()> {
        let own = self.own.as_ref().context("a real server is not ours")?;
        let (next, file) = (own.dir.join("qdrant/order"), own.dir.join("qdrant/faults"));
        // Whole or not at all: it may be reading.
        std::fs::write(&next, lines)?;
        Ok(std::fs::rename(next, file)?)
    }
}

/// The stand-in, if the environment names it.
///
/// # Panics
///
/// If there is none although `RECALL_REQUIRE` names `qdrant`.
#[must_use]
pub fn program() -> Option<PathBuf> {
    let program = std::env::var_os(STANDIN)
        .map(PathBuf::from)
        .filter(|path| path.exists());
    let required = std::env::var("RECALL_REQUIRE").unwrap_or_default();
    assert!(
        program.is_some() || !required.split(',').any(|part| part == "qdrant"),
        "RECALL_REQUIRE names qdrant, and there is no stand-in: {FIX}"
    );
    program
}

/// A prefix that no other test has, after the name of its folder.
fn unique(dir: &Path) -> String {
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    let plain = name.chars().filter(char::is_ascii_alphanumeric);
    format!("test_{}", plain.collect::<String>())
}
