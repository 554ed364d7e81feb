//! What was found, as a table.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::time::Duration;

use crate::options::Options;
use crate::rankers::{Measured, TEXTBOOK};
use crate::score::{AT_TEN, COLUMNS, Score, bootstrap, mean};
use crate::set::Talk;

/// Rankers side by side on one set.
#[derive(Debug)]
pub(crate) struct Report {
    title: String,
    rankers: Vec<Measured>,
}

impl Report {
    pub(crate) fn new(name: &str, talks: &[Talk]) -> Self {
        let items: usize = talks.iter().map(|talk| talk.items.len()).sum();
        let questions: usize = talks.iter().map(|talk| talk.queries.len()).sum();
        Self {
            title: format!(
                "{name}: {} conversations, {items} items, {questions} questions",
                talks.len()
            ),
            rankers: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, measured: Measured) {
        self.rankers.push(measured);
    }

    pub(crate) fn print(&self) {
        say(&format!("\n{}", self.title));
        say(&format!("{:26}{COLUMNS}", ""));
        for ranker in &self.rankers {
            say(&format!(
                "{:26}{}",
                ranker.name,
                columns(&ranker.mean(None))
            ));
        }
        self.print_differences();
        self.print_classes();
        self.print_times();
        for ranker in &self.rankers {
            for error in ranker.errors.iter().take(5) {
                say(&format!(
                    "{}: error, counted as nothing found: {error}",
                    ranker.name
                ));
            }
        }
    }

    fn print_differences(&self) {
        say("\nR@10 against the others, with the 95 % interval over conversations");
        for (at, one) in self.rankers.iter().enumerate() {
            if one.name.starts_with("BM25") {
                continue;
            }
            for other in self.rankers.iter().take(at) {
                let pairs = one.answered.iter().zip(&other.answered);
                let differences: Vec<_> = pairs
                    .map(|(one, other)| (one.talk, one.score[AT_TEN] - other.score[AT_TEN]))
                    .collect();
                let (mean, interval) = bootstrap(&differences);
                let interval = interval.map_or_else(
                    || "too few conversations for an interval".to_owned(),
                    |(from, to)| format!("{from:+.1} to {to:+.1}"),
                );
                say(&format!(
                    "{} minus {}: {mean:+.1} ({interval})",
                    one.name, other.name
                ));
            }
        }
    }

    fn print_classes(&self) {
        let classes: BTreeSet<&str> = self
            .rankers
            .iter()
            .flat_map(|ranker| {
                ranker
                    .answered
                    .iter()
                    .map(|answered| answered.class.as_str())
            })
            .collect();
        let names: Vec<String> = self
            .rankers
            .iter()
            .map(|ranker| format!("{:>15}", ranker.name))
            .collect();
        say(&format!("\n{:26}    n{}   (R@10)", "class", names.join("")));
        for class in classes {
            let count = self.rankers.first().map_or(0, |ranker| {
                let own = ranker
                    .answered
                    .iter()
                    .filter(|answered| answered.class == class);
                own.count()
            });
            let means = self
                .rankers
                .iter()
                .map(|ranker| format!("{:15.1}", ranker.mean(Some(class))[AT_TEN]));
            say(&format!("{class:26}{count:5}{}", means.collect::<String>()));
        }
    }

    fn print_times(&self) {
        say(
            "\nmicroseconds a question: p50, p95, p99; loading; from the answer of a write until it is found",
        );
        for ranker in &self.rankers {
            let at = |share: f64| percentile(&ranker.times, share).as_micros();
            let found = match ranker.delays.last() {
                None => String::new(),
                Some(&Duration::MAX) => {
                    let lost = ranker
                        .delays
                        .iter()
                        .filter(|delay| **delay == Duration::MAX);
                    format!(
                        "; {} of {} not found within 10 s",
                        lost.count(),
                        ranker.delays.len()
                    )
                }
                Some(slowest) => format!(
                    "; found after {} (p50), {} (slowest of {})",
                    percentile(&ranker.delays, 0.5).as_micros(),
                    slowest.as_micros(),
                    ranker.delays.len()
                ),
            };
            say(&format!(
                "{:26}{:8}{:8}{:8}; loaded in {:.1} s{found}",
                ranker.name,
                at(0.5),
                at(0.95),
                at(0.99),
                ranker.load.as_secs_f64()
            ));
        }
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        say(&format!("{cores} cores, load average {}", load.trim()));
    }

    /// Whether what is ours finds as much as was asked for, and, if that is asked, no less than the
    /// textbook.
    pub(crate) fn check(&self, options: &Options) -> Result<(), String> {
        let textbook = self.rankers.iter().find(|ranker| ranker.name == TEXTBOOK);
        let textbook = textbook.filter(|_| options.above_textbook);
        let textbook = textbook.map(|ranker| ranker.mean(None)[AT_TEN]);
        let floors = [options.floor, textbook];
        let Some(floor) = floors.into_iter().flatten().reduce(f64::max) else {
            return Ok(());
        };
        for ranker in &self.rankers {
            if !["index", "engine", "ours"].contains(&ranker.name.as_str()) {
                continue;
            }
            let found = ranker.mean(None)[AT_TEN];
            if found < floor {
                return Err(format!(
                    "{}: {} finds {found:.1} of 100 in the best ten, less than {floor:.1}",
                    self.title, ranker.name
                ));
            }
            if !ranker.errors.is_empty() {
                return Err(format!("{}: {} had errors", self.title, ranker.name));
            }
        }
        Ok(())
    }
}

impl Measured {
    fn mean(&self, class: Option<&str>) -> Score {
        let wanted = self
            .answered
            .iter()
            .filter(|answered| class.is_none_or(|class| answered.class == class));
        mean(wanted.map(|answered| &answered.score))
    }
}

fn columns(score: &Score) -> String {
    score.iter().map(|value| format!("{value:6.1}")).collect()
}

fn percentile(sorted: &[Duration], share: f64) -> Duration {
    let at = (sorted.len() as f64 * share) as usize;
    sorted
        .get(at.min(sorted.len().saturating_sub(1)))
        .copied()
        .unwrap_or_default()
}

pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
