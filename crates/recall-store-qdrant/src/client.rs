//! Calls to Qdrant: bounded, repeated where that is harmless, and sorted by what came of them.

use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::Uri;
use qdrant_client::{Qdrant, QdrantError};
use recall_store::Error;
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::{OnceCell, Semaphore};
use tonic::{Code, Status};

use crate::OpenError;
use crate::version::{CONDITIONAL, Version};

/// One call, its answer included. A store that is slower than this is as good as away.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);
/// A call that may return a good part of a collection, or create one.
const LOAD_TIMEOUT: Duration = Duration::from_secs(60);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Calls under way at a time; the rest wait their turn.
const MAX_CALLS: usize = 64;
/// Connections, each of which carries many calls at once.
const CONNECTIONS: usize = 4;
/// What is waited before each repetition of a call that failed.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_millis(250)];
/// The longest wait that a store may ask for.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(60);
/// The most of a store's words that is passed on.
const MAX_WORDS: usize = 300;

/// A client of one Qdrant.
pub(crate) struct Client {
    qdrant: Qdrant,
    calls: Semaphore,
    /// Whether it is of use only if it writes on conditions.
    demanding: bool,
    /// What answered first.
    server: OnceCell<Version>,
    conditional: AtomicBool,
}

/// How long a call may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// [`CALL_TIMEOUT`].
    Call,
    /// [`LOAD_TIMEOUT`].
    Load,
}

/// Why a call came to nothing.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The collection does not exist.
    Missing,
    /// It exists already.
    Exists,
    /// Anything else. `passing` if another try may fare better.
    Other { error: Error, passing: bool },
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The client's own form would show the key.
        f.debug_struct("Client")
            .field("uri", &self.qdrant.config.uri)
            .field("server", &self.server.get())
            .finish_non_exhaustive()
    }
}

impl Client {
    /// Must be called within a tokio runtime. Nothing is asked yet. A demanding client refuses a
    /// server that cannot write on conditions.
    pub(crate) fn new(
        url: &str,
        key: Option<&SecretString>,
        demanding: bool,
    ) -> Result<Self, OpenError> {
        let bad = || OpenError::Url(url.to_owned());
        let uri: Uri = url.parse().map_err(|_| bad())?;
        let plain = matches!(uri.path(), "" | "/") && uri.query().is_none();
        let scheme = matches!(uri.scheme_str(), Some("http" | "https"));
        let host = uri
            .authority()
            .is_some_and(|authority| !authority.as_str().contains('@'));
        if !(plain && scheme && host) {
            return Err(bad());
        }
        let mut config = Qdrant::from_url(url)
            .timeout(LOAD_TIMEOUT)
            .connect_timeout(CONNECT_TIMEOUT)
            .skip_compatibility_check();
        config.pool_size = CONNECTIONS;
        if let Some(key) = key {
            let key = key.expose_secret();
            http::HeaderValue::try_from(key).map_err(|_| OpenError::Key)?;
            config.set_api_key(key);
        }
        let qdrant = config
            .build()
            .map_err(|error| OpenError::Client(error.to_string()))?;
        Ok(Self {
            qdrant,
            calls: Semaphore::new(MAX_CALLS),
            demanding,
            server: OnceCell::new(),
            conditional: AtomicBool::new(false),
        })
    }

    /// Whether the server writes on conditions; `false` until it was first heard of.
    pub(crate) fn conditional(&self) -> bool {
        self.conditional.load(Ordering::Acquire)
    }

    /// Makes sure that the server writes on conditions.
    pub(crate) async fn needs_conditions(&self, for_what: &str) -> Result<(), Error> {
        self.server().await.map_err(Failure::error)?;
        match self.conditional() {
            true => Ok(()),
            false => Err(self.too_old(for_what)),
        }
    }

    fn too_old(&self, for_what: &str) -> Error {
        let version = self.server.get().map(Version::to_string);
        Error::unavailable(format!(
            "Qdrant {} is too old {for_what}: {CONDITIONAL} is the first that writes on conditions",
            version.unwrap_or_default()
        ))
    }

