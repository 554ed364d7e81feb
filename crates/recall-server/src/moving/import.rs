//! Into a store.

use std::io::{BufRead, Read};

use recall_store::{Batch, MAX_BODY_BYTES, Namespace, RecordKind, Revision, Store};

use super::line::{Line, VERSION};
use super::{Choice, Totals, store as failed};
use crate::exit::Failure;

/// Events or records of one commit, and the bytes after which it is made early.
const BATCH: usize = 500;
const BATCH_BYTES: usize = 8 * 1024 * 1024;
/// The longest line: the largest body in base64 with room for the rest.
const MAX_LINE_BYTES: usize = MAX_BODY_BYTES * 2;

/// Reads an export into a store. What is there already stays; the same import again changes nothing.
///
/// # Errors
///
/// [`Failure::Damaged`] naming the line that is wrong, or that the end is missing;
/// [`Failure::Unavailable`] if the store cannot be written. What came before is imported then.
pub(crate) async fn import(
    store: &dyn Store,
    choice: &Choice,
    from: &mut impl BufRead,
) -> Result<Totals, Failure> {
    let mut lines = Lines { from, number: 0 };
    match lines.next()? {
        Some(Line::RecallExport(start)) if start.version == VERSION => {}
        Some(Line::RecallExport(start)) => {
            return Err(Failure::Damaged(format!(
                "the export has version {}; this program reads {VERSION}",
                start.version
            )));
        }
        _ => return Err(lines.wrong("an export begins with {\"recall_export\":…}")),
    }
    let mut totals = Totals::default();
    let mut waiting = Waiting::default();
    let mut ns: Option<Namespace> = None;
    loop {
        match lines.next()? {
            Some(Line::Namespace(name)) => {
                waiting.commit(store, ns.as_ref()).await?;
                let next = namespace(&name).ok_or_else(|| lines.wrong("no namespace"))?;
                if !choice.merge {
                    refuse_full(store, &next).await?;
                }
                totals.namespaces += 1;
                ns = Some(next);
            }
            Some(Line::Event(event)) if ns.is_some() => {
                totals.events += 1;
                waiting.event(event.new_event());
            }
            Some(Line::Record(record)) if ns.is_some() => {
                totals.records += 1;
                let write = record.write().map_err(|what| lines.wrong(&what))?;
                waiting.record(write);
            }
            Some(Line::End(told)) => {
                waiting.commit(store, ns.as_ref()).await?;
                return match told == totals {
                    true => Ok(totals),
                    false => Err(lines.wrong("the end tells other totals than the lines before")),
                };
            }
            Some(_) => return Err(lines.wrong("not at this place")),
            None => {
                return Err(
                    lines.wrong("the export ends here without its last line: it is cut off")
                );
            }
        }
        if waiting.full() {
            waiting.commit(store, ns.as_ref()).await?;
        }
    }
}

fn namespace(name: &str) -> Option<Namespace> {
    let keys = Namespace::keys();
    match name == keys.as_str() {
        true => Some(keys),
        false => name.parse().ok(),
    }
}

/// Two memories are not mixed by accident.
async fn refuse_full(store: &dyn Store, ns: &Namespace) -> Result<(), Failure> {
    if ns.is_internal() {
        return Ok(());
    }
    let mut full = store.revision(ns).await.map_err(failed)? > Revision(0);
    for kind in RecordKind::ALL {
        full = full
            || !store
                .list(ns, kind, "", None, 1)
                .await
                .map_err(failed)?
                .records
                .is_empty();
    }
    match full {
        true => Err(Failure::Unavailable(format!(
            "namespace {ns} holds something already; --merge imports into it all the same"
        ))),
        false => Ok(()),
    }
}

/// What was read and not committed yet.
#[derive(Debug, Default)]
struct Waiting {
    batch: Batch,
    bytes: usize,
}

impl Waiting {
    fn event(&mut self, event: recall_store::NewEvent) {
        self.bytes += event.body.len();
        self.batch.events.push(event);
    }

    fn record(&mut self, write: recall_store::RecordWrite) {
        self.bytes += write.body.as_ref().map_or(0, bytes::Bytes::len);
        self.batch.records.push(write);
    }

    fn full(&self) -> bool {
        self.batch.events.len() + self.batch.records.len() >= BATCH || self.bytes >= BATCH_BYTES
    }

    async fn commit(&mut self, store: &dyn Store, ns: Option<&Namespace>) -> Result<(), Failure> {
        let Self { batch, .. } = std::mem::take(self);
        let Some(ns) = ns.filter(|_| !batch.events.is_empty() || !batch.records.is_empty()) else {
            return Ok(());
        };
        store.commit(ns, batch).await.map(drop).map_err(failed)
    }
}

/// Lines with their numbers.
struct Lines<'a, R> {
    from: &'a mut R,
    number: u64,
}

impl<R: BufRead> Lines<'_, R> {
    fn next(&mut self) -> Result<Option<Line>, Failure> {
        let mut text = Vec::new();
        self.number += 1;
        let mut limited = self.from.by_ref().take(MAX_LINE_BYTES as u64 + 1);
        let read = limited.read_until(b'\n', &mut text);
        read.map_err(|error| Failure::Unavailable(format!("the export cannot be read: {error}")))?;
        if text.is_empty() {
            return Ok(None);
        }
        if text.len() > MAX_LINE_BYTES {
            return Err(self.wrong("longer than any line of an export"));
        }
        serde_json::from_slice(&text)
            .map(Some)
            .map_err(|error| self.wrong(&error.to_string()))
    }

    fn wrong(&self, what: &str) -> Failure {
        Failure::Damaged(format!("line {} of the export: {what}", self.number))
    }
}
