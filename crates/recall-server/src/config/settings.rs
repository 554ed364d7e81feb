//! Where each setting comes from: a flag wins over the environment, the environment over the file.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use clap::builder::{BoolishValueParser, StyledStr, TypedValueParser};
use clap::{Arg, ArgAction, Command};

use super::ConfigError;
use super::table::{Kind, SETTINGS, Setting};

const ENVIRONMENT_PREFIX: &str = "RECALL_";
/// Variables of the client programs, which may stand in the same environment.
const CLIENT_VARIABLES: [&str; 4] = [
    "RECALL_URL",
    "RECALL_API_KEY",
    "RECALL_TOKEN_FILE",
    "RECALL_CA_FILE",
];

/// Where a setting was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Nowhere: the default.
    Default,
    /// In the configuration file.
    File,
    /// In the environment.
    Environment,
    /// On the command line.
    Flag,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Default => "default",
            Self::File => "configuration file",
            Self::Environment => "environment",
            Self::Flag => "flag",
        })
    }
}

/// Every setting that has a value, as text, with its origin.
#[derive(Debug, Clone)]
pub struct Settings {
    values: BTreeMap<&'static str, (String, Origin)>,
    unknown_variables: Vec<String>,
}

impl Settings {
    /// Reads all three sources.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] for anything that cannot be read; [`ConfigError::Help`] for `--help` and
    /// `--version`.
    pub fn read(
        arguments: impl Iterator<Item = OsString>,
        environment: impl Iterator<Item = (OsString, OsString)>,
    ) -> Result<Self, ConfigError> {
        let flags = flags(arguments)?;
        let (variables, unknown_variables) = variables(environment)?;
        let mut values = BTreeMap::new();
        for setting in SETTINGS {
            if let Some(default) = setting.default {
                values.insert(setting.name, (default.to_owned(), Origin::Default));
            }
        }
        if let Some(path) = flags.get("config").or(variables.get("config")) {
            let file = file(path)?;
            values.extend(
                file.into_iter()
                    .map(|(name, text)| (name, (text, Origin::File))),
            );
        }
        let given = variables
            .into_iter()
            .map(|(name, text)| (name, (text, Origin::Environment)));
        values.extend(given);
        values.extend(
            flags
                .into_iter()
                .map(|(name, text)| (name, (text, Origin::Flag))),
        );
        if !values.contains_key("data-dir")
            && let Some(dir) = default_data_dir()
        {
            values.insert("data-dir", (dir.display().to_string(), Origin::Default));
        }
        Ok(Self {
            values,
            unknown_variables,
        })
    }

    /// Whether the user only wants to see the configuration.
    #[must_use]
    pub fn print_config(&self) -> bool {
        self.values
            .get("print-config")
            .is_some_and(|(text, _)| text == "true")
    }

    /// Variables with our prefix that no program of ours reads.
    #[must_use]
    pub fn unknown_variables(&self) -> &[String] {
        &self.unknown_variables
    }

    /// A setting's text and origin, if it has one.
    pub(crate) fn get(&self, name: &'static str) -> Option<(&str, Origin)> {
        self.values
            .get(name)
            .map(|(text, origin)| (text.as_str(), *origin))
    }
}

impl fmt::Display for Settings {
    /// One `name = value # origin` line a setting, secrets masked: a valid configuration file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for setting in SETTINGS {
            let Some((text, origin)) = self.get(setting.name) else {
                continue;
            };
            if ["config", "print-config"].contains(&setting.name) {
                continue;
            }
            let shown = match (setting.secret, setting.kind) {
                (true, _) => "\"***\"".to_owned(),
                (false, Kind::Switch) => text.to_owned(),
                (false, Kind::Value) => toml::Value::String(text.to_owned()).to_string(),
            };
            writeln!(f, "{} = {shown} # {origin}", setting.name)?;
        }
        Ok(())
    }
}

/// Where data is kept unless a setting says otherwise.
fn default_data_dir() -> Option<PathBuf> {
    let set = |name| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let base = set("XDG_DATA_HOME").or_else(|| Some(set("HOME")?.join(".local/share")))?;
    Some(base.join("recall"))
}

type Given = BTreeMap<&'static str, String>;

