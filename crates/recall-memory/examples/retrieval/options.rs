//! What is asked for on the command line.

use std::path::PathBuf;

use crate::convert;
use crate::set::Talk;

/// Where conversations and questions come from.
#[derive(Debug)]
pub(crate) enum Source {
    /// The file `locomo10.json` of LoCoMo.
    Locomo(PathBuf),
    /// A folder of BEAM's chats, such as `chats/100K`.
    Beam(PathBuf),
    /// Lines as `--convert` writes them.
    Set(PathBuf),
}

/// A server to ask, with an admin key to make its memories.
#[derive(Clone, Debug)]
pub(crate) struct ServerOption {
    pub(crate) name: String,
    pub(crate) url: String,
    pub(crate) admin_key: String,
}

/// Everything that can be asked for.
#[derive(Debug, Default)]
pub(crate) struct Options {
    pub(crate) sources: Vec<Source>,
    pub(crate) servers: Vec<ServerOption>,
    /// Only conversations whose name holds one of these.
    pub(crate) only: Vec<String>,
    pub(crate) skip: Vec<String>,
    /// Every how many questions one is asked.
    pub(crate) step: usize,
    pub(crate) shuffle: Option<u64>,
    pub(crate) merge: bool,
    /// Leave the session unnamed, as a caller does who does not know of it.
    pub(crate) unnamed: bool,
    /// Leave what runs in this process out.
    pub(crate) only_servers: bool,
    pub(crate) convert: Option<PathBuf>,
    /// The least recall at ten, in percent, of the default and of each server called `ours`.
    pub(crate) floor: Option<f64>,
    /// Fail when what is ours finds less in the best ten than BM25 with cut words.
    pub(crate) above_textbook: bool,
}

impl Source {
    pub(crate) fn read(&self) -> Result<Vec<Talk>, String> {
        match self {
            Self::Locomo(path) => convert::locomo(path),
            Self::Beam(path) => convert::beam(path),
            Self::Set(path) => crate::set::read(path),
        }
    }

    pub(crate) fn name(&self) -> &str {
        let (Self::Locomo(path) | Self::Beam(path) | Self::Set(path)) = self;
        let name = path.file_stem().and_then(|name| name.to_str());
        name.unwrap_or("data")
    }
}

impl Options {
    pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            step: 1,
            ..Self::default()
        };
        while let Some(argument) = arguments.next() {
            let (name, inline) = match argument.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None => (argument, None),
            };
            let mut value = || {
                let next = inline.clone().or_else(|| arguments.next());
                next.ok_or_else(|| format!("{name} needs a value"))
            };
            match name.as_str() {
                "--locomo" => options.sources.push(Source::Locomo(value()?.into())),
                "--beam" => options.sources.push(Source::Beam(value()?.into())),
                "--set" => options.sources.push(Source::Set(value()?.into())),
                "--server" => options.servers.push(server(&value()?)?),
                "--only" => options.only.extend(value()?.split(',').map(str::to_owned)),
                "--skip" => options.skip.extend(value()?.split(',').map(str::to_owned)),
                "--step" => options.step = number(&name, &value()?)?,
                "--shuffle" => options.shuffle = Some(number(&name, &value()?)?),
                "--floor" => options.floor = Some(number(&name, &value()?)?),
                "--convert" => options.convert = Some(value()?.into()),
                "--merge" => options.merge = true,
                "--unnamed" => options.unnamed = true,
                "--above-textbook" => options.above_textbook = true,
                "--only-servers" => options.only_servers = true,
                _ => return Err(format!("unknown option {name}")),
            }
        }
        if options.above_textbook && options.only_servers {
            return Err("--above-textbook needs what --only-servers leaves out".to_owned());
        }
        match options.sources.is_empty() {
            true => Err("give --locomo FILE, --beam FOLDER or --set FILE".to_owned()),
            false => Ok(options),
        }
    }
}

fn number<T: std::str::FromStr>(name: &str, text: &str) -> Result<T, String> {
    text.parse()
        .map_err(|_| format!("{name} needs a number, got {text:?}"))
}

/// `NAME,URL,KEY_FILE`
fn server(text: &str) -> Result<ServerOption, String> {
    let parts: Vec<&str> = text.splitn(3, ',').collect();
    let [name, url, file] = parts[..] else {
        return Err("--server needs NAME,URL,KEY_FILE".to_owned());
    };
    let key = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    Ok(ServerOption {
        name: name.to_owned(),
        url: url.trim_end_matches('/').to_owned(),
        admin_key: key.trim().to_owned(),
    })
}
