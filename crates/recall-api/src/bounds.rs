//! What one key and one namespace may ask and keep.

use std::sync::Arc;
use std::time::Duration;

use recall_agent::Agents;
use recall_keys::{Grant, KeyId};
use recall_memory::{Memory, Operation};
use recall_store::{AgentId, Namespace};

use crate::auth;
use crate::error::ApiError;
use crate::limit::{Limiter, Rate};
use crate::pool::Pools;

/// Keys remembered by the rate limit; some 100 bytes a piece.
const REMEMBERED: usize = 65_536;

/// What a namespace may hold; `None` is as much as it likes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quotas {
    /// Statements that are believed now.
    pub facts: Option<u32>,
    /// Bytes of everything that was ever stated, as it takes place in memory.
    pub bytes: Option<u64>,
    /// Agents with anything kept of them.
    pub agents: Option<u32>,
}

/// The bounds of a server. Cheap to clone; all clones count together.
#[derive(Debug, Clone, Default)]
pub struct Bounds {
    per_key: Option<Arc<PerKey>>,
    quotas: Quotas,
    pub(crate) pools: Pools,
}

#[derive(Debug)]
struct PerKey {
    rate: Rate,
    limiter: Limiter<Holder>,
}

/// Whose requests are counted together.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Holder {
    Key(KeyId),
    /// Fixed keys have no id.
    Namespace(Namespace),
}

impl Bounds {
    /// `per_key` is how often one key may call memory or a tool.
    #[must_use]
    pub fn new(per_key: Option<Rate>, quotas: Quotas) -> Self {
        let per_key = per_key.map(|rate| PerKey {
            rate,
            limiter: Limiter::new(Some(rate), REMEMBERED),
        });
        Self {
            per_key: per_key.map(Arc::new),
            quotas,
            pools: Pools::default(),
        }
    }

    /// Lets one call of a key pass.
    pub(crate) fn call(&self, grant: &Grant) -> Result<(), ApiError> {
        let Some(per_key) = &self.per_key else {
            return Ok(());
        };
        let holder = match &grant.key {
            Some(id) => Holder::Key(id.clone()),
            None => Holder::Namespace(auth::namespace(grant)?.clone()),
        };
        let wait = match per_key.limiter.take(&holder) {
            Ok(()) => return Ok(()),
            Err(wait) => wait,
        };
        Err(too_often(wait, per_key.rate))
    }

    /// Lets an operation pass unless it adds to a namespace that is full. Several writes at once may
    /// pass the last gap together.
    pub(crate) async fn keep(
        &self,
        memory: &Memory,
        ns: &Namespace,
        operation: Operation,
    ) -> Result<(), ApiError> {
        let Quotas { facts, bytes, .. } = self.quotas;
        if operation != Operation::Remember || (facts, bytes) == (None, None) {
            return Ok(());
        }
        let usage = memory.usage(ns).await?;
        if let Some(most) = facts.filter(|most| usage.facts >= *most) {
            return Err(full(&format!("it holds {most} facts; forget some")));
        }
        if let Some(most) = bytes.filter(|most| usage.bytes >= *most) {
            return Err(full(&format!("it holds {most} bytes")));
        }
        Ok(())
    }

    /// Lets an agent begin unless its namespace has as many as it may.
    pub(crate) async fn begin(
        &self,
        agents: &Agents,
        ns: &Namespace,
        agent: &AgentId,
    ) -> Result<(), ApiError> {
        let Some(most) = self.quotas.agents else {
            return Ok(());
        };
        match agents.one_too_many(ns, agent, most).await? {
            true => Err(full(&format!("it has {most} agents"))),
            false => Ok(()),
        }
    }
}

fn too_often(wait: Duration, rate: Rate) -> ApiError {
    let message = format!("this key calls more often than {rate}");
    ApiError::rate_limited(message, wait).under(rate)
}

fn full(what: &str) -> ApiError {
    ApiError::quota_exceeded(format!("the namespace is full: {what}"))
}

#[cfg(test)]
mod tests {
    use recall_keys::Reach;

    use super::*;

    fn grant(namespace: &str) -> Grant {
        Grant {
            key: None,
            reach: Reach::Namespace(namespace.parse().expect("a namespace")),
            agent: None,
            session: None,
            pod_uid: None,
        }
    }

    #[test]
    fn each_key_has_a_rate_of_its_own() {
        let bounds = Bounds::new(Some("2/1m".parse().expect("a rate")), Quotas::default());
        let (one, other) = (grant("a"), grant("b"));
        assert!(bounds.call(&one).is_ok() && bounds.call(&one).is_ok());
        let refused = bounds.call(&one).expect_err("the third within a minute");
        assert_eq!(
            (refused.status.as_u16(), refused.code),
            (429, "rate_limited")
        );
        let told = refused.render("id");
        assert_eq!(told.headers()["ratelimit-policy"], "\"key\";q=2;w=60");
        assert_eq!(told.headers()["ratelimit"], "\"key\";r=0;t=30");
        assert_eq!(told.headers()["retry-after"], "30");
        assert!(bounds.call(&other).is_ok());
    }

    #[test]
    fn without_a_rate_there_is_no_limit() {
        let bounds = Bounds::default();
        assert!((0..10_000).all(|_| bounds.call(&grant("a")).is_ok()));
    }
}
