//! Where a control plane listens: on loopback, or in a network of its own that pods reach.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::ensure;

use crate::shell::{output, say};

/// The network of a cluster.
#[derive(Debug)]
pub(super) struct Net {
    /// The address of the API server.
    pub(super) address: String,
    namespace: Option<Namespace>,
}

/// A network namespace with one cable to this machine. Whatever the cluster does to addresses, routes
/// and filters happens in it and goes with it.
#[derive(Debug)]
struct Namespace {
    name: String,
    subnet: u8,
}

impl Net {
    pub(super) fn loopback() -> Self {
        Self {
            address: "127.0.0.1".to_owned(),
            namespace: None,
        }
    }

    /// Makes a network that is not in use yet. Needs root.
    pub(super) fn own() -> anyhow::Result<Self> {
        let taken = output(Command::new("ip").args(["-4", "-oneline", "address"]))?;
        let free = (0..=255).find(|subnet| !taken.contains(&format!(" 10.88.{subnet}.")));
        let subnet = free
            .ok_or_else(|| anyhow::anyhow!("every network 10.88.0.0 to 10.88.255.0 is in use"))?;
        let namespace = Namespace {
            name: format!("recall-{subnet}"),
            subnet,
        };
        let net = Self {
            address: format!("10.88.{subnet}.2"),
            namespace: Some(namespace),
        };
        net.make()?;
        Ok(net)
    }

    /// The network that an earlier process left in `dir`.
    pub(super) fn left(dir: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(dir.join("network")).ok()?;
        let subnet = text.trim().parse().ok()?;
        let namespace = Namespace {
            name: format!("recall-{subnet}"),
            subnet,
        };
        Some(Self {
            address: format!("10.88.{subnet}.2"),
            namespace: Some(namespace),
        })
    }

    /// Writes down which network it is, for [`Net::left`].
    pub(super) fn note(&self, dir: &Path) -> anyhow::Result<()> {
        if let Some(namespace) = &self.namespace {
            std::fs::write(dir.join("network"), namespace.subnet.to_string())?;
        }
        Ok(())
    }

    /// A program that runs in this network.
    pub(super) fn command(&self, program: &Path) -> Command {
        match &self.namespace {
            None => Command::new(program),
            Some(namespace) => {
                let mut command = Command::new("nsenter");
                command
                    .arg(format!("--net={}", namespace.file().display()))
                    .arg("--")
                    .arg(program);
                command
            }
        }
    }

    /// The addresses of pods, if there can be any.
    pub(super) fn pods(&self) -> Option<String> {
        let subnet = self.namespace.as_ref()?.subnet;
        Some(format!("10.89.{subnet}.0/24"))
    }

    fn make(&self) -> anyhow::Result<()> {
        let Some(Namespace { name, subnet }) = &self.namespace else {
            return Ok(());
        };
        let (ours, theirs) = (format!("rc{subnet}a"), format!("rc{subnet}b"));
        for line in [
            format!("netns add {name}"),
            format!("link add {ours} type veth peer name {theirs} netns {name}"),
            format!("address add 10.88.{subnet}.1/24 dev {ours}"),
            format!("link set {ours} up"),
            format!("-n {name} address add 10.88.{subnet}.2/24 dev {theirs}"),
            format!("-n {name} link set {theirs} up"),
            format!("-n {name} link set lo up"),
            // kube-proxy and pods want a way out; there is nothing behind it.
            format!("-n {name} route add default via 10.88.{subnet}.1"),
        ] {
            let done = Command::new("ip").args(line.split(' ')).output()?;
            let complaint = String::from_utf8_lossy(&done.stderr).into_owned();
            ensure!(done.status.success(), "ip {line}: {complaint}");
        }
        Ok(())
    }

    /// Takes it away, and with it every interface and rule in it.
    pub(super) fn remove(&self) {
        let Some(namespace) = &self.namespace else {
            return;
        };
        let removed = Command::new("ip")
            .args(["netns", "delete", &namespace.name])
            .output();
        if !removed.is_ok_and(|output| output.status.success()) {
            say(&format!(
                "the network namespace {} is still there",
                namespace.name
            ));
        }
        // The cable's end here stays as long as a process holds the other end.
        let _ = Command::new("ip")
            .args(["link", "delete", &format!("rc{}a", namespace.subnet)])
            .output();
    }
}

impl Namespace {
    fn file(&self) -> PathBuf {
        Path::new("/run/netns").join(&self.name)
    }
}