    /// Asks the server who it is. Needs no key.
    pub(crate) async fn greet(&self) -> Result<Version, Failure> {
        let asked = self
            .attempt(Patience::Call, || self.qdrant.health_check())
            .await;
        let reply = asked?;
        let version = Version::parse(&reply.version).ok_or_else(|| {
            let words = cut(&reply.version);
            Failure::lasting(&format!("answers, but with version {words:?}"))
        })?;
        self.conditional
            .store(version >= CONDITIONAL, Ordering::Release);
        Ok(version)
    }

    async fn server(&self) -> Result<(), Failure> {
        self.server.get_or_try_init(|| self.greet()).await?;
        if self.demanding && !self.conditional() {
            let error = self.too_old("for --qdrant-leases");
            let passing = false;
            return Err(Failure::Other { error, passing });
        }
        Ok(())
    }

    /// Makes a call, twice more if that may help. What is called must be harmless to repeat.
    pub(crate) async fn call<'a, T, F>(
        &'a self,
        patience: Patience,
        call: impl Fn(&'a Qdrant) -> F,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, QdrantError>>,
    {
        let _turn = self
            .calls
            .acquire()
            .await
            .map_err(|_| Failure::lasting("is closed"))?;
        let mut pauses = PAUSES.iter();
        loop {
            let tried = async {
                self.server().await?;
                self.attempt(patience, || call(&self.qdrant)).await
            };
            let failure = match tried.await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let again = matches!(failure, Failure::Other { passing: true, .. });
            match pauses.next().filter(|_| again) {
                Some(pause) => tokio::time::sleep(*pause).await,
                None => return Err(failure),
            }
        }
    }

    async fn attempt<T, F>(&self, patience: Patience, call: impl Fn() -> F) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, QdrantError>>,
    {
        let patience = match patience {
            Patience::Call => CALL_TIMEOUT,
            Patience::Load => LOAD_TIMEOUT,
        };
        match tokio::time::timeout(patience, call()).await {
            Ok(answer) => answer.map_err(judge),
            // It was slow once; asking again would double the wait and the load.
            Err(_) => Err(Failure::lasting(&format!(
                "gave no answer within {patience:?}"
            ))),
        }
    }
}

impl Failure {
    fn lasting(words: &str) -> Self {
        Self::Other {
            error: Error::unavailable(format!("Qdrant {words}")),
            passing: false,
        }
    }

    fn passing(words: &str, retry_after: Option<Duration>) -> Self {
        Self::Other {
            error: Error::Unavailable {
                reason: format!("Qdrant {words}"),
                retry_after,
            },
            passing: true,
        }
    }

