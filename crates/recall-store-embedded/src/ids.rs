//! Which place of a log holds an event id.
//!
//! Nearly every commit expects a revision, so its writer has read the log and vouches for its ids: nothing
//! is looked up then, and the index is left behind. A commit that expects nothing, an import, needs it. It
//! is brought up to the log first, from the log itself and a slice a transaction, so that the writes of
//! others go on in between.
//!
//! The index holds 64 bits of each id's hash. Where they agree the log's own row decides.

use recall_store::Error;
use redb::ReadableTable;
use sha2::{Digest as _, Sha256};

use crate::read::broken;
use crate::tables::Tables;

/// The most rows of the log, and about the most bytes of them, that one transaction indexes.
pub(crate) const SLICE: u64 = 4096;
const SLICE_BYTES: usize = 8 * 1024 * 1024;

/// The first bits of the id's SHA-256: the same in every version that reads the file.
fn fingerprint(id: &str) -> u64 {
    let digest = Sha256::digest(id.as_bytes());
    digest
        .iter()
        .take(8)
        .fold(0, |bits, byte| bits << 8 | u64::from(*byte))
}

/// Indexes what the log of a namespace has up to `revision`, as far as `rows` allows, and takes from that
/// what it took. Answers whether the index is complete.
pub(crate) fn catch_up(
    tables: &mut Tables<'_>,
    number: u32,
    revision: u64,
    rows: &mut u64,
) -> Result<bool, Error> {
    let known = tables.indexed.open()?.get(number).map_err(broken)?;
    let known = known.map_or(0, |known| known.value());
    let to = revision.min(known.saturating_add(*rows));
    if known >= to {
        return Ok(known >= revision);
    }
    let (found, last) = places_between(tables, number, known + 1, to)?;
    let places = tables.places.open()?;
    for (fingerprint, place) in found {
        places
            .insert((number, fingerprint, place), ())
            .map_err(broken)?;
    }
    know(tables, number, last)?;
    *rows -= last - known;
    Ok(last == revision)
}

/// The fingerprints of a stretch of the log in ascending order, so that they go into the tree page by page,
/// and the last place that was read.
fn places_between(
    tables: &mut Tables<'_>,
    number: u32,
    from: u64,
    to: u64,
) -> Result<(Vec<(u64, u64)>, u64), Error> {
    let log = tables.events.open()?;
    let mut found = Vec::new();
    let (mut bytes, mut last) = (0, from - 1);
    for row in log.range((number, from)..=(number, to)).map_err(broken)? {
        let (place, value) = row.map_err(broken)?;
        let (id, body) = value.value();
        last += 1;
        if place.value().1 != last {
            return Err(gap(last));
        }
        found.push((fingerprint(id), last));
        bytes += body.len();
        if bytes >= SLICE_BYTES {
            break;
        }
    }
    match found.is_empty() {
        true => Err(gap(from)),
        false => {
            found.sort_unstable();
            Ok((found, last))
        }
    }
}

fn gap(revision: u64) -> Error {
    Error::Damaged(format!("the log has no event at revision {revision}"))
}

/// The revision of an id, if the log holds it. The index has to be complete.
pub(crate) fn find(tables: &mut Tables<'_>, number: u32, id: &str) -> Result<Option<u64>, Error> {
    let fingerprint = fingerprint(id);
    let alike = (number, fingerprint, 0)..=(number, fingerprint, u64::MAX);
    let log = tables.events.open()?;
    for row in tables.places.open()?.range(alike).map_err(broken)? {
        let (_, _, place) = row.map_err(broken)?.0.value();
        let entry = log.get((number, place)).map_err(broken)?;
        let entry = entry.ok_or_else(|| gap(place))?;
        if entry.value().0 == id {
            return Ok(Some(place));
        }
    }
    Ok(None)
}

/// Adds an id that the log holds from now on.
pub(crate) fn add(
    tables: &mut Tables<'_>,
    number: u32,
    id: &str,
    revision: u64,
) -> Result<(), Error> {
    let place = (number, fingerprint(id), revision);
    tables.places.open()?.insert(place, ()).map_err(broken)?;
    Ok(())
}

/// The index knows the log up to here.
pub(crate) fn know(tables: &mut Tables<'_>, number: u32, revision: u64) -> Result<(), Error> {
    tables
        .indexed
        .open()?
        .insert(number, revision)
        .map_err(broken)?;
    Ok(())
}
