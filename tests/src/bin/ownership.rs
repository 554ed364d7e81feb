//! The ownership checker as a program. `cargo xtask test --only ownership` runs it for a minute; the
//! long form is run by hand:
//!
//! `recall-ownership --store polign --faults 600 --seed 7`
//!
//! It ends with an error if a promise was broken or too little happened to mean anything, and then
//! leaves its log, the export of the store and the logs of the servers where it says.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use recall_e2e::ownership::cast::{Run, play};
use recall_e2e::ownership::faults::{self, Tally};
use recall_e2e::ownership::ground::{Ground, Store};
use recall_e2e::ownership::{hand, log, proof, stored};

const USAGE: &str = "\
usage: recall-ownership --store embedded|polign|polign-nodes [--faults N] [--seed N] [--every MILLIS]
                        [--keep DIR]
       recall-ownership prove LOG EXPORT";

#[derive(Debug)]
struct Options {
    store: Store,
    faults: usize,
    seed: u64,
    every: Duration,
    keep: Option<PathBuf>,
}

impl Options {
    fn parse(mut words: impl Iterator<Item = String>) -> anyhow::Result<Self> {
        let mut options = Self {
            store: Store::Embedded,
            faults: 50,
            seed: 1,
            every: Duration::from_millis(350),
            keep: None,
        };
        while let Some(word) = words.next() {
            let value = words.next().context(USAGE)?;
            match word.as_str() {
                "--store" => {
                    options.store = match value.as_str() {
                        "embedded" => Store::Embedded,
                        "polign" => Store::Polign,
                        "polign-nodes" => Store::PolignNodes,
                        _ => bail!("--store {value}: {USAGE}"),
                    }
                }
                "--faults" => options.faults = value.parse()?,
                "--seed" => options.seed = value.parse()?,
                "--every" => options.every = Duration::from_millis(value.parse()?),
                "--keep" => options.keep = Some(PathBuf::from(value)),
                _ => bail!("{word}: {USAGE}"),
            }
        }
        Ok(options)
    }
}

fn main() -> anyhow::Result<()> {
    let mut words = std::env::args().skip(1).peekable();
    match words.peek().map(String::as_str) {
        Some(hand::WORD) => {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(hand::serve())
        }
        Some("prove") => {
            let paths: Vec<_> = words.skip(1).map(PathBuf::from).collect();
            let [log, export] = paths.as_slice() else {
                bail!(USAGE);
            };
            let stored = stored::read(&std::fs::read_to_string(export)?)?;
            judge(&log::read(log)?, &stored)
        }
        _ => {
            let options = Options::parse(words)?;
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .enable_all()
                .build()?;
            runtime.block_on(run(&options))
        }
    }
}

async fn run(options: &Options) -> anyhow::Result<()> {
    let temporary = tempfile::Builder::new().prefix("ownership-").tempdir()?;
    let dir = match &options.keep {
        Some(dir) => {
            std::fs::create_dir_all(dir)?;
            dir.clone()
        }
        None => temporary.path().to_owned(),
    };
    let outcome = check(options, &dir).await;
    if outcome.is_err() {
        tell(&format!(
            "seed {}; everything is in {}",
            options.seed,
            dir.display()
        ))?;
        // What it would say is in there.
        let _ = temporary.keep();
    }
    outcome
}

async fn check(options: &Options, dir: &Path) -> anyhow::Result<()> {
    let began = Instant::now();
    let ground = Arc::new(Ground::start(options.store, dir).await?);
    let run = Run {
        ground: Arc::clone(&ground),
        seed: options.seed,
        tally: Tally::default(),
    };
    let plan = faults::plan(options.seed, options.store, options.faults, options.every);
    let playing = tokio::spawn({
        let run = run.clone();
        async move { play(&run).await }
    });
    let inflicted = faults::inflict(&run, plan).await;
    // A while in peace, so that everybody finds out what became of their work.
    let recovered = ground.recovered().await;
    ground.rest(Duration::from_secs(3)).await;
    ground.end();
    for (_, body) in &*ground.bodies.lock() {
        body.pause(false);
    }
    let played = playing.await?;
    let entries = ground.log();
    log::write(&dir.join("log.jsonl"), &entries)?;
    recovered.and(inflicted).and(played)?;
    let stored = ground.stored().await?;
    let faults = run.tally.all();
    tell(&format!(
        "{:?}, seed {}: {:.0} s, {} faults",
        options.store,
        options.seed,
        began.elapsed().as_secs_f64(),
        faults.values().sum::<usize>()
    ))?;
    for (what, times) in &faults {
        tell(&format!("  {times:>5} {what}"))?;
    }
    judge(&entries, &stored)
}

/// Proves, and asks that there was something to prove.
fn judge(entries: &[log::Entry], stored: &stored::Stored) -> anyhow::Result<()> {
    let totals = proof::totals(entries);
    tell(&format!(
        "  {} writes acknowledged, {} refused, {} of unknown outcome; {} takeovers; {} reads; \
         {} external actions run, {} times a taker was warned of one",
        totals.acknowledged,
        totals.refused,
        totals.unknown,
        totals.takeovers,
        totals.reads,
        totals.external,
        totals.warned
    ))?;
    let violations = proof::prove(entries, stored);
    for violation in violations.iter().take(20) {
        tell(&format!("  BROKEN: {violation}"))?;
    }
    ensure!(
        violations.is_empty(),
        "{} promises broken",
        violations.len()
    );
    let meant = totals.acknowledged > 50
        && totals.refused > 0
        && totals.unknown > 0
        && totals.takeovers > 10
        && totals.external > 0;
    ensure!(meant, "too little happened to mean anything: {totals:?}");
    tell("  every agent had one owner at a time; nothing acknowledged was lost")
}

fn tell(line: &str) -> anyhow::Result<()> {
    Ok(writeln!(std::io::stdout(), "{line}")?)
}
