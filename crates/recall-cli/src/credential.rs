//! Where the key comes from, and how it is kept fresh.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use bytes::Bytes;
use http::{Method, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::args::ServerArgs;
use crate::client::{Answer, Client};

/// Where a pod finds its token unless told otherwise.
const DEFAULT_TOKEN_FILE: &str = "/var/run/secrets/recall/token";
/// What to do where the server keeps its data elsewhere than the usual place.
const OTHER_DATA_DIR: &str = "A server that was started with --data-dir DIR keeps its admin key in \
    DIR/admin.key: give that by --key-file, or DIR by RECALL_DATA_DIR";
/// After a failed exchange the next one waits this long, so that a storm of calls asks once.
const EXCHANGE_PAUSE: Duration = Duration::from_secs(1);

/// A key, and if there is a token file the way to a new one. All calls share it: whoever finds the
/// key stale renews it, the others wait and use the result.
#[derive(Debug)]
pub(crate) struct Credential {
    token_file: Option<PathBuf>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    key: Option<SecretString>,
    /// When the key was minted or renewed, and for how long; unknown for a key that was given.
    life: Option<(Instant, Duration)>,
    failed: Option<(Instant, Failure)>,
}

/// Why there is no key, and what the server said.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Failure {
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) retry_after: Option<Duration>,
    /// Whether the server could not be reached, which may pass.
    pub(crate) away: bool,
}

/// Whether an operator's command goes by the first admin key of this machine: no key is given, and the
/// server is here.
fn takes_first_admin(arguments: &ServerArgs) -> bool {
    let given = arguments.key_file.is_some() || arguments.key.is_some();
    !given && on_this_machine(arguments)
}

/// Whether the server is on this machine, by its address alone: what a name resolves to may change.
pub(crate) fn on_this_machine(arguments: &ServerArgs) -> bool {
    let address = arguments.server.as_deref().unwrap_or_default();
    let host = address
        .parse::<http::Uri>()
        .ok()
        .and_then(|uri| uri.host().map(str::to_owned));
    host.is_some_and(|host| ["127.0.0.1", "localhost", "[::1]"].contains(&host.as_str()))
}

impl Credential {
    /// Finds the credential: a key file, a given key, a token file, the usual token file.
    pub(crate) fn find(arguments: &ServerArgs) -> anyhow::Result<Self> {
        let key = match (&arguments.key_file, &arguments.key) {
            (Some(path), _) => Some(read(path)?),
            (None, Some(key)) => Some(SecretString::from(key.trim().to_owned())),
            (None, None) => None,
        };
        let usual = || Some(PathBuf::from(DEFAULT_TOKEN_FILE)).filter(|path| path.exists());
        let token_file = arguments
            .token_file
            .clone()
            .or_else(|| if key.is_none() { usual() } else { None });
        if key.is_none() && token_file.is_none() {
            bail!(
                "no credential: give --key-file or RECALL_API_KEY, or --token-file or RECALL_TOKEN_FILE"
            );
        }
        Ok(Self {
            token_file,
            state: Mutex::new(State {
                key,
                ..State::default()
            }),
        })
    }

    /// The credential of an operator: as [`find`](Self::find), else the first admin key of a server
    /// on this machine. To no other machine is that key ever sent.
    pub(crate) fn find_admin(arguments: &ServerArgs) -> anyhow::Result<Self> {
        match Self::first_admin()?.filter(|_| takes_first_admin(arguments)) {
            Some(admin) => Ok(admin),
            None if !on_this_machine(arguments) => Self::find(arguments).context(
                "no admin key for a server on another machine: give it by --key-file; the one in \
                 this machine's data directory is sent to 127.0.0.1, [::1] and localhost alone",
            ),
            None => Self::find(arguments).map_err(|error| {
                let file = admin_key_file();
                let looked = file.map_or_else(String::new, |file| {
                    format!("; there is no {}", file.display())
                });
                error.context(format!("no admin key{looked}. {OTHER_DATA_DIR}"))
            }),
        }
    }

