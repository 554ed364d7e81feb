//! From arguments to an exit code.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::config::{Config, ConfigError, Settings};
use crate::moving;
use crate::start;

/// Why the server ended with something else than 0, by exit code.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// 64: a setting is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// 69: a needed part cannot be reached or used.
    #[error("{0}")]
    Unavailable(String),
    /// 70: what is stored cannot be understood.
    #[error("{0}")]
    Damaged(String),
}

impl Failure {
    fn code(&self) -> u8 {
        match self {
            Self::Config(_) => 64,
            Self::Unavailable(_) => 69,
            Self::Damaged(_) => 70,
        }
    }
}

/// Runs the program with these arguments and environment. Writes to standard error what stopped it,
/// in one sentence.
#[must_use]
pub fn main(
    arguments: impl Iterator<Item = OsString>,
    environment: impl Iterator<Item = (OsString, OsString)>,
) -> ExitCode {
    let arguments: Vec<OsString> = arguments.collect();
    if moving::asked(&arguments) {
        return match moving::run(arguments, environment) {
            Ok(()) => ExitCode::SUCCESS,
            Err(Failure::Config(ConfigError::Help(text))) => {
                say(&text, false);
                ExitCode::SUCCESS
            }
            Err(failure) => fail(&failure),
        };
    }
    let settings = match Settings::read(arguments.into_iter(), environment) {
        Ok(settings) => settings,
        Err(ConfigError::Help(text)) => {
            say(&text, false);
            return ExitCode::SUCCESS;
        }
        Err(error) => return fail(&error.into()),
    };
    if settings.print_config() {
        if let Err(error) = Config::parse(&settings) {
            return fail(&error.into());
        }
        say(&settings.to_string(), false);
        return ExitCode::SUCCESS;
    }
    match start::start(&settings) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => fail(&failure),
    }
}

fn fail(failure: &Failure) -> ExitCode {
    say(&format!("recall-server: {failure}\n"), true);
    ExitCode::from(failure.code())
}

/// A closed pipe is the reader's choice; there is nobody left to tell.
fn say(text: &str, error: bool) {
    use std::io::Write;
    let _ = match error {
        true => std::io::stderr().write_all(text.as_bytes()),
        false => std::io::stdout().write_all(text.as_bytes()),
    };
}
