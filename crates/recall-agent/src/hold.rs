//! Taking an agent, keeping it, giving it back.

use std::sync::Arc;

use recall_store::{Acquired, Epoch, Grant, Version};
use serde_json::{Value, json};

use crate::actions;
use crate::agents::{Inner, Seat, busy};
use crate::args::Fields;
use crate::error::Error;
use crate::head::{Head, Hold, Settings};
use crate::limits::{
    DEFAULT_BUDGET, DEFAULT_THRESHOLD, DEFAULT_TTL, MAX_BUDGET, MAX_HOLDER_BYTES, MAX_TTL, MIN_TTL,
};
use crate::ownership::{Standing, held, standing};
use crate::roster::Note;
use crate::session::Session;

/// How often taking over is tried while others try as well.
const TRIES: u32 = 16;

/// The settings of a resume, and whether it is to do without the lease.
pub(crate) fn settings(mut fields: Fields, session: &Session) -> Result<(Settings, bool), Error> {
    let budget = match fields.whole("token_budget")? {
        None | Some(0) => DEFAULT_BUDGET,
        Some(budget) => u64::try_from(budget)
            .ok()
            .filter(|budget| *budget <= MAX_BUDGET)
            .ok_or_else(|| {
                Error::refused(format!(
                    "token_budget must be from 0 to {MAX_BUDGET}, got {budget}"
                ))
            })?,
    };
    let (least, most) = (MIN_TTL.as_secs(), MAX_TTL.as_secs());
    let ttl = match fields.whole("lease_ttl_seconds")? {
        None | Some(0) => DEFAULT_TTL.as_secs(),
        Some(ttl) => u64::try_from(ttl)
            .ok()
            .filter(|ttl| (least..=most).contains(ttl))
            .ok_or_else(|| {
                Error::refused(format!(
                    "lease_ttl_seconds must be from {least} to {most}, got {ttl}"
                ))
            })?,
    };
    let holder = fields.string("holder", MAX_HOLDER_BYTES)?;
    let holder = holder.filter(|holder| !holder.trim().is_empty());
    let threshold = match fields.whole("output_threshold")? {
        None | Some(0) => DEFAULT_THRESHOLD,
        Some(threshold) => threshold,
    };
    let defer = fields.flag("defer_lease")?;
    fields.finish()?;
    let settings = Settings {
        holder: holder.unwrap_or_else(|| session.label.clone()),
        ttl_seconds: ttl,
        token_budget: budget,
        output_threshold: threshold,
    };
    Ok((settings, defer))
}

impl Inner {
    pub(crate) async fn resume(
        self: &Arc<Self>,
        seat: &Seat,
        session: &Session,
        fields: Fields,
    ) -> Result<Value, Error> {
        let (settings, defer) = settings(fields, session)?;
        let turn = self.lock(seat).await;
        let (head, _) = self.head(seat).await?;
        let ours = head.hold_of(session).is_some()
            && self.standing(seat, &head, session).await? == Standing::Ours;
        if ours && !session.reattaches() {
            return Err(Error::refused(format!(
                "agent {:?} is already resumed in this session; call agent_release first",
                seat.agent.as_str()
            )));
        }
        let head = match defer {
            true if ours => head,
            true => {
                self.set_deferral(seat, session, Some(settings.clone()));
                head
            }
            false => {
                let head = self.take(seat, session, &settings).await?;
                self.set_deferral(seat, session, None);
                head
            }
        };
        drop(turn);
        self.context(seat, session, &head).await
    }

    /// Takes the lease after a resume without it, or answers that it is held already. After a loss
    /// it takes the agent back or says by whom it is held.
    pub(crate) async fn reacquire(
        self: &Arc<Self>,
        seat: &Seat,
        session: &Session,
    ) -> Result<Head, Error> {
        let _turn = self.lock(seat).await;
        let (head, _) = self.head(seat).await?;
        let settings = match head.hold_of(session) {
            Some(_) if self.standing(seat, &head, session).await? == Standing::Ours => {
                self.refresh(seat, session).await;
                return self.attach(seat, session).await;
            }
            Some(hold) => hold.settings.clone(),
            None => self
                .deferral(seat, session)
                .unwrap_or_else(|| Settings::of(session)),
        };
        let head = self.take(seat, session, &settings).await?;
        self.set_deferral(seat, session, None);
        Ok(head)
    }

