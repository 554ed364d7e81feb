//! The servers under load: ours and the published one, set up alike.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use recall_testkit::process::{Process, Server, Stamp, processor_time, wait_until};
use serde_json::{Value, json};

use super::load::{self, Load};
use super::requests::{self, Dice};
use crate::http::request;
use crate::original::{Original, resident_bytes};
use crate::shell::target;
use crate::test::read_line;

/// The memory that the load works on.
const NAMESPACE: &str = "bench";

/// A server under load.
#[derive(Debug)]
pub(super) struct Side {
    program: Program,
    pub(super) address: SocketAddr,
    /// A key of the memory under load.
    pub(super) key: String,
    /// Its resident memory before anything was asked of it.
    pub(super) idle_bytes: u64,
}

#[derive(Debug)]
enum Program {
    Ours(Box<Server>),
    Theirs(Original),
}

impl Side {
    /// Starts ours on `dir`/`name`-data, or goes on with what is there.
    pub(super) fn ours(
        name: &str,
        dir: &Path,
        admin_key_file: &Path,
        flags: &[String],
    ) -> anyhow::Result<Self> {
        let server = start_ours(name, dir, admin_key_file, flags)?;
        let url = server.url.clone();
        Self::new(Program::Ours(Box::new(server)), &url, admin_key_file)
    }

    /// Starts the published one.
    pub(super) fn theirs(
        name: &str,
        dir: &Path,
        admin_key_file: &Path,
        flags: &[String],
    ) -> anyhow::Result<Self> {
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let server = Original::start(name, dir, admin_key_file, &flags)?;
        let url = server.url.clone();
        Self::new(Program::Theirs(server), &url, admin_key_file)
    }

    fn new(mut program: Program, url: &str, admin_key_file: &Path) -> anyhow::Result<Self> {
        let idle_bytes = program.processes().map(resident_bytes).sum();
        Ok(Self {
            address: address(url)?,
            key: mint(url, &read_line(admin_key_file)?)?,
            idle_bytes,
            program,
        })
    }

    pub(super) fn is_ours(&self) -> bool {
        matches!(self.program, Program::Ours(_))
    }

    /// Fills the memory with facts that follow from `dice`; answers the facts a second.
    pub(super) fn fill(
        &self,
        facts: u64,
        connections: usize,
        dice: &mut Dice,
    ) -> anyhow::Result<f64> {
        let mut write = |number: u64, out: &mut Vec<u8>| {
            let body = requests::fact(number, dice);
            requests::post(out, "/v1/remember", &self.key, &body);
        };
        let load = Load::of(facts, connections);
        Ok(load::run(self.address, load, &mut write)?
            .all_served()?
            .rate())
    }

    pub(super) fn resident_bytes(&mut self) -> u64 {
        self.program.processes().map(resident_bytes).sum()
    }

    /// The processor time that it has had so far.
    pub(super) fn processor_time(&mut self) -> Duration {
        self.program.processes().map(processor_time).sum()
    }
}

impl Program {
    /// The server and what it runs.
    fn processes(&mut self) -> impl Iterator<Item = u32> {
        let pid = match self {
            Self::Ours(server) => server.process().pid(),
            Self::Theirs(server) => server.pid(),
        };
        Stamp::family(pid).into_iter().map(|process| process.pid())
    }
}

/// Starts our server, built for release.
pub(super) fn start_ours(
    name: &str,
    dir: &Path,
    admin_key_file: &Path,
    flags: &[String],
) -> anyhow::Result<Server> {
    let mut all = vec![
        format!("--data-dir={}", dir.join(format!("{name}-data")).display()),
        format!("--bootstrap-key-file={}", admin_key_file.display()),
    ];
    all.extend_from_slice(flags);
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    Server::start(&programs_dir().join("recall-server"), name, dir, &all)
}

