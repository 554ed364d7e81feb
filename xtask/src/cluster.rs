//! A real Kubernetes control plane on loopback: etcd, kube-apiserver, kube-controller-manager.
//!
//! The programs are built by module name from the Go module proxy, once a machine, or taken from
//! `KUBEBUILDER_ASSETS`.

mod module;
mod net;
pub(crate) mod node;
mod pki;
mod plane;
mod programs;
mod sandbox;

use std::path::{Path, PathBuf};

use clap::Subcommand;

use crate::chart::Tools;
use crate::shell::{say, target};

pub(crate) use plane::Plane;
pub(crate) use programs::{FIX, Programs};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start it and leave it running; prints the variables to use it by.
    Up(Up),
    /// End it.
    Down,
    /// Say whether it runs.
    Status,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Up {
    /// With the kinds of agent-sandbox and their controller.
    #[arg(long)]
    agent_sandbox: bool,
    /// With a node that runs real pods; needs root, runc and the CNI plugins.
    #[arg(long)]
    node: bool,
}

impl Up {
    fn start(&self, dir: &Path) -> anyhow::Result<Plane> {
        let mut plane = match self.node {
            true => Plane::with_node(dir, &Tools::find_or_fetch()?, &[])?,
            false => Plane::start(&Programs::find_or_build()?, dir)?,
        };
        if self.agent_sandbox {
            plane.add_sandboxes(&Tools::find_or_fetch()?)?;
        }
        Ok(plane)
    }
}

pub(crate) fn run(command: &Command) -> anyhow::Result<()> {
    let dir = dir();
    match command {
        Command::Up(up) => {
            if plane::alive(&dir) {
                anyhow::bail!("it runs already; see cargo xtask cluster status");
            }
            let plane = up.start(&dir)?;
            say(&plane.environment_text());
            plane.leave();
            Ok(())
        }
        Command::Down => plane::end(&dir),
        Command::Status => {
            match plane::alive(&dir) {
                true => say(&std::fs::read_to_string(dir.join("env"))?),
                false => say("no control plane runs here; start one with cargo xtask cluster up"),
            }
            Ok(())
        }
    }
}

/// Whether a cluster that was left running still does.
pub(crate) fn runs() -> bool {
    plane::alive(&dir())
}

/// Where the cluster of `up` is.
pub(crate) fn dir() -> PathBuf {
    target().join("xtask/cluster")
}
