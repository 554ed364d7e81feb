//! Out of a store.

use std::io::Write;

use jiff::Timestamp;
use recall_store::{Namespace, RecordKind, Revision, Store};

use super::line::{Event, Kept, Line, Start, VERSION};
use super::{Choice, Totals, store as failed, unwritable};
use crate::exit::Failure;

/// Events and records of one request to the store.
const PAGE: u32 = 1000;

/// Writes what was chosen to `to`.
///
/// # Errors
///
/// [`Failure`] if the store cannot be read or `to` not written; the export then has no end.
pub(crate) async fn export(
    store: &dyn Store,
    now: Timestamp,
    choice: &Choice,
    to: &mut impl Write,
) -> Result<Totals, Failure> {
    let start = Start {
        version: VERSION,
        at: now.to_string(),
    };
    put(to, &Line::RecallExport(start))?;
    let mut totals = Totals::default();
    for ns in namespaces(store, choice).await? {
        put(to, &Line::Namespace(ns.to_string()))?;
        totals.namespaces += 1;
        totals.events += events(store, &ns, to).await?;
        for kind in RecordKind::ALL {
            totals.records += records(store, &ns, kind, to).await?;
        }
    }
    put(to, &Line::End(totals))?;
    Ok(totals)
}

async fn namespaces(store: &dyn Store, choice: &Choice) -> Result<Vec<Namespace>, Failure> {
    let mut chosen = choice.namespaces.clone();
    if chosen.is_empty() {
        let mut after: Option<Namespace> = None;
        loop {
            let page = store
                .namespaces(after.as_ref(), PAGE)
                .await
                .map_err(failed)?;
            after = page.last().cloned();
            chosen.extend(page.into_iter().filter(|ns| !ns.is_internal()));
            if after.is_none() {
                break;
            }
        }
    }
    if choice.keys {
        chosen.push(Namespace::keys());
    }
    Ok(chosen)
}

async fn events(store: &dyn Store, ns: &Namespace, to: &mut impl Write) -> Result<u64, Failure> {
    let (mut after, mut count) = (Revision(0), 0);
    loop {
        let page = store.events(ns, after, PAGE).await.map_err(failed)?;
        let Some(last) = page.entries.last() else {
            return Ok(count);
        };
        after = last.revision;
        for entry in page.entries {
            let event = Event::of(entry.id, &entry.body).map_err(Failure::Damaged)?;
            put(to, &Line::Event(event))?;
            count += 1;
        }
        if after >= page.revision {
            return Ok(count);
        }
    }
}

async fn records(
    store: &dyn Store,
    ns: &Namespace,
    kind: RecordKind,
    to: &mut impl Write,
) -> Result<u64, Failure> {
    let (mut after, mut count) = (None::<String>, 0);
    loop {
        let page = store
            .list(ns, kind, "", after.as_deref(), PAGE)
            .await
            .map_err(failed)?;
        for record in page.records {
            put(to, &Line::Record(Kept::of(kind, record)))?;
            count += 1;
        }
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(count),
        }
    }
}

fn put(to: &mut impl Write, line: &Line) -> Result<(), Failure> {
    serde_json::to_writer(&mut *to, line)
        .map_err(std::io::Error::from)
        .and_then(|()| to.write_all(b"\n"))
        .map_err(unwritable)
}
