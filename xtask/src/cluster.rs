//! A real Kubernetes control plane on loopback: etcd, kube-apiserver, kube-controller-manager.
//!
//! The programs are built by module name from the Go module proxy, once a machine, or taken from
//! `KUBEBUILDER_ASSETS`.

mod pki;
mod plane;
mod programs;

use std::path::PathBuf;

use clap::Subcommand;

use crate::shell::{say, target};

pub(crate) use plane::Plane;
pub(crate) use programs::{FIX, Programs};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start it and leave it running; prints the variables to use it by.
    Up,
    /// End it.
    Down,
    /// Say whether it runs.
    Status,
}

pub(crate) fn run(command: &Command) -> anyhow::Result<()> {
    let dir = dir();
    match command {
        Command::Up => {
            if plane::alive(&dir) {
                anyhow::bail!("it runs already; see cargo xtask cluster status");
            }
            let plane = Plane::start(&Programs::find_or_build()?, &dir)?;
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

fn dir() -> PathBuf {
    target().join("xtask/cluster")
}
