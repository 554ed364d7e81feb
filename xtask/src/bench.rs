//! Measuring this server beside the published one: the same machine, the same load, in turns.

mod agents;
mod compare;
mod http;
mod idle;
mod kill;
mod load;
mod machine;
mod micro;
mod observing;
mod overload;
mod plot;
mod polign;
mod replicas;
mod report;
mod requests;
pub(crate) mod retrieval;
mod scale;
mod sides;
mod sqlite;
mod tenants;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::ValueEnum;

use crate::image::SHIPPED;
use crate::shell::{cargo, output, run as run_command, say, scratch};
use crate::{python, test};
use compare::{Asked, Comparison};
use report::{Bound, Report, Row};
use sides::{FakeApi, Side};

const MEBIBYTE: f64 = 1024.0 * 1024.0;
/// What a server may take after the run on a memory of the size that both are loaded with, in MB, and for
/// each further fact that it took in, in bytes: a quick one takes in many.
const MOST_RESIDENT: f64 = 80.0;
const MOST_RESIDENT_A_FACT: f64 = 1_200.0;

/// Loads of other numbers of callers, by name.
const CALLERS: [(usize, Scenario, &str); 6] = [
    (1, Scenario::Recall, "recall, 1"),
    (1, Scenario::Query, "query, 1"),
    (1, Scenario::Remember, ONE_WRITER),
    (256, Scenario::Recall, "recall, 256"),
    (256, Scenario::Query, "query, 256"),
    (256, Scenario::Remember, "remember, 256"),
];
const ONE_WRITER: &str = "remember, 1";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    other: Option<Other>,
    /// Small memories and short rounds: to see that it works, not how fast.
    #[arg(long)]
    quick: bool,
    /// Only these scenarios.
    #[arg(long, value_enum, value_name = "SCENARIO")]
    only: Vec<Scenario>,
    /// Leave the published server out.
    #[arg(long)]
    ours: bool,
    /// Write everything that was found as JSON into this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Draw how latency grows with the memory into this file, as SVG.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// The requests follow from it.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// What else is measured.
#[derive(Debug, clap::Subcommand)]
enum Other {
    /// How much of the evidence a search finds.
    Retrieval(Box<retrieval::Args>),
    /// What the parts of a request cost without HTTP and disk, beside a recorded baseline.
    Micro(micro::Args),
}

/// Something that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Scenario {
    /// `/healthz`, which does nothing: what HTTP alone costs.
    Health,
    /// What one subject's predicate holds.
    Recall,
    /// Three words, ten answers.
    Query,
    /// What was said of one subject's predicate.
    History,
    /// One statement, durable when answered.
    Remember,
    /// A pod's token for a key.
    Exchange,
    /// Recall, query and remember of one caller and of 256.
    Callers,
    /// What checking a key adds to a request.
    Key,
    /// One text, durable when answered.
    TextRemember,
    /// Three words to a memory of texts.
    TextRecall,
    /// Recall and queries as a memory grows to a million facts, and the start on 100,000.
    Scale,
    /// A million facts in a thousand memories, within the bound of resident views.
    Tenants,
    /// Twice the writes that it can take.
    Overload,
    /// LangGraph's SqliteStore, in process.
    Sqlite,
    /// `kill -9` during writes.
    Kill,
    /// Turns recorded beside the store's bare rate, and the resume of an agent with a long past.
    Agents,
    /// Keys that die on one of three servers, reads after writes to another, and agents whose pod is
    /// replaced.
    Replicas,
    /// Recall, query and remember of both servers on one polign_db.
    Polign,
    /// What traces and metrics cost exact recall.
    Observing,
    /// Connections on which nothing is said.
    Idle,
}

/// How long and how much.
#[derive(Debug)]
struct Plan {
    rounds: u32,
    round: Duration,
    warm_up: Duration,
    connections: usize,
    facts: u64,
    texts: u64,
    /// Facts in a large memory.
    large: u64,
    /// Facts in memories whose costs are compared; `large` is one of them.
    sizes: &'static [u64],
    /// Memories that share a server, and facts in each.
    tenants: u64,
    facts_a_tenant: u64,
    kills: u32,
    /// Keys that die, and pairs of a write and a read, on three servers.
    deaths: u32,
    pairs: u32,
    /// Of a round: what is remembered stays resident.
    most_writes: u64,
    pods: u32,
    /// Connections on which nothing is said.
    idle: u32,
    seed: u64,
}

