//! Adding up what several runners counted.

use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::ops::AddAssign;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

/// Tests by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 {
            write!(f, ", {} skipped", self.skipped)?;
        }
        Ok(())
    }
}

/// Runs a test runner, shows its output as it comes, and adds up the totals it prints. A runner that
/// fails or counts nothing is a failure.
pub(crate) fn count(command: &mut Command) -> anyhow::Result<Tally> {
    let name = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("{name} cannot be started"))?;
    let stdout = child.stdout.take().context("stdout is piped")?;
    let mut tally = Tally::default();
    for line in BufReader::new(stdout).lines() {
        let line = line?;
        let _ = writeln!(std::io::stdout(), "{line}");
        if let Some(found) = totals(&line) {
            tally += found;
        }
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("{name} failed ({status}) after {tally}");
    }
    if tally.passed == 0 {
        bail!("{name} ran no test");
    }
    Ok(tally)
}

/// The totals that a line of cargo test, nextest, pytest, Node or our own scripts holds.
fn totals(line: &str) -> Option<Tally> {
    if let Some(found) = node_total(line) {
        return Some(found);
    }
    let line = line.trim().trim_matches('=').trim();
    let counts = line.starts_with("test result:")
        || line.starts_with("Summary [")
        || line.contains(" passed in ")
        || line.contains(" passed, ");
    if !counts {
        return None;
    }
    let number_before = |word: &str| {
        let at = line.find(word)?;
        line[..at].split_whitespace().next_back()?.parse().ok()
    };
    Some(Tally {
        passed: number_before(" passed")?,
        failed: number_before(" failed").unwrap_or(0),
        skipped: number_before(" skipped")
            .or_else(|| number_before(" ignored"))
            .unwrap_or(0),
    })
}

/// Node's test runner prints one number a line.
fn node_total(line: &str) -> Option<Tally> {
    let (word, number) = line.strip_prefix("\u{2139} ")?.split_once(' ')?;
    let number = number.parse().ok()?;
    let mut tally = Tally::default();
    match word {
        "pass" => tally.passed = number,
        "fail" => tally.failed = number,
        "skipped" => tally.skipped = number,
        _ => return None,
    }
    Some(tally)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: Option<(u64, u64, u64)>) {
        let found = totals(line).map(|tally| (tally.passed, tally.failed, tally.skipped));
        assert_eq!(found, expected, "{line}");
    }

    #[test]
    fn totals_of_each_runner() {
        check(
            "test result: ok. 7 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out; finished in 1s",
            Some((7, 0, 2)),
        );
        check(
            "     Summary [   4.2s] 31 tests run: 31 passed, 3 skipped",
            Some((31, 0, 3)),
        );
        check(
            "======== 12 passed, 1 skipped in 3.21s ========",
            Some((12, 0, 1)),
        );
        check("5 passed in 0.20s", Some((5, 0, 0)));
        check("1 failed, 4 passed in 0.20s", Some((4, 1, 0)));
        check("40 passed, 0 failed", Some((40, 0, 0)));
        check("\u{2139} pass 27", Some((27, 0, 0)));
        check("\u{2139} fail 2", Some((0, 2, 0)));
        check("\u{2139} tests 29", None);
        check("test foo ... ok", None);
        check("running 3 tests", None);
    }
}
