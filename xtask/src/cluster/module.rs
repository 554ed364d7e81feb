//! Go modules whose programs are built once a machine, by name, from the Go module proxy.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::Context;
use sha2::{Digest, Sha256};

use crate::shell::{cache, output, root, run, say};

/// etcd, the API server and its controllers.
pub(super) const CONTROL_PLANE: Module = Module {
    folder: "",
    sources: &[],
    programs: &[
        ("etcd", "go.etcd.io/etcd/server/v3"),
        ("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"),
        (
            "kube-controller-manager",
            "k8s.io/kubernetes/cmd/kube-controller-manager",
        ),
    ],
    stamp: Some("k8s.io/kubernetes"),
};

/// What a node needs of Kubernetes.
pub(super) const NODE: Module = Module {
    folder: "node",
    sources: &["pause/main.go"],
    programs: &[
        ("kubelet", "k8s.io/kubernetes/cmd/kubelet"),
        ("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler"),
        ("kube-proxy", "k8s.io/kubernetes/cmd/kube-proxy"),
        ("pause", "./pause"),
    ],
    stamp: Some("k8s.io/kubernetes"),
};

/// The container runtime.
pub(super) const CONTAINERD: Module = Module {
    folder: "containerd",
    sources: &[],
    programs: &[
        (
            "containerd",
            "github.com/containerd/containerd/v2/cmd/containerd",
        ),
        (
            "containerd-shim-runc-v2",
            "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2",
        ),
        ("ctr", "github.com/containerd/containerd/v2/cmd/ctr"),
    ],
    stamp: None,
};

/// DNS of the cluster.
pub(super) const COREDNS: Module = Module {
    folder: "coredns",
    sources: &["main.go"],
    programs: &[("coredns", ".")],
    stamp: None,
};

/// What makes NetworkPolicies hold.
pub(super) const NETWORK_POLICIES: Module = Module {
    folder: "network-policies",
    sources: &[],
    programs: &[(
        "kube-network-policies",
        "sigs.k8s.io/kube-network-policies/cmd",
    )],
    stamp: None,
};

/// The controller of agent-sandbox; its definitions lie in the module itself.
pub(super) const AGENT_SANDBOX: Module = Module {
    folder: "agent-sandbox",
    sources: &[],
    programs: &[(
        "agent-sandbox-controller",
        "sigs.k8s.io/agent-sandbox/cmd/agent-sandbox-controller",
    )],
    stamp: None,
};

/// A module under `xtask/cluster`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Module {
    folder: &'static str,
    /// Sources of its own.
    sources: &'static [&'static str],
    /// Each program's name and package.
    programs: &'static [(&'static str, &'static str)],
    /// The module whose version the programs are told that they have.
    stamp: Option<&'static str>,
}

impl Module {
    /// The folder for programs of exactly these versions, built by this Go.
    pub(super) fn folder(&self) -> anyhow::Result<PathBuf> {
        let mut hash = Sha256::new();
        for file in ["go.mod", "go.sum"].iter().chain(self.sources) {
            hash.update(std::fs::read(self.dir().join(file))?);
        }
        let go = ["env", "GOVERSION", "GOOS", "GOARCH"];
        hash.update(output(Command::new("go").args(go))?);
        Ok(cache()?
            .join("cluster")
            .join(hex::encode(&hash.finalize()[..8])))
    }

    /// That folder, with all programs in it.
    pub(super) fn built(&self) -> anyhow::Result<PathBuf> {
        let folder = self.folder()?;
        std::fs::create_dir_all(&folder)?;
        for (name, package) in self.programs {
            self.build(name, package, &folder)?;
        }
        Ok(folder)
    }

    /// Where Go keeps the sources of a module that this one requires.
    pub(super) fn source_of(&self, module: &str) -> anyhow::Result<PathBuf> {
        output(self.go().args(["mod", "download", module]))?;
        let dir = output(self.go().args(["list", "-m", "-f", "{{.Dir}}", module]))?;
        Ok(PathBuf::from(dir.trim()))
    }

    fn dir(&self) -> PathBuf {
        root().join("xtask/cluster").join(self.folder)
    }

    fn go(&self) -> Command {
        let mut go = Command::new("go");
        go.current_dir(self.dir())
            .env("CGO_ENABLED", "0")
            .env("GOFLAGS", "-mod=readonly");
        go
    }

    fn build(&self, name: &str, package: &str, folder: &Path) -> anyhow::Result<()> {
        let path = folder.join(name);
        if path.exists() {
            return Ok(());
        }
        say(&format!(
            "building {name}: minutes on a machine that has not built it before"
        ));
        let began = Instant::now();
        let part = folder.join(format!("{name}.part"));
        // A program's profile would have every dependency compiled a second time.
        let flags = [
            "build",
            "-trimpath",
            "-buildvcs=false",
            "-pgo=off",
            "-ldflags",
        ];
        run(self
            .go()
            .args(flags)
            .arg(self.link_flags()?)
            .arg("-o")
            .arg(&part)
            .arg(package))?;
        std::fs::rename(&part, &path)?;
        say(&format!("{name} built in {} s", began.elapsed().as_secs()));
        Ok(())
    }

    /// Without stamps the API server reports a version that clients cannot read.
    fn link_flags(&self) -> anyhow::Result<String> {
        let Some(module) = self.stamp else {
            return Ok("-s -w".to_owned());
        };
        let version = output(self.go().args(["list", "-m", "-f", "{{.Version}}", module]))?;
        let version = version.trim();
        let minor = version
            .split('.')
            .nth(1)
            .context("a version has a minor part")?;
        let package = "k8s.io/component-base/version";
        Ok(format!(
            "-s -w -X {package}.gitVersion={version} -X {package}.gitMajor=1 -X {package}.gitMinor={minor}"
        ))
    }
}
