//! Every test that can run here.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, bail};
use recall_testkit::process::Server;
use serde_json::Value;

use crate::cluster::{self, Plane, Programs};
use crate::original::Original;
use crate::shell::{cargo, output, root, run as run_command, say, scratch, target};
use crate::tally::{Tally, count};
use crate::{chart, demo, fuzz, npm, python};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only these parts: rust, e2e (a part of rust), fuzz, libfuzzer, embed, rmcp, k8s, polign, qdrant,
    /// ownership, python, differential, mcp, chart, demo, pods.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// So many inputs for each reader in the part fuzz, such as a million for a night.
    #[arg(long, value_name = "N", default_value_t = FUZZ_CASES)]
    fuzz_cases: u32,
}

impl Default for Args {
    fn default() -> Self {
        Self {
            only: Vec::new(),
            fuzz_cases: FUZZ_CASES,
        }
    }
}

/// A part of the tests with what it needs beyond Rust.
struct Part {
    name: &'static str,
    /// Whether another part runs it as well, so that it runs only when asked for.
    covered: bool,
    /// Whether what it needs is here, and what to do if not.
    missing: fn() -> Option<&'static str>,
    run: fn(&Args) -> anyhow::Result<Tally>,
}

const PARTS: [Part; 16] = [
    Part {
        name: "rust",
        covered: false,
        missing: || None,
        run: |_| rust(),
    },
    Part {
        name: "e2e",
        covered: true,
        missing: || None,
        run: |_| e2e(),
    },
    Part {
        name: "fuzz",
        covered: false,
        missing: || None,
        run: readers,
    },
    Part {
        name: "libfuzzer",
        covered: false,
        missing: no_libfuzzer,
        run: |_| fuzz::targets(&fuzz::Args::default()),
    },
    Part {
        name: "embed",
        covered: false,
        missing: || None,
        run: |_| embed(),
    },
    Part {
        name: "rmcp",
        covered: false,
        missing: || None,
        run: |_| rmcp(),
    },
    Part {
        name: "k8s",
        covered: false,
        missing: no_cluster,
        run: |_| k8s(),
    },
    Part {
        name: "polign",
        covered: false,
        missing: no_python,
        run: |_| polign(),
    },
    Part {
        name: "qdrant",
        covered: false,
        missing: no_python,
        run: |_| qdrant(),
    },
    Part {
        name: "ownership",
        covered: false,
        missing: || None,
        run: |_| ownership(),
    },
    Part {
        name: "python",
        covered: false,
        missing: no_python,
        run: |_| python_clients(),
    },
    Part {
        name: "differential",
        covered: false,
        missing: no_python,
        run: |_| differential(),
    },
    Part {
        name: "mcp",
        covered: false,
        missing: no_npm,
        run: |_| mcp_clients(),
    },
    Part {
        name: "chart",
        covered: false,
        missing: no_helm,
        run: |_| chart::test(),
    },
    Part {
        name: "demo",
        covered: false,
        missing: no_cluster,
        run: |_| demo_local(),
    },
    Part {
        name: "pods",
        covered: false,
        missing: no_node,
        run: |_| demo_pods(),
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
    let asked = |part: &&Part| match arguments.only.is_empty() {
        true => !part.covered,
        false => arguments.only.iter().any(|name| name == part.name),
    };
    let (mut tally, mut failures) = (Tally::default(), Vec::new());
    for part in PARTS.iter().filter(asked) {
        say(&format!("== {}", part.name));
        let began = Instant::now();
        match (part.missing)() {
            None => match (part.run)(arguments) {
                Ok(found) => {
                    say(&format!("{}: {found}", part.name));
                    say(&format!(
                        "{} took {:.0} s",
                        part.name,
                        began.elapsed().as_secs_f64()
                    ));
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

fn no_helm() -> Option<&'static str> {
    (!chart::Tools::possible()).then_some(chart::FIX)
}

fn no_node() -> Option<&'static str> {
    (!(cluster::node::possible() && python::available())).then_some(cluster::node::FIX)
}

fn no_libfuzzer() -> Option<&'static str> {
    (!fuzz::possible()).then_some(fuzz::FIX)
}

fn no_npm() -> Option<&'static str> {
    (!npm::available()).then_some(npm::FIX)
}

fn no_python() -> Option<&'static str> {
    (!python::available()).then_some(python::FIX)
}

/// All tests that need nothing beyond Rust, and those with the published client where a Python is.
fn rust() -> anyhow::Result<Tally> {
    build_programs()?;
    let mut command = cargo();
    command.arg("test").args(SELECTION).arg("--quiet").args([
        "--", "--skip", "k8s_", "--skip", "polign_", "--skip", "qdrant_", "--skip", "real::",
    ]);
    set_up(&mut command)?;
    count(&mut command)
}

/// Every reader of outside data, on many more inputs than the part `rust` takes: those whose tests
/// say that they never panic.
fn readers(arguments: &Args) -> anyhow::Result<Tally> {
    let cases = arguments.fuzz_cases;
    let mut command = cargo();
    command
        .arg("test")
        .args(SELECTION)
        .args(["--quiet", "--lib", "--bins", "never_panic"])
        .env("PROPTEST_CASES", cases.to_string());
    let tally = count(&mut command)?;
    let inputs = u64::from(cases) * tally.passed;
    say(&format!("{} readers took {inputs} inputs", tally.passed));
    Ok(tally)
}

/// Of each reader; there are more than ten.
const FUZZ_CASES: u32 = 20_000;

/// The identity crate as others use it: with all its features, and embedded by a service outside
/// the workspace, also with both providers of cryptography that its `jwks` may meet there.
fn embed() -> anyhow::Result<Tally> {
    // Against a real API server the others run in the part `k8s`.
    let mut tally = count(identity_alone().args(["--", "--skip=real::"]))?;
    for features in [&[][..], &["--features=two-providers"]] {
        let mut command = cargo();
        command
            .args(["test", "--locked", "--quiet"])
            .arg("--manifest-path=tests/embed/Cargo.toml")
            .arg(format!("--target-dir={}", target().join("embed").display()))
            .args(features);
        tally += count(&mut command)?;
    }
    Ok(tally)
}

fn identity_alone() -> Command {
    let mut command = cargo();
    command.args([
        "test",
        "--package=recall-identity",
        "--all-features",
        "--quiet",
    ]);
    command
}

/// The tests of the whole server alone.
fn e2e() -> anyhow::Result<Tally> {
    let mut command = test_program("recall-e2e")?;
    command.args([
        "--quiet", "--skip", "k8s_", "--skip", "polign_", "--skip", "qdrant_",
    ]);
    count(&mut command)
}

/// The tests against a real API server: of the identity crate and of the whole server.
fn k8s() -> anyhow::Result<Tally> {
    let plane = Plane::start(&Programs::find_or_build()?, &scratch("test-cluster")?)?;
    let mut command = test_program("recall-e2e")?;
    command.args(["--quiet", "k8s_"]).envs(plane.environment());
    let mut tally = count(&mut command)?;
    // Built as for the part `embed`: its checks of tokens have real ones to check here.
    let mut command = identity_alone();
    command
        .args(["--test=it", "--", "real"])
        .envs(plane.environment());
    tally += count(&mut command)?;
    Ok(tally)
}

/// The tests against a real polign_db: of its adapter, and of several servers on one of them.
fn polign() -> anyhow::Result<Tally> {
    let environment = python::environment(python::CURRENT)?;
    let database = python::program(&environment, "polign-server")?;
    let original = python::program(&environment, "recall")?;
    let mut tally = Tally::default();
    for package in ["recall-store-polign", "recall-e2e"] {
        let mut command = test_program(package)?;
        command
            .args(["--quiet", "polign_"])
            .env("RECALL_POLIGN_SERVER", &database)
            .env("RECALL_ORIGINAL", &original);
        tally += count(&mut command)?;
    }
    Ok(tally)
}

/// Every agent has one owner at a time and nothing acknowledged is lost, under faults: a short run of
/// the ownership checker on each store that has leases. docs/resume.md has the long form.
fn ownership() -> anyhow::Result<Tally> {
    build_programs()?;
    let mut tally = Tally::default();
    let checker = |store, faults| {
        let mut command = crate::shell::command(programs_dir().join("recall-ownership"));
        command
            .args(["--store", store, "--faults", faults])
            .env("RECALL_BIN", programs_dir());
        command
    };
    run_command(&mut checker("embedded", "60"))?;
    tally.passed += 1;
    match no_python() {
        None => {
            let environment = python::environment(python::CURRENT)?;
            let database = python::program(&environment, "polign-server")?;
            run_command(checker("polign", "60").env("RECALL_POLIGN_SERVER", database))?;
            tally.passed += 1;
        }
        Some(fix) if required("polign") => bail!("RECALL_REQUIRE names polign: {fix}"),
        Some(fix) => {
            say(&format!("skipped: ownership on polign_db ({fix})"));
            tally.skipped += 1;
        }
    }
    Ok(tally)
}

/// The tests against Qdrant: of its adapter, of several servers on one of them, and of ours beside the
/// published one. The server is the
/// one that `RECALL_TEST_QDRANT_URL` names as far as tests leave it alive, else the stand-in. The
/// stand-in holds Qdrant's own engine, which nothing else builds: it has a folder of its own.
fn qdrant() -> anyhow::Result<Tally> {
    let folder = target().join("qdrant");
    run_command(
        cargo()
            .args(["build", "--locked", "--quiet"])
            .arg("--manifest-path=tests/qdrant/Cargo.toml")
            .arg(format!("--target-dir={}", folder.display())),
    )?;
    let environment = python::environment(python::CURRENT)?;
    let original = python::program(&environment, "recall")?;
    let mut tally = Tally::default();
    for package in ["recall-store-qdrant", "recall-e2e"] {
        let mut command = test_program(package)?;
        command
            .args(["--quiet", "qdrant_"])
            .env("RECALL_QDRANT_STANDIN", folder.join("debug/qdrant-standin"))
            .env("RECALL_ORIGINAL", &original);
        tally += count(&mut command)?;
    }
    Ok(tally)
}

/// The integration tests of a package as a program that is built.
fn test_program(package: &str) -> anyhow::Result<Command> {
    build_programs()?;
    let built = output(cargo().arg("build").args(SELECTION).args([
        "--quiet",
        "--all-targets",
        "--message-format=json",
    ]))?;
    let mut messages = built
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let test = messages.find(|message| {
        let id = message["package_id"].as_str().unwrap_or_default();
        let of_package =
            id.contains(&format!("{package}@")) || id.contains(&format!("/{package}#"));
        of_package && message["target"]["kind"] == serde_json::json!(["test"])
    });
    let test = test.with_context(|| format!("the tests of {package} are built"))?;
    let mut command =
        crate::shell::command(test["executable"].as_str().context("a test is a program")?);
    command.current_dir(root().join("tests"));
    set_up(&mut command)?;
    Ok(command)
}

/// Tells tests where the programs are, and which Python has the published client.
fn set_up(command: &mut Command) -> anyhow::Result<()> {
    command.env("RECALL_BIN", programs_dir());
    if python::available() {
        for (variable, requirements) in [
            ("RECALL_PYTHON", python::CURRENT),
            ("RECALL_PYTHON_OLDER", python::OLDER),
        ] {
            command.env(
                variable,
                python::environment(requirements)?.join("bin/python"),
            );
        }
    }
    Ok(())
}

fn demo_local() -> anyhow::Result<Tally> {
    build_programs()?;
    demo::tell(&demo::Args::control_plane())?;
    Ok(Tally {
        passed: 1,
        ..Tally::default()
    })
}

fn demo_pods() -> anyhow::Result<Tally> {
    build_programs()?;
    demo::with_pods()?;
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

    /// What tells tests where they are.
    fn environment(&self) -> [(&'static str, OsString); 5] {
        [
            ("RECALL_TEST_TYPED_URL", self.typed.url.clone().into()),
            ("RECALL_TEST_OPEN_URL", self.open.url.clone().into()),
            ("RECALL_TEST_TEXT_URL", self.text.url.clone().into()),
            (
                "RECALL_TEST_ADMIN_KEY_FILE",
                self.admin_key_file.clone().into(),
            ),
            ("RECALL_TEST_PROGRAM", programs_dir().join("recall").into()),
        ]
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
            .envs(servers.environment());
        tally += count(&mut command)?;
    }
    for (requirements, folder) in [
        (python::OPENAPI, "tests/openapi"),
        (python::LANGGRAPH, "tests/langgraph"),
    ] {
        let mut command = python::python(&python::environment(requirements)?);
        command
            .args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short"])
            .current_dir(root().join(folder))
            .envs(servers.environment());
        tally += count(&mut command)?;
    }
    Ok(tally)
}

/// The official TypeScript SDKs and the conformance suite of MCP.
fn mcp_clients() -> anyhow::Result<Tally> {
    let dir = scratch("test-mcp")?;
    npm::set_up(&dir)?;
    let servers = Servers::start(&dir)?;
    let mut node = crate::shell::command(dir.join("node_modules/.bin/node"));
    node.args(["--test", "--test-reporter=spec"])
        .current_dir(&dir)
        .envs(servers.environment());
    count(&mut node)
}

/// The official Rust SDK, outside the workspace: what it depends on is nobody else's.
fn rmcp() -> anyhow::Result<Tally> {
    let dir = scratch("test-rmcp")?;
    let servers = Servers::start(&dir)?;
    let mut command = cargo();
    command
        .args(["test", "--locked", "--quiet"])
        .arg("--manifest-path=tests/rmcp/Cargo.toml")
        .arg(format!("--target-dir={}", target().join("rmcp").display()))
        .envs(servers.environment());
    count(&mut command)
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

/// One selection of packages and features for everything: another one would unify features
/// differently and compile the dependencies again.
const SELECTION: [&str; 3] = [
    "--workspace",
    "--exclude=xtask",
    "--features=recall-e2e/k8s",
];

/// Builds the programs that tests run as processes, and the tests with them.
pub(crate) fn build_programs() -> anyhow::Result<()> {
    run_command(
        cargo()
            .arg("build")
            .args(SELECTION)
            .args(["--quiet", "--all-targets"]),
    )
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
