//! The story on kind, where there is kind and a container engine.

use std::path::PathBuf;
use std::process::Command;

use super::Args;
use super::ground::{DEPLOY, Ground, deployed};
use super::{pods, report::Report};
use crate::chart::Tools;
use crate::shell::{command, has, output, run as run_command, say, shown, target};

/// The name that kind.yaml gives it.
const CLUSTER: &str = "recall-demo";
/// The same version as the local cluster's.
const CONTROLLER: &str = "https://github.com/kubernetes-sigs/agent-sandbox/releases/download/v0.5.6/sandbox-with-extensions.yaml";

/// What to do about a machine without.
const FIX: &str = "install kind and docker, or use --cluster local";

/// Whether both are here.
pub(super) fn possible() -> bool {
    has("kind", "version") && has("docker", "info")
}

pub(super) fn run(arguments: &Args) -> anyhow::Result<()> {
    anyhow::ensure!(arguments.dry_run || possible(), "no kind here: {FIX}");
    let ground = ground()?;
    let kind = Kind {
        dry: arguments.dry_run,
        ground,
    };
    if arguments.dry_run {
        say(&format!(
            "$ export KUBECONFIG={}",
            kind.ground.kubeconfig.display()
        ));
    }
    kind.prepare()?;
    if arguments.dry_run {
        say("Then the story, the same as with --cluster local; it begins with:");
        for command in pods::opening(&kind.ground) {
            say(&format!("$ {}", shown(&command)));
        }
        return Ok(());
    }
    let mut report = Report::default();
    let told = pods::tell(&kind.ground, &[], &mut report);
    match arguments.keep {
        true => say("The cluster stays. End it with: cargo xtask demo --down"),
        false => down()?,
    }
    told?;
    report.finish("kind", arguments)
}

/// Takes the cluster away.
pub(super) fn down() -> anyhow::Result<()> {
    run_command(command("kind").args(["delete", "cluster", "--name", CLUSTER]))
}

/// The cluster, by the kubeconfig that is written for it alone.
pub(super) fn ground() -> anyhow::Result<Ground> {
    let kubeconfig = kubeconfig();
    if let Some(folder) = kubeconfig.parent() {
        std::fs::create_dir_all(folder)?;
    }
    Ok(Ground {
        tools: Tools::find_or_fetch()?,
        kubeconfig,
    })
}

/// Whether it was made and not taken away.
pub(super) fn exists() -> bool {
    let clusters =
        has("kind", "version").then(|| output(command("kind").args(["get", "clusters"])));
    clusters.is_some_and(|clusters| {
        clusters.is_ok_and(|names| names.lines().any(|name| name == CLUSTER))
    })
}

fn kubeconfig() -> PathBuf {
    target().join("xtask/kind/kubeconfig")
}

struct Kind {
    dry: bool,
    ground: Ground,
}

impl Kind {
    fn prepare(&self) -> anyhow::Result<()> {
        let config = deployed("kind.yaml");
        let kubeconfig = format!("--kubeconfig={}", self.ground.kubeconfig.display());
        let mut create = command("kind");
        create
            .args(["create", "cluster", "--wait=120s", &kubeconfig, "--config"])
            .arg(config);
        if self.dry || !exists() {
            self.does(&mut create)?;
        }
        self.images()?;
        let system = "--namespace=agent-sandbox-system";
        let controller = "deployment/agent-sandbox-controller";
        self.does(
            &mut self
                .ground
                .kubectl(&["apply", "--server-side", "--filename", CONTROLLER]),
        )?;
        self.does(&mut self.ground.kubectl(&[
            "rollout",
            "status",
            system,
            controller,
            "--timeout=180s",
        ]))
    }

    fn images(&self) -> anyhow::Result<()> {
        self.does(command("cargo").args(["xtask", "image", "--engine=docker"]))?;
        let agent = format!("{DEPLOY}/agent");
        let tag = "recall-demo-agent:dev";
        self.does(command("docker").args(["build", "--tag", tag, &agent]))?;
        let load = ["load", "docker-image", "--name", CLUSTER, "recall:dev", tag];
        self.does(command("kind").args(load))
    }

    fn does(&self, command: &mut Command) -> anyhow::Result<()> {
        match self.dry {
            true => say(&format!("$ {}", shown(command))),
            false => run_command(command)?,
        }
        Ok(())
    }
}
