//! Keeping leases up between calls, on the servers that last served their owners.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Weak};

use jiff::Timestamp;
use parking_lot::Mutex;

use crate::agents::{Inner, Seat};
use crate::head::Hold;
use crate::session::{Life, Session};

/// Leases that one server keeps up in the background. Those beyond are renewed by calls alone.
const MAX_KEPT: usize = 16_384;
/// How many lease times the owner with a key that never ends may be silent before its lease is left
/// to run out: the key proves nothing, and its process may be gone.
const SILENT_TTLS: i64 = 10;

/// What this server keeps up.
#[derive(Default)]
pub(crate) struct Renewals(Mutex<HashMap<Seat, Kept>>);

struct Kept {
    session: Session,
    renewed: Timestamp,
    called: Timestamp,
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

    /// Notes a renewal; answers whether nothing kept this lease up before.
    fn renewed(&self, seat: &Seat, session: &Session, now: Timestamp) -> bool {
        let mut kept = self.0.lock();
        if let Some(known) = kept.get_mut(seat)
            && known.session.kind == session.kind
        {
            known.renewed = now;
            return false;
        }
        if kept.len() >= MAX_KEPT && !kept.contains_key(seat) {
            return false;
        }
        let fresh = Kept {
            session: session.clone(),
            renewed: now,
            called: now,
        };
        kept.insert(seat.clone(), fresh);
        true
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

    /// Notes a renewal, and from the first one on keeps the lease up in the background.
    pub(crate) fn renewed(self: &Arc<Self>, seat: &Seat, session: &Session, hold: &Hold) {
        if self.renewals.renewed(seat, session, self.clock.now()) {
            let (weak, seat, session) = (Arc::downgrade(self), seat.clone(), session.clone());
            let period = hold.settings.ttl() / 3;
            tokio::spawn(keep_up(weak, seat, session, period));
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
        let patience = i64::try_from(hold.settings.ttl_seconds)
            .unwrap_or(i64::MAX)
            .saturating_mul(SILENT_TTLS);
        match self.life.of(&session).await {
            Life::Alive => {}
            Life::Quiet if silent < patience => {}
            Life::Quiet | Life::Ending | Life::Gone => return false,
        }
        let _turn = self.lock(seat).await;
        self.refresh(seat, &session).await;
        true
    }
}

/// Ends when the owner gave the agent back or lost it, when its proof ended, or with the server.
async fn keep_up(inner: Weak<Inner>, seat: Seat, session: Session, period: std::time::Duration) {
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
