//! Trouble on order. A file in the server's folder names what the next calls meet, a line each:
//!
//! `METHOD CODE TIMES [retry-after=SECONDS] [lose]` answers the next `TIMES` calls of a method (`*`:
//! of any) with a gRPC status code; with `lose` only after they were carried out, as if the answer
//! were lost. `slow MILLISECONDS` delays every call as long as the line is there.

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use tonic::{Code, Status};

pub struct Faults {
    file: PathBuf,
    turn: Mutex<()>,
}

/// What a call meets.
#[derive(Default)]
pub struct Met {
    before: Option<Status>,
    after: Option<Status>,
}

impl Faults {
    pub fn new(file: PathBuf) -> Self {
        Self {
            file,
            turn: Mutex::new(()),
        }
    }

    /// Carries a call out, or not.
    pub async fn around<T>(
        &self,
        method: &str,
        call: impl Future<Output = Result<T, Status>>,
    ) -> Result<T, Status> {
        let (delay, met) = self.next(method);
        tokio::time::sleep(delay).await;
        if let Some(status) = met.before {
            return Err(status);
        }
        let answer = call.await?;
        match met.after {
            Some(status) => Err(status),
            None => Ok(answer),
        }
    }

    fn next(&self, method: &str) -> (Duration, Met) {
        let _turn = self.turn.lock().expect("no call panics here");
        let (mut delay, mut met, mut found) = (Duration::ZERO, Met::default(), false);
        let Ok(text) = std::fs::read_to_string(&self.file) else {
            return (delay, met);
        };
        let mut kept = Vec::new();
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.as_slice() {
                ["slow", ms] => {
                    delay = Duration::from_millis(ms.parse().expect("slow MILLISECONDS"));
                    kept.push(line.to_owned());
                }
                [of, code, times, more @ ..] if !found && (*of == method || *of == "*") => {
                    found = true;
                    let status = status(code, more);
                    match more.contains(&"lose") {
                        true => met.after = Some(status),
                        false => met.before = Some(status),
                    }
                    let left = times.parse::<u32>().expect("METHOD CODE TIMES") - 1;
                    if left > 0 {
                        let more = more.join(" ");
                        kept.push(format!("{of} {code} {left} {more}"));
                    }
                }
                _ => kept.push(line.to_owned()),
            }
        }
        if found {
            // Whole or not at all: a call beside this one may be reading.
            let next = self.file.with_extension("next");
            std::fs::write(&next, kept.join("\n")).expect("the folder can be written");
            std::fs::rename(&next, &self.file).expect("the folder can be written");
        }
        (delay, met)
    }
}

fn status(code: &str, more: &[&str]) -> Status {
    let code = Code::from(code.parse::<i32>().expect("a number of a gRPC code"));
    let mut status = Status::new(code, "ordered by a test");
    if let Some(wait) = more
        .iter()
        .find_map(|word| word.strip_prefix("retry-after="))
    {
        let wait = wait.parse().expect("a metadata value");
        status.metadata_mut().insert("retry-after", wait);
    }
    status
}
