//! Measuring this server beside the published one.

#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args) -> anyhow::Result<()> {
    anyhow::bail!("placeholder")
}
