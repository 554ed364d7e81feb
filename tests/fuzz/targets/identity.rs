//! Whatever an API server says of a token, its pod and what stands around it: a caller comes out
//! only where every fact that must hold does hold, by rules written here once more and in full.

#![no_main]

use std::collections::BTreeMap;
use std::future::{Ready, ready};

use libfuzzer_sys::arbitrary::{Arbitrary, Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use recall_fuzz::run;
use recall_identity::{
    AgentRule, Authenticate, Caller, Limits, Meta, Owner, Phase, Pod, Pods, Resolver, Review,
    Rules, SandboxClaim, TenantRule, TokenReviewer, Trouble, User,
};

const LABEL: &str = "sandbox.users.io/agent";
const TENANT: &str = "example.com/tenant";
const POOL: &str = "agents.x-k8s.io/warm-pool-sandbox";
const UID1: &str = "00000000-0000-4000-8000-000000000001";
const UID2: &str = "00000000-0000-4000-8000-000000000002";
const UID3: &str = "00000000-0000-4000-8000-000000000003";
const UID4: &str = "00000000-0000-4000-8000-000000000004";
const POD_NAME: &str = "authentication.kubernetes.io/pod-name";
const POD_UID: &str = "authentication.kubernetes.io/pod-uid";

/// Words that mean something somewhere, so that they meet by chance.
const WORDS: [&str; 24] = [
    "",
    "agents",
    "other",
    "runner",
    "run-1",
    "run-2",
    UID1,
    UID2,
    "recall",
    "vault",
    "a:b",
    "default",
    "system:serviceaccounts",
    "system:serviceaccounts:agents",
    "system:serviceaccount:agents:runner",
    "system:serviceaccount:other:runner",
    "system:serviceaccount:agents:default",
    "system:node:agents",
    "agents.x-k8s.io/v1beta1",
    "extensions.agents.x-k8s.io/v1beta1",
    "Sandbox",
    "SandboxClaim",
    "SandboxWarmPool",
    "v1",
];

/// What an API server answers, whatever it is asked.
#[derive(Debug, Clone)]
struct Told {
    review: Review,
    pod: Option<Pod>,
    account: Option<Meta>,
    namespace: Option<Meta>,
    sandbox: Option<Meta>,
    claim: Option<SandboxClaim>,
}

impl<'a> Arbitrary<'a> for Told {
    /// A good pod's answers, some of them replaced.
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let mut told = Self::good();
        let Self {
            review,
            pod,
            account,
            namespace,
            sandbox,
            claim,
        } = &mut told;
        edit(u, &mut review.authenticated, bool::arbitrary)?;
        edit(u, &mut review.error, |u| word(u).map(Some))?;
        edit(u, &mut review.audiences, words)?;
        if let Some(user) = &mut review.user {
            edit(u, &mut user.username, word)?;
            edit(u, &mut user.uid, word)?;
            edit(u, &mut user.groups, words)?;
            for key in [POD_NAME, POD_UID] {
                edit(u, user.extra.entry(key.to_owned()).or_default(), words)?;
            }
            edit(u, &mut user.extra, |_| Ok(BTreeMap::new()))?;
        }
        edit(u, &mut review.user, |_| Ok(None))?;
        if let Some(pod) = pod {
            edit_meta(u, &mut pod.meta)?;
            edit(u, &mut pod.service_account, word)?;
            edit(u, &mut pod.phase, |u| u.choose(&PHASES).copied())?;
        }
        if let Some(claim) = claim {
            edit_meta(u, &mut claim.meta)?;
            edit(u, &mut claim.pod_labels, labels)?;
        }
        edit(u, pod, |_| Ok(None))?;
        edit(u, claim, |_| Ok(None))?;
        for meta in [account, namespace, sandbox] {
            if let Some(meta) = meta {
                edit_meta(u, meta)?;
            }
            edit(u, meta, |_| Ok(None))?;
        }
        Ok(told)
    }
}