fn flags(arguments: impl Iterator<Item = OsString>) -> Result<Given, ConfigError> {
    let command = Command::new("recall-server")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Keeps the memory of AI agents that run in disposable pods")
        .after_help(help_of_environment())
        .args(SETTINGS.iter().map(argument));
    let matches = command.try_get_matches_from(arguments).map_err(|error| {
        use clap::error::ErrorKind;
        match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                ConfigError::Help(error.to_string())
            }
            _ => {
                let text = error.to_string();
                let line = text.lines().next().unwrap_or_default();
                let what = line.trim_start_matches("error: ");
                ConfigError::Usage(format!("{what}; see recall-server --help"))
            }
        }
    })?;
    let given = SETTINGS.iter().filter_map(|setting| {
        let text = matches.get_one::<String>(setting.name)?;
        Some((setting.name, text.clone()))
    });
    Ok(given.collect())
}

fn help_of_environment() -> StyledStr {
    "Every flag can be given as an environment variable: --data-dir is RECALL_DATA_DIR.\n\
     A flag wins over the environment, the environment over the file of --config.\n\
     recall-server export and import move memory between stores: see recall-server export --help."
        .into()
}

fn argument(setting: &'static Setting) -> Arg {
    let help = match setting.default {
        Some(default) if setting.kind == Kind::Value => {
            format!("{} [default: {default}]", setting.help)
        }
        Some(_) | None => setting.help.to_owned(),
    };
    let argument = Arg::new(setting.name)
        .long(setting.name)
        .value_name(setting.value_name)
        .help(help)
        .action(ArgAction::Set);
    match setting.kind {
        Kind::Value => argument,
        Kind::Switch => argument
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
            .value_parser(BoolishValueParser::new().map(|on| on.to_string())),
    }
}

fn variables(
    environment: impl Iterator<Item = (OsString, OsString)>,
) -> Result<(Given, Vec<String>), ConfigError> {
    let (mut given, mut unknown) = (Given::new(), Vec::new());
    for (name, value) in environment {
        let Some(name) = name
            .to_str()
            .filter(|name| name.starts_with(ENVIRONMENT_PREFIX))
        else {
            continue;
        };
        let flag = name[ENVIRONMENT_PREFIX.len()..]
            .to_ascii_lowercase()
            .replace('_', "-");
        let Some(setting) = SETTINGS.iter().find(|setting| setting.name == flag) else {
            if !CLIENT_VARIABLES.contains(&name) {
                unknown.push(name.to_owned());
            }
            continue;
        };
        let text = value.into_string().map_err(|_| ConfigError::Value {
            flag: setting.name,
            value: "?".to_owned(),
            origin: Origin::Environment,
            allowed: "must be valid UTF-8".to_owned(),
        })?;
        // An empty variable is how a shell says "not set".
        if !text.is_empty() {
            given.insert(setting.name, settled(setting, text, Origin::Environment)?);
        }
    }
    unknown.sort();
    Ok((given, unknown))
}

fn file(path: &str) -> Result<Given, ConfigError> {
    let refusal = |reason: String| ConfigError::File {
        path: path.to_owned(),
        reason,
    };
    let text = std::fs::read_to_string(path).map_err(|error| refusal(error.to_string()))?;
    let table: toml::Table = text
        .parse()
        .map_err(|error: toml::de::Error| refusal(error.message().to_owned()))?;
    let mut given = Given::new();
    for (name, value) in table {
        let known = |setting: &&Setting| setting.name == name && setting.name != "config";
        let setting = SETTINGS.iter().find(known);
        let setting = setting.ok_or_else(|| refusal(format!("unknown setting {name:?}")))?;
        let text = match value {
            toml::Value::String(text) => text,
            toml::Value::Integer(number) => number.to_string(),
            toml::Value::Boolean(on) => on.to_string(),
            _ => {
                return Err(refusal(format!(
                    "{name}: must be a string, a number or a boolean"
                )));
            }
        };
        given.insert(setting.name, settled(setting, text, Origin::File)?);
    }
    Ok(given)
}

/// Brings the many spellings of a switch to `true` and `false`.
fn settled(setting: &'static Setting, text: String, origin: Origin) -> Result<String, ConfigError> {
    if setting.kind == Kind::Value {
        return Ok(text);
    }
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok("true".to_owned()),
        "0" | "false" | "no" | "off" => Ok("false".to_owned()),
        _ => Err(ConfigError::Value {
            flag: setting.name,
            value: text,
            origin,
            allowed: "must be true or false".to_owned(),
        }),
    }
}
