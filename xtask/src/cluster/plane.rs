//! Starting and ending a control plane in a folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;
use recall_testkit::process::{Process, Stamp, tail, wait_until};

use super::net::Net;
use super::node;
use super::pki;
use super::programs::Programs;
use crate::chart::Tools;
use crate::http;
use crate::shell::say;
use recall_testkit::process::free_port;

const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";

/// A running control plane. It ends when this is dropped, unless it was left running.
#[derive(Debug)]
pub(crate) struct Plane {
    pub(super) dir: PathBuf,
    pub(super) net: Net,
    port: u16,
    tokens: BTreeMap<&'static str, String>,
    /// Clients of the API server first, its store last: the order in which they end.
    processes: Vec<Process>,
}

impl Plane {
    /// Starts it on loopback in `dir`, which is emptied first, and waits until it is ready.
    pub(crate) fn start(programs: &Programs, dir: &Path) -> anyhow::Result<Self> {
        Self::start_in(programs, dir, Net::loopback())
    }

    /// The same in a network.
    pub(super) fn start_in(programs: &Programs, dir: &Path, net: Net) -> anyhow::Result<Self> {
        if dir.exists() {
            fs::remove_dir_all(dir)?;
        }
        fs::create_dir_all(dir.join("log"))?;
        net.note(dir)?;
        pki::write(dir, &net.address)?;
        let tokens = tokens(dir)?;
        let (etcd, etcd_url) = etcd(programs, dir, &net)?;
        let (mut apiserver, port) = apiserver(programs, dir, &etcd_url, &net)?;
        let mut plane = Self {
            dir: dir.to_owned(),
            net,
            port,
            tokens,
            processes: vec![etcd],
        };
        let ready = wait_until(&mut apiserver, || plane.ready());
        plane.processes.insert(0, apiserver);
        ready.map_err(|error| error.context(tail(&dir.join("log/kube-apiserver.log"))))?;
        if let Some(program) = &programs.controller_manager {
            let manager = controller_manager(program, &plane)?;
            plane.processes.insert(0, manager);
        }
        plane.kubeconfig_file(ADMIN, "kubeconfig")?;
        fs::write(dir.join("env"), plane.environment_text())?;
        plane.note_processes()?;
        Ok(plane)
    }

    /// Takes over the processes of another part, which end before those that run already.
    pub(super) fn add(&mut self, processes: Vec<Process>) -> anyhow::Result<()> {
        self.processes.splice(0..0, processes);
        self.note_processes()
    }

    fn note_processes(&self) -> anyhow::Result<()> {
        let stamps = self
            .processes
            .iter()
            .flat_map(|process| Stamp::family(process.pid()));
        let pids: Vec<_> = stamps.map(|stamp| stamp.to_string()).collect();
        fs::write(self.dir.join("pids"), pids.join("\n"))?;
        Ok(())
    }