/// Replaces one in six; where the input has ended, none.
fn edit<'a, T>(
    u: &mut Unstructured<'a>,
    slot: &mut T,
    make: impl Fn(&mut Unstructured<'a>) -> Result<T>,
) -> Result<()> {
    if !u.ratio(5, 6)? {
        *slot = make(u)?;
    }
    Ok(())
}

fn edit_meta(u: &mut Unstructured<'_>, meta: &mut Meta) -> Result<()> {
    edit(u, &mut meta.name, word)?;
    edit(u, &mut meta.namespace, word)?;
    edit(u, &mut meta.uid, word)?;
    edit(u, &mut meta.labels, labels)?;
    edit(u, &mut meta.deleted, bool::arbitrary)?;
    if let Some(owner) = &mut meta.controller {
        for part in [
            &mut owner.api_version,
            &mut owner.kind,
            &mut owner.name,
            &mut owner.uid,
        ] {
            edit(u, part, word)?;
        }
    }
    edit(u, &mut meta.controller, |_| Ok(None))
}

fn word(u: &mut Unstructured<'_>) -> Result<String> {
    if u.ratio(9, 10)? {
        return u.choose(&WORDS).map(|word| (*word).to_owned());
    }
    Ok(String::arbitrary(u)?.chars().take(80).collect())
}

fn words(u: &mut Unstructured<'_>) -> Result<Vec<String>> {
    (0..u.int_in_range(0..=3)?).map(|_| word(u)).collect()
}

fn labels(u: &mut Unstructured<'_>) -> Result<BTreeMap<String, String>> {
    let keys = [LABEL, TENANT, POOL];
    let label = |u: &mut Unstructured<'_>| Ok(((*u.choose(&keys)?).to_owned(), word(u)?));
    (0..u.int_in_range(0..=3)?).map(|_| label(u)).collect()
}

impl Told {
    fn good() -> Self {
        let extra = [(POD_NAME, "run-1"), (POD_UID, UID1)];
        let labels = |of: &[(&str, &str)]| {
            let owned = of
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
            owned.collect::<BTreeMap<_, _>>()
        };
        let meta = |name: &str, uid: &str, owner: Option<(&str, &str)>| Meta {
            name: name.to_owned(),
            namespace: "agents".to_owned(),
            uid: uid.to_owned(),
            labels: labels(&[(LABEL, "run-1"), (TENANT, "other")]),
            controller: owner.map(|(api_version, kind)| Owner {
                api_version: api_version.to_owned(),
                kind: kind.to_owned(),
                name: "run-1".to_owned(),
                uid: UID2.to_owned(),
            }),
            deleted: false,
        };
        Self {
            review: Review {
                authenticated: true,
                error: None,
                audiences: vec!["recall".to_owned()],
                user: Some(User {
                    username: "system:serviceaccount:agents:runner".to_owned(),
                    uid: UID3.to_owned(),
                    groups: [
                        "system:serviceaccounts",
                        "system:serviceaccounts:agents",
                        "system:authenticated",
                    ]
                    .map(str::to_owned)
                    .to_vec(),
                    extra: extra
                        .map(|(key, value)| (key.to_owned(), vec![value.to_owned()]))
                        .into(),
                }),
            },
            pod: Some(Pod {
                meta: meta("run-1", UID1, Some(("agents.x-k8s.io/v1beta1", "Sandbox"))),
                service_account: "runner".to_owned(),
                phase: Phase::Running,
            }),
            account: Some(meta("runner", UID3, None)),
            namespace: Some(Meta {
                namespace: String::new(),
                ..meta("agents", UID4, None)
            }),
            sandbox: Some(meta(
                "run-1",
                UID2,
                Some(("extensions.agents.x-k8s.io/v1beta1", "SandboxClaim")),
            )),
            claim: Some(SandboxClaim {
                meta: meta("run-1", UID2, None),
                pod_labels: labels(&[(LABEL, "run-1")]),
            }),
        }
    }
}

