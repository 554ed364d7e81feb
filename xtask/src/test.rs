//! Every test that can run here.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use recall_testkit::process::Server;

use crate::cluster::{self, Plane, Programs};
use crate::original::Original;
use crate::shell::{cargo, root, run as run_command, say, scratch, target};
use crate::tally::{Tally, count};
use crate::{demo, python};

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// Only these parts: rust, e2e, k8s, python, differential, demo.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
}

/// A part of the tests with what it needs beyond Rust.
struct Part {
    name: &'static str,
    /// Whether what it needs is here, and what to do if not.
    missing: fn() -> Option<&'static str>,
    run: fn() -> anyhow::Result<Tally>,
}

const PARTS: [Part; 6] = [
    Part {
        name: "rust",
        missing: || None,
        run: rust,
    },
    Part {
        name: "e2e",
        missing: || None,
        run: e2e,
    },
    Part {
        name: "k8s",
        missing: no_cluster,
        run: k8s,
    },
    Part {
        name: "python",
        missing: no_python,
        run: python_clients,
    },
    Part {
        name: "differential",
        missing: no_python,
        run: differential,
    },
    Part {
        name: "demo",
        missing: no_cluster,
        run: demo_local,
    },
];

/// Runs the parts asked for; a part that cannot run here is named with the fix, and is a failure if
/// `RECALL_REQUIRE` names it.
pub(crate) fn run(arguments: &Args) -> anyhow::Result<()> {
    if let Some(unknown) = arguments
        .only
        .iter()
        .find(|name| PARTS.iter().all(|part| part.name != **name))
    {
        let names: Vec<_> = PARTS.iter().map(|part| part.name).collect();
        bail!("--only {unknown}: the parts are {}", names.join(", "));
    }
    let asked = |part: &&Part| {
        arguments.only.is_empty() || arguments.only.iter().any(|name| name == part.name)
    };
    let (mut tally, mut failures) = (Tally::default(), Vec::new());
    for part in PARTS.iter().filter(asked) {
        say(&format!("== {}", part.name));
        match (part.missing)() {
            None => match (part.run)() {
                Ok(found) => {
                    say(&format!("{}: {found}", part.name));
                    tally += found;
                }
                Err(error) => {
                    say(&format!("{}: FAILED: {error:#}", part.name));
                    say(&format!(
                        "run it alone with: cargo xtask test --only {}",
                        part.name
                    ));
                    tally.failed += 1;
                    failures.push(part.name);
                }
            },
            Some(fix) if required(part.name) => {
                say(&format!(
                    "{}: required by RECALL_REQUIRE and cannot run: {fix}",
                    part.name
                ));
                tally.failed += 1;
                failures.push(part.name);
            }
            Some(fix) => {
                say(&format!("skipped: {} ({fix})", part.name));
                tally.skipped += 1;
            }
        }
    }
    say("");
    say(&tally.to_string());
    match failures.is_empty() {
        true => Ok(()),
        false => bail!("failed: {}", failures.join(", ")),
    }
}

/// Whether `RECALL_REQUIRE` names this part.
pub(crate) fn required(part: &str) -> bool {
    let list = std::env::var("RECALL_REQUIRE").unwrap_or_default();
    list.split(',').any(|name| name.trim() == part)
}

fn no_cluster() -> Option<&'static str> {
    (!Programs::possible()).then_some(cluster::FIX)
}

fn no_python() -> Option<&'static str> {
    (!python::available()).then_some(python::FIX)
}

fn rust() -> anyhow::Result<Tally> {
    count(cargo().args([
        "test",
        "--workspace",
        "--exclude=recall-e2e",
        "--exclude=xtask",
        "--quiet",
    ]))
}

fn e2e() -> anyhow::Result<Tally> {
    build_programs()?;
    let mut command = e2e_command();
    set_python(&mut command)?;
    count(&mut command)
}

/// Some tests run the published client; they are told which Python has it.
fn set_python(command: &mut Command) -> anyhow::Result<()> {
    if python::available() {
        command.env(
            "RECALL_PYTHON",
            python::environment(python::CURRENT)?.join("bin/python"),
        );
    }
    Ok(())
}

fn e2e_command() -> Command {
    let mut command = cargo();
    command.args(["test", "--package=recall-e2e", "--quiet"]);
    command.env("RECALL_BIN", programs_dir());
    command
}

