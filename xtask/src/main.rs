//! Every chore of this repository.

mod bench;
mod chart;
mod ci;
mod cluster;
mod demo;
mod fuzz;
mod http;
mod image;
mod layers;
mod npm;
mod original;
mod python;
mod shell;
mod tally;
mod test;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Chores of the Recall repository.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run every test that can run here; what cannot is named with the fix.
    Test(test::Args),
    /// Everything that must hold before a change lands: format, lints, tests, docs, layers, deny.
    Ci,
    /// Try inputs on everything that reads what others send, with libFuzzer.
    Fuzz(fuzz::Args),
    /// Check which crate may use which.
    Layers,
    /// A real Kubernetes control plane on loopback.
    #[command(subcommand)]
    Cluster(cluster::Command),
    /// The whole story end to end, step by step.
    Demo(demo::Args),
    /// What is generated in the Helm chart: its table of values, its schema, its snapshots.
    Chart(chart::Args),
    /// The container image, by an engine or as an OCI archive.
    Image(image::Args),
    /// Measure this server beside the published one.
    Bench(Box<bench::Args>),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Test(arguments) => test::run(&arguments),
        Command::Ci => ci::run(),
        Command::Fuzz(arguments) => fuzz::run(&arguments),
        Command::Layers => layers::run(),
        Command::Cluster(command) => cluster::run(&command),
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Chart(arguments) => chart::run(&arguments),
        Command::Image(arguments) => image::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            shell::say(&format!("xtask: {error:#}"));
            ExitCode::FAILURE
        }
    }
}