impl Plan {
    fn new(arguments: &Args) -> Self {
        let full = Self {
            rounds: 3,
            round: Duration::from_secs(5),
            warm_up: Duration::from_millis(500),
            connections: 32,
            facts: 2_000,
            texts: 500,
            large: 100_000,
            sizes: &[2_000, 24_000, 100_000, 1_000_000],
            tenants: 1_000,
            facts_a_tenant: 1_000,
            kills: 200,
            deaths: 100,
            pairs: 10_000,
            most_writes: 15_000,
            pods: 60_000,
            idle: 10_000,
            seed: arguments.seed,
        };
        match arguments.quick {
            false => full,
            true => Self {
                rounds: 1,
                round: Duration::from_secs(1),
                facts: 100,
                texts: 50,
                large: 5_000,
                sizes: &[500, 5_000],
                tenants: 20,
                kills: 5,
                deaths: 3,
                pairs: 50,
                pods: 3_000,
                idle: 500,
                ..full
            },
        }
    }
}

impl Scenario {
    const TYPED: [Self; 6] = [
        Self::Health,
        Self::Recall,
        Self::Query,
        Self::History,
        Self::Exchange,
        // Last: what it leaves in the memory is more than the rest is asked about.
        Self::Remember,
    ];
    const TEXT: [Self; 2] = [Self::TextRecall, Self::TextRemember];

    fn name(self) -> &'static str {
        match self {
            Self::Health => "health",
            Self::Recall => "recall",
            Self::Query => "query",
            Self::History => "history",
            Self::Remember => "remember",
            Self::Exchange => "exchange",
            Self::Callers => "callers",
            Self::Key => "key",
            Self::TextRemember => "text-remember",
            Self::TextRecall => "text-recall",
            Self::Scale => "scale",
            Self::Tenants => "tenants",
            Self::Overload => "overload",
            Self::Sqlite => "sqlite",
            Self::Kill => "kill",
            Self::Agents => "agents",
            Self::Replicas => "replicas",
            Self::Polign => "polign",
            Self::Observing => "observing",
            Self::Idle => "idle",
        }
    }

    /// How many times the published server's rate ours must be.
    fn floor(self) -> Option<f64> {
        match self {
            Self::Recall => Some(1_000.0),
            Self::Remember => Some(500.0),
            Self::Query => Some(400.0),
            Self::Exchange => Some(4.0),
            _ => None,
        }
    }
}