    /// What to add to a refusal of the key: where it came from, if from a server's data directory.
    pub(crate) fn of_data_dir(arguments: &ServerArgs) -> Option<String> {
        let taken = takes_first_admin(arguments);
        let file = admin_key_file().filter(|file| taken && file.exists())?;
        let file = file.display();
        Some(format!("the key was that of {file}. {OTHER_DATA_DIR}"))
    }

    /// The admin key that a server on this machine made for itself, if it is there.
    pub(crate) fn first_admin() -> anyhow::Result<Option<Self>> {
        let Some(path) = admin_key_file().filter(|path| path.exists()) else {
            return Ok(None);
        };
        let state = State {
            key: Some(read(&path)?),
            ..State::default()
        };
        Ok(Some(Self {
            token_file: None,
            state: Mutex::new(state),
        }))
    }

    /// The file of the token that keys are exchanged for, if there is no key at hand.
    pub(crate) fn token_file(&self) -> Option<&Path> {
        self.token_file.as_deref()
    }

    /// The token itself, read anew.
    pub(crate) fn token(&self) -> anyhow::Result<SecretString> {
        read(self.token_file().context("there is no token file")?)
    }

    /// The key that was given, before any exchange.
    pub(crate) fn given(self) -> Option<SecretString> {
        self.state.into_inner().key
    }

    /// A key to use now, renewed if it is past half its life.
    pub(crate) async fn key(&self, client: &Client) -> Result<SecretString, Failure> {
        let mut state = self.state.lock().await;
        let stale = state
            .life
            .is_some_and(|(since, ttl)| since.elapsed() >= ttl / 2);
        if let Some(key) = state.key.clone() {
            let Some(path) = self.token_file.as_deref().filter(|_| stale) else {
                return Ok(key);
            };
            if let Some(life) = renew(client, &key, path).await {
                state.life = Some(life);
                return Ok(key);
            }
        }
        self.exchange(client, &mut state).await
    }

    /// A key other than `refused`, if there is a way to one.
    pub(crate) async fn replace(
        &self,
        client: &Client,
        refused: &SecretString,
    ) -> Result<Option<SecretString>, Failure> {
        let mut state = self.state.lock().await;
        if let Some(key) = &state.key
            && key.expose_secret() != refused.expose_secret()
        {
            return Ok(Some(key.clone()));
        }
        if self.token_file.is_none() {
            return Ok(None);
        }
        self.exchange(client, &mut state).await.map(Some)
    }

    async fn exchange(&self, client: &Client, state: &mut State) -> Result<SecretString, Failure> {
        if let Some((at, failure)) = &state.failed
            && at.elapsed() < EXCHANGE_PAUSE
        {
            return Err(failure.clone());
        }
        match self.ask(client).await {
            Ok((key, ttl)) => {
                *state = State {
                    key: Some(key.clone()),
                    life: Some((Instant::now(), ttl)),
                    failed: None,
                };
                Ok(key)
            }
            Err(failure) => {
                state.failed = Some((Instant::now(), failure.clone()));
                Err(failure)
            }
        }
    }

    async fn ask(&self, client: &Client) -> Result<(SecretString, Duration), Failure> {
        let path = self
            .token_file()
            .ok_or_else(|| failure("there is no token file"))?;
        let token = read(path).map_err(|error| failure(format!("{error:#}")))?;
        let body = json!({ "token": token.expose_secret() }).to_string();
        let answer = client
            .send(Method::POST, "/v1/auth/kubernetes", None, Bytes::from(body))
            .await;
        let answer = answer.map_err(|trouble| Failure {
            away: trouble.passes,
            ..failure(trouble.to_string())
        })?;
        if answer.status != StatusCode::CREATED {
            return Err(refusal(&answer, path));
        }
        minted(&answer).ok_or_else(|| failure("the server's answer to the exchange holds no key"))
    }
}

