//! Opening a data directory: who holds it, is it whole, is it of our time.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use redb::{Database, DatabaseError, ReadableDatabase, StorageError};
use serde::{Deserialize, Serialize};

use crate::layout;

/// The on-disk format that this version writes. It turns older ones into it and refuses newer ones.
pub const FORMAT: u64 = 2;

/// Pages that redb keeps in memory. Reads come from resident views; the file is read in order when
/// a view is loaded, so a small cache serves.
const CACHE_BYTES: usize = 8 * 1024 * 1024;

const DATABASE: &str = "recall.redb";
const MARKER: &str = "store.json";
const HOLDER: &str = "holder.json";

/// Why a data directory cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has it open.
    #[error(
        "the data directory {dir} is in use by {holder}; stop that process, talk to it over HTTP \
         instead, or choose another --data-dir"
    )]
    InUse {
        /// The directory.
        dir: PathBuf,
        /// The other process, in words.
        holder: String,
    },
    /// What is there is not a whole Recall store.
    #[error(
        "damaged store in {dir}: {what}; nothing was changed. Restore the directory from a backup, \
         or move it away to start with an empty one"
    )]
    Damaged {
        /// The directory.
        dir: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// It was written by a later version.
    #[error(
        "the store in {dir} has format {found}; this version reads up to {FORMAT}: upgrade Recall"
    )]
    NewerFormat {
        /// The directory.
        dir: PathBuf,
        /// The format found.
        found: u64,
    },
    /// The directory or a file in it cannot be used.
    #[error("cannot use the data directory {dir}: {source}")]
    Io {
        /// The directory.
        dir: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Kept beside the database once it was made: tells a lost database from one that never was.
#[derive(Serialize, Deserialize)]
struct Marker {
    format: u64,
}

#[derive(Serialize, Deserialize)]
struct Holder {
    pid: u32,
}

/// Opens the database in `dir`, making both if they are not there yet.
pub(crate) fn open(dir: &Path) -> Result<Database, OpenError> {
    let io = |source| OpenError::Io {
        dir: dir.to_owned(),
        source,
    };
    create_private(dir).map_err(io)?;
    let file = dir.join(DATABASE);
    let marker = read_marker(dir)?;
    let length = match fs::metadata(&file) {
        Ok(meta) => Some(meta.len()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(io(error)),
    };
    if let Some(found) = marker
        .as_ref()
        .map(|marker| marker.format)
        .filter(|found| *found > FORMAT)
    {
        return Err(OpenError::NewerFormat {
            dir: dir.to_owned(),
            found,
        });
    }
    match (marker.is_some(), length) {
        (true, None) => return Err(damaged(dir, format!("{DATABASE} is gone"))),
        (true, Some(0)) => return Err(damaged(dir, format!("{DATABASE} is empty"))),
        (false, _) | (true, Some(_)) => {}
    }
    make_file(&file).map_err(io)?;
    warn_if_open_to_others(dir);
    let database = open_database(dir, &file)?;
    settle_format(dir, &database, marker.as_ref())?;
    write_private(
        &dir.join(HOLDER),
        &Holder {
            pid: std::process::id(),
        },
    )
    .map_err(io)?;
    Ok(database)
}

/// Opens a database again that this process had open a moment ago. Writes nothing beside it: the disk may
/// be full.
pub(crate) fn reopen(dir: &Path) -> Result<Database, OpenError> {
    open_database(dir, &dir.join(DATABASE))
}

/// Makes the file for its owner alone before redb would make it for everybody.
fn make_file(file: &Path) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file).map(drop)
}

/// A folder that was there already keeps its mode; others who may read it are worth a word.
fn warn_if_open_to_others(dir: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(dir).map_or(0, |meta| meta.permissions().mode());
        if mode & 0o007 != 0 {
            tracing::warn!(dir = %dir.display(), "the data directory is open to every user of this machine");
        }
    }
}

fn open_database(dir: &Path, file: &Path) -> Result<Database, OpenError> {
    let mut builder = Database::builder();
    builder
        .set_cache_size(CACHE_BYTES)
        .set_check_integrity_on_open(true);
    // A file that redb did not write can make it panic although it promises not to here; that must
    // not look different from any other damage.
    let opened = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| builder.create(file)))
        .map_err(|_| damaged(dir, format!("{DATABASE} cannot be read")))?;
    opened.map_err(|error| match error {
        DatabaseError::DatabaseAlreadyOpen | DatabaseError::LockProtocolMismatch => {
            OpenError::InUse {
                dir: dir.to_owned(),
                holder: holder(dir),
            }
        }
        DatabaseError::Storage(StorageError::Io(source)) if !is_damage(&source) => OpenError::Io {
            dir: dir.to_owned(),
            source,
        },
        DatabaseError::Storage(_)
        | DatabaseError::RepairAborted
        | DatabaseError::UpgradeRequired(_)
        | DatabaseError::TransactionInProgress
        | _ => damaged(dir, format!("{DATABASE}: {error}")),
    })
}