    /// As an error of the store.
    pub(crate) fn error(self) -> Error {
        match self {
            Self::Missing => Error::unavailable("Qdrant has no such collection"),
            Self::Exists => Error::unavailable("Qdrant has the collection already"),
            Self::Other { error, .. } => error,
        }
    }
}

/// Sorts failures. A refused key is the operator's trouble and never that of a client of ours: to it
/// the store is away.
fn judge(error: QdrantError) -> Failure {
    match error {
        QdrantError::ResponseError { status } => judge_status(&status, None),
        QdrantError::ResourceExhaustedError {
            status,
            retry_after_seconds,
        } => judge_status(&status, Some(Duration::from_secs(retry_after_seconds))),
        other @ (QdrantError::ConversionError(_)
        | QdrantError::InvalidUri(_)
        | QdrantError::NoSnapshotFound(_)
        | QdrantError::Io(_)
        | QdrantError::JsonToPayload(_)
        | QdrantError::PayloadDeserialization(_)) => Failure::lasting(&format!("failed: {other}")),
    }
}

fn judge_status(status: &Status, retry_after: Option<Duration>) -> Failure {
    let words = cut(status.message());
    match status.code() {
        Code::Unauthenticated | Code::PermissionDenied => Failure::lasting(&format!(
            "refuses the key ({words}): check --backend-key-file"
        )),
        Code::NotFound if words.contains("doesn't exist") => Failure::Missing,
        Code::AlreadyExists => Failure::Exists,
        Code::InvalidArgument if words.contains("already exists") => Failure::Exists,
        Code::ResourceExhausted => Failure::passing(
            &format!("is busy: {words}"),
            retry_after.map(|wait| wait.min(MAX_RETRY_AFTER)),
        ),
        Code::Unavailable
        | Code::Internal
        | Code::Unknown
        | Code::Cancelled
        | Code::Aborted
        | Code::DeadlineExceeded => Failure::passing(&format!("cannot be asked: {words}"), None),
        // Among them: NotFound of a call that no Qdrant lacks, so that something else listens.
        Code::Ok
        | Code::NotFound
        | Code::InvalidArgument
        | Code::FailedPrecondition
        | Code::OutOfRange
        | Code::Unimplemented
        | Code::DataLoss => Failure::lasting(&format!("refused a call: {words}")),
    }
}

fn cut(words: &str) -> &str {
    let end = words
        .char_indices()
        .nth(MAX_WORDS)
        .map_or(words.len(), |(at, _)| at);
    words.get(..end).unwrap_or(words).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, fits: bool) {
        assert_eq!(Client::new(url, None, false).is_ok(), fits, "{url}");
    }

    #[test]
    fn addresses_are_a_scheme_and_a_host() {
        check("http://127.0.0.1:6334", true);
        check("https://db.example.com/", true);
        for bad in [
            "",
            "db:6334",
            "ftp://db",
            "http://",
            "http://u:p@db",
            "http://db/path",
            "http://db?q=1",
        ] {
            check(bad, false);
        }
    }

    #[test]
    fn a_key_never_shows_and_must_be_sendable() {
        let key = SecretString::from("qdrant-secret");
        let client = Client::new("http://db:6334", Some(&key), false).expect("an address");
        assert!(!format!("{client:?}").contains("qdrant-secret"));
        let bad = Client::new("http://db:6334", Some(&"a\nb".into()), false);
        assert!(matches!(bad, Err(OpenError::Key)));
    }

    #[track_caller]
    fn judged(code: Code, words: &str, expected: &str) {
        let found = match judge_status(&Status::new(code, words), None) {
            Failure::Missing => "missing",
            Failure::Exists => "exists",
            Failure::Other { passing: true, .. } => "passing",
            Failure::Other {
                passing: false,
                error,
            } => {
                assert_eq!(error.code(), "store_unavailable");
                "lasting"
            }
        };
        assert_eq!(found, expected, "{code:?} {words}");
    }

    #[test]
    fn failures_are_sorted() {
        judged(
            Code::NotFound,
            "Not found: Collection `a` doesn't exist!",
            "missing",
        );
        judged(Code::NotFound, "no such route", "lasting");
        judged(Code::AlreadyExists, "", "exists");
        judged(
            Code::InvalidArgument,
            "Wrong input: Collection `a` already exists!",
            "exists",
        );
        judged(Code::InvalidArgument, "Vector dimension error", "lasting");
        for code in [Code::Unavailable, Code::Internal, Code::ResourceExhausted] {
            judged(code, "x", "passing");
        }
        for code in [
            Code::Unauthenticated,
            Code::PermissionDenied,
            Code::Unimplemented,
        ] {
            judged(code, "x", "lasting");
        }
    }

    #[test]
    fn the_stores_wait_is_passed_on_within_reason() {
        let status = Status::new(Code::ResourceExhausted, "too many");
        for (asked, told) in [(7, 7), (100_000, 60)] {
            let failure = judge_status(&status, Some(Duration::from_secs(asked)));
            let Error::Unavailable { retry_after, .. } = failure.error() else {
                panic!("it is away")
            };
            assert_eq!(retry_after, Some(Duration::from_secs(told)));
        }
    }
}
