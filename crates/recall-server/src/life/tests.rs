use std::sync::Arc;
use std::time::Duration;

use prometheus_client::registry::Registry;
use recall_agent::{Agents, Tool};
use recall_keys::{Config, Metrics, Minted, Reach, Spec, parse_static_keys};
use recall_memory::{Memory, Surface};
use recall_store::{ManualClock, MemoryStore};
use serde_json::Map;

use super::*;

/// Keys on a clock that the test moves, and what they say of sessions.
struct Bench {
    keys: Keys,
    store: MemoryStore,
    clock: ManualClock,
    life: KeyLife,
    ns: Namespace,
}

impl Bench {
    /// A server with this keys file.
    fn new(file: &str) -> Self {
        let config = Config {
            auth_cache_ttl: Duration::from_secs(30),
            max_keys_per_pod: 8,
            max_pod_key_lifetime: None,
            cluster: None,
        };
        let clock = ManualClock::new("2026-11-29T12:00:00Z".parse().expect("an instant"));
        let store = MemoryStore::with_clock(Arc::new(clock.clone()));
        let fixed = parse_static_keys(file).expect("a keys file");
        let metrics = Metrics::register(&mut Registry::default());
        let keys = Keys::new(
            Arc::new(store.clone()),
            Arc::new(clock.clone()),
            config,
            fixed,
            metrics,
        );
        Self {
            life: KeyLife::new(keys.clone(), None),
            keys,
            store,
            clock,
            ns: "team:a".parse().expect("a namespace"),
        }
    }

    async fn mint(&self, ns: &str, session: Option<&str>, ttl: Option<u64>) -> Minted {
        let spec = Spec {
            reach: Reach::Namespace(ns.parse().expect("a namespace")),
            agent: None,
            session: session.map(str::to_owned),
            note: None,
            ttl: ttl.map(Duration::from_secs),
        };
        self.keys.mint(spec).await.expect("a key")
    }

    async fn revoke(&self, key: &Minted) {
        self.keys.revoke(&key.record.id).await.expect("it exists");
    }

    /// The agents of a server that was started just now.
    async fn server(&self) -> Agents {
        let config = recall_memory::Config {
            surface: Surface::Text,
            registry: recall_memory::Registry::open(),
            view_memory: 1 << 20,
            freshness: Duration::ZERO,
            quota: recall_memory::Quota::default(),
        };
        let (store, clock) = (Arc::new(self.store.clone()), Arc::new(self.clock.clone()));
        let memory = Memory::new(store.clone(), clock.clone(), config);
        let life = Arc::new(KeyLife::new(self.keys.clone(), None));
        let agents = Agents::new(store, memory, clock, life);
        agents.take_up().await.expect("a roster");
        agents
    }

    /// Whether the session owns the agent `a` after a resume.
    async fn resumes(&self, server: &Agents, session: &Session) -> bool {
        let arguments = Map::from_iter([("agent_id".to_owned(), "a".into())]);
        let call = server.call(&self.ns, session, Tool::Resume, arguments);
        match call.await {
            Ok(context) => context["lease_held"] == true,
            Err(error) => {
                assert_eq!(error.code(), "lease_held", "{error}");
                false
            }
        }
    }

