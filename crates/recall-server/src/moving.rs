//! `recall-server export` and `import`: namespaces as lines of JSON, between any two stores.

mod export;
mod import;
mod line;

use std::ffi::OsString;
use std::io::{self, Write};
use std::time::Duration;

use recall_store::{Clock, Namespace, SystemClock};

use crate::config::{Backend, Config, ConfigError, Settings};
use crate::exit::Failure;
use crate::stores;

pub(crate) use export::export;
pub(crate) use import::import;

const HELP: &str = "\
Usage: recall-server export [--namespace NAME]... [--keys] [store flags] > FILE
       recall-server import [--merge] [store flags] < FILE

export writes every namespace of a store, or those named, with history and agents' state, as lines of
JSON. import reads them into a store. Both take the flags and variables by which recall-server finds
its store (--backend, --data-dir, --backend-url, ...).

  --namespace NAME  Only this namespace; may be given again
  --keys            The server's keys too (their hashes)
  --merge           Import into namespaces that hold something already
";

/// What is to be moved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Choice {
    /// All of them if empty.
    pub(crate) namespaces: Vec<Namespace>,
    pub(crate) keys: bool,
    pub(crate) merge: bool,
}

/// How much was moved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Totals {
    pub(crate) namespaces: u64,
    pub(crate) events: u64,
    pub(crate) records: u64,
}

/// Whether the arguments ask for one of the two.
pub(crate) fn asked(arguments: &[OsString]) -> bool {
    let act = arguments.get(1).and_then(|act| act.to_str());
    matches!(act, Some("export" | "import"))
}

/// Does what the arguments ask for. Lines go to standard output or come from standard input; a word
/// about them goes to standard error.
pub(crate) fn run(
    arguments: Vec<OsString>,
    environment: impl Iterator<Item = (OsString, OsString)>,
) -> Result<(), Failure> {
    let mut arguments = arguments.into_iter();
    let program = arguments.next().unwrap_or_default();
    let exports = arguments.next().is_some_and(|act| act == "export");
    let (choice, rest) = choose(arguments, exports)?;
    let settings = Settings::read(std::iter::once(program).chain(rest), environment)?;
    let config = Config::parse(&settings)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Unavailable(format!("no runtime: {error}")))?;
    let totals = runtime.block_on(moved(&config, &choice, exports))?;
    let done = if exports { "exported" } else { "imported" };
    // Nobody may be there to read it.
    let _ = writeln!(
        io::stderr(),
        "{done} {} namespaces, {} events, {} records",
        totals.namespaces,
        totals.events,
        totals.records
    );
    Ok(())
}

/// Takes our own flags out of the arguments and leaves those of the store.
fn choose(
    arguments: impl Iterator<Item = OsString>,
    exports: bool,
) -> Result<(Choice, Vec<OsString>), ConfigError> {
    let (mut choice, mut rest) = (Choice::default(), Vec::new());
    let mut arguments = arguments.peekable();
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("--help" | "-h") => return Err(ConfigError::Help(HELP.to_owned())),
            Some("--keys") if exports => choice.keys = true,
            Some("--merge") if !exports => choice.merge = true,
            Some("--namespace") if exports => {
                let name = arguments.next().unwrap_or_default();
                choice.namespaces.push(namespace(&name.to_string_lossy())?);
            }
            Some(flag) if exports && flag.starts_with("--namespace=") => {
                let name = flag.trim_start_matches("--namespace=");
                choice.namespaces.push(namespace(name)?);
            }
            _ => rest.push(argument),
        }
    }
    Ok((choice, rest))
}

fn namespace(name: &str) -> Result<Namespace, ConfigError> {
    name.parse()
        .map_err(|error| ConfigError::Usage(format!("--namespace {name:?}: {error}")))
}

async fn moved(config: &Config, choice: &Choice, exports: bool) -> Result<Totals, Failure> {
    let clock: std::sync::Arc<dyn Clock> = std::sync::Arc::new(SystemClock);
    if matches!(config.backend, Backend::Memory) {
        let text = "--backend memory holds nothing that could be moved".to_owned();
        return Err(ConfigError::Together(text).into());
    }
    let opened = stores::open(config, &clock)?;
    if let Some(shared) = config.backend.shared() {
        opened.wait(shared.wait.unwrap_or(Duration::ZERO)).await?;
    }
    let store = &*opened.store;
    let totals = match exports {
        true => {
            let mut to = io::BufWriter::new(io::stdout().lock());
            let totals = export(store, clock.now(), choice, &mut to).await;
            to.flush().map_err(unwritable)?;
            totals
        }
        false => import(store, choice, &mut io::stdin().lock()).await,
    };
    opened.leave().await;
    totals
}

#[expect(clippy::needless_pass_by_value, reason = "made for map_err")]
fn unwritable(error: io::Error) -> Failure {
    Failure::Unavailable(format!("the export cannot be written: {error}"))
}

fn store(error: recall_store::Error) -> Failure {
    match error {
        recall_store::Error::Damaged(what) => Failure::Damaged(what),
        error => Failure::Unavailable(error.to_string()),
    }
}

#[cfg(test)]
mod tests;
