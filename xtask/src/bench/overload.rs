//! Twice as many writes as the server can take: what it still serves, how soon, and how soon after it is
//! itself again.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::ensure;

use super::load::{self, Load, Measured};
use super::report::{Bound, Report};
use super::requests;
use super::sides::Side;
use super::{MEBIBYTE, Plan};
use crate::shell::say;

/// More callers than the server has places and the load needs.
const CALLERS: usize = 2_000;
/// How much of what it can take counts as no load.
const LIGHT: f64 = 0.1;
/// One look at whether it is itself again: so many requests, at the pace of the light load.
const LOOK: Duration = Duration::from_millis(100);
const AFTER: Duration = Duration::from_secs(10);

/// Statements at one pace, then at another; each is made once.
struct Writes<'a> {
    side: &'a Side,
    next: u64,
}

impl Writes<'_> {
    fn put(
        &mut self,
        connections: usize,
        time: Duration,
        pace: Option<f64>,
    ) -> anyhow::Result<Measured> {
        let load = Load {
            pace,
            ..Load::during(time, connections)
        };
        let next = &mut self.next;
        let mut write = |_: u64, out: &mut Vec<u8>| {
            *next += 1;
            let body = requests::statement(*next);
            requests::post(out, "/v1/remember", &self.side.key, &body);
        };
        load::run(self.side.address, load, &mut write)
    }
}

pub(super) fn run(
    plan: &Plan,
    dir: &Path,
    admin_key_file: &Path,
    report: &mut Report,
) -> anyhow::Result<()> {
    say("twice as much as it can take");
    let flags = [
        "--surface=typed".to_owned(),
        "--limit-per-key=off".to_owned(),
    ];
    let mut side = Side::ours("overload", dir, admin_key_file, &flags)?;
    let idle = side.resident_bytes();
    let mut writes = Writes {
        side: &side,
        next: 0,
    };
    writes.put(plan.connections, plan.warm_up, None)?;
    let capacity = writes
        .put(plan.connections, plan.round, None)?
        .all_served()?
        .rate();
    let light = capacity * LIGHT;
    let unloaded = writes
        .put(plan.connections, plan.round, Some(light))?
        .all_served()?
        .percentile(0.99);
    let over = writes.put(CALLERS, plan.round, Some(capacity * 2.0))?;
    let ended = Instant::now();
    // Itself again: a look in which all were served within twice the time.
    let recovered = loop {
        let look = writes.put(plan.connections, LOOK, Some(light))?;
        if look.refused.is_empty() && look.percentile(0.99) <= unloaded * 2.0 {
            break ended.elapsed();
        }
        ensure!(
            ended.elapsed() < AFTER,
            "not itself again {AFTER:?} after the load"
        );
    };
    let refused: u64 = over.refused.values().sum();
    ensure!(
        over.refused
            .keys()
            .all(|status| matches!(status, 429 | 503)),
        "refusals other than 429 and 503: {:?}",
        over.refused
    );
    let admitted = over.percentile(0.99);
    let written = writes.next;
    say(&format!(
        "  of {} sent {refused} were refused, {} more were due while every caller waited",
        over.latencies.len() as u64 + refused,
        over.unsent
    ));
    let mut figure = |name: &str, value, unit, bound| report.figure(name, value, unit, bound);
    figure(
        "overload: writes it can take, 32 callers",
        capacity,
        "/s",
        Bound::None,
    );
    figure(
        "overload: p99 at a tenth of that",
        unloaded,
        "ms",
        Bound::None,
    );
    figure(
        "overload: served at twice that",
        over.rate(),
        "/s",
        Bound::None,
    );
    figure(
        "overload: p99 of what is served",
        admitted,
        "ms",
        Bound::None,
    );
    figure(
        "overload: p99 served / unloaded",
        admitted / unloaded,
        "",
        Bound::AtMost(5.0),
    );
    figure(
        "overload: itself again after",
        recovered.as_secs_f64(),
        "s",
        Bound::AtMost(2.0),
    );
    let grown = side.resident_bytes().saturating_sub(idle) as f64;
    figure(
        "overload: memory grown",
        grown / MEBIBYTE,
        "MB",
        Bound::None,
    );
    figure(
        "overload: writes until then",
        written as f64,
        "",
        Bound::None,
    );
    Ok(())
}
