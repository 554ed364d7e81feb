//! Keeping leases up between calls, on the servers that last served their owners, and on those that
//! took them up from one that ended (`watch`).

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;

use crate::agents::{Inner, Seat};
use crate::head::Hold;
use crate::roster::Note;
use crate::session::{Life, Session};

/// Leases that one server keeps up in the background. Those beyond are kept up by another server
/// over the store, if there is one with room, and else by calls alone.
const MAX_KEPT: usize = 16_384;
/// How many lease times the owner with a key that lasts may be silent before its lease is left
/// to run out: the key proves nothing, and its process may be gone.
const SILENT_TTLS: i64 = 10;

/// What this server keeps up.
#[derive(Default)]
pub(crate) struct Renewals(Mutex<HashMap<Seat, Kept>>);

struct Kept {
    session: Session,
    renewed: Timestamp,
    called: Timestamp,
    /// The call that the roster tells, if this server wrote or read it.
    noted: Option<Timestamp>,
}

impl fmt::Debug for Renewals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Renewals")
            .field("kept", &self.0.lock().len())
            .finish()
    }
}

impl Renewals {
    /// Ends keeping up whatever this agent's lease is.
    pub(crate) fn forget(&self, seat: &Seat) {
        self.0.lock().remove(seat);
    }

    /// Notes a call of the owner; answers when its lease was last renewed here.
    fn called(&self, seat: &Seat, session: &Session, now: Timestamp) -> Option<Timestamp> {
        let mut kept = self.0.lock();
        let kept = kept
            .get_mut(seat)
            .filter(|kept| kept.session.kind == session.kind)?;
        kept.called = now;
        kept.session.key.clone_from(&session.key);
        Some(kept.renewed)
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.0.lock().len()
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether this server keeps the lease of this agent up.
    pub(crate) fn keeps(&self, seat: &Seat) -> bool {
        self.0.lock().contains_key(seat)
    }

    /// Notes a renewal; answers whether nothing kept this lease up before. `called` is the last call
    /// that is known of, and `noted` the one that the roster tells.
    fn renewed(
        &self,
        seat: &Seat,
        session: &Session,
        now: Timestamp,
        (called, noted): (Timestamp, Option<Timestamp>),
    ) -> bool {
        let mut kept = self.0.lock();
        if let Some(known) = kept.get_mut(seat)
            && known.session.kind == session.kind
        {
            known.renewed = now;
            known.noted = known.noted.max(noted);
            return false;
        }
        if kept.len() >= MAX_KEPT && !kept.contains_key(seat) {
            return false;
        }
        let fresh = Kept {
            session: session.clone(),
            renewed: now,
            called,
            noted,
        };
        kept.insert(seat.clone(), fresh);
        true
    }

    /// The last call that is known of and not in the roster, if it is worth a note.
    fn worth_noting(&self, seat: &Seat, session: &Session, ttl_seconds: u64) -> Option<Timestamp> {
        let kept = self.0.lock();
        let kept = kept
            .get(seat)
            .filter(|kept| kept.session.kind == session.kind)?;
        Note::is_behind(ttl_seconds, kept.noted, kept.called).then_some(kept.called)
    }

    fn noted(&self, seat: &Seat, session: &Session, called: Timestamp) {
        if let Some(kept) = self.0.lock().get_mut(seat)
            && kept.session.kind == session.kind
        {
            kept.noted = kept.noted.max(Some(called));
        }
    }

    /// The session whose lease is kept up, and when it last called.
    fn kept(&self, seat: &Seat, session: &Session) -> Option<(Session, Timestamp)> {
        let kept = self.0.lock();
        let kept = kept
            .get(seat)
            .filter(|kept| kept.session.kind == session.kind)?;
        Some((kept.session.clone(), kept.called))
    }

    fn end(&self, seat: &Seat, session: &Session) {
        let mut kept = self.0.lock();
        if kept
            .get(seat)
            .is_some_and(|kept| kept.session.kind == session.kind)
        {
            kept.remove(seat);
        }
    }
}

impl Inner {
    /// Notes a call of the owner; answers whether its lease is due for renewal: a third of its time
    /// has passed, or this server has not served it before.
    pub(crate) fn due(&self, seat: &Seat, session: &Session, hold: &Hold) -> bool {
        let now = self.clock.now();
        let Some(renewed) = self.renewals.called(seat, session, now) else {
            return true;
        };
        let age = now.duration_since(renewed).as_secs_f64();
        // A clock that was set back tells nothing about the age.
        !(0.0..hold.settings.ttl().as_secs_f64() / 3.0).contains(&age)
    }

