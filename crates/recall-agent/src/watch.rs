//! Leases that nobody keeps up any more although their owners live: those of servers that ended.
//!
//! Every server goes through the roster of held agents and looks at the leases that it does not keep
//! up itself. One that nobody renewed for a third of its time is taken up, if its owner is known to
//! live. Several servers may take up one lease: renewing it twice is renewing it once. What was given
//! back, taken over or ended is not owned by the session any more, and the renewal itself sees to
//! that.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream;
use jiff::Timestamp;
use recall_store::LeaseState;

use crate::agents::{Agents, Inner, Seat};
use crate::error::Error;
use crate::head::{Head, Hold};
use crate::records::read;
use crate::renewal::patience;
use crate::roster::Noted;
use crate::session::Life;

/// Notes that one look at the roster takes in; a longer roster takes several.
const PAGE: u32 = 2000;
/// Leases that are looked at together.
const TOGETHER: usize = 16;
/// How often a server looks where others may end: a lease of the shortest time is still caught.
const PERIOD: Duration = Duration::from_secs(1);
/// How often where there is no other. Everything was taken up when it was started.
const PERIOD_ALONE: Duration = Duration::from_secs(15);
/// How long after a call of its owner a note that tells nothing any more is kept. Beyond all that a
/// takeover may take, and all by which clocks may differ.
const STALE_SECONDS: i64 = 3600;

/// What one server has seen of the leases that others keep up.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// Where the next look begins.
    after: Option<String>,
    seen: HashMap<Seat, Seen>,
    /// Counts the times that the whole roster was gone through.
    pass: u64,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    /// Until when the lease lasts, and since when it does.
    expires_at: Option<Timestamp>,
    since: Timestamp,
    /// When it is worth another look.
    next: Timestamp,
    pass: u64,
}

impl Agents {
    /// Takes up every lease whose owner lives. For the start of a server over a store that is its
    /// alone: nobody else can have kept them up.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] if the roster cannot be read.
    pub async fn take_up(&self) -> Result<(), Error> {
        let mut watch = Watch::default();
        while !watch.look(&self.inner, true).await? {}
        Ok(())
    }

    /// Takes up leases as the servers that kept them up end. Never returns.
    pub async fn watch_for_ever(self) {
        let alone = self.inner.store.capabilities().exclusive;
        let period = if alone { PERIOD_ALONE } else { PERIOD };
        let mut watch = Watch::default();
        loop {
            tokio::time::sleep(period).await;
            if let Err(error) = watch.look(&self.inner, alone).await {
                tracing::debug!(%error, "the leases of others were not looked at");
            }
        }
    }
}

impl Watch {
    /// Looks at a piece of the roster; answers whether it was the last. `alone` says that no other
    /// server can be there that keeps a lease up.
    pub(crate) async fn look(&mut self, inner: &Arc<Inner>, alone: bool) -> Result<bool, Error> {
        let page = inner.roster(self.after.as_deref(), PAGE).await?;
        let now = inner.clock.now();
        let (pass, seen) = (self.pass, &mut self.seen);
        let worth = |noted: &Noted| {
            if inner.renewals.keeps(&noted.seat) {
                return false;
            }
            let known = seen.get_mut(&noted.seat);
            known.is_none_or(|known| {
                known.pass = pass;
                known.next <= now
            })
        };
        let worth: Vec<Noted> = page.notes.into_iter().filter(worth).collect();
        let looks = stream::iter(worth).map(|noted| {
            let known = self.seen.get(&noted.seat).copied();
            async move {
                let seen = inner.look_at(&noted, known, alone).await;
                (noted, seen)
            }
        });
        let looked: Vec<_> = looks.buffer_unordered(TOGETHER).collect().await;
        for (Noted { seat, note, .. }, seen) in looked {
            let seen = seen.unwrap_or_else(|error| {
                tracing::debug!(%error, agent = %seat.agent, "a lease was not looked at");
                Some(Sight {
                    expires_at: None,
                    after: note.ttl_seconds / 3,
                })
            });
            match seen {
                Some(sight) => drop(
                    self.seen
                        .insert(seat.clone(), sight.at(now, pass, self.seen.get(&seat))),
                ),
                None => drop(self.seen.remove(&seat)),
            }
        }
        self.after = page.next;
        let last = self.after.is_none();
        if last {
            self.seen.retain(|_, seen| seen.pass == pass);
            self.pass += 1;
        }
        Ok(last)
    }
}

