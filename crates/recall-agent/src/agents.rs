//! The handle that the API holds: tools in, answers out.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use recall_memory::Memory;
use recall_store::{
    AgentId, Batch, Clock, Committed, Fence, Namespace, Precondition, Record, RecordKind, Store,
    Version,
};
use serde_json::{Map, Value, json};
use tokio::sync::{Mutex, MutexGuard};

use crate::args::Fields;
use crate::change::Change;
use crate::error::Error;
use crate::head::{Desk, Head, Settings};
use crate::ledger::Ledger;
use crate::limits::{DEFAULT_LISTED, MAX_LISTED, MAX_POINTERS};
use crate::objects::{Action, Output, Pointer, Status, Turn, WorkingState};
use crate::records::{Names, Place, list, read};
use crate::renewal::Renewals;
use crate::session::{Liveness, Session};
use crate::tool::Tool;
use crate::weight::{Growth, Weighed, weighed};
use crate::{actions, outputs, ownership, pointers, turns, working};

/// How often a decision is made anew because another write came first. Writes of one agent through
/// one server wait for each other, so only other servers can get in between.
const TRIES: u32 = 64;
/// Locks that the agents share: a write waits only for writes of the same agent, and rarely for one
/// of an agent that happens to share its lock.
const LOCKS: usize = 1024;
/// Resumes without a lease whose settings are remembered.
const MAX_DEFERRED: u64 = 10_000;

/// The agents of every namespace of a server. Cloning gives another handle to the same.
#[derive(Debug, Clone)]
pub struct Agents {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) memory: Memory,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) life: Arc<dyn Liveness>,
    pub(crate) renewals: Renewals,
    pub(crate) ledger: Ledger,
    pub(crate) weighed: Weighed,
    locks: Vec<Mutex<()>>,
    hasher: RandomState,
    deferred: moka::sync::Cache<(Seat, String), Settings>,
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agents")
            .field("store", &self.store)
            .field("renewals", &self.renewals)
            .finish_non_exhaustive()
    }
}

/// One agent of one namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Seat {
    pub(crate) ns: Namespace,
    pub(crate) agent: AgentId,
}

impl Seat {
    pub(crate) fn names(&self) -> Names<'_> {
        Names(&self.agent)
    }
}

impl Agents {
    /// The agents kept in `store`, which must have leases. Briefings draw on `memory`; `life` says
    /// which sessions are still there.
    #[must_use]
    pub fn new(
        store: Arc<dyn Store>,
        memory: Memory,
        clock: Arc<dyn Clock>,
        life: Arc<dyn Liveness>,
    ) -> Self {
        Self {
            inner: Arc::new(Inner {
                store,
                memory,
                clock,
                life,
                renewals: Renewals::default(),
                ledger: Ledger::default(),
                weighed: weighed(),
                locks: (0..LOCKS).map(|_| Mutex::new(())).collect(),
                hasher: RandomState::new(),
                deferred: moka::sync::Cache::new(MAX_DEFERRED),
            }),
        }
    }

    /// Uses a tool as `session`. A write that was answered with `Ok` is in the store, under an epoch
    /// that was the newest when it got there.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] for arguments or a state that do not allow it; [`Error::Held`],
    /// [`Error::Lost`] and [`Error::NotAcquired`] when the session does not own the agent;
    /// [`Error::Store`] and [`Error::Memory`] when they could not do their part.
    pub async fn call(
        &self,
        ns: &Namespace,
        session: &Session,
        tool: Tool,
        arguments: Map<String, Value>,
    ) -> Result<Value, Error> {
        let mut fields = Fields::new(arguments);
        let seat = Seat {
            ns: ns.clone(),
            agent: fields.agent_id()?,
        };
        let inner = &self.inner;
        match tool {
            Tool::Resume | Tool::Acquire => {
                let answer = match tool {
                    Tool::Resume => inner.resume(&seat, session, fields).await,
                    _ => inner.acquire(&seat, session, fields).await,
                };
                tell_epoch(answer.as_ref().ok().and_then(|it| it["epoch"].as_u64()));
                answer
            }
            Tool::Release => {
                fields.finish()?;
                inner.release(&seat, session).await
            }
            Tool::Context => {
                fields.finish()?;
                let head = inner.attend(&seat, session).await?;
                inner.context(&seat, session, &head).await
            }
            Tool::UpdateWorkingState => {
                inner.write(&seat, session, &working::update(fields)?).await
            }
            Tool::Milestone => {
                inner
                    .write(&seat, session, &working::milestone(fields)?)
                    .await
            }
            Tool::RecordTurn => inner.write(&seat, session, &turns::record(fields)?).await,
            Tool::StoreOutput => inner.write(&seat, session, &outputs::store(fields)?).await,
            Tool::SetPointer => inner.write(&seat, session, &pointers::set(fields)?).await,
            Tool::RemovePointer => {
                inner
                    .write(&seat, session, &pointers::remove(fields)?)
                    .await
            }
            Tool::BeginAction => inner.write(&seat, session, &actions::begin(fields)?).await,
            Tool::EndAction => inner.write(&seat, session, &actions::end(fields)?).await,
            Tool::RecentTurns
            | Tool::FetchOutput
            | Tool::ListPointers
            | Tool::PendingActions
            | Tool::WorkingStateHistory => inner.look(&seat, session, tool, fields).await,
        }
    }