async fn renew(client: &Client, key: &SecretString, path: &Path) -> Option<(Instant, Duration)> {
    let token = read(path).ok()?;
    let body = Bytes::from(json!({ "token": token.expose_secret() }).to_string());
    let answer = client
        .send(Method::POST, "/v1/keys/renew", Some(key), body)
        .await
        .ok()?;
    if answer.status != StatusCode::OK {
        return None;
    }
    let ttl = lifetime(&answer.json().ok()?)?;
    Some((Instant::now(), ttl))
}

fn minted(answer: &Answer) -> Option<(SecretString, Duration)> {
    let record = answer.json().ok()?;
    let key = record["key"].as_str()?.to_owned();
    Some((key.into(), lifetime(&record)?))
}

/// `ttl` as the server writes it: `1h0m0s`, `15m0s`, `4s`.
fn lifetime(record: &Value) -> Option<Duration> {
    let mut rest = record["ttl"].as_str()?;
    let mut total = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let letters = rest
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(rest.len());
        total += number
            * match &rest[..letters] {
                "h" => 3600.0,
                "m" => 60.0,
                "s" => 1.0,
                "ms" => 0.001,
                _ => return None,
            };
        rest = &rest[letters..];
    }
    Duration::try_from_secs_f64(total).ok()
}

fn refusal(answer: &Answer, path: &Path) -> Failure {
    let (code, message) = answer.error();
    let hint = match code.as_str() {
        "token_rejected" => format!(
            "; is the token in {} current? One mounted with subPath is never replaced",
            path.display()
        ),
        "not_found" => "; the server at this address does not exchange tokens".to_owned(),
        _ => String::new(),
    };
    let status = answer.status.as_u16();
    let message = format!("the token was not exchanged: {message} ({code}, HTTP {status}){hint}");
    Failure {
        code,
        message,
        retry_after: answer.retry_after(),
        away: false,
    }
}

fn failure(message: impl Into<String>) -> Failure {
    Failure {
        code: "transport_error".to_owned(),
        message: message.into(),
        retry_after: None,
        away: false,
    }
}

/// Reads a secret file anew: kubelet swaps the file behind the path. One trailing newline goes.
pub(crate) fn read(path: &Path) -> anyhow::Result<SecretString> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    if text.is_empty() {
        bail!("{} is empty", path.display());
    }
    Ok(text.to_owned().into())
}

fn admin_key_file() -> Option<PathBuf> {
    let set = |name| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let dir = set("RECALL_DATA_DIR").or_else(|| {
        let base = set("XDG_DATA_HOME").or_else(|| Some(set("HOME")?.join(".local/share")))?;
        Some(base.join("recall"))
    })?;
    Some(dir.join("admin.key"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetimes_as_the_server_writes_them() {
        for (text, seconds) in [
            ("15m0s", 900.0),
            ("4s", 4.0),
            ("1h0m0s", 3600.0),
            ("1.5s", 1.5),
            ("300ms", 0.3),
        ] {
            let ttl = lifetime(&json!({ "ttl": text })).expect(text);
            assert!((ttl.as_secs_f64() - seconds).abs() < 1e-9, "{text}");
        }
        for bad in ["", "15", "x", "-4s", "1e400s"] {
            let ttl = lifetime(&json!({ "ttl": bad }));
            assert!(bad.is_empty() || ttl.is_none(), "{bad:?} is {ttl:?}");
        }
    }

    #[test]
    fn a_token_file_loses_exactly_one_newline() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("token");
        for (content, expected) in [
            ("abc", "abc"),
            ("abc\n", "abc"),
            ("abc\r\n", "abc"),
            (" abc\n\n", " abc\n"),
        ] {
            std::fs::write(&path, content).expect("a file");
            assert_eq!(read(&path).expect("readable").expose_secret(), expected);
        }
        std::fs::write(&path, "\n").expect("a file");
        let error = format!("{:#}", read(&path).expect_err("it is empty"));
        assert!(error.contains("is empty"), "{error}");
        let error = format!(
            "{:#}",
            read(&dir.path().join("none")).expect_err("it is missing")
        );
        assert!(
            error.contains("cannot read") && error.contains("No such file"),
            "{error}"
        );
    }
}
