//! Ours alone with very many clients that say nothing: what each costs, and what they cost the others.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use super::Plan;
use super::load::{self, Load};
use super::report::{Bound, Report};
use super::requests::{self, Dice};
use super::sides::Side;
use crate::shell::say;

/// Callers whose waits are measured.
const CALLERS: usize = 4;
/// The server hangs up on who says nothing for 15 s, so what is measured has to fit into that.
const SILENCE: Duration = Duration::from_secs(15);
/// Connections that load the memory.
const LOADERS: usize = 8;
/// Facts that are asked for.
const FACTS: u64 = 1_000;

pub(super) fn run(
    plan: &Plan,
    dir: &Path,
    admin_key_file: &Path,
    report: &mut Report,
) -> anyhow::Result<()> {
    say("idle clients");
    let flags = ["--surface=typed".to_owned()];
    let mut side = Side::ours("idle", dir, admin_key_file, &flags)?;
    side.fill(FACTS, LOADERS, &mut Dice::new(plan.seed))?;
    let calm = recall_p99(&side, plan)?;
    let before = side.resident_bytes();
    let began = Instant::now();
    let clients = (0..plan.idle).map(|_| client(&side));
    let clients = clients.collect::<anyhow::Result<Vec<_>>>()?;
    let beside = recall_p99(&side, plan)?;
    let each = side.resident_bytes().saturating_sub(before) as f64 / plan.idle as f64;
    ensure!(
        began.elapsed() < SILENCE,
        "{} clients took {:?} to come: the first were hung up on",
        plan.idle,
        began.elapsed()
    );
    drop(clients);
    let name = format!("{} idle connections, each", plan.idle);
    report.figure(name, each, "bytes", Bound::AtMost(20.0 * 1024.0));
    report.figure("exact recall p99, 4 callers", calm, "ms", Bound::None);
    let name = "the same beside idle connections";
    report.figure(name, beside, "ms", Bound::None);
    let name = "exact recall p99, beside / alone";
    report.figure(name, beside / calm, "", Bound::AtMost(2.0));
    Ok(())
}

/// A client that asked once and keeps its connection.
fn client(side: &Side) -> anyhow::Result<TcpStream> {
    let mut stream = TcpStream::connect(side.address)
        .context("a connection: is `ulimit -n` above the number of idle clients?")?;
    stream.set_read_timeout(Some(SILENCE))?;
    let mut request = Vec::new();
    requests::get(&mut request, "/healthz");
    stream.write_all(&request)?;
    let mut answer = [0u8; 1024];
    let count = stream.read(&mut answer)?;
    let served = answer
        .get(..count)
        .is_some_and(|it| it.starts_with(b"HTTP/1.1 200"));
    ensure!(served, "an idle client was not served");
    Ok(stream)
}

fn recall_p99(side: &Side, plan: &Plan) -> anyhow::Result<f64> {
    let mut dice = Dice::new(plan.seed);
    let load = Load::during(plan.round.min(Duration::from_secs(4)), CALLERS);
    let mut write = |_: u64, out: &mut Vec<u8>| {
        let body = requests::pair(FACTS, &mut dice);
        requests::post(out, "/v1/recall", &side.key, &body);
    };
    let measured = load::run(side.address, load, &mut write)?.all_served()?;
    Ok(measured.percentile(0.99))
}
