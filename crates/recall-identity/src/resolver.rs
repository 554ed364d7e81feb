//! From a token to a caller.

use std::collections::BTreeSet;
use std::fmt;
use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use parking_lot::Mutex;
use secrecy::{ExposeSecret, SecretString};
use tokio::time::{Instant, sleep, timeout_at};

use crate::authenticate::{Authenticate, Authenticating};
use crate::caller::Caller;
use crate::decide::{self, Behind, Kind, Lead, Proof};
use crate::error::Error;
use crate::facts::{Meta, Owner, Pod};
use crate::flights::Flights;
use crate::gate::Gate;
use crate::limits::Limits;
use crate::observe::{Observer, Unobserved};
use crate::ports::{Pods, TokenReviewer};
use crate::reuse::Reuse;
use crate::rules::{AgentRule, Rules, TenantRule};
use crate::token::{TokenHash, check_shape};
use crate::trouble::{Call, Trouble, TroubleKind};

/// The shortest wait before the one retry, where the API server names none.
const RETRY_PAUSE: Duration = Duration::from_millis(50);
/// How much a wait is spread, so that many who failed together do not come back together.
const RETRY_SPREAD_MS: u64 = 100;
/// Pod, sandbox, claim or pool: a longer chain of controllers is none that is known.
const MAX_OWNERS: usize = 3;

/// Resolves tokens through an API server.
///
/// Tokens that arrive together are looked at once; a review is taken again for a few seconds, while
/// the pod is read anew each time. Dropping the future of a call ends the look when nobody else
/// waits for it.
pub struct Resolver<A> {
    inner: Arc<Inner<A>>,
}

struct Inner<A> {
    api: A,
    rules: Rules,
    limits: Limits,
    allowed: Option<BTreeSet<(String, String)>>,
    namespaces: Option<BTreeSet<String>>,
    observer: Arc<dyn Observer>,
    flights: Flights,
    gate: Gate,
    accepted: Mutex<Reuse<Proof>>,
    refused: Mutex<Reuse<Error>>,
}

