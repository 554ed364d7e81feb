//! The programs of the control plane.

use std::path::{Path, PathBuf};

use anyhow::Context;

use super::module::CONTROL_PLANE;
use crate::shell::has;

/// What to do about a machine that has neither the programs nor Go.
pub(crate) const FIX: &str = "install Go 1.26 or later, or point KUBEBUILDER_ASSETS at a folder with etcd and kube-apiserver";

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
        Self::within(&CONTROL_PLANE.folder().ok()?)
            .filter(|programs| programs.controller_manager.is_some())
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
        Self::built()
    }

    /// The programs that are built here, with the controller manager, whatever else is at hand.
    pub(crate) fn built() -> anyhow::Result<Self> {
        anyhow::ensure!(has("go", "version"), "no Kubernetes programs here: {FIX}");
        let dir = CONTROL_PLANE.built()?;
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
