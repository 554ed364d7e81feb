//! What a run found, as a table and as JSON.

use serde_json::{Value, json};

use crate::shell::say;

/// One round of one load on one server.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    pub(super) rate: f64,
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
    /// Processor time of the server for each answer.
    pub(super) cpu_us: f64,
    pub(super) answers: u64,
}

/// A load put on both servers.
#[derive(Debug)]
pub(super) struct Row {
    name: &'static str,
    floor: Option<f64>,
    pub(super) ours: Vec<Sample>,
    pub(super) theirs: Vec<Sample>,
    /// What redb alone gave just before each of our rounds.
    pub(super) bare: Vec<f64>,
}

/// A figure of ours alone, and the most or least that it may be.
#[derive(Debug)]
pub(super) struct Figure {
    pub(super) name: String,
    pub(super) value: f64,
    pub(super) unit: &'static str,
    pub(super) bound: Bound,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Bound {
    None,
    AtMost(f64),
    AtLeast(f64),
}

/// Everything that a run found.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) rows: Vec<Row>,
    pub(super) figures: Vec<Figure>,
}

impl Row {
    pub(super) fn new(name: &'static str, floor: Option<f64>) -> Self {
        Self {
            name,
            floor,
            ours: Vec::new(),
            theirs: Vec::new(),
            bare: Vec::new(),
        }
    }

    /// The same rows under another name, with another floor.
    pub(super) fn named(self, name: &'static str, floor: Option<f64>) -> Self {
        Self {
            name,
            floor,
            ..self
        }
    }

    /// Our rate, the median of the rounds.
    pub(super) fn rate(&self) -> f64 {
        of(&self.ours, |sample| sample.rate)
    }

    /// Our rate as a share of redb's alone, by rounds: the disk is not the same a minute later.
    pub(super) fn share_of_bare(&self) -> Option<f64> {
        let rounds = self.ours.iter().zip(&self.bare);
        let mut shares: Vec<f64> = rounds.map(|(ours, bare)| ours.rate / bare).collect();
        (!shares.is_empty()).then(|| median(&mut shares))
    }

    /// Our middle wait in units of one commit of redb alone, by rounds.
    pub(super) fn waits_of_bare(&self) -> Option<f64> {
        let rounds = self.ours.iter().zip(&self.bare);
        let mut waits: Vec<f64> = rounds
            .map(|(ours, bare)| ours.p50_ms / (1_000.0 / bare))
            .collect();
        (!waits.is_empty()).then(|| median(&mut waits))
    }

    fn ratio(&self) -> Option<f64> {
        let theirs = of(&self.theirs, |sample| sample.rate);
        (theirs > 0.0).then(|| self.rate() / theirs)
    }

    /// The row in words and figures.
    pub(super) fn line(&self) -> String {
        let ratio = self.ratio().map_or_else(
            || "-".to_owned(),
            |ratio| match ratio < 10.0 {
                true => format!("{ratio:.2}x"),
                false => format!("{ratio:.0}x"),
            },
        );
        let verdict = match (self.ratio(), self.floor) {
            (Some(ratio), Some(floor)) => verdict(ratio >= floor, &format!("floor {floor}x")),
            _ => String::new(),
        };
        format!(
            "| {:<13} | {} | {} | {ratio:>7} | {verdict:<20} |",
            self.name,
            half(&self.ours),
            half(&self.theirs)
        )
    }

    fn json(&self) -> Value {
        let samples = |samples: &[Sample]| -> Vec<Value> {
            let sample = |s: &Sample| {
                json!({
                    "rate": s.rate, "p50_ms": s.p50_ms, "p99_ms": s.p99_ms, "cpu_us": s.cpu_us,
                    "answers": s.answers,
                })
            };
            samples.iter().map(sample).collect()
        };
        json!({
            "name": self.name,
            "ours": samples(&self.ours),
            "published": samples(&self.theirs),
            "ratio": self.ratio(),
            "floor": self.floor,
            "redb_alone": self.bare,
        })
    }
}

impl Figure {
    fn verdict(&self) -> String {
        match self.bound {
            Bound::None => String::new(),
            Bound::AtMost(most) => verdict(self.value <= most, &format!("at most {most}")),
            Bound::AtLeast(least) => verdict(self.value >= least, &format!("at least {least}")),
        }
    }

    fn json(&self) -> Value {
        let (most, least) = match self.bound {
            Bound::None => (None, None),
            Bound::AtMost(most) => (Some(most), None),
            Bound::AtLeast(least) => (None, Some(least)),
        };
        json!({
            "name": self.name, "value": self.value, "unit": self.unit,
            "at_most": most, "at_least": least,
        })
    }
}

impl Report {
    /// A load, if it was put.
    pub(super) fn row(&self, name: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.name == name)
    }

    /// Our rate in a load.
    pub(super) fn rate(&self, name: &str) -> Option<f64> {
        self.row(name).map(Row::rate)
    }

    /// Adds a figure.
    pub(super) fn figure(
        &mut self,
        name: impl Into<String>,
        value: f64,
        unit: &'static str,
        bound: Bound,
    ) {
        let name = name.into();
        self.figures.push(Figure {
            name,
            value,
            unit,
            bound,
        });
    }

    pub(super) fn print(&self) {
        say("");
        say(&format!(
            "| {:<13} | {:<52} | {:<52} | {:>7} | {:<20} |",
            "load", "ours: rate (least to most), p50, p99 ms, CPU us", "published", "ratio", ""
        ));
        say("|---|---|---|---|---|");
        for row in &self.rows {
            say(&row.line());
        }
        say("");
        for figure in &self.figures {
            say(&format!(
                "| {:<52} | {:>10} {:<7} | {:<24} |",
                figure.name,
                shown(figure.value),
                figure.unit,
                figure.verdict()
            ));
        }
    }

    pub(super) fn json(&self, machine: &Value) -> Value {
        json!({
            "machine": machine,
            "loads": self.rows.iter().map(Row::json).collect::<Vec<_>>(),
            "figures": self.figures.iter().map(Figure::json).collect::<Vec<_>>(),
        })
    }
}

fn half(samples: &[Sample]) -> String {
    if samples.is_empty() {
        return format!("{:<52}", "-");
    }
    let rates = || samples.iter().map(|sample| sample.rate);
    let least = rates().fold(f64::INFINITY, f64::min);
    let most = rates().fold(0.0, f64::max);
    let text = format!(
        "{}/s ({} to {}), {:.2}, {:.2}, {}",
        shown(of(samples, |sample| sample.rate)),
        shown(least),
        shown(most),
        of(samples, |sample| sample.p50_ms),
        of(samples, |sample| sample.p99_ms),
        shown(of(samples, |sample| sample.cpu_us))
    );
    format!("{text:<52}")
}

fn verdict(met: bool, bound: &str) -> String {
    match met {
        true => format!("met ({bound})"),
        false => format!("MISSED ({bound})"),
    }
}

fn shown(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.3}"),
    }
}

fn of(samples: &[Sample], field: impl Fn(&Sample) -> f64) -> f64 {
    let mut values: Vec<f64> = samples.iter().map(field).collect();
    median(&mut values)
}

/// The middle one of these values; 0 if there is none.
pub(super) fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
