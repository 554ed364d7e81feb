//! Starting and ending a control plane in a folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use recall_testkit::process::{Process, Stamp, tail, wait_until};

use super::pki;
use super::programs::Programs;
use crate::http;
use crate::original::free_port;
use crate::shell::say;

const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";

/// A running control plane. It ends when this is dropped, unless it was left running.
#[derive(Debug)]
pub(crate) struct Plane {
    dir: PathBuf,
    port: u16,
    admin_token: String,
    /// Clients of the API server first, its store last: the order in which they end.
    processes: Vec<Process>,
}

impl Plane {
    /// Starts it in `dir`, which is emptied first, and waits until it is ready.
    pub(crate) fn start(programs: &Programs, dir: &Path) -> anyhow::Result<Self> {
        if dir.exists() {
            fs::remove_dir_all(dir)?;
        }
        fs::create_dir_all(dir.join("log"))?;
        pki::write(dir)?;
        let [admin, manager] = [random()?, random()?];
        let tokens = format!(
            "{admin},admin,admin,\"system:masters\"\n{manager},system:kube-controller-manager,kcm\n"
        );
        fs::write(dir.join("tokens.csv"), tokens)?;
        let (etcd, etcd_url) = etcd(programs, dir)?;
        let (mut apiserver, port) = apiserver(programs, dir, &etcd_url)?;
        let mut plane = Self {
            dir: dir.to_owned(),
            port,
            admin_token: admin,
            processes: vec![etcd],
        };
        let ready = wait_until(&mut apiserver, || plane.ready());
        plane.processes.insert(0, apiserver);
        ready.map_err(|error| error.context(tail(&dir.join("log/kube-apiserver.log"))))?;
        if let Some(program) = &programs.controller_manager {
            plane
                .processes
                .insert(0, controller_manager(program, &plane, &manager)?);
        }
        fs::write(
            dir.join("kubeconfig"),
            plane.kubeconfig("admin", &plane.admin_token)?,
        )?;
        fs::write(dir.join("env"), plane.environment_text())?;
        let stamps = plane
            .processes
            .iter()
            .filter_map(|process| Stamp::of(process.pid()));
        let pids: Vec<_> = stamps.map(|stamp| stamp.to_string()).collect();
        fs::write(dir.join("pids"), pids.join("\n"))?;
        Ok(plane)
    }

    /// The variables by which tests find it.
    pub(crate) fn environment(&self) -> [(&'static str, String); 4] {
        [
            ("RECALL_K8S_URL", self.url()),
            (
                "RECALL_K8S_CA",
                self.dir.join("ca.crt").display().to_string(),
            ),
            ("RECALL_K8S_ADMIN_TOKEN", self.admin_token.clone()),
            (
                "KUBECONFIG",
                self.dir.join("kubeconfig").display().to_string(),
            ),
        ]
    }

    pub(super) fn environment_text(&self) -> String {
        let lines = self
            .environment()
            .map(|(name, value)| format!("export {name}={value}"));
        lines.join("\n")
    }

    /// Lets it run on after this process.
    pub(super) fn leave(self) {
        // Dropping a `Process` ends it; these are ended by `cluster down`.
        self.processes.into_iter().for_each(Process::leave);
    }

    fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    fn ready(&self) -> bool {
        http::https_ok(self.port, "/readyz", &self.dir.join("ca.crt"))
    }

    fn kubeconfig(&self, user: &str, token: &str) -> anyhow::Result<String> {
        let ca = self.dir.join("ca.crt");
        let config = serde_json::json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "recall",
            "clusters": [{ "name": "recall", "cluster": { "server": self.url(), "certificate-authority": ca } }],
            "users": [{ "name": user, "user": { "token": token } }],
            "contexts": [{ "name": "recall", "context": { "cluster": "recall", "user": user } }],
        });
        Ok(serde_json::to_string_pretty(&config)?)
    }
}