/// What a look at a lease told: until when it lasts, and in how many seconds to look again.
#[derive(Debug, Clone, Copy)]
struct Sight {
    expires_at: Option<Timestamp>,
    after: u64,
}

impl Sight {
    fn at(self, now: Timestamp, pass: u64, before: Option<&Seen>) -> Seen {
        let since = before
            .filter(|before| before.expires_at == self.expires_at)
            .map_or(now, |before| before.since);
        let next = now.checked_add(Duration::from_secs(self.after));
        Seen {
            expires_at: self.expires_at,
            since,
            next: next.unwrap_or(Timestamp::MAX),
            pass,
        }
    }
}

impl Inner {
    /// Looks at a lease that is not kept up here. `None` if it is from now on, or nothing is left to
    /// look at.
    async fn look_at(
        self: &Arc<Self>,
        noted: &Noted,
        known: Option<Seen>,
        alone: bool,
    ) -> Result<Option<Sight>, Error> {
        let Noted { seat, note, .. } = noted;
        let lease = self.store.inspect(&seat.ns, seat.agent.as_str()).await?;
        let live = lease.filter(|lease| lease.live);
        if let (false, Some(LeaseState { grant, .. })) = (alone, &live)
            && !self.is_left(note.ttl_seconds, grant.expires_at, known)
        {
            return Ok(Some(Sight {
                expires_at: Some(grant.expires_at),
                after: note.ttl_seconds / 3,
            }));
        }
        if self.take_up(noted, live.is_some()).await? {
            return Ok(None);
        }
        // It runs out, or has run out: only a call of its owner changes that.
        Ok(Some(Sight {
            expires_at: live.map(|lease| lease.grant.expires_at),
            after: note.ttl_seconds,
        }))
    }

    /// Whether nobody keeps a live lease up: whoever does renews it once in a third of its time.
    fn is_left(&self, ttl_seconds: u64, expires_at: Timestamp, known: Option<Seen>) -> bool {
        let now = self.clock.now();
        let seconds = |from: Timestamp, to: Timestamp| to.duration_since(from).as_secs_f64();
        let ttl = ttl_seconds as f64;
        let unchanged = known
            .filter(|known| known.expires_at == Some(expires_at))
            .is_some_and(|known| seconds(known.since, now) >= ttl / 3.0);
        // By our own clock, which may differ; what is taken up needlessly is renewed twice.
        unchanged || seconds(now, expires_at) < ttl / 2.0
    }

    /// Keeps a lease up from now on if its owner lives; answers whether there is nothing more to look
    /// at.
    async fn take_up(self: &Arc<Self>, noted: &Noted, live: bool) -> Result<bool, Error> {
        let Noted {
            seat,
            note,
            version,
        } = noted;
        let head: Option<Head> = match self.get(seat, &seat.names().head()).await? {
            Some(record) => Some(read(&record)?),
            None => None,
        };
        let age = self.clock.now().duration_since(note.called).as_secs();
        let Some(hold) = head.and_then(|head| head.hold) else {
            // Given back; or noted by who is just about to become its owner.
            if age > STALE_SECONDS {
                self.strike(seat, Some(*version)).await;
            }
            return Ok(false);
        };
        if !self.may_go_on(seat, &hold, age).await {
            if age > STALE_SECONDS && !live {
                self.strike(seat, Some(*version)).await;
            }
            return Ok(false);
        }
        Ok(self.adopt(seat, &hold, note.called).await)
    }

    /// Whether an owner who called that many seconds ago is one to keep a lease up for.
    async fn may_go_on(&self, seat: &Seat, hold: &Hold, silent: i64) -> bool {
        match self.life.of(&seat.ns, &hold.session()).await {
            Life::Alive => true,
            Life::Quiet => silent < patience(hold),
            Life::Ending | Life::Gone => false,
        }
    }
}
