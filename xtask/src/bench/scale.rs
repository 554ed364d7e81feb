//! How cost grows with a memory: ours at several sizes, the published server at small ones, and the start
//! on a large log.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::ensure;

use super::load::{self, Load};
use super::plot::Series;
use super::requests::{self, Dice};
use super::sides::{Side, start_ours};
use super::{Plan, report};
use crate::http;
use crate::shell::say;

/// Connections that load a memory.
const LOADERS: usize = 32;
/// Statements of one call that loads the published server: one at a time takes it an hour.
const BATCH: u64 = 32;
/// Its larger memory. Beyond that a call takes it seconds.
const PUBLISHED: [u64; 2] = [500, 4_000];

/// What one memory of a size costs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point {
    pub(super) facts: u64,
    /// One caller's median query, and exact recall.
    pub(super) query_ms: f64,
    pub(super) recall_ms: f64,
    /// Of the process, beyond what it takes idle.
    pub(super) resident_bytes: u64,
    /// In the data directory.
    pub(super) disk_bytes: u64,
}

/// What was found.
#[derive(Debug)]
pub(super) struct Outcome {
    /// By size, ascending.
    pub(super) ours: Vec<Point>,
    pub(super) theirs: Vec<Point>,
    /// From the start of the process on `plan.large` facts to its first 200 at `/readyz`, and to its first
    /// answer; and to ready on an empty store.
    pub(super) ready_seconds: f64,
    pub(super) first_answer_seconds: f64,
    pub(super) empty_ready_seconds: f64,
}

impl Outcome {
    /// The lines of a plot.
    pub(super) fn series(&self) -> Vec<Series> {
        let line = |name: &str, points: &[Point], ms: fn(&Point) -> f64| Series {
            name: name.to_owned(),
            points: points
                .iter()
                .map(|point| (point.facts as f64, ms(point)))
                .collect(),
        };
        vec![
            line("query", &self.ours, |point| point.query_ms),
            line("exact recall", &self.ours, |point| point.recall_ms),
            line("query, published", &self.theirs, |point| point.query_ms),
            line("exact recall, published", &self.theirs, |point| {
                point.recall_ms
            }),
        ]
    }
}

pub(super) fn run(
    plan: &Plan,
    dir: &Path,
    admin_key_file: &Path,
    beside: bool,
) -> anyhow::Result<Outcome> {
    // One memory of a million facts is larger than what views may take by default.
    let flags = [
        "--surface=typed".to_owned(),
        "--view-memory=2GiB".to_owned(),
    ];
    let mut ours = Vec::new();
    for facts in plan.sizes.iter().copied() {
        let name = format!("scale-{facts}");
        let mut side = Side::ours(&name, dir, admin_key_file, &flags)?;
        let rate = side.fill(facts, LOADERS, &mut Dice::new(plan.seed))?;
        say(&format!("  {facts} facts loaded at {rate:.0}/s"));
        let data = dir.join(format!("{name}-data"));
        ours.push(point(&mut side, facts, plan, folder_bytes(&data)?)?);
        if facts != plan.large {
            drop(side);
            std::fs::remove_dir_all(&data)?;
        }
    }
    let name = format!("scale-{}", plan.large);
    let (ready_seconds, first_answer_seconds) = start(&name, dir, admin_key_file, &flags, plan)?;
    let (empty_ready_seconds, _) = start("scale-empty", dir, admin_key_file, &flags, plan)?;
    let mut theirs = Vec::new();
    for facts in PUBLISHED.into_iter().filter(|_| beside) {
        let name = format!("published-{facts}");
        let mut side = Side::theirs(&name, dir, admin_key_file, &["-typed".to_owned()])?;
        let facts = facts.min(plan.large);
        fill_by_batches(&side, facts, plan.seed)?;
        theirs.push(point(&mut side, facts, plan, 0)?);
    }
    Ok(Outcome {
        ours,
        theirs,
        ready_seconds,
        first_answer_seconds,
        empty_ready_seconds,
    })
}

fn point(side: &mut Side, facts: u64, plan: &Plan, disk_bytes: u64) -> anyhow::Result<Point> {
    let ask = |body: &mut dyn FnMut(&mut Dice) -> String| {
        let mut dice = Dice::new(plan.seed);
        let load = Load::during(plan.round, 1);
        let mut write = |_: u64, out: &mut Vec<u8>| {
            requests::post(out, "/v1/recall", &side.key, &body(&mut dice));
        };
        let measured = load::run(side.address, load, &mut write)?.all_served()?;
        anyhow::Ok(measured.percentile(0.5))
    };
    Ok(Point {
        facts,
        query_ms: ask(&mut requests::query)?,
        recall_ms: ask(&mut |dice| requests::pair(facts, dice))?,
        resident_bytes: side.resident_bytes().saturating_sub(side.idle_bytes),
        disk_bytes,
    })
}

fn fill_by_batches(side: &Side, facts: u64, seed: u64) -> anyhow::Result<()> {
    let mut dice = Dice::new(seed);
    let load = Load::of(facts.div_ceil(BATCH), 1);
    let mut write = |number: u64, out: &mut Vec<u8>| {
        let body = requests::facts(number * BATCH, BATCH, &mut dice);
        requests::post(out, "/v1/remember", &side.key, &body);
    };
    load::run(side.address, load, &mut write)?
        .all_served()
        .map(drop)
}

/// What the files of a folder take of the disk. Not their length: redb doubles a file that is full, and
/// the disk gives nothing for the part that was never written.
fn folder_bytes(dir: &Path) -> anyhow::Result<u64> {
    /// The unit in which a system counts what a file takes, whatever the blocks of its disk are.
    const BLOCK_BYTES: u64 = 512;
    let mut bytes = 0;
    for entry in std::fs::read_dir(dir)? {
        bytes += entry?.metadata()?.blocks() * BLOCK_BYTES;
    }
    Ok(bytes)
}

/// Starts on what a data directory holds a few times; the medians.
fn start(
    name: &str,
    dir: &Path,
    admin_key_file: &Path,
    flags: &[String],
    plan: &Plan,
) -> anyhow::Result<(f64, f64)> {
    let key = Side::ours(name, dir, admin_key_file, flags)?.key;
    let (mut ready, mut answered) = (Vec::new(), Vec::new());
    for _ in 0..plan.rounds {
        let began = Instant::now();
        let server = start_ours(name, dir, admin_key_file, flags)?;
        while !http::ok(&format!("{}/readyz", server.admin_url)) {
            ensure!(began.elapsed() < Duration::from_secs(60), "never ready");
        }
        ready.push(began.elapsed().as_secs_f64());
        let body = requests::query(&mut Dice::new(plan.seed));
        let (status, text) = http::request(
            "POST",
            &format!("{}/v1/recall", server.url),
            Some(&key),
            &body,
        )?;
        ensure!(status == 200, "the first query: {status} {text}");
        answered.push(began.elapsed().as_secs_f64());
    }
    Ok((report::median(&mut ready), report::median(&mut answered)))
}
