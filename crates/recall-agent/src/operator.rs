//! What an operator sees and may do: which agents there are, who owns them, and ending a lease.

use recall_store::{AgentId, Epoch, LeaseState, Namespace, RecordKind};
use serde_json::{Value, json};

use crate::agents::{Agents, Inner, Seat, busy};
use crate::change::value;
use crate::error::Error;
use crate::head::Head;
use crate::ownership::holder_words;
use crate::records::read;

/// How often ending a lease is tried while its owner keeps writing.
const TRIES: u32 = 16;
/// Agents counted with one request to the store.
const COUNTED: u32 = 500;

/// Agents of a namespace, in the order of their ids.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentPage {
    /// Each as an object: `agent_id`, `lease`, `turn_seq`, `version`, `open_actions`.
    pub agents: Vec<Value>,
    /// Where the next page begins, if there is one.
    pub next: Option<String>,
}

impl Agents {
    /// Agents whose ids come after `after`, at most `limit`.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] if the store cannot be asked.
    pub async fn list(
        &self,
        ns: &Namespace,
        after: Option<&str>,
        limit: u32,
    ) -> Result<AgentPage, Error> {
        let page = self
            .inner
            .store
            .list(ns, RecordKind::Session, "", after, limit)
            .await?;
        let mut agents = Vec::with_capacity(page.records.len());
        for record in &page.records {
            let Ok(agent) = record.key.parse::<AgentId>() else {
                continue;
            };
            let seat = Seat {
                ns: ns.clone(),
                agent,
            };
            agents.push(self.inner.summary(&seat, &read(record)?).await?);
        }
        Ok(AgentPage {
            agents,
            next: page.next,
        })
    }

    /// Whether anything was ever kept of this agent through a tool of this server.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] if the store cannot be asked.
    pub async fn has_begun(&self, ns: &Namespace, agent: &AgentId) -> Result<bool, Error> {
        let seat = Seat {
            ns: ns.clone(),
            agent: agent.clone(),
        };
        let head = self.inner.get(&seat, &seat.names().head()).await?;
        Ok(head.is_some())
    }

    /// Whether nothing was ever kept of this agent.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] if the store cannot be asked.
    pub async fn is_fresh(&self, ns: &Namespace, agent: &AgentId) -> Result<bool, Error> {
        let seat = Seat {
            ns: ns.clone(),
            agent: agent.clone(),
        };
        let (head, _) = self.inner.head(&seat).await?;
        Ok(head.fresh())
    }

    /// Whether this agent would be new to a namespace that has `most` agents or more.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] if the store cannot be asked.
    pub async fn one_too_many(
        &self,
        ns: &Namespace,
        agent: &AgentId,
        most: u32,
    ) -> Result<bool, Error> {
        if self.has_begun(ns, agent).await? {
            return Ok(false);
        }
        let (mut count, mut after) = (0, None);
        while count < most as usize {
            let store = &self.inner.store;
            let page = store
                .list(ns, RecordKind::Session, "", after.as_deref(), COUNTED)
                .await?;
            let keys = page.records.iter().map(|record| &record.key);
            count += keys.filter(|key| key.parse::<AgentId>().is_ok()).count();
            match page.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
        Ok(count >= most as usize)
    }

    /// One agent with its open actions, oldest first; `None` if nothing was ever kept of it.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] if the store cannot be asked.
    pub async fn show(&self, ns: &Namespace, agent: &AgentId) -> Result<Option<Value>, Error> {
        let seat = Seat {
            ns: ns.clone(),
            agent: agent.clone(),
        };
        let (head, version) = self.inner.head(&seat).await?;
        if version.is_none() && head.fresh() {
            return Ok(None);
        }
        let mut shown = self.inner.summary(&seat, &head).await?;
        shown["pending_actions"] = value(&self.inner.pending(&seat, &head).await?)?;
        Ok(Some(shown))
    }

    /// Ends an agent's lease. The owner's next write is refused as lost, wherever it arrives; anybody
    /// of the agent may take it then, the former owner too. Answers who held it, if anybody did.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] if the store cannot do it.
    pub async fn break_lease(
        &self,
        ns: &Namespace,
        agent: &AgentId,
    ) -> Result<Option<Value>, Error> {
        let seat = Seat {
            ns: ns.clone(),
            agent: agent.clone(),
        };
        self.inner.break_lease(&seat).await
    }
}

impl Inner {
    async fn summary(&self, seat: &Seat, head: &Head) -> Result<Value, Error> {
        let lease = self.store.inspect(&seat.ns, seat.agent.as_str()).await?;
        Ok(json!({
            "agent_id": seat.agent.as_str(),
            "lease": lease_json(head, lease),
            "turn_seq": head.turn_seq,
            "version": head.version,
            "open_actions": head.open.len(),
        }))
    }

    async fn break_lease(&self, seat: &Seat) -> Result<Option<Value>, Error> {
        let _turn = self.lock(seat).await;
        for _ in 0..TRIES {
            let lease = self.store.inspect(&seat.ns, seat.agent.as_str()).await?;
            let Some(LeaseState { grant, live: true }) = lease else {
                return Ok(None);
            };
            let (mut head, version) = self.head(seat).await?;
            let fence = head.hold.as_ref().map_or(grant.epoch.0, |hold| hold.fence);
            let noted = self.noted(seat).await;
            let broken = lease_json(&head, Some(LeaseState { grant, live: true }));
            head.let_go();
            match self.commit(seat, Vec::new(), (&head, version), fence).await {
                Ok(_) => {
                    self.renewals.forget(seat);
                    self.store
                        .release(&seat.ns, seat.agent.as_str(), Epoch(fence))
                        .await?;
                    self.strike(seat, noted).await;
                    return Ok(Some(broken));
                }
                Err(Error::Store(
                    recall_store::Error::Conflict { .. } | recall_store::Error::Fenced { .. },
                )) => {}
                Err(error) => return Err(error),
            }
        }
        Err(busy())
    }
}

/// Who holds a lease and until when, or that nobody does.
fn lease_json(head: &Head, lease: Option<LeaseState>) -> Value {
    match lease {
        Some(LeaseState { grant, live: true }) => json!({
            "state": "held",
            "holder": holder_words(&grant),
            "epoch": head.hold.as_ref().map_or(grant.epoch.0, |hold| hold.epoch),
            "expires_at": grant.expires_at.to_string(),
        }),
        _ => json!({ "state": "free" }),
    }
}
