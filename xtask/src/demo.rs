//! The whole story end to end.

use clap::ValueEnum;

use crate::cluster::{self, Plane, Programs};
use crate::shell::{cargo, run as run_command, say, scratch};
use crate::{python, test};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where pods live.
    #[arg(long, value_enum, default_value = "auto")]
    cluster: Cluster,
    /// Write the measured table as JSON into this file.
    #[arg(long, value_name = "FILE")]
    json: Option<std::path::PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Cluster {
    /// The real control plane if its programs are here, else the simulated API server.
    Auto,
    /// A real control plane on this machine; its programs are built first if need be.
    Local,
    /// A stand-in for the API server, in seconds on any machine with Rust.
    Simulated,
}

impl Args {
    /// What tests run.
    pub(crate) fn local() -> Self {
        Self {
            cluster: Cluster::Local,
            json: None,
        }
    }
}

pub(crate) fn run(arguments: &Args) -> anyhow::Result<()> {
    run_command(cargo().args([
        "build",
        "--quiet",
        "--workspace",
        "--exclude=xtask",
        "--bins",
    ]))?;
    tell(arguments)
}

/// Tells the story with programs that are built already.
pub(crate) fn tell(arguments: &Args) -> anyhow::Result<()> {
    let real = match arguments.cluster {
        Cluster::Auto => Programs::find().is_some(),
        Cluster::Local => true,
        Cluster::Simulated => false,
    };
    let mut demo = std::process::Command::new(test::programs_dir().join("recall-demo"));
    demo.env("RECALL_BIN", test::programs_dir());
    if let Some(path) = &arguments.json {
        demo.arg("--json").arg(path);
    }
    if !real {
        say(
            "This is the story on a SIMULATED API server: a stand-in that answers as a real one was seen to.",
        );
        say(
            "For the real one (Go is needed; about 10 minutes the first time): cargo xtask demo --cluster local",
        );
        if !Programs::possible() {
            say(&format!("Here that needs: {}", cluster::FIX));
        }
        return run_command(demo.arg("--simulated"));
    }
    let programs = Programs::find_or_build()?;
    say(
        "Starting a real control plane: etcd, kube-apiserver and kube-controller-manager on loopback.",
    );
    let plane = Plane::start(&programs, &scratch("demo-cluster")?)?;
    demo.envs(plane.environment());
    if python::available() {
        demo.env(
            "RECALL_PYTHON",
            python::environment(python::CURRENT)?.join("bin/python"),
        );
    } else {
        say(&format!(
            "skipped: the published Python client ({}); the recall program stands in",
            python::FIX
        ));
    }
    run_command(&mut demo)
}