    /// Lets time pass for leases and for what keeps them up.
    async fn pass(&self, seconds: u64) {
        for _ in 0..seconds {
            self.clock.advance(Duration::from_secs(1));
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    #[track_caller]
    fn check(&self, session: &Session, expected: Life) -> impl Future<Output = ()> {
        let place = std::panic::Location::caller();
        async move {
            let (life, gone) = (
                self.life.of(&self.ns, session).await,
                self.life.gone(&self.ns, session).await,
            );
            assert_eq!(life, expected, "{place}");
            assert_eq!(gone, expected == Life::Gone, "{place}");
        }
    }
}

fn session(kind: SessionKind, key: Option<&Minted>) -> Session {
    Session {
        kind,
        key: key.map(|key| key.record.id.as_str().to_owned()),
        label: "x".to_owned(),
        process: None,
    }
}

fn of_key(key: &Minted) -> Session {
    let kind = SessionKind::Key(key.record.id.as_str().to_owned());
    session(kind, Some(key))
}

/// Its standing is looked at first; the watch may be told of its end before the pod is asked for.
#[tokio::test]
async fn a_pod_that_was_struck_off_meanwhile_is_gone() {
    let bench = Bench::new("");
    bench.keys.pod_gone("u1").await.expect("it is noted");
    assert!(bench.life.pod_gone("u1").await.expect("an answer"));
}

#[tokio::test]
async fn a_key_is_gone_from_the_moment_it_ends_or_is_revoked() {
    let bench = Bench::new("");
    for ttl in [None, Some(3600)] {
        let key = bench.mint("team:a", None, ttl).await;
        let lives = if ttl.is_some() {
            Life::Alive
        } else {
            Life::Quiet
        };
        bench.check(&of_key(&key), lives).await;
        bench.revoke(&key).await;
        bench.check(&of_key(&key), Life::Gone).await;
    }
    let key = bench.mint("team:a", None, Some(3600)).await;
    bench.clock.advance(Duration::from_secs(3599));
    bench.check(&of_key(&key), Life::Alive).await;
    bench.clock.advance(Duration::from_secs(1));
    bench.check(&of_key(&key), Life::Gone).await;
}

#[tokio::test]
async fn fixed_keys_are_gone_with_the_last_one_of_their_namespace() {
    let fixed = session(SessionKind::Fixed, None);
    for (file, expected) in [
        ("one team:a\ntwo team:a\n", Life::Quiet),
        ("two team:a\nthree team:b\n", Life::Quiet),
        ("three team:b\n", Life::Gone),
        ("", Life::Gone),
    ] {
        Bench::new(file).check(&fixed, expected).await;
    }
}

/// A keys file is one server's own: that another has none of the namespace proves nothing.
#[test]
fn of_several_servers_the_one_without_the_fixed_key_leaves_the_lease_to_the_others() {
    for (standing, expected) in [
        (FixedStanding::Here, Life::Quiet),
        (FixedStanding::Unknown, Life::Ending),
        (FixedStanding::Gone, Life::Gone),
    ] {
        assert_eq!(of_fixed(standing), expected);
    }
}

fn of_session(key: &Minted) -> Session {
    session(SessionKind::Named("s".to_owned()), Some(key))
}

#[tokio::test]
async fn a_session_lives_while_one_of_its_keys_does() {
    let bench = Bench::new("");
    let first = bench.mint("team:a", Some("s"), Some(3600)).await;
    let second = bench.mint("team:a", Some("s"), None).await;
    bench.mint("team:b", Some("s"), None).await;
    bench.mint("team:a", Some("t"), None).await;
    bench.check(&of_session(&first), Life::Alive).await;
    bench.revoke(&first).await;
    // Its lease is kept up as that of any owner with such a key.
    bench.check(&of_session(&first), Life::Quiet).await;
    bench.revoke(&second).await;
    bench.clock.advance(Duration::from_secs(5));
    // Under its name another key may come.
    bench.check(&of_session(&first), Life::Ending).await;
    bench.check(&of_session(&second), Life::Ending).await;
}

/// The key under which a session took its agent is revoked, and the session has another.
#[tokio::test(start_paused = true)]
async fn the_lease_of_a_session_outlives_the_key_that_took_it() {
    const TTL: u64 = 60;
    let bench = Bench::new("");
    let first = bench.mint("team:a", Some("s"), Some(36_000)).await;
    let second = bench.mint("team:a", Some("s"), Some(36_000)).await;
    let other = of_key(&bench.mint("team:a", None, None).await);
    let server = bench.server().await;
    assert!(bench.resumes(&server, &of_session(&first)).await);
    bench.revoke(&first).await;
    bench.pass(15 * TTL).await;
    assert!(!bench.resumes(&server, &other).await, "it is renewed");
    // Whoever takes it up after a restart finds the revoked key in the records.
    drop(server);
    let server = bench.server().await;
    bench.pass(15 * TTL).await;
    assert!(!bench.resumes(&server, &other).await, "it is taken up");
    bench.revoke(&second).await;
    bench.pass(2 * TTL).await;
    assert!(bench.resumes(&server, &other).await, "no key is left");
}
