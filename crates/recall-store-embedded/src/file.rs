//! The open database, and opening it again after its file failed under it.
//!
//! redb gives up on a file whose write failed, a full disk for instance: from then on it refuses reads
//! too, until the file is closed and opened anew. That happens here, so that reads go on and writes
//! come back as soon as there is room, without a restart.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant};

use recall_store::Error;
use redb::{Database, ReadTransaction, ReadableDatabase, WriteTransaction};

use crate::open::{self, OpenError};
use crate::read::{broken, in_words};

/// After a failure nothing is tried for so long, or for this many times what opening it again took.
const PAUSE: Duration = Duration::from_secs(1);
const PAUSE_PER_OPENING: u32 = 10;

/// The database of a data directory.
#[derive(Debug)]
pub(crate) struct File {
    dir: PathBuf,
    /// `None` where it could not be opened again.
    database: RwLock<Option<Database>>,
    trouble: Mutex<Option<Trouble>>,
}

/// A failure that no write has followed yet which held.
#[derive(Debug)]
struct Trouble {
    reason: String,
    /// When the next write is tried.
    until: Instant,
}

impl File {
    pub(crate) fn open(dir: &Path) -> Result<Self, OpenError> {
        Ok(Self {
            dir: dir.to_owned(),
            database: RwLock::new(Some(open::open(dir)?)),
            trouble: Mutex::new(None),
        })
    }

    /// A snapshot to read.
    pub(crate) fn begin_read(&self) -> Result<ReadTransaction, Error> {
        let database = self.database();
        let open = database.as_ref().ok_or_else(|| self.refusal())?;
        open.begin_read().map_err(broken)
    }

    /// A transaction to write in. Soon after a failure it is refused with that failure's reason.
    pub(crate) fn begin_write(&self) -> Result<WriteTransaction, Error> {
        let waits = self
            .trouble()
            .as_ref()
            .is_some_and(|trouble| trouble.until > Instant::now());
        if waits {
            return Err(self.refusal());
        }
        match self.try_write() {
            Ok(write) => Ok(write),
            Err(error) => {
                self.failed(in_words(&error));
                self.try_write()
            }
        }
    }

    /// Whether a write failed and none has held since.
    pub(crate) fn is_in_trouble(&self) -> bool {
        self.trouble().is_some()
    }

    /// A write held.
    pub(crate) fn is_sound(&self) {
        if self.trouble().take().is_some() {
            tracing::info!(dir = %self.dir.display(), "the data directory can be written again");
        }
    }

    /// A read failed: the next write looks whether the file has to be opened again.
    pub(crate) fn is_doubted(&self, reason: &Error) {
        let until = Instant::now();
        self.trouble().get_or_insert_with(|| Trouble {
            reason: in_words(reason),
            until,
        });
    }

    /// A write failed, and its transaction is gone: opens the file again if redb has given it up.
    /// Answers what to tell whoever waits for that write.
    pub(crate) fn failed(&self, reason: String) -> Error {
        let began = Instant::now();
        let opened = match self.try_write() {
            Ok(_) => Ok(()),
            Err(_) => self.open_again(),
        };
        let reason = match &opened {
            Ok(()) => reason,
            Err(error) => format!("{reason}; it could not be opened again: {error}"),
        };
        tracing::error!(dir = %self.dir.display(), reason, "the data directory could not be written");
        let pause = PAUSE.max(began.elapsed() * PAUSE_PER_OPENING);
        *self.trouble() = Some(Trouble {
            reason,
            until: Instant::now() + pause,
        });
        self.refusal()
    }

    fn open_again(&self) -> Result<(), OpenError> {
        let mut place = self
            .database
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        // Closed before it is opened: it locks its file. Reads that go on end with an error.
        drop(place.take());
        *place = Some(open::reopen(&self.dir)?);
        Ok(())
    }

    fn try_write(&self) -> Result<WriteTransaction, Error> {
        let database = self.database();
        let open = database.as_ref().ok_or_else(|| self.refusal())?;
        open.begin_write().map_err(broken)
    }

    fn refusal(&self) -> Error {
        let trouble = self.trouble();
        let (reason, wait) = match trouble.as_ref() {
            Some(trouble) => (
                trouble.reason.as_str(),
                trouble.until.saturating_duration_since(Instant::now()),
            ),
            None => ("the data directory is being opened again", Duration::ZERO),
        };
        Error::Unavailable {
            reason: reason.to_owned(),
            retry_after: Some(wait.max(PAUSE)),
        }
    }

    fn database(&self) -> RwLockReadGuard<'_, Option<Database>> {
        self.database.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn trouble(&self) -> MutexGuard<'_, Option<Trouble>> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