const PHASES: [Phase; 6] = [
    Phase::Pending,
    Phase::Running,
    Phase::Succeeded,
    Phase::Failed,
    Phase::Unknown,
    Phase::Unreadable,
];

type Said<T> = std::result::Result<T, Trouble>;

impl TokenReviewer for Told {
    fn review(&self, _: &str, _: &str) -> impl Future<Output = Said<Review>> + Send {
        ready(Ok(self.review.clone()))
    }
}

impl Pods for Told {
    fn pod(&self, _: &str, _: &str) -> impl Future<Output = Said<Option<Pod>>> + Send {
        ready(Ok(self.pod.clone()))
    }
    fn service_account(&self, _: &str, _: &str) -> impl Future<Output = Said<Option<Meta>>> + Send {
        self.meta(&self.account)
    }
    fn namespace(&self, _: &str) -> impl Future<Output = Said<Option<Meta>>> + Send {
        self.meta(&self.namespace)
    }
    fn sandbox(&self, _: &str, _: &Owner) -> impl Future<Output = Said<Option<Meta>>> + Send {
        self.meta(&self.sandbox)
    }
    fn sandbox_claim(
        &self,
        _: &str,
        _: &Owner,
    ) -> impl Future<Output = Said<Option<SandboxClaim>>> + Send {
        ready(Ok(self.claim.clone()))
    }
}

impl Told {
    fn meta(&self, meta: &Option<Meta>) -> Ready<Said<Option<Meta>>> {
        ready(Ok(meta.clone()))
    }

    /// Asserts that nothing speaks against `caller`.
    fn prove(&self, caller: &Caller, rules: &Rules) {
        let review = &self.review;
        assert!(review.authenticated && review.error.as_deref().unwrap_or_default().is_empty());
        assert!(review.audiences.contains(&rules.audience));
        let user = review.user.as_ref().expect("a user");
        let group = format!("system:serviceaccounts:{}", caller.pod.namespace);
        assert!(user.groups.contains(&group), "{user:?}");
        let (namespace, account) = (&caller.pod.namespace, &caller.service_account);
        assert_eq!(
            user.username,
            format!("system:serviceaccount:{namespace}:{account}")
        );
        assert_eq!(user.extra[POD_NAME], [caller.pod.name.as_str()]);
        assert_eq!(user.extra[POD_UID], [caller.pod.uid.as_str()]);
        let pod = self.pod.as_ref().expect("a pod");
        let is = (
            &pod.meta.namespace,
            &pod.meta.name,
            &pod.meta.uid,
            &pod.service_account,
        );
        assert_eq!(is, (namespace, &caller.pod.name, &caller.pod.uid, account));
        assert!(!pod.meta.deleted && !pod.meta.labels.contains_key(POOL));
        assert!(matches!(
            pod.phase,
            Phase::Running | Phase::Pending | Phase::Unknown
        ));
        assert!(
            !caller.pod.uid.is_empty() && !caller.agent.is_empty() && !caller.tenant.is_empty()
        );
        assert!(!caller.tenant.contains(':'), "{}", caller.tenant);
        if rules.tenant == TenantRule::Namespace {
            assert_eq!(caller.tenant, *namespace);
        }
    }
}

fuzz_target!(|input: (Told, u8, u8)| {
    let (told, tenant, agent) = input;
    let rules = Rules {
        audience: "recall".to_owned(),
        tenant: match tenant % 3 {
            0 => TenantRule::Namespace,
            1 => TenantRule::ServiceAccountLabel(TENANT.to_owned()),
            _ => TenantRule::NamespaceLabel(TENANT.to_owned()),
        },
        agent: match agent % 4 {
            0 => AgentRule::PodName,
            1 => AgentRule::SandboxClaim,
            number => AgentRule::Label {
                key: LABEL.to_owned(),
                optional: number == 2,
            },
        },
        cluster: None,
    };
    run(async {
        let resolver = Resolver::new(told.clone(), rules.clone(), Limits::default());
        if let Ok(caller) = resolver.authenticate("a.b.c").await {
            told.prove(&caller, &rules);
        }
    });
});
