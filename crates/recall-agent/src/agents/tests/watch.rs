//! Leases whose server ended, taken up by another or by the same once it is started again.

use super::*;
use crate::watch::Watch;

const TTL: u64 = 60;

fn turn() -> Value {
    json!({"role": "user", "content": "x"})
}

impl Bench {
    /// A server over what an earlier one left.
    async fn restarted(&self) -> Self {
        let server = self.replica();
        server.agents.take_up().await.expect("a roster");
        server
    }

    /// Lets time pass for the lease and for what keeps it up.
    async fn pass(&self, seconds: u64) {
        for _ in 0..seconds {
            self.advance(1);
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    async fn notes(&self) -> usize {
        let space = Namespace::keys();
        let page = self.store.list(&space, RecordKind::Server, "", None, 100);
        page.await.expect("a page").records.len()
    }

    async fn epoch(&self, who: &Session) -> Value {
        self.ok(who, "agent_context", none()).await["epoch"].clone()
    }

    /// Whether another session is refused because the agent is held.
    async fn held(&self) -> bool {
        match self.call(&pod("other"), "agent_resume", none()).await {
            Ok(_) => false,
            Err(error) => {
                assert_eq!(error.code(), "lease_held", "{error}");
                true
            }
        }
    }
}

/// A server that served `who` and is no more.
async fn served(bench: &Bench, who: &Session) {
    let former = bench.replica();
    former.ok(who, "agent_resume", none()).await;
}

#[tokio::test(start_paused = true)]
async fn a_restart_of_the_only_server_costs_a_silent_pod_nothing() {
    let bench = Bench::new();
    let me = pod("u1");
    bench.life.say(&me, Life::Alive);
    served(&bench, &me).await;
    bench.pass(TTL / 2).await;
    let server = bench.restarted().await;
    server.pass(3 * TTL).await;
    assert!(server.held().await);
    assert_eq!(server.epoch(&me).await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_ran_out_while_no_server_was_there_is_the_live_pods_again() {
    let bench = Bench::new();
    let me = pod("u1");
    bench.life.say(&me, Life::Alive);
    served(&bench, &me).await;
    bench.advance(10 * TTL);
    let server = bench.restarted().await;
    assert!(server.held().await);
    server.ok(&me, "record_turn", turn()).await;
}

#[tokio::test(start_paused = true)]
async fn another_server_goes_on_when_the_one_that_renewed_ends() {
    let bench = Bench::new();
    let me = pod("u1");
    bench.life.say(&me, Life::Alive);
    // Its background ends with it.
    let former = bench.replica();
    former.ok(&me, "agent_resume", none()).await;
    let (other, mut watch) = (bench.replica(), Watch::default());
    for second in 0..3 * TTL {
        bench.pass(1).await;
        watch
            .look(&other.agents.inner, false)
            .await
            .expect("a look");
        let kept = !other.agents.inner.renewals.is_empty();
        assert!(!kept, "second {second}: it is kept up where it was taken");
    }
    drop(former);
    for _ in 0..5 * TTL {
        bench.pass(1).await;
        watch
            .look(&other.agents.inner, false)
            .await
            .expect("a look");
    }
    assert!(!other.agents.inner.renewals.is_empty());
    assert!(other.held().await);
    assert_eq!(other.epoch(&me).await, 1, "it never ran out in between");
}

#[tokio::test(start_paused = true)]
async fn what_was_given_back_ended_or_taken_over_stays_so() {
    let bench = Bench::new();
    let me = pod("u1");
    bench.life.say(&me, Life::Alive);
    let former = bench.replica();
    former.ok(&me, "agent_resume", none()).await;
    former.ok(&me, "agent_release", none()).await;
    assert_eq!(bench.notes().await, 0);
    let server = bench.restarted().await;
    server.pass(2 * TTL).await;
    assert!(!server.held().await, "it was given back");

    let other = pod("other");
    bench.life.say(&other, Life::Alive);
    let agent = "a".parse().expect("an agent");
    let broken = server.agents.break_lease(&bench.ns, &agent).await;
    assert!(broken.expect("it is held").is_some());
    assert_eq!(bench.notes().await, 0);
    let server = bench.restarted().await;
    server.ok(&me, "agent_resume", none()).await;

    bench.life.say(&me, Life::Gone);
    let former = bench.replica();
    former.ok(&other, "agent_resume", none()).await;
    bench.life.say(&me, Life::Alive);
    let server = bench.restarted().await;
    server.pass(2 * TTL).await;
    let (code, _) = server.refused(&me, "record_turn", turn()).await;
    assert_eq!(code, "lease_lost", "it was taken over");
    server.ok(&other, "record_turn", turn()).await;
}

#[tokio::test(start_paused = true)]
async fn the_lease_of_an_owner_who_cannot_be_told_alive_runs_out() {
    for life in [Life::Ending, Life::Gone] {
        let bench = Bench::new();
        let me = pod("u1");
        bench.life.say(&me, life);
        served(&bench, &me).await;
        let server = bench.restarted().await;
        server.pass(2 * TTL).await;
        bench.life.say(&me, Life::Ending);
        assert!(!server.held().await, "{life:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_key_without_an_end_is_waited_for_as_long_over_restarts() {
    let bench = Bench::new();
    let me = key("k1");
    bench.life.say(&me, Life::Quiet);
    served(&bench, &me).await;
    for restart in 0..9 {
        let server = bench.restarted().await;
        server.pass(TTL).await;
        assert!(server.held().await, "restart {restart}");
    }
    for _ in 0..3 {
        bench.restarted().await.pass(TTL).await;
    }
    assert!(!bench.held().await, "it was silent for ten lease times");
}

#[tokio::test(start_paused = true)]
async fn calls_of_a_key_without_an_end_are_known_after_a_restart() {
    let bench = Bench::new();
    let me = key("k1");
    bench.life.say(&me, Life::Quiet);
    let former = bench.replica();
    former.ok(&me, "agent_resume", none()).await;
    for _ in 0..20 {
        former.pass(TTL).await;
        former.ok(&me, "recent_turns", none()).await;
    }
    drop(former);
    let server = bench.restarted().await;
    server.pass(4 * TTL).await;
    assert!(server.held().await);
}

#[tokio::test(start_paused = true)]
async fn a_note_without_an_owner_is_left_alone_at_first_and_goes_in_time() {
    let bench = Bench::new();
    let seat = Seat {
        ns: bench.ns.clone(),
        agent: "a".parse().expect("an agent"),
    };
    let note = crate::roster::Note {
        ttl_seconds: TTL,
        called: bench.clock.now(),
    };
    let inner = &bench.agents.inner;
    inner.note_held(&seat, &note).await.expect("noted");
    let server = bench.restarted().await;
    assert_eq!(bench.notes().await, 1, "its owner may be on the way");
    bench.advance(3 * 3600);
    server.agents.take_up().await.expect("a roster");
    assert_eq!(bench.notes().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_roster_of_many_pages_is_gone_through_piece_by_piece() {
    let bench = Bench::new();
    let me = pod("u1");
    bench.life.say(&me, Life::Alive);
    let former = bench.replica();
    for number in 0..2100 {
        let agent = json!({"agent_id": format!("a{number}")});
        former.ok(&me, "agent_resume", agent).await;
    }
    drop(former);
    let (server, mut watch) = (bench.replica(), Watch::default());
    let inner = &server.agents.inner;
    assert!(!watch.look(inner, true).await.expect("a look"));
    assert!(watch.look(inner, true).await.expect("a look"));
    assert_eq!(inner.renewals.len(), 2100);
}
