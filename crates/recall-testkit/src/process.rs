//! Real programs under test: started on free loopback ports, ended by pid, their logs kept.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

/// A program that is not ready after this has failed to start.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// A program is given this long to end by itself after SIGTERM.
const STOP_TIMEOUT: Duration = Duration::from_secs(15);

/// A running program that ends when this is dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    name: String,
    left: bool,
}

impl Process {
    /// Starts a program with both outputs going to `log`.
    ///
    /// # Errors
    ///
    /// If the program or the log file cannot be opened.
    pub fn start(name: &str, command: &mut Command, log: &Path) -> anyhow::Result<Self> {
        let file = File::create(log).with_context(|| format!("cannot make {}", log.display()))?;
        let child = command
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()
            .with_context(|| format!("{name} cannot be started"))?;
        Ok(Self {
            child,
            name: name.to_owned(),
            left: false,
        })
    }

    /// Starts a program that is told and answers through pipes; its errors are this program's.
    ///
    /// # Errors
    ///
    /// If the program cannot be started.
    pub fn piped(
        name: &str,
        command: &mut Command,
    ) -> anyhow::Result<(Self, ChildStdin, ChildStdout)> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("{name} cannot be started"))?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (stdin, stdout) = pipes.context("both are piped")?;
        let process = Self {
            child,
            name: name.to_owned(),
            left: false,
        };
        Ok((process, stdin, stdout))
    }

    /// The process's number.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it still runs.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Sends a signal by its name, such as `TERM` or `STOP`.
    ///
    /// # Errors
    ///
    /// If the process is gone.
    pub fn signal(&self, name: &str) -> anyhow::Result<()> {
        let pid = self.pid().to_string();
        let status = Command::new("kill")
            .arg(format!("-{name}"))
            .arg(pid)
            .status()?;
        anyhow::ensure!(status.success(), "{} is gone", self.name);
        Ok(())
    }

    /// Kills it at once, as a crash would.
    ///
    /// # Errors
    ///
    /// If it cannot be waited for.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Ends it by SIGTERM and answers its exit code; kills it if it does not end.
    ///
    /// # Errors
    ///
    /// If it had to be killed.
    pub fn stop(&mut self) -> anyhow::Result<i32> {
        if self.is_running() {
            // It may end between the two calls; then there is nothing to signal.
            let _ = self.signal("TERM");
        }
        let deadline = Instant::now() + STOP_TIMEOUT;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status.code().unwrap_or(-1));
            }
            if Instant::now() > deadline {
                self.kill()?;
                bail!(
                    "{} did not end within {STOP_TIMEOUT:?} of SIGTERM",
                    self.name
                );
            }
            pause();
        }
    }
}

impl Process {
    /// Lets it run on after this.
    pub fn leave(mut self) {
        self.left = true;
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.left {
            let _ = self.stop();
        }
    }
}

/// A process by number and start time, which tells it from a later one of the same number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    pid: u32,
    started: String,
}

impl Stamp {
    /// The process that has this number now; `None` if there is none.
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name before the last bracket may hold blanks; the start time is the 20th word after.
        let mut words = stat.rsplit(')').next()?.split_whitespace();
        let state = words.next()?;
        let started = words.nth(18)?.to_owned();
        (state != "Z").then_some(Self { pid, started })
    }

    /// This process and all that it started and that they started, while the starters live.
    #[must_use]
    pub fn family(pid: u32) -> Vec<Self> {
        // Whom a process started is listed by the thread that did it, and programs in Go start theirs
        // from any.
        let threads = std::fs::read_dir(format!("/proc/{pid}/task"));
        let lists = threads.into_iter().flatten().flatten();
        let texts =
            lists.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
        let children: Vec<u32> = texts
            .flat_map(|text| {
                let pids = text
                    .split_whitespace()
                    .filter_map(|child| child.parse().ok());
                pids.collect::<Vec<_>>()
            })
            .collect();
        Self::of(pid)
            .into_iter()
            .chain(children.into_iter().flat_map(Self::family))
            .collect()
    }

    /// Reads what [`Display`](fmt::Display) writes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (pid, started) = text.split_once(' ')?;
        Some(Self {
            pid: pid.parse().ok()?,
            started: started.to_owned(),
        })
    }

    /// The process's number.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether this very process still runs.
    #[must_use]
    pub fn runs(&self) -> bool {
        Self::of(self.pid).as_ref() == Some(self)
    }

    /// Tells it to end, if it still runs.
    pub fn end(&self) {
        if self.runs() {
            // It may end between the two calls; then there is nothing to signal.
            let _ = Command::new("kill").arg(self.pid.to_string()).status();
        }
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.pid, self.started)
    }
}

/// A running `recall-server` on free ports of loopback.
#[derive(Debug)]
pub struct Server {
    process: Process,
    /// The base URL of the Memory API.
    pub url: String,
    /// The base URL of the admin routes.
    pub admin_url: String,
    /// The program's log.
    pub log: PathBuf,
}

