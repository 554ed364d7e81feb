//! The whole story end to end.

mod faults;
mod ground;
mod kind;
mod local;
mod network;
mod pods;
mod report;
mod restart;
mod rights;
mod shared;
mod tls;

use std::path::PathBuf;

use clap::ValueEnum;

use crate::cluster::{self, Plane, Programs, node};
use crate::shell::{cargo, run as run_command, say, scratch};
use crate::{python, test};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where pods live.
    #[arg(long, value_enum, default_value = "auto")]
    cluster: Cluster,
    /// Write the measured table as JSON into this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write it as a page into this file (with real pods).
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Only print what would be done (kind).
    #[arg(long)]
    dry_run: bool,
    /// On a cluster that was kept: delete the sandbox, make it again, and show that it carries on.
    #[arg(long, conflicts_with_all = ["down", "dry_run"])]
    recreate: bool,
    /// Take away a cluster that was kept.
    #[arg(long, conflicts_with = "dry_run")]
    down: bool,
    /// With real pods: also plant faults for `recall doctor` to name, and kill the program of a container.
    #[arg(long)]
    faults: bool,
    /// Leave the cluster with pods running at the end.
    #[arg(long)]
    keep: bool,
    /// Programs that are built already, such as target/release.
    #[arg(long, value_name = "DIR")]
    programs: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Cluster {
    /// kind if it and a container engine are here, else the real control plane if its programs are, else
    /// the simulated API server.
    Auto,
    /// A cluster made by kind.
    Kind,
    /// A real cluster on this machine, with pods if it can have a node and else without; its programs
    /// are built first if need be.
    Local,
    /// A real control plane on this machine without a node: pods exist by name, agents run beside it.
    ControlPlane,
    /// A stand-in for the API server, in seconds on any machine with Rust.
    Simulated,
}

impl Args {
    /// What tests run everywhere.
    pub(crate) fn control_plane() -> Self {
        Self::on(Cluster::ControlPlane)
    }

    fn on(cluster: Cluster) -> Self {
        Self {
            cluster,
            json: None,
            page: None,
            dry_run: false,
            recreate: false,
            down: false,
            faults: false,
            keep: false,
            programs: None,
        }
    }

    /// Where the programs are, built first unless they are named.
    fn programs(&self) -> anyhow::Result<PathBuf> {
        if let Some(programs) = &self.programs {
            return Ok(programs.clone());
        }
        run_command(cargo().args([
            "build",
            "--quiet",
            "--workspace",
            "--exclude=xtask",
            "--bins",
        ]))?;
        Ok(test::programs_dir())
    }
}

pub(crate) fn run(arguments: &Args) -> anyhow::Result<()> {
    if arguments.down {
        return match kind::exists() {
            true => kind::down(),
            false => cluster::run(&cluster::Command::Down),
        };
    }
    if arguments.recreate {
        let ground = match kind::exists() {
            true => kind::ground()?,
            false => local::ground()?,
        };
        return pods::recreate_once_more(&ground);
    }
    let on_kind = match arguments.cluster {
        Cluster::Kind => true,
        Cluster::Auto => kind::possible(),
        Cluster::Local | Cluster::ControlPlane | Cluster::Simulated => false,
    };
    if on_kind {
        return kind::run(arguments);
    }
    let programs = arguments.programs()?;
    if arguments.cluster == Cluster::Local {
        if node::possible() {
            return local::run(arguments, &programs);
        }
        say(&format!("No real pods here: {}", node::FIX));
    }
    tell(arguments)
}

/// The story with real pods, as tests run it.
pub(crate) fn with_pods() -> anyhow::Result<()> {
    let with_faults = Args {
        faults: true,
        ..Args::on(Cluster::Local)
    };
    local::run(&with_faults, &test::programs_dir())
}

/// Tells the story with programs that are built already.
pub(crate) fn tell(arguments: &Args) -> anyhow::Result<()> {
    let real = match arguments.cluster {
        // kind is told elsewhere.
        Cluster::Auto | Cluster::Kind => Programs::find().is_some(),
        Cluster::Local | Cluster::ControlPlane => true,
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
