//! A stand-in for an API server as a process of its own, for load tests: so many running pods, each
//! with a token. Prints its address; writes the tokens to a file, one a line.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use anyhow::Context;
use recall_testkit::{FakeApiServer, FakeCluster, NewPod, NewToken};

const NAMESPACE: &str = "agents";
const LABEL: &str = "sandbox.users.io/agent";

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let usage = "usage: recall-fake-api PODS TOKEN_FILE";
    let pods: u32 = arguments.next().context(usage)?.parse().context(usage)?;
    let file = arguments.next().context(usage)?;
    let cluster = FakeCluster::new();
    write_tokens(&cluster, pods, Path::new(&file))?;
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
