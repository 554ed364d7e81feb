//! Container images: by an engine that is here, or as an OCI archive without any.

mod archive;
mod contents;
mod tar;

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use crate::chart::crate_version;
use crate::shell::{cargo, command, has, output, root, run as run_command, say, target};

pub(crate) use archive::Image;
use contents::SERVER;
pub(crate) use contents::{agent, server, tools};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What builds: docker, podman, buildah, or none for an OCI archive of this machine's own parts.
    #[arg(long, value_enum, default_value = "auto")]
    engine: Engine,
    /// Where the archive goes.
    #[arg(long, value_name = "FILE")]
    archive: Option<PathBuf>,
    /// Programs that are built already, instead of a release build.
    #[arg(long, value_name = "DIR")]
    programs: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Engine {
    Auto,
    Docker,
    Podman,
    Buildah,
    None,
}

impl Engine {
    /// The name of the program, if there is one.
    fn program(self) -> Option<&'static str> {
        match self {
            Self::Docker => Some("docker"),
            Self::Podman => Some("podman"),
            Self::Buildah => Some("buildah"),
            Self::None => None,
            // `info` fails where the program is there and its daemon is not.
            Self::Auto => ["docker", "podman", "buildah"]
                .into_iter()
                .find(|program| has(program, "info")),
        }
    }
}

/// Builds the image and says how large it is.
pub(crate) fn run(arguments: &Args) -> anyhow::Result<()> {
    if let Some(engine) = arguments.engine.program() {
        return build(engine);
    }
    say("No container engine is used: the archive holds this machine's own C library.");
    let programs = match &arguments.programs {
        Some(programs) => programs.clone(),
        None => release()?,
    };
    let image = server(&programs)?;
    let default = || target().join("xtask/images/recall.tar");
    let file = arguments.archive.clone().unwrap_or_else(default);
    image.write(&file)?;
    Ok(())
}

fn build(engine: &str) -> anyhow::Result<()> {
    let version = crate_version()?;
    let mut build = command(engine);
    build
        .arg("build")
        .arg(format!("--build-arg=VERSION={version}"));
    if let Some(revision) = revision() {
        build.arg(format!("--build-arg=REVISION={revision}"));
    }
    // The name that the demo and a plain `docker run` use, and the one that the chart asks for.
    build.args([
        "--tag",
        SERVER,
        "--tag",
        &format!("ghcr.io/polign/recall:{version}"),
        ".",
    ]);
    run_command(&mut build)?;
    let said = output(command(engine).args(["run", "--rm", SERVER, "--version"]))?;
    says_version(&said, &version)?;
    run_command(command(engine).args(["image", "ls", SERVER]))
}

/// What cargo builds of what ships, as the Dockerfile has it too.
pub(crate) const SHIPPED: [&str; 3] = [
    "--package=recall-server",
    "--package=recall-cli",
    "--features=recall-server/jemalloc",
];

/// Release programs for this machine.
pub(crate) fn release() -> anyhow::Result<PathBuf> {
    run_command(
        cargo()
            .args(["build", "--release", "--locked", "--quiet"])
            .args(SHIPPED),
    )?;
    Ok(target().join("release"))
}

/// The commit, where the checkout is one.
fn revision() -> Option<String> {
    let said = std::process::Command::new("git")
        .current_dir(root())
        .args(["rev-parse", "HEAD"])
        .output()
        .ok()?;
    let text = String::from_utf8(said.stdout).ok()?;
    said.status.success().then(|| text.trim().to_owned())
}

/// A program and the chart are of one version.
fn program_version(program: &Path) -> anyhow::Result<String> {
    let version = crate_version()?;
    let said = output(command(program).arg("--version"))?;
    says_version(&said, &version)
        .with_context(|| format!("{} is not built anew", program.display()))?;
    Ok(version)
}

fn says_version(said: &str, version: &str) -> anyhow::Result<()> {
    let found = said.split_whitespace().nth(1).unwrap_or_default();
    ensure!(
        found == version,
        "--version says {found:?}; the chart's appVersion is {version}"
    );
    Ok(())
}