    /// Notes that this process of the owner works on the agent.
    async fn attach(&self, seat: &Seat, session: &Session) -> Result<Head, Error> {
        for _ in 0..TRIES {
            let (mut head, version) = self.head(seat).await?;
            let new = head
                .hold
                .as_mut()
                .filter(|hold| hold.session == session.id())
                .is_some_and(|hold| hold.attach(session.process.as_deref()));
            let fence = head.hold.as_ref().map(|hold| hold.fence);
            let (true, Some(fence)) = (new, fence) else {
                return Ok(head);
            };
            match self.commit(seat, Vec::new(), (&head, version), fence).await {
                Ok(_) => return Ok(head),
                Err(Error::Store(recall_store::Error::Conflict { .. })) => {}
                Err(Error::Store(recall_store::Error::Fenced { .. })) => {
                    let agent = seat.agent.to_string();
                    return Err(Error::Lost { agent });
                }
                Err(error) => return Err(error),
            }
        }
        Err(busy())
    }

    async fn standing(
        &self,
        seat: &Seat,
        head: &Head,
        session: &Session,
    ) -> Result<Standing, Error> {
        let lease = self.store.inspect(&seat.ns, seat.agent.as_str()).await?;
        Ok(standing(head, lease, session))
    }

    /// Makes the session the owner, or refuses because another is.
    async fn take(
        self: &Arc<Self>,
        seat: &Seat,
        session: &Session,
        settings: &Settings,
    ) -> Result<Head, Error> {
        for _ in 0..TRIES {
            let (head, _) = self.head(seat).await?;
            match self.standing(seat, &head, session).await? {
                Standing::Free => {}
                Standing::Ours => match self.reattach(seat, session, settings).await? {
                    Some(head) => return Ok(head),
                    None => continue,
                },
                Standing::OurRemnant(grant) => self.pass_on(seat, grant.epoch).await?,
                Standing::Theirs { hold, grant } => {
                    let theirs = hold.session();
                    let passes =
                        session.replaces(&theirs) || self.life.gone(&seat.ns, &theirs).await;
                    if !passes {
                        return Err(held(&grant));
                    }
                    self.pass_on(seat, grant.epoch).await?;
                }
                Standing::Unexplained(grant) => return Err(held(&grant)),
            }
            let holder = Hold::lease_holder(&session.id(), settings);
            let name = seat.agent.as_str();
            let answer = self
                .store
                .acquire(&seat.ns, name, &holder, settings.ttl())
                .await?;
            if let Acquired::Granted(grant) = answer
                && let Some(head) = self.enter(seat, session, settings, &grant).await?
            {
                return Ok(head);
            }
        }
        Err(busy())
    }

    async fn pass_on(&self, seat: &Seat, epoch: Epoch) -> Result<(), Error> {
        self.store
            .release(&seat.ns, seat.agent.as_str(), epoch)
            .await?;
        Ok(())
    }

    /// Records a new owner under a fresh grant and settles what the former one left open. `None` if
    /// the grant was overtaken.
    async fn enter(
        self: &Arc<Self>,
        seat: &Seat,
        session: &Session,
        settings: &Settings,
        grant: &Grant,
    ) -> Result<Option<Head>, Error> {
        let epoch = grant.epoch.0;
        let process = session.process.as_deref();
        let entered = self.settle(seat, session, epoch, |head| {
            // Its other processes may be there still, if its lease had run out.
            let before = head.hold_of(session).map(|hold| hold.processes.clone());
            let mut hold = Hold {
                session: session.id(),
                key: session.key.clone(),
                epoch,
                fence: epoch,
                settings: settings.clone(),
                processes: before.unwrap_or_default(),
            };
            hold.attach(process);
            head.pass_to(hold);
            Some(epoch)
        });
        // Both are there before the owner is told: a server may end at any moment.
        let note = Note {
            ttl_seconds: settings.ttl_seconds,
            called: self.clock.now(),
        };
        let (entered, noted) = futures_util::join!(entered, self.note_held(seat, &note));
        if let Err(error) = &noted {
            tracing::debug!(%error, agent = %seat.agent, "a lease was not noted yet");
        }
        let entered = entered?;
        if let Some(hold) = entered.as_ref().and_then(|head| head.hold.as_ref()) {
            self.entered(seat, session, hold, noted.is_ok());
        }
        Ok(entered)
    }

    /// The owner comes again: its process was restarted, or is one of several. The epoch stays.
    async fn reattach(
        self: &Arc<Self>,
        seat: &Seat,
        session: &Session,
        settings: &Settings,
    ) -> Result<Option<Head>, Error> {
        // Coming again is a sign of life.
        self.refresh(seat, session).await;
        let (head, _) = self.head(seat).await?;
        let Some(epoch) = head.hold_of(session).map(|hold| hold.epoch) else {
            return Ok(None);
        };
        self.settle(seat, session, epoch, |head| {
            let hold = head
                .hold
                .as_mut()
                .filter(|hold| hold.session == session.id())?;
            hold.settings = settings.clone();
            hold.key.clone_from(&session.key);
            hold.attach(session.process.as_deref());
            Some(hold.fence)
        })
        .await
    }