/// redb reports a short or foreign file as an I/O error of these kinds.
fn is_damage(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData
    )
}

/// Reads the format from the database, or writes it into one that was made just now. An older one is
/// brought to this one; what a crash leaves in between, the next start goes on with.
fn settle_format(
    dir: &Path,
    database: &Database,
    marker: Option<&Marker>,
) -> Result<(), OpenError> {
    let broken = |error: redb::Error| damaged(dir, format!("{DATABASE}: {error}"));
    let found = stored_format(database).map_err(broken)?;
    match found {
        Some(found) if found > FORMAT => {
            return Err(OpenError::NewerFormat {
                dir: dir.to_owned(),
                found,
            });
        }
        Some(FORMAT) => {}
        Some(found) => upgrade(dir, database, found).map_err(broken)?,
        None if marker.is_some() => {
            return Err(damaged(dir, format!("{DATABASE} holds no format")));
        }
        None => create_tables(database).map_err(broken)?,
    }
    if marker.is_none_or(|marker| marker.format != FORMAT) {
        write_private(&dir.join(MARKER), &Marker { format: FORMAT }).map_err(|source| {
            OpenError::Io {
                dir: dir.to_owned(),
                source,
            }
        })?;
    }
    Ok(())
}

fn stored_format(database: &Database) -> Result<Option<u64>, redb::Error> {
    let read = database.begin_read()?;
    match read.open_table(layout::META) {
        Ok(meta) => Ok(redb::ReadableTable::get(&meta, "format")?.map(|format| format.value())),
        Err(redb::TableError::TableDoesNotExist(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn create_tables(database: &Database) -> Result<(), redb::Error> {
    let write = database.begin_write()?;
    write.open_table(layout::META)?.insert("format", FORMAT)?;
    write.open_table(layout::NAMESPACES)?;
    write.open_table(layout::HEADS)?;
    write.open_table(layout::EVENTS)?;
    write.open_table(layout::EVENT_PLACES)?;
    write.open_table(layout::INDEXED)?;
    write.open_table(layout::RECORDS)?;
    write.open_table(layout::LEASES)?;
    write.commit()?;
    Ok(())
}

/// Brings an older file to this format, in one transaction: the whole step or nothing of it.
fn upgrade(dir: &Path, database: &Database, found: u64) -> Result<(), redb::Error> {
    let write = database.begin_write()?;
    // Format 1 kept every id in a table of its own; the new index is made from the log when it is needed.
    write.delete_table(layout::OLD_EVENT_IDS)?;
    write.open_table(layout::EVENT_PLACES)?;
    write.open_table(layout::INDEXED)?;
    write.open_table(layout::META)?.insert("format", FORMAT)?;
    write.commit()?;
    tracing::info!(dir = %dir.display(), from = found, to = FORMAT, "the store has a new format");
    Ok(())
}

fn read_marker(dir: &Path) -> Result<Option<Marker>, OpenError> {
    match fs::read(dir.join(MARKER)) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|error| damaged(dir, format!("{MARKER}: {error}"))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(OpenError::Io {
            dir: dir.to_owned(),
            source,
        }),
    }
}

fn holder(dir: &Path) -> String {
    fs::read(dir.join(HOLDER))
        .ok()
        .and_then(|bytes| serde_json::from_slice::<Holder>(&bytes).ok())
        .map_or_else(
            || "another process".to_owned(),
            |holder| format!("process {}", holder.pid),
        )
}

fn damaged(dir: &Path, what: String) -> OpenError {
    OpenError::Damaged {
        dir: dir.to_owned(),
        what,
    }
}

fn create_private(dir: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

/// Writes a small file whole or not at all, and makes it durable.
fn write_private(path: &Path, content: &impl Serialize) -> io::Result<()> {
    let bytes = serde_json::to_vec(content)?;
    let part = path.with_extension("part");
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&part)?;
    io::Write::write_all(&mut file, &bytes)?;
    file.sync_all()?;
    fs::rename(&part, path)?;
    match path.parent() {
        Some(dir) => fs::File::open(dir)?.sync_all(),
        None => Ok(()),
    }
}
