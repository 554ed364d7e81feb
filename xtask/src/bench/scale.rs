//! Ours alone on a large memory: word queries, and the start on its log.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::ensure;

use super::Plan;
use super::load::{self, Load};
use super::requests::{self, Dice};
use super::sides::{Side, start_ours};
use crate::http;
use crate::shell::say;

/// Connections that load a memory.
const LOADERS: usize = 32;
/// The memory that the large one is compared with.
const SMALL: u64 = 2_000;

/// What was found.
#[derive(Debug)]
pub(super) struct Outcome {
    /// Facts in the large memory.
    pub(super) facts: u64,
    /// One caller's median query.
    pub(super) p50_small_ms: f64,
    pub(super) p50_large_ms: f64,
    /// From the start of the process to its first 200 at `/readyz`, and to its first answer.
    pub(super) ready_seconds: f64,
    pub(super) first_answer_seconds: f64,
    pub(super) resident_bytes: u64,
}

pub(super) fn run(plan: &Plan, dir: &Path, admin_key_file: &Path) -> anyhow::Result<Outcome> {
    let flags = ["--surface=typed".to_owned()];
    let mut small = Side::ours("small", dir, admin_key_file, &flags)?;
    fill(&small, SMALL, plan.seed)?;
    let p50_small_ms = query_p50(&mut small, plan)?;
    drop(small);
    let mut large = Side::ours("large", dir, admin_key_file, &flags)?;
    let rate = fill(&large, plan.large, plan.seed)?;
    say(&format!("  {} facts loaded at {rate:.0}/s", plan.large));
    let p50_large_ms = query_p50(&mut large, plan)?;
    let resident_bytes = large.resident_bytes();
    let key = large.key.clone();
    drop(large);
    let (ready_seconds, first_answer_seconds) = start(dir, admin_key_file, &flags, &key, plan)?;
    Ok(Outcome {
        facts: plan.large,
        p50_small_ms,
        p50_large_ms,
        ready_seconds,
        first_answer_seconds,
        resident_bytes,
    })
}

fn fill(side: &Side, facts: u64, seed: u64) -> anyhow::Result<f64> {
    let mut dice = Dice::new(seed);
    let load = Load {
        connections: LOADERS,
        time: Duration::MAX,
        count: facts,
    };
    let mut write = |number: u64, out: &mut Vec<u8>| {
        let body = requests::fact(number, &mut dice);
        requests::post(out, "/v1/remember", &side.key, &body);
    };
    Ok(load::run(side.address, load, &mut write)?
        .all_served()?
        .rate())
}

fn query_p50(side: &mut Side, plan: &Plan) -> anyhow::Result<f64> {
    let mut dice = Dice::new(plan.seed);
    let load = Load {
        connections: 1,
        time: plan.round,
        count: u64::MAX,
    };
    let mut write = |_: u64, out: &mut Vec<u8>| {
        requests::post(out, "/v1/recall", &side.key, &requests::query(&mut dice));
    };
    let measured = load::run(side.address, load, &mut write)?.all_served()?;
    Ok(measured.percentile(0.5))
}

/// Starts on the large log a few times; the medians.
fn start(
    dir: &Path,
    admin_key_file: &Path,
    flags: &[String],
    key: &str,
    plan: &Plan,
) -> anyhow::Result<(f64, f64)> {
    let (mut ready, mut answered) = (Vec::new(), Vec::new());
    for _ in 0..plan.rounds {
        let began = Instant::now();
        let server = start_ours("large", dir, admin_key_file, flags)?;
        while !http::ok(&format!("{}/readyz", server.admin_url)) {
            ensure!(began.elapsed() < Duration::from_secs(60), "never ready");
        }
        ready.push(began.elapsed().as_secs_f64());
        let body = requests::query(&mut Dice::new(plan.seed));
        let (status, text) = http::request(
            "POST",
            &format!("{}/v1/recall", server.url),
            Some(key),
            &body,
        )?;
        ensure!(status == 200, "the first query: {status} {text}");
        answered.push(began.elapsed().as_secs_f64());
    }
    Ok((
        super::report::median(&mut ready),
        super::report::median(&mut answered),
    ))
}
