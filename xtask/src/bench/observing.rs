//! What it costs to be watched: traces of one request in ten, and counting each of them.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;

use anyhow::Context;

use super::compare::{Asked, Comparison};
use super::report::{Bound, Report, median};
use super::sides::{self, Side};
use super::{Plan, Scenario};
use crate::shell::{output, say};

/// The part of all requests that is traced.
const RATIO: &str = "--trace-ratio=0.1";

pub(super) fn run(
    plan: &Plan,
    dir: &Path,
    admin_key_file: &Path,
    report: &mut Report,
) -> anyhow::Result<()> {
    say("being watched");
    let endpoint = collector()?;
    let surface = "--surface=typed".to_owned();
    let traced = [
        surface.clone(),
        format!("--otlp-endpoint={endpoint}"),
        RATIO.to_owned(),
    ];
    let start = |name: &str, flags: &[String]| {
        let side = Side::ours(name, dir, admin_key_file, flags)?;
        anyhow::Ok(Asked::new(side, plan.seed))
    };
    let mut plain = start("unwatched", &[surface])?;
    let mut watched = start("watched", &traced)?;
    let comparison = Comparison {
        plan,
        connections: plan.connections,
        callers: false,
        facts: plan.facts,
        tokens: &[],
        bare: None,
    };
    comparison.load("plain", &mut plain, false)?;
    comparison.load("traced", &mut watched, false)?;
    let row = comparison.rounds(Scenario::Recall, &mut plain, Some(&mut watched))?;
    let mut shares: Vec<f64> = row
        .ours
        .iter()
        .zip(&row.theirs)
        .map(|(plain, traced)| traced.rate / plain.rate)
        .collect();
    let name = "exact recall with 1 trace in 10 / without";
    report.figure(name, median(&mut shares), "", Bound::AtLeast(0.95));
    let mut spent: Vec<f64> = row.ours.iter().map(|sample| sample.cpu_us).collect();
    let spent = median(&mut spent);
    let mut program = Command::new(sides::programs_dir().join("examples/metrics_cost"));
    let counting: f64 = output(&mut program)?.trim().parse()?;
    report.figure("counting a request", counting * 1000.0, "ns", Bound::None);
    let name = "counting / processor time of an exact recall";
    report.figure(name, counting / spent, "", Bound::AtMost(0.02));
    Ok(())
}

/// A collector that takes everything and looks at nothing, until the process ends.
fn collector() -> anyhow::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    std::thread::Builder::new()
        .name("collector".to_owned())
        .spawn(move || {
            for stream in listener.incoming().flatten() {
                // What a client breaks off is its own loss.
                let _ = take(stream);
            }
        })?;
    Ok(format!("http://{address}"))
}

fn take(mut stream: TcpStream) -> anyhow::Result<()> {
    let (mut seen, mut chunk) = (Vec::new(), vec![0u8; 256 * 1024]);
    let (head, length) = loop {
        let count = stream.read(&mut chunk)?;
        anyhow::ensure!(count > 0, "the client left");
        seen.extend_from_slice(chunk.get(..count).unwrap_or_default());
        let text = String::from_utf8_lossy(&seen).to_ascii_lowercase();
        if let Some(head) = text.find("\r\n\r\n") {
            let length = text
                .split("content-length: ")
                .nth(1)
                .and_then(|it| it.lines().next());
            let length: usize = length.context("a length")?.trim().parse()?;
            break (head + 4, length);
        }
    };
    let mut left = (head + length).saturating_sub(seen.len());
    while left > 0 {
        let count = stream.read(&mut chunk)?;
        anyhow::ensure!(count > 0, "the client left");
        left = left.saturating_sub(count);
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")?;
    Ok(())
}
