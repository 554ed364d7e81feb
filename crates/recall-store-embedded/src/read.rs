//! Reading: one snapshot a call.

use bytes::Bytes;
use jiff::Timestamp;
use recall_store::{
    Epoch, Error, Grant, LeaseState, LogEntry, LogPage, Namespace, Record, RecordKind, RecordPage,
    Revision, Version,
};
use redb::ReadTransaction;

use crate::layout;

/// A page of events stops early past this many bytes, so that memory stays bounded.
const PAGE_BYTES: usize = 8 * 1024 * 1024;

/// A redb failure while the store is open.
pub(crate) fn broken(error: impl Into<redb::Error>) -> Error {
    match error.into() {
        redb::Error::Corrupted(what) => Error::Damaged(what),
        redb::Error::Io(error) if is_full(&error) => Error::unavailable(format!(
            "the disk of the data directory is full ({error}): free some of it or enlarge the volume; \
             what was acknowledged is kept"
        )),
        error => Error::unavailable(error.to_string()),
    }
}

/// Without what every refusal begins with.
pub(crate) fn in_words(error: &Error) -> String {
    match error {
        Error::Unavailable { reason, .. } => reason.clone(),
        error => error.to_string(),
    }
}

fn is_full(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

fn number(read: &ReadTransaction, ns: &Namespace) -> Result<Option<u32>, Error> {
    let table = read.open_table(layout::NAMESPACES).map_err(broken)?;
    Ok(table
        .get(ns.as_str())
        .map_err(broken)?
        .map(|number| number.value()))
}

pub(crate) fn revision(read: &ReadTransaction, ns: &Namespace) -> Result<Revision, Error> {
    let Some(number) = number(read, ns)? else {
        return Ok(Revision(0));
    };
    let heads = read.open_table(layout::HEADS).map_err(broken)?;
    Ok(Revision(
        heads
            .get(number)
            .map_err(broken)?
            .map_or(0, |head| head.value().0),
    ))
}

pub(crate) fn events(
    read: &ReadTransaction,
    ns: &Namespace,
    after: Revision,
    limit: u32,
) -> Result<LogPage, Error> {
    let revision = revision(read, ns)?;
    let mut entries = Vec::new();
    let Some(number) = number(read, ns)? else {
        return Ok(LogPage { entries, revision });
    };
    let table = read.open_table(layout::EVENTS).map_err(broken)?;
    let from = (number, after.0.saturating_add(1));
    let mut bytes = 0;
    for row in table
        .range(from..=(number, u64::MAX))
        .map_err(broken)?
        .take(limit as usize)
    {
        let (place, value) = row.map_err(broken)?;
        let (id, body) = value.value();
        bytes += body.len();
        entries.push(LogEntry {
            revision: Revision(place.value().1),
            id: id.to_owned(),
            body: Bytes::copy_from_slice(body),
        });
        if bytes >= PAGE_BYTES {
            break;
        }
    }
    Ok(LogPage { entries, revision })
}

pub(crate) fn get(
    read: &ReadTransaction,
    ns: &Namespace,
    kind: RecordKind,
    key: &str,
) -> Result<Option<Record>, Error> {
    let Some(number) = number(read, ns)? else {
        return Ok(None);
    };
    let table = read.open_table(layout::RECORDS).map_err(broken)?;
    let found = table.get((number, kind.number(), key)).map_err(broken)?;
    Ok(found.map(|value| record(key, value.value())))
}

pub(crate) fn list(
    read: &ReadTransaction,
    ns: &Namespace,
    kind: RecordKind,
    prefix: &str,
    after: Option<&str>,
    limit: u32,
) -> Result<RecordPage, Error> {
    let mut page = RecordPage {
        records: Vec::new(),
        next: None,
    };
    let Some(number) = number(read, ns)? else {
        return Ok(page);
    };
    let table = read.open_table(layout::RECORDS).map_err(broken)?;
    let start = after.filter(|after| *after >= prefix).unwrap_or(prefix);
    for row in table
        .range((number, kind.number(), start)..)
        .map_err(broken)?
    {
        let (place, value) = row.map_err(broken)?;
        let (other, shelf, key) = place.value();
        if (other, shelf) != (number, kind.number()) || !key.starts_with(prefix) {
            break;
        }
        if Some(key) == after {
            continue;
        }
        if page.records.len() == limit as usize {
            page.next = page.records.last().map(|last: &Record| last.key.clone());
            break;
        }
        page.records.push(record(key, value.value()));
    }
    Ok(page)
}

pub(crate) fn inspect(
    read: &ReadTransaction,
    ns: &Namespace,
    name: &str,
    now: Timestamp,
) -> Result<Option<LeaseState>, Error> {
    let Some(number) = number(read, ns)? else {
        return Ok(None);
    };
    let table = read.open_table(layout::LEASES).map_err(broken)?;
    let found = table.get((number, name)).map_err(broken)?;
    Ok(found.map(|value| lease(name, value.value(), now)))
}

pub(crate) fn namespaces(
    read: &ReadTransaction,
    after: Option<&Namespace>,
    limit: u32,
) -> Result<Vec<Namespace>, Error> {
    let table = read.open_table(layout::NAMESPACES).map_err(broken)?;
    let start = after.map_or("", Namespace::as_str);
    let mut found = Vec::new();
    for row in table.range(start..).map_err(broken)? {
        let (name, _) = row.map_err(broken)?;
        if found.len() == limit as usize {
            break;
        }
        if after.is_some_and(|after| after.as_str() == name.value()) {
            continue;
        }
        // Internal namespaces hold no memory and do not parse.
        found.extend(name.value().parse::<Namespace>().ok());
    }
    Ok(found)
}

fn record(key: &str, (version, body): (u64, &[u8])) -> Record {
    Record {
        key: key.to_owned(),
        version: Version(version),
        body: Bytes::copy_from_slice(body),
    }
}

/// A row of the lease table as the port sees it.
pub(crate) fn lease(name: &str, row: (u64, &str, i64, bool), now: Timestamp) -> LeaseState {
    let (epoch, holder, expires, released) = row;
    let expires_at = Timestamp::from_microsecond(expires).unwrap_or(Timestamp::MAX);
    let grant = Grant {
        name: name.to_owned(),
        holder: holder.to_owned(),
        epoch: Epoch(epoch),
        expires_at,
    };
    LeaseState {
        grant,
        live: !released && expires_at > now,
    }
}
