//! The targets of libFuzzer in `tests/fuzz`, built with the pinned compiler: it can instrument for
//! libFuzzer as it is, and cargo-fuzz is not needed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use crate::shell::{cargo, output, root, run as run_command, say, target};
use crate::tally::Tally;

const CRATE: &str = "tests/fuzz";
/// What counts the edges that an input takes and shows what is compared with what.
const INSTRUMENTED: [&str; 9] = [
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=4",
    "-Cdebug-assertions",
    "-Coverflow-checks",
];
/// What a run of all tests gives each target; there are more than 200,000 inputs with those of `fuzz`.
const RUNS: u64 = 10_000;
pub(crate) const FIX: &str = "libFuzzer is built by a C++ compiler: install g++ or clang++";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only this target: api, identity, question, stored, texts
    target: Option<String>,

    /// So many inputs for each target
    #[arg(long, value_name = "N", default_value_t = RUNS)]
    runs: u64,

    /// Try only this input, such as a finding
    #[arg(long, value_name = "FILE", requires = "target")]
    input: Option<PathBuf>,

    /// Keep those inputs of the corpus that reach something by themselves in the repository's
    #[arg(long)]
    keep: bool,
}

impl Default for Args {
    fn default() -> Self {
        Self {
            target: None,
            runs: RUNS,
            input: None,
            keep: false,
        }
    }
}

/// Whether libFuzzer can be built here.
pub(crate) fn possible() -> bool {
    ["c++", "g++", "clang++"].iter().any(|compiler| {
        let mut command = Command::new(compiler);
        command
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    })
}

/// Runs the targets and says what they found.
pub(crate) fn run(arguments: &Args) -> anyhow::Result<()> {
    if !possible() {
        bail!(FIX);
    }
    let tally = targets(arguments)?;
    say(&tally.to_string());
    match tally.failed {
        0 => Ok(()),
        _ => bail!("there are findings"),
    }
}

/// Every target, or the one that is asked for; a target without findings has passed.
pub(crate) fn targets(arguments: &Args) -> anyhow::Result<Tally> {
    let programs = build()?;
    let mut names = Target::all()?;
    if let Some(asked) = &arguments.target {
        if !names.contains(asked) {
            bail!("there is no target {asked}: they are {}", names.join(", "));
        }
        names.retain(|name| name == asked);
    }
    let (mut tally, mut inputs) = (Tally::default(), 0);
    for name in names {
        let target = Target::new(&programs, name)?;
        if let Some(input) = &arguments.input {
            run_command(target.command().arg(input))?;
            tally.passed += 1;
            continue;
        }
        match target.explore(arguments.runs) {
            Ok(tried) => {
                inputs += tried;
                tally.passed += 1;
            }
            Err(error) => {
                say(&format!("{}: FAILED: {error:#}", target.name));
                tally.failed += 1;
            }
        }
        if arguments.keep {
            target.keep()?;
        }
    }
    say(&format!("libFuzzer tried {inputs} inputs"));
    Ok(tally)
}

/// Builds the targets and says where they are.
fn build() -> anyhow::Result<PathBuf> {
    let host = host()?;
    let folder = target().join("fuzz");
    let mut command = cargo();
    // With a target named, programs that run during the build stay as they are.
    command
        .args(["build", "--locked", "--quiet", "--release", "--bins"])
        .arg(format!("--manifest-path={CRATE}/Cargo.toml"))
        .arg(format!("--target={host}"))
        .arg(format!("--target-dir={}", folder.display()))
        .env("CARGO_ENCODED_RUSTFLAGS", INSTRUMENTED.join("\u{1f}"));
    run_command(&mut command)?;
    Ok(folder.join(host).join("release"))
}

/// The machine that the compiler runs on, as it names it.
fn host() -> anyhow::Result<String> {
    let told = output(Command::new("rustc").arg("-vV").current_dir(root()))?;
    let host = told.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned)
        .context("rustc does not say its host")
}

/// A target with its folders.
struct Target {
    name: String,
    program: PathBuf,
    /// What is in the repository.
    seeds: PathBuf,
    /// What runs on this machine have found.
    grown: PathBuf,
    findings: PathBuf,
}

impl Target {
    fn all() -> anyhow::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(root().join(CRATE).join("targets"))? {
            let path = entry?.path();
            if let (Some(stem), Some("rs")) =
                (stem(&path), path.extension().and_then(|it| it.to_str()))
            {
                names.push(stem);
            }
        }
        names.sort();
        Ok(names)
    }

    fn new(programs: &Path, name: String) -> anyhow::Result<Self> {
        let folder = target().join("fuzz");
        let target = Self {
            program: programs.join(&name),
            seeds: root().join(CRATE).join("corpus").join(&name),
            grown: folder.join("corpus").join(&name),
            findings: folder.join("findings"),
            name,
        };
        for folder in [&target.seeds, &target.grown, &target.findings] {
            fs::create_dir_all(folder)?;
        }
        Ok(target)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .current_dir(root().join(CRATE))
            .env("RUST_BACKTRACE", "0")
            .args([
                "-dict=words.dict",
                "-seed=1",
                "-max_len=4096",
                "-timeout=10",
                "-rss_limit_mb=2048",
                "-print_final_stats=1",
            ]);
        command.arg(format!(
            "-artifact_prefix={}/{}-",
            self.findings.display(),
            self.name
        ));
        command
    }

    /// Tries `runs` inputs and says how many were tried.
    fn explore(&self, runs: u64) -> anyhow::Result<u64> {
        let mut command = self.command();
        command
            .arg(format!("-runs={runs}"))
            .args([&self.grown, &self.seeds]);
        let tried = command
            .output()
            .with_context(|| format!("{} could not be run", self.name))?;
        let told = String::from_utf8_lossy(&tried.stderr);
        if !tried.status.success() {
            bail!(
                "{}\nreplay it with: cargo xtask fuzz {} --input FILE",
                end_of(&told),
                self.name
            );
        }
        let count = told
            .lines()
            .find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
        let count = count.and_then(|count| count.trim().parse().ok());
        let count = count.with_context(|| format!("{} does not say what it did", self.name))?;
        say(&format!(
            "{}: {count} inputs, {}",
            self.name,
            reached(&told)
        ));
        Ok(count)
    }

    /// Puts what is needed to reach all that was reached into the repository's corpus.
    fn keep(&self) -> anyhow::Result<()> {
        let mut command = self.command();
        command
            .args(["-merge=1", "-max_len=512"])
            .args([&self.seeds, &self.grown]);
        let merged = command.output()?;
        if !merged.status.success() {
            bail!("{}", end_of(&String::from_utf8_lossy(&merged.stderr)));
        }
        Ok(())
    }
}

fn stem(path: &Path) -> Option<String> {
    Some(path.file_stem()?.to_str()?.to_owned())
}

/// The last that libFuzzer says of how much it has covered.
fn reached(told: &str) -> &str {
    let last = told.lines().rfind(|line| line.contains(" cov: "));
    last.and_then(|line| line.split(" exec/s").next())
        .unwrap_or("nothing reached")
        .trim()
}

/// What a person needs of what was said: why it failed, and where the input is.
fn end_of(told: &str) -> String {
    let signs = ["panicked at", "ERROR: ", "Test unit written to"];
    let told: Vec<_> = told.lines().collect();
    let after_panic = |at: usize| at > 0 && told[at - 1].contains("panicked at");
    let kept = told
        .iter()
        .enumerate()
        .filter(|(at, line)| signs.iter().any(|sign| line.contains(sign)) || after_panic(*at));
    kept.map(|(_, line)| *line).collect::<Vec<_>>().join("\n")
}
