//! What one key and one namespace may ask and keep.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue};
use recall_agent::Agents;
use recall_keys::{Grant, KeyId};
use recall_store::{AgentId, Namespace};
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::auth;
use crate::error::{ApiError, policy, tell_rate};
use crate::limit::{Left, Limiter, Rate};
use crate::pool::Pools;

/// Turns that namespaces share when their agents begin.
const BEGINNING: usize = 256;
/// Keys remembered by the rate limit; some 100 bytes a piece.
const REMEMBERED: usize = 65_536;

/// The bounds of a server. Cheap to clone; all clones count together.
#[derive(Debug, Clone, Default)]
pub struct Bounds {
    per_key: Option<Arc<PerKey>>,
    /// The agents that one namespace may have.
    agents: Option<u32>,
    /// Held while an agent begins, by namespace: those that come at once are counted one by one.
    beginning: Arc<Beginning>,
    pub(crate) pools: Pools,
}

#[derive(Debug)]
struct Beginning {
    turns: Vec<Arc<Mutex<()>>>,
    hasher: RandomState,
}

impl Default for Beginning {
    fn default() -> Self {
        Self {
            turns: (0..BEGINNING).map(|_| Arc::default()).collect(),
            hasher: RandomState::new(),
        }
    }
}

/// The turn of an agent that begins; to be held until it has.
pub(crate) type Turn = OwnedMutexGuard<()>;

#[derive(Debug)]
struct PerKey {
    rate: Rate,
    policy: HeaderValue,
    limiter: Limiter<Holder>,
}

/// How a key stands with its rate.
#[derive(Debug, Clone)]
pub(crate) struct Standing {
    policy: HeaderValue,
    left: Left,
}

impl Standing {
    /// Puts it into the headers of an answer.
    pub(crate) fn tell(self, headers: &mut HeaderMap) {
        tell_rate(headers, self.policy, self.left.count, self.left.restored);
    }
}

/// Whose requests are counted together.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Holder {
    Key(KeyId),
    /// Fixed keys have no id.
    Namespace(Namespace),
}

impl Holder {
    fn of(grant: &Grant) -> Result<Self, ApiError> {
        Ok(match &grant.key {
            Some(id) => Self::Key(*id),
            None => Self::Namespace(auth::namespace(grant)?.clone()),
        })
    }
}

impl Bounds {
    /// `per_key` is how often one key may call memory or a tool, `agents` how many agents one namespace
    /// may have.
    #[must_use]
    pub fn new(per_key: Option<Rate>, agents: Option<u32>) -> Self {
        let per_key = per_key.map(|rate| PerKey {
            rate,
            policy: policy(rate),
            limiter: Limiter::new(Some(rate), REMEMBERED),
        });
        Self {
            per_key: per_key.map(Arc::new),
            agents,
            beginning: Arc::default(),
            pools: Pools::default(),
        }
    }

    /// The same for a store behind a network: more than a store in this process can it do at once.
    #[must_use]
    pub fn for_far_store(self) -> Self {
        Self {
            pools: Pools::new(false),
            ..self
        }
    }

    /// Lets one call of a key pass.
    pub(crate) fn call(&self, grant: &Grant) -> Result<(), ApiError> {
        let Some(per_key) = &self.per_key else {
            return Ok(());
        };
        let wait = match per_key.limiter.take(&Holder::of(grant)?) {
            Ok(()) => return Ok(()),
            Err(wait) => wait,
        };
        Err(too_often(wait, per_key.rate))
    }

    /// How a key stands with its rate, if it has one.
    pub(crate) fn standing(&self, grant: &Grant) -> Option<Standing> {
        let per_key = self.per_key.as_ref()?;
        let left = per_key.limiter.left(&Holder::of(grant).ok()?)?;
        let policy = per_key.policy.clone();
        Some(Standing { policy, left })
    }

    /// Lets an agent begin unless its namespace has as many as it may. The answer is to be held until
    /// it has begun.
    pub(crate) async fn begin(
        &self,
        agents: &Agents,
        ns: &Namespace,
        agent: &AgentId,
    ) -> Result<Option<Turn>, ApiError> {
        let Some(most) = self.agents else {
            return Ok(None);
        };
        if agents.has_begun(ns, agent).await? {
            return Ok(None);
        }
        let at = self.beginning.hasher.hash_one(ns) as usize % BEGINNING;
        let turn = self.beginning.turns.get(at).cloned().unwrap_or_default();
        let turn = turn.lock_owned().await;
        match agents.one_too_many(ns, agent, most).await? {
            true => Err(full(most)),
            false => Ok(Some(turn)),
        }
    }
}

/// An answer, or a refusal, that tells how its caller stands with the rate.
pub(crate) fn with_standing(
    answer: Result<Response, ApiError>,
    standing: Option<Standing>,
) -> Response {
    let mut response = answer.into_response();
    if let Some(standing) = standing {
        response.extensions_mut().insert(standing);
    }
    response
}

fn too_often(wait: Duration, rate: Rate) -> ApiError {
    let message = format!("this key calls more often than {rate}");
    ApiError::rate_limited(message, wait).under(rate)
}

fn full(most: u32) -> ApiError {
    ApiError::quota_exceeded(format!(
        "the namespace is full: it has {most} agents; use one of them, or ask the operator for more"
    ))
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
        let bounds = Bounds::new(Some("2/1m".parse().expect("a rate")), None);
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