    /// Settles open actions and writes the head as `own` makes it; `own` answers the fence to write
    /// under. `None` if the ownership changed meanwhile.
    async fn settle(
        self: &Arc<Self>,
        seat: &Seat,
        session: &Session,
        epoch: u64,
        own: impl Fn(&mut Head) -> Option<u64> + Send + Sync,
    ) -> Result<Option<Head>, Error> {
        for _ in 0..TRIES {
            let (mut head, version) = self.head(seat).await?;
            let whole = head.hold_of(session).is_none();
            let kept = head
                .hold_of(session)
                .is_some_and(|hold| hold.epoch == epoch);
            let mut found = match kept {
                true => Vec::new(),
                false => self.recount(seat, &mut head).await?,
            };
            let open = self.pending(seat, &head).await?;
            let Some(fence) = own(&mut head) else {
                return Ok(None);
            };
            let desk = self.desk(epoch, -1)?;
            let mut writes = actions::settle(seat.names(), &mut head, open, &desk, whole)?;
            writes.append(&mut found);
            match self.commit(seat, writes, (&head, version), fence).await {
                Ok(_) => {
                    self.ledger.note(seat, &head);
                    return Ok(Some(head));
                }
                Err(Error::Store(recall_store::Error::Conflict { .. })) => {}
                Err(Error::Store(recall_store::Error::Fenced { .. })) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        Err(busy())
    }

    /// Gives the agent back, whoever else of the session works on it.
    pub(crate) async fn release(&self, seat: &Seat, session: &Session) -> Result<Value, Error> {
        let _turn = self.lock(seat).await;
        let deferred = self.deferred(seat, session);
        self.set_deferral(seat, session, None);
        for _ in 0..TRIES {
            let (head, version) = self.head(seat).await?;
            let Some(hold) = head.hold_of(session).cloned() else {
                return Ok(json!({ "released": false, "deferred": deferred }));
            };
            if let Some(released) = self.give_back(seat, (head, version), &hold).await? {
                return Ok(json!({ "released": released }));
            }
        }
        Err(busy())
    }

    /// A process of the session ends. Gives the agent back if it was the last that works on it.
    pub(crate) async fn leave(&self, seat: &Seat, session: &Session) -> Result<Value, Error> {
        let Some(process) = &session.process else {
            return self.release(seat, session).await;
        };
        let _turn = self.lock(seat).await;
        for _ in 0..TRIES {
            let (mut head, version) = self.head(seat).await?;
            let Some(hold) = head.hold_of(session).cloned() else {
                return Ok(json!({ "released": false }));
            };
            let others = head.hold.as_mut().is_some_and(|left| left.detach(process));
            if !others {
                match self.give_back(seat, (head, version), &hold).await? {
                    Some(released) => return Ok(json!({ "released": released })),
                    None => continue,
                }
            }
            let stays = json!({ "released": false, "others": true });
            if head.hold.as_ref() == Some(&hold) {
                return Ok(stays);
            }
            match self
                .commit(seat, Vec::new(), (&head, version), hold.fence)
                .await
            {
                Ok(_) => return Ok(stays),
                Err(Error::Store(recall_store::Error::Conflict { .. })) => {}
                Err(Error::Store(recall_store::Error::Fenced { .. })) => {
                    return Ok(json!({ "released": false }));
                }
                Err(error) => return Err(error),
            }
        }
        Err(busy())
    }

    /// Ends a hold and its lease; answers whether it was still the one that stood. `None` if another
    /// write came in between.
    async fn give_back(
        &self,
        seat: &Seat,
        (mut head, version): (Head, Option<Version>),
        hold: &Hold,
    ) -> Result<Option<bool>, Error> {
        let noted = self.noted(seat).await;
        head.hold = None;
        match self
            .commit(seat, Vec::new(), (&head, version), hold.fence)
            .await
        {
            Ok(_) => {
                self.renewals.forget(seat);
                self.pass_on(seat, Epoch(hold.fence)).await?;
                self.strike(seat, noted).await;
                Ok(Some(true))
            }
            Err(Error::Store(recall_store::Error::Conflict { .. })) => Ok(None),
            Err(Error::Store(recall_store::Error::Fenced { .. })) => Ok(Some(false)),
            Err(error) => Err(error),
        }
    }

    /// Extends the owner's lease, takes it again if it ran out with nobody after, or adopts the
    /// epoch that another server reached. Answers whether the head was written.
    pub(crate) async fn refresh(self: &Arc<Self>, seat: &Seat, session: &Session) -> bool {
        match self.try_refresh(seat, session).await {
            Ok(written) => written,
            // The write that follows tells what is the matter.
            Err(error) => {
                tracing::debug!(%error, agent = %seat.agent, "a lease was not extended");
                false
            }
        }
    }

    async fn try_refresh(self: &Arc<Self>, seat: &Seat, session: &Session) -> Result<bool, Error> {
        let (mut head, version) = self.head(seat).await?;
        let Some(hold) = head.hold_of(session).cloned() else {
            return Ok(false);
        };
        let (name, ttl) = (seat.agent.as_str(), hold.settings.ttl());
        let lease = self.store.inspect(&seat.ns, name).await?;
        let live = lease.as_ref().is_some_and(|lease| lease.live);
        let (grant, taken) = match (standing(&head, lease.clone(), session), lease) {
            (Standing::Ours, Some(lease)) => {
                (self.store.renew(&seat.ns, &lease.grant, ttl).await?, false)
            }
            _ if live => return Ok(false),
            _ => {
                let holder = Hold::lease_holder(&session.id(), &hold.settings);
                match self.store.acquire(&seat.ns, name, &holder, ttl).await? {
                    Acquired::Granted(grant) => (grant, true),
                    Acquired::Held(_) => return Ok(false),
                }
            }
        };
        self.renewed(seat, session, &hold);
        let epoch = grant.epoch.0;
        if epoch == hold.fence {
            return Ok(false);
        }
        if let Some(hold) = &mut head.hold {
            hold.fence = epoch;
            if taken {
                hold.epoch = epoch;
            }
        }
        let found = match taken {
            true => self.recount(seat, &mut head).await?,
            false => Vec::new(),
        };
        match self.commit(seat, found, (&head, version), epoch).await {
            Ok(_) => Ok(true),
            Err(error) => {
                // Unrecorded, the grant would only stand in the way of whoever came in between.
                if taken {
                    self.pass_on(seat, grant.epoch).await?;
                }
                Err(error)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;
    use crate::session::SessionKind;

    #[track_caller]
    fn check(arguments: Value, expected: Result<(u64, u64, i64, &str, bool), &str>) {
        let session = Session {
            kind: SessionKind::Fixed,
            key: None,
            label: "me".to_owned(),
            process: None,
        };
        let arguments = match arguments {
            Value::Object(arguments) => arguments,
            _ => Map::new(),
        };
        let outcome = settings(Fields::new(arguments), &session);
        let outcome = outcome.map_err(|error| error.to_string());
        let expected =
            expected
                .map_err(str::to_owned)
                .map(|(budget, ttl, threshold, holder, defer)| {
                    let settings = Settings {
                        holder: holder.to_owned(),
                        ttl_seconds: ttl,
                        token_budget: budget,
                        output_threshold: threshold,
                    };
                    (settings, defer)
                });
        assert_eq!(outcome, expected);
    }

    #[test]
    fn settings_of_a_resume() {
        check(json!({}), Ok((8000, 60, 2000, "me", false)));
        let zeros = json!({"token_budget": 0, "lease_ttl_seconds": 0, "output_threshold": 0, "holder": " "});
        check(zeros, Ok((8000, 60, 2000, "me", false)));
        let all = json!({"token_budget": 5, "lease_ttl_seconds": 5, "output_threshold": -1, "holder": "h", "defer_lease": true});
        check(all, Ok((5, 5, -1, "h", true)));
        check(
            json!({"token_budget": -1}),
            Err("token_budget must be from 0 to 10000000, got -1"),
        );
        for ttl in [-1, 4, 3601] {
            let text = format!("lease_ttl_seconds must be from 5 to 3600, got {ttl}");
            check(json!({"lease_ttl_seconds": ttl}), Err(&text));
        }
        check(
            json!({"lease_ttl_seconds": 3600}),
            Ok((8000, 3600, 2000, "me", false)),
        );
        check(
            json!({"holder": "h".repeat(201)}),
            Err("holder may have at most 200 bytes, got 201"),
        );
        check(
            json!({"defer_lease": "yes"}),
            Err("defer_lease must be true or false, got a string"),
        );
        check(json!({"nope": 1}), Err("unknown field nope"));
    }
}
