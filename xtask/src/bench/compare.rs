//! The same load on both servers, in turns.

use std::path::Path;
use std::time::Duration;

use super::load::{self, Load, Measured};
use super::report::{Row, Sample};
use super::requests::{self, Dice};
use super::sides::Side;
use super::{Plan, Scenario, bare_commits};
use crate::shell::say;

/// Connections that load a memory.
const LOADERS: usize = 8;

/// What is put on both servers of a surface.
#[derive(Clone, Copy)]
pub(super) struct Comparison<'a> {
    pub(super) plan: &'a Plan,
    /// That ask at the same time.
    pub(super) connections: usize,
    /// Whether other numbers of callers are measured too.
    pub(super) callers: bool,
    /// Facts in each memory.
    pub(super) facts: u64,
    /// One for each exchange.
    pub(super) tokens: &'a [String],
    /// Where redb is measured alone, beside each round of durable writes.
    pub(super) bare: Option<&'a Path>,
}

/// A server with what it has been asked so far.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) side: Side,
    dice: Dice,
    /// Statements and exchanges so far: none is made twice.
    next: u64,
    /// What its memory was told.
    pub(super) written: u64,
    tokens_used: usize,
}

impl Asked {
    pub(super) fn new(side: Side, seed: u64) -> Self {
        Self {
            side,
            dice: Dice::new(seed),
            next: 0,
            written: 0,
            tokens_used: 0,
        }
    }
}

impl Comparison<'_> {
    /// Fills a memory; answers the facts a second.
    pub(super) fn load(&self, name: &str, asked: &mut Asked, text: bool) -> anyhow::Result<f64> {
        let load = Load::of(self.facts, LOADERS);
        let key = asked.side.key.clone();
        let dice = &mut asked.dice;
        let mut write = |number: u64, out: &mut Vec<u8>| {
            let body = match text {
                true => requests::text(number, dice),
                false => requests::fact(number, dice),
            };
            requests::post(out, "/v1/remember", &key, &body);
        };
        let rate = load::run(asked.side.address, load, &mut write)?
            .all_served()?
            .rate();
        asked.written += self.facts;
        say(&format!("  {name}: {} facts at {rate:.0}/s", self.facts));
        Ok(rate)
    }

    /// Rounds of one scenario, first ours, then theirs, if theirs runs.
    pub(super) fn rounds(
        &self,
        scenario: Scenario,
        ours: &mut Asked,
        theirs: Option<&mut Asked>,
    ) -> anyhow::Result<Row> {
        let row = Row::new(scenario.name(), scenario.floor());
        self.rounds_of(row, scenario, ours, theirs)
    }

    /// The same for a row of another name.
    pub(super) fn rounds_of(
        &self,
        mut row: Row,
        scenario: Scenario,
        ours: &mut Asked,
        mut theirs: Option<&mut Asked>,
    ) -> anyhow::Result<Row> {
        let bare = self.bare.filter(|_| scenario == Scenario::Remember);
        for _ in 0..self.plan.rounds {
            if let Some(dir) = bare {
                row.bare.push(bare_commits(dir, self.connections)?);
            }
            row.ours.push(self.round(scenario, ours)?);
            if let Some(theirs) = theirs.as_deref_mut() {
                row.theirs.push(self.round(scenario, theirs)?);
            }
        }
        say(&format!("  {}", row.line()));
        Ok(row)
    }

    fn round(&self, scenario: Scenario, asked: &mut Asked) -> anyhow::Result<Sample> {
        self.put(scenario, asked, self.plan.warm_up)?;
        let before = asked.side.processor_time();
        let measured = self.put(scenario, asked, self.plan.round)?;
        let busy = asked.side.processor_time().saturating_sub(before);
        let answers = measured.latencies.len() as u64;
        Ok(Sample {
            rate: measured.rate(),
            p50_ms: measured.percentile(0.50),
            p99_ms: measured.percentile(0.99),
            cpu_us: busy.as_secs_f64() * 1e6 / answers.max(1) as f64,
            answers,
        })
    }

    fn put(
        &self,
        scenario: Scenario,
        asked: &mut Asked,
        time: Duration,
    ) -> anyhow::Result<Measured> {
        let left = self.tokens.len() - asked.tokens_used.min(self.tokens.len());
        let count = match scenario {
            // So many for this round that the later ones have theirs.
            Scenario::Exchange => left as u64 / 3,
            Scenario::Remember | Scenario::TextRemember => self.plan.most_writes,
            _ => u64::MAX,
        };
        let load = Load {
            count,
            ..Load::during(time, self.connections)
        };
        let Asked {
            side,
            dice,
            next,
            tokens_used,
            written,
        } = asked;
        let key = side.key.as_str();
        let mut write = |_: u64, out: &mut Vec<u8>| {
            *next += 1;
            let mut post = |path, body: &str| requests::post(out, path, key, body);
            match scenario {
                Scenario::Recall => post("/v1/recall", &requests::pair(self.facts, dice)),
                Scenario::Query => post("/v1/recall", &requests::query(dice)),
                Scenario::Remember => post("/v1/remember", &requests::statement(*next)),
                Scenario::History => post("/v1/history", &requests::pair(self.facts, dice)),
                Scenario::TextRemember => post("/v1/remember", &requests::text(*next, dice)),
                Scenario::TextRecall => post("/v1/recall", &requests::question(dice)),
                Scenario::Exchange => {
                    let token = self.tokens.get(*tokens_used).map_or("", String::as_str);
                    *tokens_used += 1;
                    let body = format!(r#"{{"token":"{token}"}}"#);
                    requests::post(out, "/v1/auth/kubernetes", "", &body);
                }
                _ => requests::get(out, "/healthz"),
            }
        };
        let measured = load::run(side.address, load, &mut write)?;
        // The published server refuses reads of texts while writes settle; what it does not serve is
        // told and not counted. Ours has to serve all.
        let measured = match side.is_ours() {
            true => measured.all_served()?,
            false => measured.served_only(),
        };
        if matches!(scenario, Scenario::Remember | Scenario::TextRemember) {
            *written += measured.latencies.len() as u64;
        }
        Ok(measured)
    }
}