pub(crate) fn run(arguments: &Args) -> anyhow::Result<()> {
    match &arguments.other {
        Some(Other::Retrieval(arguments)) => return retrieval::run(arguments),
        Some(Other::Micro(arguments)) => return micro::run(arguments),
        None => {}
    }
    let wanted = |scenario| arguments.only.is_empty() || arguments.only.contains(&scenario);
    match sides::other_build() {
        Some(dir) => say(&format!("the programs in {} (RECALL_BIN)", dir.display())),
        None => build()?,
    }
    let beside = !arguments.ours;
    ensure!(
        !beside || python::available(),
        "the published server comes as a Python package: {}, or leave it out with --ours",
        python::FIX
    );
    let dir = scratch("bench")?;
    let bench = Bench {
        plan: Plan::new(arguments),
        admin_key_file: test::admin_key_file(&dir)?,
        dir,
        beside,
    };
    let before = machine::load_average();
    let mut report = Report::default();
    let ran = bench.scenarios(&wanted, arguments.plot.as_deref(), &mut report);
    let machine = machine::describe(&bench.plan, before);
    // Told also where a scenario failed: those before it took long.
    report.print();
    say(&machine::line(&machine));
    if let Some(path) = &arguments.json {
        std::fs::write(path, format!("{:#}\n", report.json(&machine)))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    ran
}

/// Builds what ships by itself, so that no part of it is built as the other programs need it.
fn build() -> anyhow::Result<()> {
    let release = ["build", "--quiet", "--release"];
    let beside = ["--package=recall-testkit", "--bins"];
    for parts in [
        &[&SHIPPED[..], &beside].concat()[..],
        &[
            "--package=recall-store-embedded",
            "--package=recall-keys",
            "--package=recall-api",
            "--package=recall-e2e",
            "--bin=recall-replicas",
            "--example=group_commit",
            "--example=append",
            "--example=key_check",
            "--example=metrics_cost",
        ],
    ] {
        run_command(cargo().args(release).args(parts))?;
    }
    Ok(())
}

/// What checking a key takes, without a server around it.
fn key_check(report: &mut Report) -> anyhow::Result<()> {
    let mut program = Command::new(sides::programs_dir().join("examples/key_check"));
    let found = output(&mut program)?;
    let mut times = found.split_whitespace().map(str::parse);
    let mut next = || times.next().context("key_check printed two times");
    let (middle, p99): (f64, f64) = (next()??, next()??);
    report.figure("key check p50", middle, "us", Bound::AtMost(20.0));
    report.figure("key check p99", p99, "us", Bound::None);
    Ok(())
}

/// Our rates as shares of what bounds them.
fn shares(report: &mut Report) {
    for (name, least) in [("recall", 0.6), ("query", 0.3)] {
        if let (Some(health), Some(rate)) = (report.rate("health"), report.rate(name)) {
            let name = format!("{name} rate / health rate");
            report.figure(name, rate / health, "", Bound::AtLeast(least));
        }
    }
    if let Some(waits) = report.row(ONE_WRITER).and_then(Row::waits_of_bare) {
        let name = "remember p50, 1 caller / one commit of redb alone";
        report.figure(name, waits, "", Bound::AtMost(1.5));
    }
    let remember = report.row(Scenario::Remember.name());
    let found = remember.and_then(|row| Some((row.share_of_bare()?, row.bare.clone())));
    if let Some((share, mut bare)) = found {
        let name = "redb alone, as many events a commit as callers";
        report.figure(name, report::median(&mut bare), "/s", Bound::None);
        let name = "remember rate / redb alone, round by round";
        report.figure(name, share, "", Bound::AtLeast(0.6));
    }
}

/// The events a second that redb alone makes durable, so many a commit.
fn bare_commits(dir: &Path, group: usize) -> anyhow::Result<f64> {
    let mut program = Command::new(sides::programs_dir().join("examples/group_commit"));
    let rate = output(program.arg(dir).arg(group.to_string()))?;
    Ok(rate.trim().parse()?)
}

/// The records a second that the embedded store alone makes durable for so many callers, each of
/// which waits for its own.
fn bare_appends(dir: &Path, callers: usize) -> anyhow::Result<f64> {
    let mut program = Command::new(sides::programs_dir().join("examples/append"));
    let rate = output(program.arg(dir).arg(callers.to_string()))?;
    Ok(rate.trim().parse()?)
}

struct Bench {
    plan: Plan,
    dir: PathBuf,
    admin_key_file: PathBuf,
    /// Whether the published server runs too.
    beside: bool,
}

impl Bench {
    /// All that is wanted, one after the other.
    fn scenarios(
        &self,
        wanted: &dyn Fn(Scenario) -> bool,
        plot: Option<&Path>,
        report: &mut Report,
    ) -> anyhow::Result<()> {
        let (plan, dir, key) = (
            &self.plan,
            self.dir.as_path(),
            self.admin_key_file.as_path(),
        );
        let program = sides::programs_dir().join("recall-server");
        let size = std::fs::metadata(program)?.len() as f64 / MEBIBYTE;
        let name = "recall-server, the program";
        report.figure(name, size, "MB", Bound::AtMost(20.0));
        let typed = Scenario::TYPED.map(|s| (s, wanted(s)));
        self.typed(&typed, wanted(Scenario::Callers), report)?;
        self.text(&Scenario::TEXT.map(|s| (s, wanted(s))), report)?;
        shares(report);
        if wanted(Scenario::Key) {
            key_check(report)?;
        }
        if wanted(Scenario::Scale) {
            self.scale(plot, report)?;
        }
        if wanted(Scenario::Tenants) {
            tenants::run(plan, dir, key, report)?;
        }
        if wanted(Scenario::Overload) {
            overload::run(plan, dir, key, report)?;
        }
        if wanted(Scenario::Sqlite) && python::available() {
            sqlite::run(plan, dir, key, report)?;
        }
        if wanted(Scenario::Agents) {
            agents::run(plan, dir, key, report)?;
        }
        if wanted(Scenario::Replicas) && python::available() {
            replicas::run(plan.deaths, plan.pairs, report)?;
        }
        if wanted(Scenario::Polign) && python::available() {
            polign::run(plan, dir, key, self.beside, report)?;
        }
        if wanted(Scenario::Observing) {
            observing::run(plan, dir, key, report)?;
        }
        if wanted(Scenario::Idle) {
            idle::run(plan, dir, key, report)?;
        }
        if wanted(Scenario::Kill) {
            let lost = self.kill(report)?;
            ensure!(lost == 0, "{lost} acknowledged writes were lost");
        }
        Ok(())
    }

    fn typed(
        &self,
        wanted: &[(Scenario, bool)],
        callers: bool,
        report: &mut Report,
    ) -> anyhow::Result<()> {
        if !callers && wanted.iter().all(|(_, wanted)| !wanted) {
            return Ok(());
        }
        let api = FakeApi::start(&self.dir, self.plan.pods)?;
        let surface = |flag: &str, mut flags: Vec<String>| {
            flags.push(flag.to_owned());
            flags
        };
        let ours = surface("--surface=typed", api.our_flags());
        let theirs = surface("-typed", api.their_flags());
        let comparison = Comparison {
            plan: &self.plan,
            connections: self.plan.connections,
            callers,
            facts: self.plan.facts,
            tokens: &api.tokens,
            bare: Some(&self.dir),
        };
        self.compare("typed", &comparison, wanted, [&ours, &theirs], report)
    }

    fn text(&self, wanted: &[(Scenario, bool)], report: &mut Report) -> anyhow::Result<()> {
        if wanted.iter().all(|(_, wanted)| !wanted) {
            return Ok(());
        }
        let (ours, theirs) = (["--surface=text".to_owned()], ["-text".to_owned()]);
        let comparison = Comparison {
            plan: &self.plan,
            connections: self.plan.connections,
            callers: false,
            facts: self.plan.texts,
            tokens: &[],
            bare: None,
        };
        self.compare("text", &comparison, wanted, [&ours, &theirs], report)
    }

    /// Starts both, fills both, puts each load on both in turns.
    fn compare(
        &self,
        surface: &str,
        comparison: &Comparison<'_>,
        wanted: &[(Scenario, bool)],
        [our_flags, their_flags]: [&[String]; 2],
        report: &mut Report,
    ) -> anyhow::Result<()> {
        say(&format!("{surface} surface"));
        let (dir, key) = (self.dir.as_path(), self.admin_key_file.as_path());
        let asked = |side| Asked::new(side, self.plan.seed);
        let mut ours = asked(Side::ours(&format!("ours-{surface}"), dir, key, our_flags)?);
        let text = surface == "text";
        let rate = comparison.load("ours", &mut ours, text)?;
        report.figure(format!("loading, {surface}"), rate, "/s", Bound::None);
        let mut theirs = None;
        if self.beside {
            let name = format!("published-{surface}");
            let theirs = theirs.insert(asked(Side::theirs(&name, dir, key, their_flags)?));
            comparison.load("published", theirs, text)?;
        }
        for (scenario, _) in wanted.iter().filter(|(_, wanted)| *wanted) {
            if *scenario == Scenario::Remember {
                self.memory("before it writes", &mut ours, theirs.as_mut(), report);
            }
            let row = comparison.rounds(*scenario, &mut ours, theirs.as_mut())?;
            report.rows.push(row);
        }
        if comparison.callers {
            for (connections, scenario, name) in CALLERS {
                let comparison = Comparison {
                    connections,
                    ..*comparison
                };
                let row = Row::new(name, None);
                let row = comparison.rounds_of(row, scenario, &mut ours, theirs.as_mut())?;
                report.rows.push(row);
            }
        }
        self.memory(surface, &mut ours, theirs.as_mut(), report);
        Ok(())
    }

    fn memory(
        &self,
        when: &str,
        ours: &mut Asked,
        theirs: Option<&mut Asked>,
        report: &mut Report,
    ) {
        let mut figure = |name: String, bytes: u64, bound| {
            let name = format!("resident {name}, {when}");
            report.figure(name, bytes as f64 / MEBIBYTE, "MB", bound);
        };
        let idle = ours.side.idle_bytes;
        figure("idle".to_owned(), idle, Bound::AtMost(20.0));
        let after = |asked: &Asked| format!("with {} facts", asked.written);
        let beyond = ours.written.saturating_sub(self.plan.facts);
        let most = MOST_RESIDENT + beyond as f64 * MOST_RESIDENT_A_FACT / MEBIBYTE;
        figure(after(ours), ours.side.resident_bytes(), Bound::AtMost(most));
        if let Some(theirs) = theirs {
            let name = format!("{}, published", after(theirs));
            figure(name, theirs.side.resident_bytes(), Bound::None);
        }
    }

    fn scale(&self, plot: Option<&Path>, report: &mut Report) -> anyhow::Result<()> {
        say("a memory that grows");
        let found = scale::run(&self.plan, &self.dir, &self.admin_key_file, self.beside)?;
        for (whose, points) in [("", &found.ours), (", published", &found.theirs)] {
            for point in points {
                let facts = point.facts;
                let name = format!("query p50, {facts} facts, 1 caller{whose}");
                report.figure(name, point.query_ms, "ms", Bound::None);
                let name = format!("exact recall p50, {facts} facts, 1 caller{whose}");
                report.figure(name, point.recall_ms, "ms", Bound::None);
            }
        }
        if let Some(small) = found.ours.first() {
            for point in found.ours.iter().skip(1) {
                let most = match point.facts > self.plan.large {
                    true => 20.0,
                    false => 3.0,
                };
                let name = format!("query p50, {} / {} facts", point.facts, small.facts);
                let ratio = point.query_ms / small.query_ms;
                report.figure(name, ratio, "", Bound::AtMost(most));
            }
        }
        for point in found
            .ours
            .iter()
            .filter(|point| point.facts >= self.plan.large)
        {
            let each = |bytes: u64| bytes as f64 / point.facts as f64;
            let name = format!("resident a fact, of {}", point.facts);
            report.figure(
                name,
                each(point.resident_bytes),
                "bytes",
                Bound::AtMost(1_200.0),
            );
            let name = format!("on disk a fact, of {}", point.facts);
            report.figure(name, each(point.disk_bytes), "bytes", Bound::AtMost(900.0));
        }
        let large = self.plan.large;
        let empty = found.empty_ready_seconds;
        report.figure(
            "start on an empty store until ready",
            empty,
            "s",
            Bound::AtMost(0.2),
        );
        let name = format!("start on {large} events until ready");
        report.figure(name, found.ready_seconds, "s", Bound::AtMost(1.0));
        let name = format!("start on {large} events until the first query");
        report.figure(name, found.first_answer_seconds, "s", Bound::None);
        if let Some(path) = plot {
            std::fs::write(path, plot::svg(&found.series()))
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }

    /// Answers how many acknowledged writes were lost.
    fn kill(&self, report: &mut Report) -> anyhow::Result<usize> {
        say(&format!("{} kills during writes", self.plan.kills));
        let plan = &self.plan;
        let found = kill::run(&self.dir, &self.admin_key_file, plan.kills, plan.seed)?;
        let name = format!("acknowledged in {} rounds of kill -9", found.rounds);
        report.figure(name, found.acknowledged as f64, "writes", Bound::None);
        let name = "of these lost";
        report.figure(name, found.lost as f64, "writes", Bound::AtMost(0.0));
        Ok(found.lost)
    }
}
