//! Which agents are held, noted where every server over the store finds it.
//!
//! A lease is kept up by servers, and a server may end. What is noted here outlives it, so that
//! whoever is left, or the same server once it is started again, can go on. A note is a hint: who
//! owns the agent stands in its head alone.

use bytes::Bytes;
use jiff::Timestamp;
use recall_store::{AgentId, Batch, Namespace, Precondition, RecordKind, RecordWrite, Version};
use serde::{Deserialize, Serialize};

use crate::agents::{Inner, Seat};
use crate::error::Error;

/// What the keys of notes begin with, in the server's own namespace.
const PREFIX: &str = "lease:";
/// How many lease times a note may be behind the last call of its owner, so that calls need not be
/// noted one by one.
const BEHIND_TTLS: u64 = 5;

/// That an agent is held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Note {
    /// How long its lease lives without renewal.
    pub(crate) ttl_seconds: u64,
    /// A call of the owner: the last one, or one that is no more than some lease times older.
    pub(crate) called: Timestamp,
}

/// A note as it was found.
#[derive(Debug, Clone)]
pub(crate) struct Noted {
    pub(crate) seat: Seat,
    pub(crate) note: Note,
    pub(crate) version: Version,
}

/// A piece of the roster.
#[derive(Debug, Default)]
pub(crate) struct RosterPage {
    pub(crate) notes: Vec<Noted>,
    /// Where the next piece begins, if there is one.
    pub(crate) next: Option<String>,
}

impl Note {
    /// Whether a call of the owner makes a new note worth writing.
    pub(crate) fn is_behind(ttl_seconds: u64, noted: Option<Timestamp>, called: Timestamp) -> bool {
        let allowed = i64::try_from(ttl_seconds.saturating_mul(BEHIND_TTLS)).unwrap_or(i64::MAX);
        noted.is_none_or(|noted| called.duration_since(noted).as_secs() >= allowed)
    }
}

impl Inner {
    /// Notes that an agent is held.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] if it could not be noted.
    pub(crate) async fn note_held(&self, seat: &Seat, note: &Note) -> Result<(), Error> {
        let body = serde_json::to_vec(note).map_err(|error| Error::refused(error.to_string()))?;
        self.write_note(seat, Some(body.into()), Precondition::None)
            .await
    }

    /// The version of what is noted of an agent.
    pub(crate) async fn noted(&self, seat: &Seat) -> Option<Version> {
        let (space, key) = (Namespace::keys(), key(seat));
        let found = self.store.get(&space, RecordKind::Server, &key).await;
        found.ok().flatten().map(|record| record.version)
    }

    /// Takes a note back unless it was renewed since. One that stays does no harm: it is looked at
    /// and taken back later.
    pub(crate) async fn strike(&self, seat: &Seat, version: Option<Version>) {
        let Some(version) = version else { return };
        let struck = self.write_note(seat, None, Precondition::Version(version));
        if let Err(error) = struck.await {
            tracing::debug!(%error, agent = %seat.agent, "a note of a lease stays");
        }
    }

    /// Notes after the key `after`, at most `limit`.
    pub(crate) async fn roster(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<RosterPage, Error> {
        let (space, kind) = (Namespace::keys(), RecordKind::Server);
        let page = self.store.list(&space, kind, PREFIX, after, limit).await?;
        let notes = page.records.iter().filter_map(|record| {
            Some(Noted {
                seat: seat(&record.key)?,
                note: serde_json::from_slice(&record.body).ok()?,
                version: record.version,
            })
        });
        Ok(RosterPage {
            notes: notes.collect(),
            next: page.next,
        })
    }

    async fn write_note(
        &self,
        seat: &Seat,
        body: Option<Bytes>,
        precondition: Precondition,
    ) -> Result<(), Error> {
        let write = RecordWrite {
            kind: RecordKind::Server,
            key: key(seat),
            body,
            precondition,
        };
        let batch = Batch {
            records: vec![write],
            ..Batch::default()
        };
        self.store.commit(&Namespace::keys(), batch).await?;
        Ok(())
    }
}

/// Neither a namespace nor an agent id holds a `/`.
fn key(seat: &Seat) -> String {
    format!("{PREFIX}{}/{}", seat.ns, seat.agent)
}

fn seat(key: &str) -> Option<Seat> {
    let (ns, agent) = key.strip_prefix(PREFIX)?.split_once('/')?;
    Some(Seat {
        ns: ns.parse().ok()?,
        agent: agent.parse::<AgentId>().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_names_its_agent() {
        let held = Seat {
            ns: "team:a".parse().expect("a namespace"),
            agent: "coder.1".parse().expect("an agent"),
        };
        assert_eq!(seat(&key(&held)), Some(held));
        for other in ["lease:team", "lease:_keys/a", "lease:a/b/c", "cursor"] {
            assert_eq!(seat(other), None, "{other}");
        }
    }

    #[track_caller]
    fn check(noted: Option<i64>, called: i64, expected: bool) {
        let at = |second| Timestamp::from_second(second).expect("an instant");
        let found = Note::is_behind(60, noted.map(at), at(called));
        assert_eq!(found, expected, "{noted:?} {called}");
    }

    #[test]
    fn calls_are_noted_once_in_five_lease_times() {
        check(None, 0, true);
        check(Some(0), 299, false);
        check(Some(0), 300, true);
        // A clock that was set back makes no note older.
        check(Some(900), 0, false);
    }
}