/// Where the programs of another build are to be measured, if the environment says so.
pub(super) fn other_build() -> Option<PathBuf> {
    std::env::var_os("RECALL_BIN").map(PathBuf::from)
}

/// Where the programs are that are measured: those that were just built for release, or others.
pub(super) fn programs_dir() -> PathBuf {
    other_build().unwrap_or_else(|| target().join("release"))
}

/// Where a URL on loopback points.
pub(super) fn address(url: &str) -> anyhow::Result<SocketAddr> {
    let host = url.strip_prefix("http://").context("an http URL")?;
    Ok(host.parse()?)
}

/// A key of the memory under load.
pub(super) fn mint(url: &str, admin: &str) -> anyhow::Result<String> {
    mint_for(NAMESPACE, url, admin)
}

/// A key of one memory.
pub(super) fn mint_for(namespace: &str, url: &str, admin: &str) -> anyhow::Result<String> {
    let body = json!({ "namespace": namespace }).to_string();
    let (status, body) = request("POST", &format!("{url}/v1/keys"), Some(admin), &body)?;
    ensure!(status == 201, "no key was minted: {status} {body}");
    // The published server may answer in chunks; the object is what lies between the braces.
    let object = body
        .find('{')
        .zip(body.rfind('}'))
        .and_then(|(from, to)| body.get(from..=to));
    let answer: Value = serde_json::from_str(object.unwrap_or_default())?;
    let key = answer["key"].as_str().context("a minted key is shown")?;
    Ok(key.to_owned())
}

/// The stand-in for the API server that both exchange tokens with.
#[derive(Debug)]
pub(super) struct FakeApi {
    _process: Process,
    url: String,
    pub(super) tokens: Vec<String>,
    ca_file: PathBuf,
    token_file: PathBuf,
}

impl FakeApi {
    pub(super) fn start(dir: &Path, pods: u32) -> anyhow::Result<Self> {
        let (log, tokens) = (dir.join("fake-api.log"), dir.join("tokens"));
        let mut command = Command::new(programs_dir().join("recall-fake-api"));
        command
            .arg(pods.to_string())
            .arg(&tokens)
            .stdin(Stdio::null());
        let mut process = Process::start("recall-fake-api", &mut command, &log)?;
        let line = || std::fs::read_to_string(&log).unwrap_or_default();
        wait_until(&mut process, || line().ends_with('\n'))?;
        let (ca_file, token_file) = (dir.join("ca.crt"), dir.join("own.token"));
        let authority = rcgen::generate_simple_self_signed(vec!["stand-in".to_owned()])?;
        std::fs::write(&ca_file, authority.cert.pem())?;
        std::fs::write(&token_file, "stand-in")?;
        Ok(Self {
            _process: process,
            url: line().trim().to_owned(),
            tokens: std::fs::read_to_string(tokens)?
                .lines()
                .map(str::to_owned)
                .collect(),
            ca_file,
            token_file,
        })
    }

    /// Our flags to exchange tokens with it. The load stands for many pods on many nodes and comes
    /// from one address: the limits by source and tenant, which the published server does not have,
    /// would measure themselves.
    pub(super) fn our_flags(&self) -> Vec<String> {
        vec![
            "--kubernetes".to_owned(),
            format!("--kubernetes-api={}", self.url),
            format!("--kubernetes-token-file={}", self.token_file.display()),
            "--kubernetes-limit-per-source=off".to_owned(),
            "--kubernetes-limit-per-tenant=off".to_owned(),
        ]
    }

    /// The published server's flags.
    pub(super) fn their_flags(&self) -> Vec<String> {
        let shown = |path: &Path| path.display().to_string();
        [
            "-kubernetes",
            "-kubernetes-api",
            &self.url,
            "-kubernetes-ca-file",
            &shown(&self.ca_file),
            "-kubernetes-token-file",
            &shown(&self.token_file),
        ]
        .map(str::to_owned)
        .to_vec()
    }
}