impl<A: TokenReviewer + Pods> Resolver<A> {
    /// A resolver that asks `api` and decides by `rules` within `limits`.
    #[must_use]
    pub fn new(api: A, rules: Rules, limits: Limits) -> Self {
        let limits = limits.clamped();
        let inner = Inner {
            api,
            rules,
            limits,
            allowed: None,
            namespaces: None,
            observer: Arc::new(Unobserved),
            flights: Flights::default(),
            gate: Gate::new(limits.concurrent_reviews, limits.queue, limits.call_timeout),
            accepted: Mutex::new(Reuse::new(limits.positive_reuse, limits.cache_entries)),
            refused: Mutex::new(Reuse::new(limits.negative_reuse, limits.cache_entries)),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// The same resolver, for these service accounts only, each a namespace and a name.
    ///
    /// To be called before the first token.
    #[must_use]
    pub fn allow_only(self, accounts: impl IntoIterator<Item = (String, String)>) -> Self {
        let accounts = accounts.into_iter().collect();
        self.configured(|inner| inner.allowed = Some(accounts))
    }

    /// The same resolver, for pods of these namespaces only: nothing is asked about any other.
    ///
    /// To be called before the first token.
    #[must_use]
    pub fn only_in(self, namespaces: impl IntoIterator<Item = String>) -> Self {
        let namespaces = namespaces.into_iter().collect();
        self.configured(|inner| inner.namespaces = Some(namespaces))
    }

    /// The same resolver, telling `observer` what it does.
    ///
    /// To be called before the first token.
    #[must_use]
    pub fn observed_by(self, observer: Arc<dyn Observer>) -> Self {
        self.configured(|inner| inner.observer = observer)
    }

    fn configured(mut self, change: impl FnOnce(&mut Inner<A>)) -> Self {
        let inner = Arc::get_mut(&mut self.inner);
        change(inner.expect("a resolver that was just made has no look under way"));
        self
    }
}

impl<A: TokenReviewer + Pods> Authenticate for Resolver<A> {
    fn authenticate<'a>(&'a self, token: &'a str) -> Authenticating<'a> {
        Box::pin(async move {
            check_shape(token)?;
            let hash = TokenHash::of(token);
            let look = || {
                let (inner, token) = (Arc::clone(&self.inner), SecretString::from(token));
                async move { inner.look_at(&token, hash).await }.boxed()
            };
            self.inner.flights.join(hash, look).await
        })
    }
}

impl<A: TokenReviewer + Pods> Inner<A> {
    async fn look_at(&self, token: &SecretString, hash: TokenHash) -> Result<Caller, Error> {
        let _turn = self.gate.enter().await?;
        let proof = self.proof(token, hash).await?;
        self.check_allowed(&proof)?;
        let pod = self.ask(Call::GetPod, || {
            self.api.pod(&proof.namespace, &proof.pod_name)
        });
        let pod = decide::live_pod(&proof, pod.await?)?;
        let tenant = self.tenant(&proof).await?;
        let agent = self.agent(&pod).await?;
        decide::caller(proof, self.rules.cluster.as_deref(), tenant, agent)
    }

    async fn proof(&self, token: &SecretString, hash: TokenHash) -> Result<Proof, Error> {
        let now = Instant::now();
        if let Some(proof) = self.accepted.lock().get(&hash, now) {
            return Ok(proof);
        }
        if let Some(refusal) = self.refused.lock().get(&hash, now) {
            return Err(refusal);
        }
        let proof = self.review(token).await;
        match &proof {
            Ok(proof) => self.accepted.lock().keep(hash, now, proof.clone()),
            // What could not be found out is asked again next time.
            Err(Error::Upstream { .. }) => {}
            Err(refusal) => self.refused.lock().keep(hash, now, refusal.clone()),
        }
        proof
    }

    async fn review(&self, token: &SecretString) -> Result<Proof, Error> {
        let audience = self.rules.audience.as_str();
        let ask = || self.api.review(token.expose_secret(), audience);
        let review = self.ask(Call::ReviewToken, ask).await?;
        if review.authenticated && review.audiences.is_empty() {
            self.observer.audience_unaware();
            tracing::error!(
                "a token was authenticated without an audience: an authenticator of this cluster \
                 ignores audiences, and its tokens are refused"
            );
        }
        if let Some(reason) = &review.error {
            tracing::debug!(%reason, "the API server rejected a token");
        }
        decide::proof(&review, audience)
    }

    fn check_allowed(&self, proof: &Proof) -> Result<(), Error> {
        let served = self.namespaces.as_ref();
        if served.is_some_and(|served| !served.contains(&proof.namespace)) {
            return Err(Error::Forbidden("this namespace is not among those served"));
        }
        let account = (proof.namespace.clone(), proof.service_account.clone());
        match &self.allowed {
            Some(allowed) if !allowed.contains(&account) => Err(Error::Forbidden(
                "this service account is not on the list of those allowed",
            )),
            _ => Ok(()),
        }
    }

    async fn tenant(&self, proof: &Proof) -> Result<String, Error> {
        let (namespace, account) = (&proof.namespace, &proof.service_account);
        match &self.rules.tenant {
            TenantRule::Namespace => Ok(namespace.clone()),
            TenantRule::ServiceAccountLabel(key) => {
                let ask = || self.api.service_account(namespace, account);
                let found = self.ask(Call::GetServiceAccount, ask).await?;
                decide::tenant_of_service_account(proof, found.as_ref(), key)
            }
            TenantRule::NamespaceLabel(key) => {
                let ask = || self.api.namespace(namespace);
                let found = self.ask(Call::GetNamespace, ask).await?;
                decide::tenant_of_namespace(proof, found.as_ref(), key)
            }
        }
    }

    async fn agent(&self, pod: &Pod) -> Result<String, Error> {
        let rule: &AgentRule = &self.rules.agent;
        match decide::agent_of(pod, rule)? {
            Lead::Agent(agent) => Ok(agent),
            Lead::AskOwners => decide::agent_behind(pod, rule, &self.behind(&pod.meta).await?),
        }
    }

    /// Follows the controllers of a pod, each compared by UID with the reference to it.
    async fn behind(&self, pod: &Meta) -> Result<Behind, Error> {
        let namespace = pod.namespace.as_str();
        let mut next = pod.controller.clone();
        for _ in 0..MAX_OWNERS {
            let Some(owner) = next else {
                return Ok(Behind::Neither);
            };
            match decide::kind_of(&owner) {
                Kind::Other => return Ok(Behind::Neither),
                Kind::Pool => return Ok(Behind::Pool),
                Kind::Claim => return self.claim(namespace, &owner).await,
                Kind::Sandbox => match self.sandbox(namespace, &owner).await? {
                    Some(sandbox) => next = sandbox.controller,
                    None => return Ok(Behind::Broken),
                },
            }
        }
        Ok(Behind::Broken)
    }

    /// The sandbox that `owner` refers to, unless it is gone or replaced.
    async fn sandbox(&self, namespace: &str, owner: &Owner) -> Result<Option<Meta>, Error> {
        let ask = || self.api.sandbox(namespace, owner);
        match self.ask(Call::GetSandbox, ask).await? {
            Some(sandbox) if decide::verified(&sandbox, namespace, owner)? => Ok(Some(sandbox)),
            _ => Ok(None),
        }
    }

    async fn claim(&self, namespace: &str, owner: &Owner) -> Result<Behind, Error> {
        let ask = || self.api.sandbox_claim(namespace, owner);
        match self.ask(Call::GetSandboxClaim, ask).await? {
            Some(claim) if decide::verified(&claim.meta, namespace, owner)? => {
                let (name, pod_labels) = (claim.meta.name, claim.pod_labels);
                Ok(Behind::Claim { name, pod_labels })
            }
            _ => Ok(Behind::Broken),
        }
    }

    /// Asks once, and once more if that may help and fits into the time of one call.
    async fn ask<T, F>(&self, call: Call, ask: impl Fn() -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Trouble>>,
    {
        let deadline = Instant::now() + self.limits.call_timeout;
        let trouble = match self.ask_once(call, deadline, ask()).await {
            Ok(answer) => return Ok(answer),
            Err(trouble) => trouble,
        };
        let Some(pause) = pause_before_retry(&trouble, deadline) else {
            return Err(could_not_ask(call, trouble));
        };
        sleep(pause).await;
        let second = self.ask_once(call, deadline, ask()).await;
        second.map_err(|trouble| could_not_ask(call, trouble))
    }

    async fn ask_once<T>(
        &self,
        call: Call,
        deadline: Instant,
        answer: impl Future<Output = Result<T, Trouble>>,
    ) -> Result<T, Trouble> {
        let start = Instant::now();
        let answer = timeout_at(deadline, answer).await.unwrap_or_else(|_| {
            Err(Trouble::new(
                TroubleKind::TimedOut,
                "no answer within the time of one call",
            ))
        });
        let trouble = answer.as_ref().err().map(|trouble| trouble.kind);
        self.observer.asked(call, start.elapsed(), trouble);
        answer
    }
}

fn pause_before_retry(trouble: &Trouble, deadline: Instant) -> Option<Duration> {
    if !trouble.kind.may_pass() {
        return None;
    }
    let spread = Duration::from_millis(RandomState::new().hash_one(0_u8) % RETRY_SPREAD_MS);
    let pause = trouble
        .retry_after
        .unwrap_or(RETRY_PAUSE)
        .saturating_add(spread);
    (pause < deadline.saturating_duration_since(Instant::now())).then_some(pause)
}

fn could_not_ask(call: Call, trouble: Trouble) -> Error {
    let (verb, resource, group) = (call.verb(), call.resource(), call.group());
    let Trouble {
        kind,
        detail,
        retry_after,
    } = trouble;
    if kind == TroubleKind::Forbidden {
        tracing::error!(
            verb,
            resource,
            group,
            "the server's own account may not do this: a rule is missing"
        );
    } else {
        tracing::warn!(
            verb,
            resource,
            group,
            kind = kind.code(),
            %detail,
            "the API server could not be asked"
        );
    }
    Error::Upstream { retry_after }
}

impl<A> fmt::Debug for Resolver<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resolver")
            .field("rules", &self.inner.rules)
            .field("limits", &self.inner.limits)
            .field("flights", &self.inner.flights)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
