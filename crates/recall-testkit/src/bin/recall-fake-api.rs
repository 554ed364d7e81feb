//! A stand-in for an API server as a process of its own, for load tests: so many running pods, each
//! with a token. Prints its address; writes the tokens to a file, one a line.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use recall_testkit::{FakeApiServer, FakeCluster, NewPod, NewToken};

/// `EX_USAGE` of sysexits.
const EX_USAGE: u8 = 64;
const NAMESPACE: &str = "agents";
const LABEL: &str = "sandbox.users.io/agent";

const USAGE: &str = "usage: recall-fake-api PODS TOKEN_FILE

A stand-in for a Kubernetes API server, for load tests. It has PODS running pods, writes a token of
each to TOKEN_FILE, one a line, prints its address and serves until it is ended.";

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match asked(&arguments) {
        Asked::Help => return told(&mut std::io::stdout(), USAGE, ExitCode::SUCCESS),
        Asked::Nothing => return told(&mut std::io::stderr(), USAGE, ExitCode::from(EX_USAGE)),
        Asked::Serve { pods, file } => serve(pods, file).await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let line = format!("recall-fake-api: {error:#}");
            told(&mut std::io::stderr(), &line, ExitCode::FAILURE)
        }
    }
}

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
enum Asked<'a> {
    Help,
    Serve {
        pods: u32,
        file: &'a Path,
    },
    /// Nothing that can be done.
    Nothing,
}

fn asked(arguments: &[String]) -> Asked<'_> {
    match arguments {
        [help, ..] if ["-h", "--help"].contains(&help.as_str()) => Asked::Help,
        [pods, file] => match pods.parse() {
            Ok(pods) => Asked::Serve {
                pods,
                file: Path::new(file),
            },
            Err(_) => Asked::Nothing,
        },
        _ => Asked::Nothing,
    }
}

fn told(out: &mut dyn std::io::Write, text: &str, code: ExitCode) -> ExitCode {
    let _ = writeln!(out, "{text}");
    code
}

async fn serve(pods: u32, file: &Path) -> anyhow::Result<()> {
    let cluster = FakeCluster::new();
    write_tokens(&cluster, pods, file)?;
    let server = FakeApiServer::start(cluster).await?;
    server.stop_recording();
    writeln!(std::io::stdout(), "{}", server.url())?;
    std::future::pending().await
}

fn write_tokens(cluster: &FakeCluster, pods: u32, file: &Path) -> anyhow::Result<()> {
    let mut tokens = String::new();
    for number in 0..pods {
        let name = format!("p{number}");
        cluster.add_pod(&NewPod::new(NAMESPACE, &name).label(LABEL, &name));
        let token = NewToken::of_pod(NAMESPACE, &name).audiences(&["recall"]);
        writeln!(tokens, "{}", cluster.issue_token(&token))?;
    }
    std::fs::write(file, tokens).with_context(|| format!("cannot write {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_done_is_answered_with_the_usage() {
        let asked = |line: &str| {
            let words: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
            format!("{:?}", asked(&words))
        };
        assert_eq!(asked("--help"), "Help");
        assert_eq!(asked("-h x"), "Help");
        assert_eq!(asked("3 f"), "Serve { pods: 3, file: \"f\" }");
        for odd in ["", "3", "x f", "-1 f", "3 f g"] {
            assert_eq!(asked(odd), "Nothing", "{odd}");
        }
    }
}
