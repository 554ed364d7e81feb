//! How much of the evidence a search finds: on data that the user supplies, or the committed set.
//!
//! `cargo xtask bench retrieval` builds and runs this; `--help` there tells of the options.

mod baseline;
mod convert;
mod engine;
mod options;
mod rankers;
mod report;
mod score;
mod server;
mod set;

use std::process::ExitCode;

use options::Options;

fn main() -> ExitCode {
    match Options::parse(std::env::args().skip(1)).and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report::say(&format!("retrieval: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), String> {
    for source in &options.sources {
        let talks = set::prepare(source.read()?, options);
        if let Some(dir) = &options.convert {
            set::write(dir, source.name(), &talks)?;
            continue;
        }
        let mut report = report::Report::new(source.name(), &talks);
        for ranker in rankers::all(options)? {
            report.add(rankers::measure(&ranker, &talks)?);
        }
        report.print();
        report.check(options)?;
    }
    Ok(())
}