    /// The variables by which tests find it.
    pub(crate) fn environment(&self) -> [(&'static str, String); 4] {
        [
            ("RECALL_K8S_URL", self.url()),
            (
                "RECALL_K8S_CA",
                self.dir.join("ca.crt").display().to_string(),
            ),
            ("RECALL_K8S_ADMIN_TOKEN", self.token(ADMIN).to_owned()),
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
    pub(crate) fn leave(self) {
        // Dropping a `Process` ends it; these are ended by `cluster down`.
        let mut this = self;
        std::mem::take(&mut this.processes)
            .into_iter()
            .for_each(Process::leave);
        this.net = Net::loopback();
    }

    /// kubectl as the administrator.
    pub(crate) fn kubectl(&self, tools: &Tools) -> Command {
        let mut kubectl = tools.kubectl();
        kubectl
            .arg(format!(
                "--kubeconfig={}",
                self.dir.join("kubeconfig").display()
            ))
            .arg(format!(
                "--cache-dir={}",
                self.dir.join("kubectl").display()
            ));
        kubectl
    }

    /// The same, printing nothing where all goes well.
    pub(super) fn quiet_kubectl(&self, tools: &Tools) -> Command {
        let mut kubectl = self.kubectl(tools);
        kubectl.stdout(Stdio::null());
        kubectl
    }

    pub(super) fn url(&self) -> String {
        format!("https://{}:{}", self.net.address, self.port)
    }

    /// Where the API server is, in two parts.
    pub(super) fn host_and_port(&self) -> (String, String) {
        (self.net.address.clone(), self.port.to_string())
    }

    pub(super) fn token(&self, user: &str) -> &str {
        self.tokens
            .get(user)
            .map(String::as_str)
            .unwrap_or_default()
    }

    fn ready(&self) -> bool {
        http::https_ok(
            &self.net.address,
            self.port,
            "/readyz",
            &self.dir.join("ca.crt"),
        )
    }

    /// Writes a kubeconfig for one of the users and answers its path.
    pub(super) fn kubeconfig_file(&self, user: &str, name: &str) -> anyhow::Result<PathBuf> {
        self.kubeconfig_with(user, self.token(user), name)
    }

    /// Writes a kubeconfig with a token and answers its path.
    pub(super) fn kubeconfig_with(
        &self,
        user: &str,
        token: &str,
        name: &str,
    ) -> anyhow::Result<PathBuf> {
        let path = self.dir.join(name);
        fs::write(&path, self.kubeconfig(user, token)?)?;
        Ok(path)
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

impl Drop for Plane {
    fn drop(&mut self) {
        // In their order: a client that outlived its server would only log errors.
        for process in self.processes.drain(..) {
            // A program started through another is not told by that one to end.
            Stamp::family(process.pid())
                .iter()
                .skip(1)
                .for_each(Stamp::end);
        }
        if self.net.pods().is_some() {
            node::sweep();
        }
        self.net.remove();
    }
}

/// The users that the API server knows by a token.
const ADMIN: &str = "admin";
const USERS: [(&str, &str); 5] = [
    (ADMIN, "system:masters"),
    ("system:kube-controller-manager", ""),
    ("system:kube-scheduler", ""),
    ("system:kube-proxy", ""),
    ("system:node:n1", "system:nodes"),
];

fn tokens(dir: &Path) -> anyhow::Result<BTreeMap<&'static str, String>> {
    let mut tokens = BTreeMap::new();
    let mut file = String::new();
    for (user, group) in USERS {
        let token = random()?;
        file.push_str(&format!("{token},{user},{user},\"{group}\"\n"));
        tokens.insert(user, token);
    }
    fs::write(dir.join("tokens.csv"), file)?;
    Ok(tokens)
}

fn etcd(programs: &Programs, dir: &Path, net: &Net) -> anyhow::Result<(Process, String)> {
    let clients = format!("http://127.0.0.1:{}", free_port()?);
    let peers = format!("http://127.0.0.1:{}", free_port()?);
    let mut command = net.command(&programs.etcd);
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

fn apiserver(
    programs: &Programs,
    dir: &Path,
    etcd: &str,
    net: &Net,
) -> anyhow::Result<(Process, u16)> {
    let port = free_port()?;
    let file = |name: &str| dir.join(name).display().to_string();
    let mut command = net.command(&programs.apiserver);
    command.args([
        format!("--etcd-servers={etcd}"),
        format!("--bind-address={}", net.address),
        format!("--secure-port={port}"),
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
    match net.pods() {
        // An address for documentation: nothing is told to come to this server by itself.
        None => command.args([
            "--advertise-address=192.0.2.1",
            "--endpoint-reconciler-type=none",
        ]),
        Some(_) => command.args([
            format!("--advertise-address={}", net.address),
            format!(
                "--kubelet-client-certificate={}",
                file("kubelet-client.crt")
            ),
            format!("--kubelet-client-key={}", file("kubelet-client.key")),
            "--kubelet-preferred-address-types=InternalIP".to_owned(),
        ]),
    };
    let log = dir.join("log/kube-apiserver.log");
    let process = Process::start("kube-apiserver", &mut command, &log)?;
    Ok((process, port))
}

fn controller_manager(program: &Path, plane: &Plane) -> anyhow::Result<Process> {
    let user = "system:kube-controller-manager";
    let config = plane.kubeconfig_file(user, "controller-manager.kubeconfig")?;
    let mut command = plane.net.command(program);
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
    for stamp in &stamps {
        end_one(stamp);
    }
    if let Some(net) = Net::left(dir) {
        node::sweep();
        net.remove();
    }
    fs::remove_file(dir.join("pids"))?;
    say("the control plane has ended; its logs stay in target/xtask/cluster/log");
    Ok(())
}

/// Ends a process that is not our child, before those that it needs.
fn end_one(stamp: &Stamp) {
    stamp.end();
    let pid = stamp.pid().to_string();
    // Ends with the process, or after the time that a program here may take.
    let wait = ["15", "tail", "--follow", "--pid", &pid, "/dev/null"];
    let _ = Command::new("timeout").args(wait).status();
    if stamp.runs() {
        let _ = Command::new("kill").args(["-KILL", &pid]).status();
    }
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
