//! What was found, as lines for a person or JSON for a program.

use serde_json::{Value, json};

use crate::output::{print, print_json};

/// The outcome of a step: what it gives to the next ones and what it found, or what is wrong and
/// what to do.
pub(super) type Finding<T> = Result<(T, String), (String, String)>;

/// The steps done so far.
#[derive(Debug)]
pub(super) struct Report {
    json: bool,
    checks: Vec<Value>,
    failed: bool,
}

impl Report {
    pub(super) fn new(json: bool) -> Self {
        Self {
            json,
            checks: Vec::new(),
            failed: false,
        }
    }

    /// Tells a step's outcome and passes on what it gives.
    pub(super) fn step<T>(&mut self, name: &str, finding: Finding<T>) -> Option<T> {
        let (check, line, gives) = match finding {
            Ok((gives, detail)) => (
                json!({ "check": name, "ok": true, "detail": detail }),
                format!("ok    {name}: {detail}"),
                Some(gives),
            ),
            Err((wrong, fix)) => {
                self.failed = true;
                (
                    json!({ "check": name, "ok": false, "detail": wrong, "fix": fix }),
                    format!("FAIL  {name}: {wrong}. Fix: {fix}"),
                    None,
                )
            }
        };
        match self.json {
            true => self.checks.push(check),
            false => print(&line),
        }
        gives
    }

    /// Whether nothing failed.
    pub(super) fn sound(&self) -> bool {
        !self.failed
    }

    /// Prints what is printed as a whole.
    pub(super) fn end(&mut self) {
        if self.json {
            let checks = std::mem::take(&mut self.checks);
            print_json(&json!({ "ok": self.sound(), "checks": checks }));
        }
    }
}
