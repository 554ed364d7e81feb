//! The programs of the control plane.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::Context;
use sha2::{Digest, Sha256};

use crate::shell::{cache, has, output, root, run, say};

/// What to do about a machine that has neither the programs nor Go.
pub(crate) const FIX: &str = "install Go 1.26 or later, or point KUBEBUILDER_ASSETS at a folder with etcd and kube-apiserver";

const MODULES: [(&str, &str); 3] = [
    ("etcd", "go.etcd.io/etcd/server/v3"),
    ("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"),
    (
        "kube-controller-manager",
        "k8s.io/kubernetes/cmd/kube-controller-manager",
    ),
];

/// Where each program is. Without a controller manager nothing is garbage-collected and there is no
/// default service account; the tests do not need it.
#[derive(Debug)]
pub(crate) struct Programs {
    pub(crate) etcd: PathBuf,
    pub(crate) apiserver: PathBuf,
    pub(crate) controller_manager: Option<PathBuf>,
}

impl Programs {
    /// The programs if they are there without building anything.
    pub(crate) fn find() -> Option<Self> {
        if let Some(assets) = std::env::var_os("KUBEBUILDER_ASSETS") {
            let found = Self::within(Path::new(&assets));
            if found.is_some() {
                return found;
            }
        }
        Self::within(&built_dir().ok()?).filter(|programs| programs.controller_manager.is_some())
    }

    /// Whether they are there or can be built.
    pub(crate) fn possible() -> bool {
        Self::find().is_some() || has("go", "version")
    }

    /// The programs, built first if need be: about ten minutes on two cores.
    pub(crate) fn find_or_build() -> anyhow::Result<Self> {
        if let Some(programs) = Self::find() {
            return Ok(programs);
        }
        anyhow::ensure!(has("go", "version"), "no Kubernetes programs here: {FIX}");
        let dir = built_dir()?;
        std::fs::create_dir_all(&dir)?;
        for (name, module) in MODULES {
            build(name, module, &dir)?;
        }
        Self::within(&dir).context("the programs were built just now")
    }

    fn within(dir: &Path) -> Option<Self> {
        let there = |name: &str| Some(dir.join(name)).filter(|path| path.exists());
        Some(Self {
            etcd: there("etcd")?,
            apiserver: there("kube-apiserver")?,
            controller_manager: there("kube-controller-manager"),
        })
    }
}

fn module_dir() -> PathBuf {
    root().join("xtask/cluster")
}

/// The folder for programs of exactly these versions, built by this Go.
fn built_dir() -> anyhow::Result<PathBuf> {
    let mut hash = Sha256::new();
    for file in ["go.mod", "go.sum"] {
        hash.update(std::fs::read(module_dir().join(file))?);
    }
    hash.update(output(Command::new("go").args([
        "env",
        "GOVERSION",
        "GOOS",
        "GOARCH",
    ]))?);
    Ok(cache()?
        .join("cluster")
        .join(hex::encode(&hash.finalize()[..8])))
}

fn build(name: &str, module: &str, dir: &Path) -> anyhow::Result<()> {
    let path = dir.join(name);
    if path.exists() {
        return Ok(());
    }
    say(&format!(
        "building {name}: minutes on a machine that has not built it before"
    ));
    let began = Instant::now();
    let part = dir.join(format!("{name}.part"));
    // A program's profile would have every dependency compiled a second time.
    run(Command::new("go")
        .current_dir(module_dir())
        .env("CGO_ENABLED", "0")
        .env("GOFLAGS", "-mod=readonly")
        .args([
            "build",
            "-trimpath",
            "-buildvcs=false",
            "-pgo=off",
            "-ldflags",
            &stamps()?,
            "-o",
        ])
        .arg(&part)
        .arg(module))?;
    std::fs::rename(&part, &path)?;
    say(&format!("{name} built in {} s", began.elapsed().as_secs()));
    Ok(())
}

/// Without stamps the API server reports a version that clients cannot read.
fn stamps() -> anyhow::Result<String> {
    let mut list = Command::new("go");
    list.current_dir(module_dir())
        .args(["list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes"]);
    let version = output(&mut list)?;
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