impl Server {
    /// Starts `program` with `flags` and waits until it listens. `name` names its log in `dir`.
    ///
    /// # Errors
    ///
    /// If it ends or does not listen in time; the error holds the end of its log.
    pub fn start(program: &Path, name: &str, dir: &Path, flags: &[&str]) -> anyhow::Result<Self> {
        let log = dir.join(format!("{name}.log"));
        let mut command = Command::new(program);
        command
            .args([
                "--listen=127.0.0.1:0",
                "--admin-listen=127.0.0.1:0",
                "--log-format=json",
            ])
            .args(flags)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        for (variable, _) in std::env::vars_os() {
            if variable.to_string_lossy().starts_with("RECALL_") {
                command.env_remove(variable);
            }
        }
        let mut child = command
            .spawn()
            .with_context(|| format!("{} cannot be started", program.display()))?;
        let stderr = child.stderr.take().context("stderr is piped")?;
        let mut process = Process {
            child,
            name: name.to_owned(),
            left: false,
        };
        let addresses = follow(BufReader::new(stderr), File::create(&log)?);
        match addresses_of(&addresses, &mut process) {
            Ok((api, admin)) => Ok(Self {
                process,
                url: format!("http://{api}"),
                admin_url: format!("http://{admin}"),
                log,
            }),
            Err(error) => Err(error.context(format!("{name}: {}", tail(&log)))),
        }
    }

    /// The process behind it.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// The program's log once it holds `text`: lines reach the file a moment after they are
    /// written.
    ///
    /// # Errors
    ///
    /// If it does not hold it in time.
    pub fn log_with(&mut self, text: &str) -> anyhow::Result<String> {
        let log = self.log.clone();
        let holds = || std::fs::read_to_string(&log).is_ok_and(|log| log.contains(text));
        wait_until(&mut self.process, holds).with_context(|| format!("the log has no {text:?}"))?;
        self.read_log()
    }

    /// The program's log so far.
    ///
    /// # Errors
    ///
    /// If the log cannot be read.
    pub fn read_log(&self) -> anyhow::Result<String> {
        Ok(std::fs::read_to_string(&self.log)?)
    }
}

/// Copies a log line by line into a file and passes on each address that it says to listen on.
fn follow(lines: impl BufRead + Send + 'static, mut file: File) -> Receiver<(String, String)> {
    let (found, addresses) = sync_channel(8);
    std::thread::spawn(move || {
        for line in lines.lines().map_while(Result::ok) {
            // A full disk must not stop the program under test by a full pipe.
            let _ = writeln!(file, "{line}");
            let event: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
            if event["message"] == "listening" {
                let text = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
                let _ = found.try_send((text("listener"), text("address")));
            }
        }
    });
    addresses
}

fn addresses_of(
    addresses: &Receiver<(String, String)>,
    process: &mut Process,
) -> anyhow::Result<(String, String)> {
    let mut known = BTreeMap::new();
    let deadline = Instant::now() + START_TIMEOUT;
    while known.len() < 2 {
        match addresses.recv_timeout(Duration::from_millis(100)) {
            Ok((listener, address)) => drop(known.insert(listener, address)),
            Err(RecvTimeoutError::Timeout) if Instant::now() < deadline => {}
            Err(RecvTimeoutError::Timeout) => bail!("it does not listen after {START_TIMEOUT:?}"),
            Err(RecvTimeoutError::Disconnected) => {
                let code = process.child.wait()?.code();
                bail!("it ended with exit code {code:?}");
            }
        }
    }
    let take = |name: &str| known.get(name).cloned().context("both listeners are named");
    Ok((take("api")?, take("admin")?))
}

/// A port that was free a moment ago, for programs that cannot be asked for port 0.
///
/// # Errors
///
/// If the system has none.
pub fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// The last lines of a log, for an error message.
#[must_use]
pub fn tail(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<_> = text.lines().rev().take(15).collect();
    let lines: Vec<_> = lines.into_iter().rev().collect();
    format!("the end of {}:\n{}", log.display(), lines.join("\n"))
}

/// Waits until `ready` answers, a little at a time.
///
/// # Errors
///
/// If `process` ends or `ready` stays false too long.
pub fn wait_until(process: &mut Process, mut ready: impl FnMut() -> bool) -> anyhow::Result<()> {
    let deadline = Instant::now() + START_TIMEOUT;
    while !ready() {
        anyhow::ensure!(
            process.is_running(),
            "{} ended while it was waited for",
            process.name
        );
        anyhow::ensure!(
            Instant::now() < deadline,
            "{} is not ready after {START_TIMEOUT:?}",
            process.name
        );
        pause();
    }
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "waits for another process, outside any runtime"
)]
fn pause() {
    std::thread::sleep(Duration::from_millis(20));
}

/// The processor time that one process has had; none if it is gone.
#[must_use]
pub fn processor_time(pid: u32) -> Duration {
    // The kernel counts it for us in hundredths of a second, on every platform that Linux runs on.
    const TICK: Duration = Duration::from_millis(10);
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name in parentheses may hold blanks; user and system time are the 12th and 13th after it.
    let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
    let times = fields.split(' ').skip(11).take(2);
    times
        .filter_map(|ticks| ticks.parse::<u32>().ok())
        .map(|ticks| TICK * ticks)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_holds_whom_another_thread_started() {
        // The starter must live: whom an ended thread started passes to one that lives.
        let (tell, told) = std::sync::mpsc::channel();
        let (leave, left) = std::sync::mpsc::channel::<()>();
        let starter = std::thread::spawn(move || {
            let mut child = Command::new("sleep").arg("60").spawn().expect("it starts");
            tell.send(child.id()).expect("the test listens");
            let _ = left.recv();
            child.kill().expect("it runs");
            child.wait().expect("it is ours");
        });
        let child = told.recv().expect("the starter tells");
        let family = Stamp::family(std::process::id());
        drop(leave);
        starter.join().expect("it ends");
        assert!(family.iter().any(|process| process.pid() == child));
    }
}
