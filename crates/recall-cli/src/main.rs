//! `recall`: see `recall --help`.

mod agents;
mod args;
mod ask;
mod client;
mod connect;
mod credential;
mod doctor;
mod key;
mod memory;
mod nothing;
mod output;
mod pages;
mod server;
mod session;
mod time;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::parse();
    // A second provider in the process would make rustls refuse to choose.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let outcome = runtime.map_err(anyhow::Error::from).and_then(|runtime| {
        let outcome = runtime.block_on(run(cli));
        // Reading standard input cannot be interrupted; do not wait for it.
        runtime.shutdown_background();
        outcome
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::say(&format!("recall: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

async fn run(cli: Cli) -> anyhow::Result<()> {
    match cli.command {
        Command::Connect(arguments) => connect::run(&cli.server, &arguments).await,
        Command::Key(command) => key::run(&cli.server, command).await,
        Command::Agents(command) => agents::run(&cli.server, command).await,
        Command::Remember(arguments) => memory::remember(&cli.server, arguments).await,
        Command::Ask(arguments) => ask::run(&cli.server, arguments).await,
        Command::Forget(arguments) => memory::forget(&cli.server, arguments).await,
        Command::History(arguments) => memory::history(&cli.server, arguments).await,
        Command::Diff(arguments) => memory::diff(&cli.server, arguments).await,
        Command::Completions { shell } => {
            pages::completions(shell);
            Ok(())
        }
        Command::Man(arguments) => pages::man(&arguments),
        Command::Doctor(arguments) => doctor::run(&cli.server, &arguments).await,
    }
}
