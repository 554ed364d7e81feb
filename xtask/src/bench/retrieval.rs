//! `bench retrieval`: how much of the evidence a search finds, ours beside the published server.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::ensure;
use recall_testkit::process::Server;

use super::sides::{programs_dir, start_ours};
use crate::original::Original;
use crate::shell::{cargo, root, run as run_command, say, scratch};
use crate::{python, test};

/// The set that is part of the repository, and how much of it must be found in the best ten.
const OWN: &str = "crates/recall-memory/src/search/testdata/evidence.jsonl";
const OWN_FLOOR: &str = "95";
/// Other orders of its items, in which neighbours have nothing to do with each other: no less may be
/// found than a textbook finds.
const OTHER_ORDERS: [u64; 3] = [1, 2, 3];

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// The file locomo10.json of LoCoMo, which you supply.
    #[arg(long, value_name = "FILE")]
    locomo: Vec<PathBuf>,
    /// A folder of BEAM's chats, such as chats/100K, which you supply.
    #[arg(long, value_name = "FOLDER")]
    beam: Vec<PathBuf>,
    /// A file as --convert writes it: one JSON line a conversation. Without any data, the small set
    /// of the repository is taken.
    #[arg(long, value_name = "FILE")]
    set: Vec<PathBuf>,
    /// Only write the data as JSON lines into this folder.
    #[arg(long, value_name = "FOLDER")]
    convert: Option<PathBuf>,
    /// Also ask servers over HTTP, loaded through the Memory API.
    #[arg(long)]
    http: bool,
    /// With --http, the published server as well.
    #[arg(long, requires = "http")]
    beside: bool,
    /// Leave out what runs in this process.
    #[arg(long, requires = "http")]
    only_servers: bool,
    /// Only these conversations.
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    only: Vec<String>,
    /// Not these conversations.
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    skip: Vec<String>,
    /// Ask every how many questions.
    #[arg(long, default_value_t = 1)]
    step: usize,
    /// The items in another order.
    #[arg(long, value_name = "SEED")]
    shuffle: Option<u64>,
    /// All conversations in one namespace.
    #[arg(long)]
    merge: bool,
    /// Do not name the session of a write.
    #[arg(long)]
    unnamed: bool,
    /// Fail when ours finds less, in percent, in the best ten.
    #[arg(long, value_name = "PERCENT")]
    floor: Option<f64>,
    /// Fail when ours finds less in the best ten than BM25 with cut words; it must not in any order
    /// of the items (--shuffle).
    #[arg(long, conflicts_with = "only_servers")]
    above_textbook: bool,
}

pub(crate) fn run(arguments: &Args) -> anyhow::Result<()> {
    let build = ["build", "--quiet", "--release"];
    let example = ["--package=recall-memory", "--example=retrieval"];
    run_command(cargo().args(build).args(example))?;
    let mut program = Command::new(programs_dir().join("examples/retrieval"));
    program.current_dir(root()).args(arguments.flags());
    if !arguments.http {
        return run_command(&mut program);
    }
    run_command(
        cargo()
            .args(build)
            .args(["--package=recall-server", "--bins"]),
    )?;
    let dir = scratch("bench-retrieval")?;
    let key = test::admin_key_file(&dir)?;
    let servers = Servers::start(&dir, &key, arguments.beside)?;
    for (name, url) in servers.named() {
        program.arg(format!("--server={name},{url},{}", key.display()));
    }
    run_command(&mut program)
}

/// The gate of CI: on the set of the repository, in this process, in its own order and in others.
pub(crate) fn gate() -> anyhow::Result<()> {
    let run = [
        "run",
        "--quiet",
        "--package=recall-memory",
        "--example=retrieval",
        "--",
    ];
    run_command(cargo().args(run).args(own()))?;
    OTHER_ORDERS.into_iter().try_for_each(|seed| {
        let flags = [
            format!("--set={OWN}"),
            format!("--shuffle={seed}"),
            "--above-textbook".to_owned(),
        ];
        run_command(cargo().args(run).args(flags))
    })
}

fn own() -> [String; 2] {
    [format!("--set={OWN}"), format!("--floor={OWN_FLOOR}")]
}

impl Args {
    fn flags(&self) -> Vec<String> {
        let mut flags = Vec::new();
        for (name, files) in [
            ("locomo", &self.locomo),
            ("beam", &self.beam),
            ("set", &self.set),
        ] {
            flags.extend(
                files
                    .iter()
                    .map(|file| format!("--{name}={}", absolute(file).display())),
            );
        }
        if flags.is_empty() {
            say("no data was named; this is the small set of the repository");
            flags.extend(own());
        }
        for (name, list) in [("only", &self.only), ("skip", &self.skip)] {
            if !list.is_empty() {
                flags.push(format!("--{name}={}", list.join(",")));
            }
        }
        let switches = [
            ("merge", self.merge),
            ("unnamed", self.unnamed),
            ("only-servers", self.only_servers),
            ("above-textbook", self.above_textbook),
        ];
        let on = switches.iter().filter(|(_, on)| *on);
        flags.extend(on.map(|(name, _)| format!("--{name}")));
        flags.push(format!("--step={}", self.step));
        flags.extend(self.shuffle.map(|seed| format!("--shuffle={seed}")));
        flags.extend(self.floor.map(|floor| format!("--floor={floor}")));
        let convert = self.convert.as_deref().map(absolute);
        flags.extend(convert.map(|dir| format!("--convert={}", dir.display())));
        flags
    }
}

/// A path as the caller meant it, though the program runs elsewhere.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The servers that are asked.
struct Servers {
    ours: Server,
    theirs: Option<Original>,
}

impl Servers {
    fn start(dir: &Path, key: &Path, beside: bool) -> anyhow::Result<Self> {
        ensure!(
            !beside || python::available(),
            "the published server comes as a Python package: {}",
            python::FIX
        );
        let flags = ["--surface=text".to_owned()];
        Ok(Self {
            ours: start_ours("ours", dir, key, &flags)?,
            theirs: match beside {
                true => Some(Original::start("theirs", dir, key, &["-text"])?),
                false => None,
            },
        })
    }

    fn named(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let theirs = self.theirs.as_ref();
        let theirs = theirs.map(|server| ("published", server.url.as_str()));
        std::iter::once(("ours", self.ours.url.as_str())).chain(theirs)
    }
}