fn k8s() -> anyhow::Result<Tally> {
    build_programs()?;
    let plane = Plane::start(&Programs::find_or_build()?, &scratch("test-cluster")?)?;
    let mut command = e2e_command();
    command
        .args(["--features=k8s", "--", "k8s"])
        .envs(plane.environment());
    set_python(&mut command)?;
    count(&mut command)
}

fn demo_local() -> anyhow::Result<Tally> {
    build_programs()?;
    demo::tell(&demo::Args::local())?;
    Ok(Tally {
        passed: 1,
        ..Tally::default()
    })
}

/// The servers that the Python tests talk to: one of each surface, with one admin key.
struct Servers {
    typed: Server,
    open: Server,
    text: Server,
    admin_key_file: PathBuf,
}

impl Servers {
    fn start(dir: &Path) -> anyhow::Result<Self> {
        build_programs()?;
        let admin_key_file = admin_key_file(dir)?;
        let start = |name: &str, flags: &[&str]| {
            let data = format!("--data-dir={}", dir.join(name).display());
            let key = format!("--bootstrap-key-file={}", admin_key_file.display());
            let flags = [&[data.as_str(), key.as_str()], flags].concat();
            Server::start(&programs_dir().join("recall-server"), name, dir, &flags)
        };
        Ok(Self {
            typed: start("typed", &["--surface=typed"])?,
            open: start("open", &["--surface=typed", "--open"])?,
            text: start("text", &["--surface=text"])?,
            admin_key_file,
        })
    }
}

/// A file with an admin key for servers under test.
pub(crate) fn admin_key_file(dir: &Path) -> anyhow::Result<PathBuf> {
    let mut bytes = [0u8; 24];
    getrandom::fill(&mut bytes).map_err(|error| anyhow::anyhow!("no randomness: {error}"))?;
    let digits = hex::encode(bytes);
    let (id, secret) = digits.split_at(16);
    let path = dir.join("admin.key");
    std::fs::write(&path, format!("rcl_{id}_{secret}\n"))?;
    Ok(path)
}

fn python_clients() -> anyhow::Result<Tally> {
    let dir = scratch("test-python")?;
    let servers = Servers::start(&dir)?;
    let mut tally = Tally::default();
    for requirements in [python::CURRENT, python::OLDER] {
        let environment = python::environment(requirements)?;
        let mut command = python::python(&environment);
        command
            .args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short"])
            .env("RECALL_TEST_TYPED_URL", &servers.typed.url)
            .env("RECALL_TEST_OPEN_URL", &servers.open.url)
            .env("RECALL_TEST_TEXT_URL", &servers.text.url)
            .env("RECALL_TEST_ADMIN_KEY_FILE", &servers.admin_key_file);
        tally += count(&mut command)?;
    }
    Ok(tally)
}

fn differential() -> anyhow::Result<Tally> {
    let dir = scratch("test-differential")?;
    let servers = Servers::start(&dir)?;
    let key = &servers.admin_key_file;
    let typed = Original::start("original-typed", &dir, key, &["-typed"])?;
    let open = Original::start("original-open", &dir, key, &["-typed", "-open"])?;
    let text = Original::start("original-text", &dir, key, &["-text"])?;
    let mut command = python::python(&python::environment(python::CURRENT)?);
    command.args(["-m", "differential"]);
    for (surface, ours, theirs) in [
        ("typed", &servers.typed.url, &typed.url),
        ("open", &servers.open.url, &open.url),
        ("text", &servers.text.url, &text.url),
    ] {
        command.args(["--ours", &format!("{surface}={ours}")]);
        command.args(["--theirs", &format!("{surface}={theirs}")]);
    }
    command.arg(format!("--admin-key-file={}", key.display()));
    command.arg(format!(
        "--differences={}",
        root().join("docs/differences.md").display()
    ));
    count(&mut command)
}

/// Builds the programs that other parts run as processes, the way the tests are built: another
/// selection of packages would unify features differently and compile the dependencies again.
pub(crate) fn build_programs() -> anyhow::Result<()> {
    run_command(cargo().args([
        "build",
        "--quiet",
        "--workspace",
        "--exclude=xtask",
        "--all-targets",
    ]))
}

/// Where they are.
pub(crate) fn programs_dir() -> PathBuf {
    target().join("debug")
}

/// The one line of a file.
pub(crate) fn read_line(path: &Path) -> anyhow::Result<String> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(text.trim().to_owned())
}
