//! Calls with a credential: a refused key is replaced once, a busy server is asked again.

use std::time::{Duration, Instant};

use anyhow::Context;
use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use serde_json::Value;

use crate::args::ServerArgs;
use crate::client::{Answer, Client, TIMEOUT, Trouble};
use crate::credential::{Credential, Failure, on_this_machine};
use crate::server::Server;

/// Between two tries when the server named no time.
const PAUSE: Duration = Duration::from_millis(500);
/// The longest single wait, whatever the server named.
const MAX_PAUSE: Duration = Duration::from_secs(20);

/// How long a command tries to reach a server: long enough for a restart behind a Service, and not
/// so long that a wrong address looks like work.
const COMMAND_PATIENCE: Duration = Duration::from_secs(2);

/// A server and the right to use it.
#[derive(Debug)]
pub(crate) struct Session {
    client: Client,
    credential: Credential,
    /// How long a server that cannot be reached is tried again.
    patience: Duration,
}

/// Whether a request that the server may have got already may be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// Doing it twice is doing it once.
    Safe,
    /// Only a request that never left this machine is sent again.
    Unsent,
}

impl Session {
    /// A session for memory.
    pub(crate) fn open(arguments: &ServerArgs) -> anyhow::Result<Self> {
        Ok(Self {
            client: client(arguments)?,
            credential: Credential::find(arguments)?,
            patience: COMMAND_PATIENCE,
        })
    }

    /// A session for managing keys.
    pub(crate) fn open_admin(arguments: &ServerArgs) -> anyhow::Result<Self> {
        Ok(Self {
            client: client(arguments)?,
            credential: Credential::find_admin(arguments)?,
            patience: COMMAND_PATIENCE,
        })
    }

    /// A session with the first admin key of a server on this machine; to no other machine is that
    /// key ever sent.
    pub(crate) fn open_local_admin(arguments: &ServerArgs) -> anyhow::Result<Option<Self>> {
        if arguments.key_file.is_some() || !on_this_machine(arguments) {
            return Ok(None);
        }
        let Some(credential) = Credential::first_admin()? else {
            return Ok(None);
        };
        Ok(Some(Self {
            client: client(arguments)?,
            credential,
            patience: COMMAND_PATIENCE,
        }))
    }

    /// The same with another time for which a server that cannot be reached is tried again.
    pub(crate) fn patient(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Makes sure that there is a key, without calling anything else.
    pub(crate) async fn prepare(&self) -> Result<(), Failure> {
        self.key(Instant::now() + TIMEOUT).await.map(drop)
    }

    /// One call. Within its deadline a 429 or 503 is waited out, and so is a sandbox that is not
    /// claimed yet for as long as it lasts; a 401 costs one exchange and one more try. A server that
    /// cannot be reached is tried again for a while.
    pub(crate) async fn call(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<Answer, Failure> {
        // A second key would be minted and nobody would know of the first.
        let repeat = match (&method, path) {
            (&Method::POST, "/v1/keys") => Repeat::Unsent,
            _ => Repeat::Safe,
        };
        self.call_with(method, path, HeaderMap::new(), body, repeat)
            .await
    }

    /// As [`call`](Self::call), with further headers, and told whether it may be repeated.
    pub(crate) async fn call_with(
        &self,
        method: Method,
        path: &str,
        headers: HeaderMap,
        body: Bytes,
        repeat: Repeat,
    ) -> Result<Answer, Failure> {
        let deadline = Instant::now() + TIMEOUT;
        let (mut replaced, mut away) = (false, Away::default());
        let mut key = self.key(deadline).await?;
        loop {
            let sent = self
                .client
                .send_with(method.clone(), path, Some(&key), &headers, body.clone())
                .await;
            let answer = match sent {
                Ok(answer) => answer,
                Err(trouble) => {
                    let again = trouble.passes && (!trouble.sent || repeat == Repeat::Safe);
                    if !again || !away.wait(self.patience, deadline).await {
                        return Err(unreachable(&trouble));
                    }
                    continue;
                }
            };
            away = Away::default();
            match answer.status {
                StatusCode::UNAUTHORIZED if !replaced => {
                    replaced = true;
                    match self.credential.replace(&self.client, &key).await? {
                        Some(new) => key = new,
                        None => return Ok(answer),
                    }
                }
                StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                    let pause = pause(answer.retry_after());
                    if Instant::now() + pause >= deadline {
                        return Ok(answer);
                    }
                    tokio::time::sleep(pause).await;
                }
                _ => return Ok(answer),
            }
        }
    }

    /// As [`call`](Self::call), with JSON on both sides and refusals as errors.
    pub(crate) async fn json(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<Value> {
        self.answer(method, path, body).await?.json()
    }

    /// As [`json`](Self::json), with what the answer's headers tell of it.
    pub(crate) async fn answer(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<Answer> {
        let body = body.map_or_else(Bytes::new, |body| Bytes::from(body.to_string()));
        let answer = self.call(method, path, body).await;
        answer.map_err(anyhow::Error::from)
    }

    async fn key(&self, deadline: Instant) -> Result<secrecy::SecretString, Failure> {
        let mut away = Away::default();
        loop {
            let failure = match self.credential.key(&self.client).await {
                Ok(key) => return Ok(key),
                Err(failure) => failure,
            };
            // One exchange too many only mints a key that nobody uses.
            if failure.away {
                if !away.wait(self.patience, deadline).await {
                    return Err(failure);
                }
                continue;
            }
            away = Away::default();
            let unclaimed = failure.code == "sandbox_unclaimed";
            let busy = [
                "overloaded",
                "upstream",
                "store_unavailable",
                "rate_limited",
            ];
            let waits = unclaimed || busy.contains(&failure.code.as_str());
            let pause = pause(failure.retry_after);
            if !waits || (!unclaimed && Instant::now() + pause >= deadline) {
                return Err(failure);
            }
            tokio::time::sleep(pause).await;
        }
    }
}

/// Since when a server cannot be reached.
#[derive(Debug, Default)]
struct Away(Option<Instant>);

impl Away {
    /// Waits a little, unless the server was away for too long by then.
    async fn wait(&mut self, patience: Duration, deadline: Instant) -> bool {
        let since = *self.0.get_or_insert_with(Instant::now);
        let pause = pause(None);
        if Instant::now() + pause >= deadline.min(since + patience) {
            return false;
        }
        tokio::time::sleep(pause).await;
        true
    }
}

fn client(arguments: &ServerArgs) -> anyhow::Result<Client> {
    let address = arguments
        .server
        .as_deref()
        .context("no server: give --server or RECALL_URL")?;
    let server = Server::parse(address, arguments.insecure)?;
    Client::new(server, arguments.tls())
}

fn unreachable(trouble: &Trouble) -> Failure {
    let (code, message) = ("transport_error".to_owned(), trouble.to_string());
    Failure {
        code,
        message,
        retry_after: None,
        away: trouble.passes,
    }
}

/// The time named, or a short one, with up to half of it added at random so that many clients do
/// not come back together.
fn pause(named: Option<Duration>) -> Duration {
    let base = named.unwrap_or(PAUSE).clamp(PAUSE, MAX_PAUSE);
    let mut random = [0u8; 1];
    // Without randomness the wait is merely not spread.
    let _ = getrandom::fill(&mut random);
    base + base.mul_f64(f64::from(random[0]) / 512.0)
}