    /// A process of the owner ends: gives the agent back if no other process of the session works on
    /// it. A process without a name gives it back in any case.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call) with [`Tool::Release`].
    pub async fn leave(
        &self,
        ns: &Namespace,
        session: &Session,
        arguments: Map<String, Value>,
    ) -> Result<Value, Error> {
        let mut fields = Fields::new(arguments);
        let seat = Seat {
            ns: ns.clone(),
            agent: fields.agent_id()?,
        };
        fields.finish()?;
        self.inner.leave(&seat, session).await
    }
}

/// Tells the span of the call, if there is one, under which epoch it is done.
fn tell_epoch(epoch: Option<u64>) {
    if let Some(epoch) = epoch {
        tracing::Span::current().record("recall.lease.epoch", epoch);
    }
}

impl Inner {
    /// Waits for the writes of this agent that are under way on this server.
    pub(crate) async fn lock(&self, seat: &Seat) -> Option<MutexGuard<'_, ()>> {
        let at = self.hasher.hash_one(seat) as usize % LOCKS;
        match self.locks.get(at) {
            Some(lock) => Some(lock.lock().await),
            None => None,
        }
    }

    pub(crate) async fn get(&self, seat: &Seat, place: &Place) -> Result<Option<Record>, Error> {
        Ok(self.store.get(&seat.ns, place.kind, &place.key).await?)
    }

    /// The head of an agent and its version; of an agent without one, what its records tell.
    pub(crate) async fn head(&self, seat: &Seat) -> Result<(Head, Option<Version>), Error> {
        match self.get(seat, &seat.names().head()).await? {
            Some(record) => Ok((read(&record)?, Some(record.version))),
            None => Ok((self.recover(seat).await?, None)),
        }
    }

    /// Counts what is there: records may come from another program, which keeps no head.
    async fn recover(&self, seat: &Seat) -> Result<Head, Error> {
        let mut head = Head::default();
        let (store, ns, prefix) = (&*self.store, &seat.ns, seat.names().prefix());
        let every = u64::MAX;
        let turns: Vec<Turn> = list(store, ns, RecordKind::Turn, &prefix, None, every).await?;
        head.turn_seq = turns.last().map_or(0, |turn| turn.seq);
        let actions: Vec<Action> =
            list(store, ns, RecordKind::Action, &prefix, None, every).await?;
        head.action_seq = actions.last().map_or(0, |action| action.seq);
        let open = actions.iter().filter(|action| action.status.open());
        head.open = open.map(|action| action.seq).collect();
        let pointers: Vec<Pointer> =
            list(store, ns, RecordKind::Pointer, &prefix, None, every).await?;
        head.pointers = u32::try_from(pointers.len()).unwrap_or(MAX_POINTERS);
        if let Some(record) = self.get(seat, &seat.names().working_state()).await? {
            head.version = read::<WorkingState>(&record)?.version;
        }
        Ok(head)
    }

    /// Writes records together with the head they were decided on, if nothing came in between.
    pub(crate) async fn commit(
        &self,
        seat: &Seat,
        mut records: Vec<recall_store::RecordWrite>,
        (head, version): (&Head, Option<Version>),
        fence: u64,
    ) -> Result<Committed, Error> {
        let precondition = version.map_or(Precondition::Absent, Precondition::Version);
        let epoch = head.hold.as_ref().map_or(fence, |hold| hold.epoch);
        let names = seat.names();
        records.push(names.write(names.head(), head, epoch, precondition)?);
        let batch = Batch {
            records,
            fence: Some(Fence {
                lease: seat.agent.to_string(),
                epoch: recall_store::Epoch(fence),
            }),
            ..Batch::default()
        };
        Ok(self.store.commit(&seat.ns, batch).await?)
    }

    pub(crate) fn desk(&self, epoch: u64, threshold: i64) -> Result<Desk, Error> {
        let mut random = [0u8; 16];
        getrandom::fill(&mut random)
            .map_err(|error| recall_store::Error::unavailable(error.to_string()))?;
        Ok(Desk {
            now: self.clock.now(),
            key: hex::encode(random),
            epoch,
            threshold,
        })
    }

    /// Decides and writes until no other write comes in between.
    async fn write(
        self: &Arc<Self>,
        seat: &Seat,
        session: &Session,
        change: &dyn Change,
    ) -> Result<Value, Error> {
        let _turn = self.lock(seat).await;
        let names = seat.names();
        for _ in 0..TRIES {
            let (mut head, version) = self.head(seat).await?;
            let hold =
                ownership::may_write(&head, session, self.deferred(seat, session), &seat.agent)?;
            let hold = hold.clone();
            if self.due(seat, session, &hold) && self.refresh(seat, session).await {
                continue;
            }
            let places = change.needs(names, &head);
            let mut found = Vec::with_capacity(places.len());
            for place in &places {
                found.push(self.get(seat, place).await?);
            }
            tell_epoch(Some(hold.epoch));
            let process = session.process.as_deref();
            let joins = head.hold.as_mut().is_some_and(|hold| hold.attach(process));
            let desk = self.desk(hold.epoch, hold.settings.output_threshold)?;
            let plan = change.decide(names, &mut head, &found, &desk)?;
            // What changes nothing is work all the same: whoever did it is not gone.
            if plan.writes.is_empty() && !joins {
                return Ok(plan.answer);
            }
            let growth = Growth::of(&plan.writes, &places, &found);
            let taken = self.take_room(&seat.ns, growth).await?;
            head.bytes = head.bytes.saturating_add_signed(growth.bytes);
            match self
                .commit(seat, plan.writes, (&head, version), hold.fence)
                .await
            {
                Ok(_) => {
                    if let Some(taken) = taken {
                        taken.keep();
                    }
                    self.ledger.note(seat, &head);
                    return Ok(plan.answer);
                }
                Err(Error::Store(recall_store::Error::Conflict { .. })) => {}
                Err(Error::Store(recall_store::Error::Fenced { .. })) => {
                    // The same session may have been given a newer epoch by another server.
                    let (now, _) = self.head(seat).await?;
                    let fence = now.hold_of(session).map(|now| now.fence);
                    if fence.is_none_or(|fence| fence == hold.fence) {
                        let agent = seat.agent.to_string();
                        return Err(Error::Lost { agent });
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Err(busy())
    }

    /// Reads the head, and keeps the lease up if the reader is the owner.
    async fn attend(self: &Arc<Self>, seat: &Seat, session: &Session) -> Result<Head, Error> {
        let (head, _) = self.head(seat).await?;
        let Some(hold) = head.hold_of(session) else {
            return Ok(head);
        };
        tell_epoch(Some(hold.epoch));
        if self.due(seat, session, hold) {
            let _turn = self.lock(seat).await;
            self.refresh(seat, session).await;
        }
        Ok(head)
    }

    async fn look(
        self: &Arc<Self>,
        seat: &Seat,
        session: &Session,
        tool: Tool,
        mut fields: Fields,
    ) -> Result<Value, Error> {
        let reference = match tool {
            Tool::FetchOutput => fields.name("ref")?,
            _ => None,
        };
        let limit = match tool {
            Tool::RecentTurns | Tool::WorkingStateHistory => listed(fields.whole("limit")?)?,
            _ => DEFAULT_LISTED,
        };
        fields.finish()?;
        let head = self.attend(seat, session).await?;
        match tool {
            Tool::FetchOutput => {
                let reference = reference.ok_or_else(|| Error::refused("ref is required"))?;
                crate::change::value(&self.output(seat, &reference).await?)
            }
            Tool::ListPointers => crate::change::value(&self.pointers(seat).await?),
            Tool::PendingActions => crate::change::value(&self.pending(seat, &head).await?),
            Tool::WorkingStateHistory => {
                let kind = RecordKind::WorkingState;
                let mut states: Vec<WorkingState> =
                    self.tail(seat, kind, head.version, limit).await?;
                states.reverse();
                crate::change::value(&states)
            }
            _ => {
                let turns: Vec<Turn> = self
                    .tail(seat, RecordKind::Turn, head.turn_seq, limit)
                    .await?;
                crate::change::value(&turns)
            }
        }
    }

    async fn output(&self, seat: &Seat, reference: &str) -> Result<Output, Error> {
        let record = self.get(seat, &seat.names().output(reference)).await?;
        let missing = || Error::refused(format!("there is no output {reference:?}"));
        read(&record.ok_or_else(missing)?)
    }

    pub(crate) async fn pointers(&self, seat: &Seat) -> Result<Vec<Pointer>, Error> {
        let prefix = seat.names().prefix();
        let most = u64::from(MAX_POINTERS);
        list(
            &*self.store,
            &seat.ns,
            RecordKind::Pointer,
            &prefix,
            None,
            most,
        )
        .await
    }

    /// The open actions, oldest first.
    pub(crate) async fn pending(&self, seat: &Seat, head: &Head) -> Result<Vec<Action>, Error> {
        let mut open = Vec::with_capacity(head.open.len());
        for seq in &head.open {
            if let Some(record) = self.get(seat, &seat.names().action(*seq)).await? {
                let action: Action = read(&record)?;
                // It may have ended since the head was read.
                if matches!(action.status, Status::Started | Status::Unknown) {
                    open.push(action);
                }
            }
        }
        Ok(open)
    }

    /// The newest `limit` records of a numbered kind, oldest first.
    pub(crate) async fn tail<T: serde::de::DeserializeOwned>(
        &self,
        seat: &Seat,
        kind: RecordKind,
        last: u64,
        limit: u64,
    ) -> Result<Vec<T>, Error> {
        let before = last.saturating_sub(limit);
        let names = seat.names();
        let (prefix, after) = match kind {
            RecordKind::Output => (format!("{}@", seat.agent), names.stored(before)),
            RecordKind::WorkingState => (names.prefix(), names.version(before)),
            _ => (names.prefix(), names.turn(before)),
        };
        list(
            &*self.store,
            &seat.ns,
            kind,
            &prefix,
            Some(after.key),
            limit,
        )
        .await
    }

    /// Whether the session resumed without the lease, on this server.
    pub(crate) fn deferred(&self, seat: &Seat, session: &Session) -> bool {
        self.deferral(seat, session).is_some()
    }

    pub(crate) fn deferral(&self, seat: &Seat, session: &Session) -> Option<Settings> {
        self.deferred.get(&(seat.clone(), session.id()))
    }

    pub(crate) fn set_deferral(&self, seat: &Seat, session: &Session, settings: Option<Settings>) {
        let key = (seat.clone(), session.id());
        match settings {
            Some(settings) => self.deferred.insert(key, settings),
            None => self.deferred.invalidate(&key),
        }
    }

    async fn acquire(
        self: &Arc<Self>,
        seat: &Seat,
        session: &Session,
        fields: Fields,
    ) -> Result<Value, Error> {
        fields.finish()?;
        let head = self.reacquire(seat, session).await?;
        let mut context = self.context(seat, session, &head).await?;
        let epoch = head.hold.map(|hold| hold.epoch);
        Ok(json!({
            "acquired": true,
            "epoch": epoch,
            "briefing": context["briefing"].take(),
            "pending_actions": context["pending_actions"].take(),
        }))
    }
}

fn listed(limit: Option<i64>) -> Result<u64, Error> {
    match limit.and_then(|limit| u64::try_from(limit).ok()) {
        None | Some(0) => Ok(DEFAULT_LISTED),
        Some(limit) if limit <= MAX_LISTED => Ok(limit),
        Some(limit) => Err(Error::refused(format!(
            "limit may be at most {MAX_LISTED}, got {limit}"
        ))),
    }
}

/// Other servers kept writing the same agent.
pub(crate) fn busy() -> Error {
    Error::Store(recall_store::Error::unavailable(
        "the agent kept changing while it was written",
    ))
}

#[cfg(test)]
mod tests;
