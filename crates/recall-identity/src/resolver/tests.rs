use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::facts::{Phase, Review, SandboxClaim, User};

const AGENT: &str = "sandbox.users.io/agent";
const TENANT: &str = "recall.polign.dev/tenant";
const POOL: &str = "agents.x-k8s.io/warm-pool-sandbox";
const POD_NAME: &str = "authentication.kubernetes.io/pod-name";
const POD_UID: &str = "authentication.kubernetes.io/pod-uid";

// === A cluster of facts ===

/// What the ports say, and how often the review was asked for.
#[derive(Debug, Clone)]
struct Facts {
    review: Result<Review, Trouble>,
    pod: Option<Pod>,
    account: Option<Meta>,
    namespace: Option<Meta>,
    sandbox: Option<Meta>,
    claim: Option<SandboxClaim>,
    /// How long each answer takes.
    delay: Duration,
    reviews: Arc<AtomicUsize>,
}

fn meta(name: &str, uid: &str, labels: &[(&str, &str)]) -> Meta {
    let labels = labels
        .iter()
        .map(|&(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    Meta {
        name: name.to_owned(),
        namespace: "agents".to_owned(),
        uid: uid.to_owned(),
        labels,
        ..Meta::default()
    }
}

fn owner(api_version: &str, kind: &str, name: &str, uid: &str) -> Option<Owner> {
    Some(Owner {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        name: name.to_owned(),
        uid: uid.to_owned(),
    })
}

/// A claimed pod of which every fact is as it should be.
fn good() -> Facts {
    let list = |text: &str| vec![text.to_owned()];
    let user = User {
        username: "system:serviceaccount:agents:runner".to_owned(),
        uid: "account-1".to_owned(),
        groups: list("system:serviceaccounts:agents"),
        extra: BTreeMap::from([
            (POD_NAME.to_owned(), list("pool-x")),
            (POD_UID.to_owned(), list("pod-1")),
        ]),
    };
    let claim = owner(
        "extensions.agents.x-k8s.io/v1beta1",
        "SandboxClaim",
        "run-1",
        "claim-1",
    );
    let sandbox = owner("agents.x-k8s.io/v1beta1", "Sandbox", "pool-x", "sandbox-1");
    let pod = meta("pool-x", "pod-1", &[(AGENT, "run-1")]);
    Facts {
        review: Ok(Review {
            authenticated: true,
            error: None,
            audiences: list("recall"),
            user: Some(user),
        }),
        pod: Some(Pod {
            meta: Meta {
                controller: sandbox,
                ..pod
            },
            service_account: "runner".to_owned(),
            phase: Phase::Running,
        }),
        account: Some(meta("runner", "account-1", &[(TENANT, "acme")])),
        namespace: Some(meta("agents", "namespace-1", &[(TENANT, "acme")])),
        sandbox: Some(Meta {
            controller: claim,
            ..meta("pool-x", "sandbox-1", &[])
        }),
        claim: Some(SandboxClaim {
            meta: meta("run-1", "claim-1", &[]),
            pod_labels: BTreeMap::from([(AGENT.to_owned(), "run-1".to_owned())]),
        }),
        delay: Duration::ZERO,
        reviews: Arc::default(),
    }
}

impl TokenReviewer for Facts {
    async fn review(&self, _: &str, _: &str) -> Result<Review, Trouble> {
        self.reviews.fetch_add(1, Ordering::SeqCst);
        sleep(self.delay).await;
        self.review.clone()
    }
}

impl Pods for Facts {
    async fn pod(&self, _: &str, _: &str) -> Result<Option<Pod>, Trouble> {
        sleep(self.delay).await;
        Ok(self.pod.clone())
    }

    async fn service_account(&self, _: &str, _: &str) -> Result<Option<Meta>, Trouble> {
        Ok(self.account.clone())
    }

    async fn namespace(&self, _: &str) -> Result<Option<Meta>, Trouble> {
        Ok(self.namespace.clone())
    }

    async fn sandbox(&self, _: &str, _: &Owner) -> Result<Option<Meta>, Trouble> {
        Ok(self.sandbox.clone())
    }

    async fn sandbox_claim(&self, _: &str, _: &Owner) -> Result<Option<SandboxClaim>, Trouble> {
        Ok(self.claim.clone())
    }
}

// === One fact missing ===

fn by_label() -> Rules {
    Rules {
        audience: "recall".to_owned(),
        tenant: TenantRule::ServiceAccountLabel(TENANT.to_owned()),
        agent: AgentRule::Label {
            key: AGENT.to_owned(),
            optional: false,
        },
        cluster: None,
    }
}

fn by_claim() -> Rules {
    Rules {
        tenant: TenantRule::NamespaceLabel(TENANT.to_owned()),
        agent: AgentRule::SandboxClaim,
        ..by_label()
    }
}

type Change = fn(&mut Facts, String);

fn review(facts: &mut Facts) -> &mut Review {
    facts.review.as_mut().expect("a good review")
}

fn user(facts: &mut Facts) -> &mut User {
    review(facts).user.as_mut().expect("a good user")
}

fn pod(facts: &mut Facts) -> &mut Pod {
    facts.pod.as_mut().expect("a good pod")
}

/// Each takes one required fact away, or gives it the value it is called with.
const ANYHOW: &[Change] = &[
    |f, _| review(f).authenticated = false,
    |f, x| review(f).error = Some(format!("error {x}")),
    |f, _| review(f).audiences.clear(),
    |f, x| review(f).audiences = vec![x],
    |f, _| review(f).user = None,
    |f, x| user(f).username = x,
    |f, x| user(f).username.push_str(&format!(".{x}")),
    |f, x| user(f).username = format!("system:serviceaccount:{x}:runner"),
    |f, x| user(f).username = format!("system:serviceaccount:agents:{x}"),
    |f, _| user(f).groups.clear(),
    |f, x| user(f).groups = vec![format!("system:serviceaccounts:{x}")],
    |f, _| drop(user(f).extra.remove(POD_NAME)),
    |f, _| drop(user(f).extra.remove(POD_UID)),
    |f, x| drop(user(f).extra.insert(POD_NAME.to_owned(), vec![x])),
    |f, x| drop(user(f).extra.insert(POD_UID.to_owned(), vec![x])),
    |f, x| {
        user(f)
            .extra
            .entry(POD_NAME.to_owned())
            .or_default()
            .push(x)
    },
    |f, x| user(f).extra.entry(POD_UID.to_owned()).or_default().push(x),
    |f, _| f.pod = None,
    |f, x| pod(f).meta.name = x,
    |f, x| pod(f).meta.namespace = x,
    |f, x| pod(f).meta.uid = x,
    |f, x| pod(f).service_account = x,
    |f, _| pod(f).meta.deleted = true,
    |f, _| pod(f).phase = Phase::Succeeded,
    |f, _| pod(f).phase = Phase::Failed,
    |f, _| pod(f).phase = Phase::Unreadable,
    |f, x| drop(pod(f).meta.labels.insert(POOL.to_owned(), x)),
];

const BY_LABEL: &[Change] = &[
    |f, _| drop(pod(f).meta.labels.remove(AGENT)),
    |f, x| drop(pod(f).meta.labels.insert(AGENT.to_owned(), format!("{x}:"))),
    |f, _| f.account = None,
    |f, x| user(f).uid = x,
    |f, x| f.account = Some(meta("runner", &x, &[(TENANT, "acme")])),
    |f, x| f.account = Some(meta(&x, "account-1", &[(TENANT, "acme")])),
    |f, _| f.account = Some(meta("runner", "account-1", &[])),
    |f, x| f.account = Some(meta("runner", "account-1", &[(TENANT, &format!("/{x}"))])),
];

const BY_CLAIM: &[Change] = &[
    |f, _| f.namespace = None,
    |f, x| f.namespace = Some(meta(&x, "namespace-1", &[(TENANT, "acme")])),
    |f, _| f.namespace = Some(meta("agents", "namespace-1", &[(TENANT, "")])),
    |f, _| f.sandbox = None,
    |f, x| {
        f.sandbox
            .iter_mut()
            .for_each(|sandbox| sandbox.uid.clone_from(&x))
    },
    |f, x| {
        f.sandbox
            .iter_mut()
            .for_each(|sandbox| sandbox.name.clone_from(&x))
    },
    |f, x| {
        f.sandbox
            .iter_mut()
            .for_each(|sandbox| sandbox.namespace.clone_from(&x))
    },
    |f, _| f.claim = None,
    |f, x| {
        f.claim
            .iter_mut()
            .for_each(|claim| claim.meta.uid.clone_from(&x))
    },
    |f, x| {
        f.claim
            .iter_mut()
            .for_each(|claim| claim.meta.name.clone_from(&x))
    },
];

async fn resolve(facts: Facts, rules: Rules) -> Result<Caller, Error> {
    Resolver::new(facts, rules, Limits::default())
        .authenticate("token")
        .await
}

fn now<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    runtime.expect("a runtime").block_on(future)
}

#[test]
fn with_every_fact_in_place_there_is_a_caller() {
    for rules in [by_label(), by_claim()] {
        let caller = now(resolve(good(), rules)).expect("a caller");
        assert_eq!(
            (caller.tenant.as_str(), caller.agent.as_str()),
            ("acme", "run-1")
        );
    }
}

proptest! {
    #[test]
    fn with_any_one_fact_missing_or_altered_there_is_none(
        which: Index,
        value in "[a-z0-9.:/-]{0,12}|\\PC{0,12}",
    ) {
        let original = ["recall", "agents", "runner", "run-1", "pool-x"];
        prop_assume!(!original.contains(&value.as_str()) && !value.ends_with("-1"));
        for (rules, own) in [(by_label(), BY_LABEL), (by_claim(), BY_CLAIM)] {
            let all: Vec<Change> = ANYHOW.iter().chain(own).copied().collect();
            let mut facts = good();
            which.get(&all)(&mut facts, value.clone());
            let outcome = now(resolve(facts.clone(), rules));
            prop_assert!(outcome.is_err(), "{facts:?}");
        }
    }
}

// === Time ===

fn counted(facts: Facts, limits: Limits) -> (Resolver<Facts>, Arc<AtomicUsize>) {
    let reviews = Arc::clone(&facts.reviews);
    (Resolver::new(facts, by_label(), limits), reviews)
}

#[tokio::test(start_paused = true)]
async fn a_good_review_is_taken_again_for_ten_seconds_at_most() {
    let greedy = Limits {
        positive_reuse: Duration::from_secs(3600),
        ..Limits::default()
    };
    let (resolver, reviews) = counted(good(), greedy);
    let start = Instant::now();
    for (second, expected) in [(0, 1), (9, 1), (10, 2), (19, 2), (20, 3)] {
        tokio::time::advance(Duration::from_secs(second) - start.elapsed()).await;
        assert!(resolver.authenticate("token").await.is_ok());
        assert_eq!(reviews.load(Ordering::SeqCst), expected, "after {second} s");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_taken_again_for_two_seconds_at_most() {
    let mut facts = good();
    review(&mut facts).authenticated = false;
    let greedy = Limits {
        negative_reuse: Duration::from_secs(3600),
        ..Limits::default()
    };
    let (resolver, reviews) = counted(facts, greedy);
    for expected in [1, 1, 2, 2, 3] {
        assert_eq!(resolver.authenticate("token").await, Err(Error::Rejected));
        assert_eq!(reviews.load(Ordering::SeqCst), expected);
        tokio::time::advance(Duration::from_secs(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn trouble_is_not_remembered() {
    let mut facts = good();
    facts.review = Err(Trouble::new(TroubleKind::Nonsense, "odd"));
    let (resolver, reviews) = counted(facts, Limits::default());
    for expected in 1..4 {
        let outcome = resolver.authenticate("token").await;
        assert_eq!(outcome, Err(Error::Upstream { retry_after: None }));
        assert_eq!(reviews.load(Ordering::SeqCst), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_hanging_api_server_costs_three_seconds() {
    let (resolver, _) = counted(
        Facts {
            delay: Duration::from_secs(60),
            ..good()
        },
        Limits::default(),
    );
    let start = Instant::now();
    let outcome = resolver.authenticate("token").await;
    assert_eq!(outcome, Err(Error::Upstream { retry_after: None }));
    assert_eq!(start.elapsed().as_secs(), 3);
}

#[tokio::test(start_paused = true)]
async fn patience_in_the_queue_ends() {
    let one = Limits {
        concurrent_reviews: 1,
        queue: 10,
        ..Limits::default()
    };
    let (resolver, _) = counted(
        Facts {
            delay: Duration::from_secs(2),
            ..good()
        },
        one,
    );
    let start = Instant::now();
    let (first, second) = tokio::join!(resolver.authenticate("a"), resolver.authenticate("b"));
    assert!(first.is_ok());
    assert_eq!(second, Err(Error::Overloaded));
    assert_eq!(start.elapsed().as_secs(), 4);
}

// === Observation ===

#[derive(Debug, Default)]
struct Counter {
    asked: Mutex<Vec<(Call, Option<TroubleKind>)>>,
    unaware: AtomicUsize,
}

impl Observer for Counter {
    fn asked(&self, call: Call, _: Duration, trouble: Option<TroubleKind>) {
        self.asked.lock().push((call, trouble));
    }

    fn audience_unaware(&self) {
        self.unaware.fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_asked_can_be_counted() {
    let counter = Arc::new(Counter::default());
    let resolver = Resolver::new(good(), by_label(), Limits::default());
    let resolver = resolver.observed_by(Arc::clone(&counter) as Arc<dyn Observer>);
    assert!(resolver.authenticate("token").await.is_ok());
    let expected = [Call::ReviewToken, Call::GetPod, Call::GetServiceAccount];
    assert_eq!(*counter.asked.lock(), expected.map(|call| (call, None)));
}

#[tokio::test(start_paused = true)]
async fn an_authenticator_that_ignores_audiences_is_noticed() {
    let mut facts = good();
    review(&mut facts).audiences.clear();
    let counter = Arc::new(Counter::default());
    let resolver = Resolver::new(facts, by_label(), Limits::default());
    let resolver = resolver.observed_by(Arc::clone(&counter) as Arc<dyn Observer>);
    assert_eq!(resolver.authenticate("token").await, Err(Error::Rejected));
    assert_eq!(counter.unaware.load(Ordering::SeqCst), 1);
}