    /// Notes a renewal by a call, and from the first one on keeps the lease up in the background.
    pub(crate) fn renewed(self: &Arc<Self>, seat: &Seat, session: &Session, hold: &Hold) {
        let now = self.clock.now();
        self.keep(seat, session, hold, (now, None), Begin::Later);
    }

    /// Keeps the lease of a new owner up; `noted` says that the roster tells of it.
    pub(crate) fn entered(
        self: &Arc<Self>,
        seat: &Seat,
        session: &Session,
        hold: &Hold,
        noted: bool,
    ) {
        let now = self.clock.now();
        let begin = if noted { Begin::Done } else { Begin::Later };
        self.keep(seat, session, hold, (now, noted.then_some(now)), begin);
    }

    /// Keeps a lease up that another server kept up, whose owner called at `called`. Answers whether
    /// there is room for it.
    pub(crate) async fn adopt(
        self: &Arc<Self>,
        seat: &Seat,
        hold: &Hold,
        called: Timestamp,
    ) -> bool {
        let session = hold.session();
        self.keep(seat, &session, hold, (called, Some(called)), Begin::Done);
        let keeps = self.renewals.keeps(seat);
        if keeps && !self.tick(seat, &session).await {
            self.renewals.end(seat, &session);
        }
        keeps
    }

    fn keep(
        self: &Arc<Self>,
        seat: &Seat,
        session: &Session,
        hold: &Hold,
        calls: (Timestamp, Option<Timestamp>),
        begin: Begin,
    ) {
        let now = self.clock.now();
        if self.renewals.renewed(seat, session, now, calls) {
            let (weak, seat, session) = (Arc::downgrade(self), seat.clone(), session.clone());
            let ttl = hold.settings.ttl_seconds;
            tokio::spawn(async move {
                if let (Begin::Later, Some(inner)) = (begin, weak.upgrade()) {
                    inner.note_call(&seat, &session, ttl).await;
                }
                keep_up(weak, seat, session, Duration::from_secs(ttl) / 3).await;
            });
        }
    }

    /// Brings the roster up to the last call that is known of, if it is far behind.
    pub(crate) async fn note_call(&self, seat: &Seat, session: &Session, ttl_seconds: u64) {
        let Some(called) = self.renewals.worth_noting(seat, session, ttl_seconds) else {
            return;
        };
        let note = Note {
            ttl_seconds,
            called,
        };
        match self.note_held(seat, &note).await {
            Ok(()) => self.renewals.noted(seat, session, called),
            Err(error) => {
                tracing::debug!(%error, agent = %seat.agent, "a lease was not noted");
            }
        }
    }

    /// One renewal in the background; answers whether there is another to come.
    async fn tick(self: &Arc<Self>, seat: &Seat, session: &Session) -> bool {
        let Some((session, called)) = self.renewals.kept(seat, session) else {
            return false;
        };
        let (head, _) = match self.head(seat).await {
            Ok(head) => head,
            Err(error) => {
                tracing::debug!(%error, agent = %seat.agent, "a lease was not extended");
                return true;
            }
        };
        let Some(hold) = head.hold_of(&session) else {
            return false;
        };
        let silent = self.clock.now().duration_since(called).as_secs();
        match self.life.of(&seat.ns, &session).await {
            Life::Alive => {}
            Life::Quiet if silent < patience(hold) => {}
            Life::Quiet | Life::Ending | Life::Gone => return false,
        }
        let _turn = self.lock(seat).await;
        self.refresh(seat, &session).await;
        self.note_call(seat, &session, hold.settings.ttl_seconds)
            .await;
        true
    }
}

/// For how many seconds an owner whose key lasts may be silent.
pub(crate) fn patience(hold: &Hold) -> i64 {
    i64::try_from(hold.settings.ttl_seconds)
        .unwrap_or(i64::MAX)
        .saturating_mul(SILENT_TTLS)
}

/// Whether the roster is still to be told that a lease is kept up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Begin {
    Later,
    Done,
}

/// Ends when the owner gave the agent back or lost it, when its proof ended, or with the server.
async fn keep_up(inner: Weak<Inner>, seat: Seat, session: Session, period: Duration) {
    loop {
        tokio::time::sleep(period).await;
        let Some(inner) = inner.upgrade() else {
            return;
        };
        if !inner.tick(&seat, &session).await {
            inner.renewals.end(&seat, &session);
            return;
        }
    }
}