fn etcd(programs: &Programs, dir: &Path) -> anyhow::Result<(Process, String)> {
    let clients = format!("http://127.0.0.1:{}", free_port()?);
    let peers = format!("http://127.0.0.1:{}", free_port()?);
    let mut command = Command::new(&programs.etcd);
    // Nothing here outlives the day: not waiting for the disk makes it start and answer faster.
    command
        .args(["--name=t", "--unsafe-no-fsync", "--log-level=warn"])
        .arg(format!("--data-dir={}", dir.join("etcd").display()))
        .arg(format!("--listen-client-urls={clients}"))
        .arg(format!("--advertise-client-urls={clients}"))
        .arg(format!("--listen-peer-urls={peers}"))
        .arg(format!("--initial-advertise-peer-urls={peers}"))
        .arg(format!("--initial-cluster=t={peers}"));
    Ok((
        Process::start("etcd", &mut command, &dir.join("log/etcd.log"))?,
        clients,
    ))
}

fn apiserver(programs: &Programs, dir: &Path, etcd: &str) -> anyhow::Result<(Process, u16)> {
    let port = free_port()?;
    let file = |name: &str| dir.join(name).display().to_string();
    let mut command = Command::new(&programs.apiserver);
    command.args([
        format!("--etcd-servers={etcd}"),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--secure-port={port}"),
        // An address for documentation: nothing is told to come to this server by itself.
        "--advertise-address=192.0.2.1".to_owned(),
        "--endpoint-reconciler-type=none".to_owned(),
        format!("--cert-dir={}", dir.display()),
        format!("--tls-cert-file={}", file("apiserver.crt")),
        format!("--tls-private-key-file={}", file("apiserver.key")),
        format!("--client-ca-file={}", file("ca.crt")),
        format!("--token-auth-file={}", file("tokens.csv")),
        format!("--service-account-issuer={ISSUER}"),
        format!("--api-audiences={ISSUER}"),
        format!("--service-account-signing-key-file={}", file("sa.key")),
        format!("--service-account-key-file={}", file("sa.pub")),
        "--authorization-mode=Node,RBAC".to_owned(),
        "--enable-admission-plugins=NodeRestriction".to_owned(),
        "--service-cluster-ip-range=10.96.0.0/24".to_owned(),
        "--profiling=false".to_owned(),
    ]);
    let log = dir.join("log/kube-apiserver.log");
    let process = Process::start("kube-apiserver", &mut command, &log)?;
    Ok((process, port))
}

fn controller_manager(program: &Path, plane: &Plane, token: &str) -> anyhow::Result<Process> {
    let config = plane.dir.join("controller-manager.kubeconfig");
    fs::write(&config, plane.kubeconfig("kcm", token)?)?;
    let mut command = Command::new(program);
    command.args([
        format!("--kubeconfig={}", config.display()),
        "--use-service-account-credentials".to_owned(),
        "--leader-elect=false".to_owned(),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--secure-port={}", free_port()?),
        format!("--cert-dir={}", plane.dir.display()),
        format!("--root-ca-file={}", plane.dir.join("ca.crt").display()),
        format!(
            "--service-account-private-key-file={}",
            plane.dir.join("sa.key").display()
        ),
    ]);
    let log = plane.dir.join("log/kube-controller-manager.log");
    Process::start("kube-controller-manager", &mut command, &log)
}

/// Whether a control plane left running in `dir` still does.
pub(super) fn alive(dir: &Path) -> bool {
    left(dir).is_some_and(|stamps| stamps.iter().all(Stamp::runs))
}

/// Ends what was left running in `dir`, and nothing else.
pub(super) fn end(dir: &Path) -> anyhow::Result<()> {
    let stamps = left(dir).context("no control plane was started here")?;
    stamps.iter().for_each(Stamp::end);
    fs::remove_file(dir.join("pids"))?;
    say("the control plane was told to end; its logs stay in target/xtask/cluster/log");
    Ok(())
}

fn left(dir: &Path) -> Option<Vec<Stamp>> {
    let text = fs::read_to_string(dir.join("pids")).ok()?;
    text.lines().map(Stamp::parse).collect()
}

fn random() -> anyhow::Result<String> {
    let mut bytes = [0u8; 24];
    getrandom::fill(&mut bytes).map_err(|error| anyhow::anyhow!("no randomness: {error}"))?;
    Ok(hex::encode(bytes))
}
