//! Several processes of one session, and which of them gives the agent back at its end.

use super::*;

fn process(session: &Session, name: &str) -> Session {
    Session {
        process: Some(name.to_owned()),
        ..session.clone()
    }
}

fn turn() -> Value {
    json!({"role": "user", "content": "x"})
}

impl Bench {
    /// A process of the session ends; whether that gave the agent back.
    async fn leaves(&self, who: &Session) -> Value {
        let arguments = Map::from_iter([("agent_id".to_owned(), "a".into())]);
        let answer = self.agents.leave(&self.ns, who, arguments).await;
        answer.expect("it may leave")["released"].take()
    }
}

#[tokio::test]
async fn the_agent_is_given_back_by_the_last_process_that_ends() {
    let bench = Bench::new();
    for session in [pod("u1"), key("k1")] {
        let (one, two) = (process(&session, "p1"), process(&session, "p2"));
        bench.ok(&one, "agent_resume", none()).await;
        let other = bench.replica();
        other.ok(&two, "agent_resume", none()).await;
        assert_eq!(bench.leaves(&two).await, false, "p1 works on");
        assert_eq!(bench.leaves(&two).await, false, "twice is once");
        bench.ok(&one, "record_turn", turn()).await;
        let (code, _) = bench.refused(&key("other"), "agent_resume", none()).await;
        assert_eq!(code, "lease_held");
        assert_eq!(bench.leaves(&one).await, true);
        bench.ok(&key("other"), "agent_resume", none()).await;
        bench.ok(&key("other"), "agent_release", none()).await;
    }
}

#[tokio::test]
async fn a_process_that_writes_without_a_resume_of_its_own_counts() {
    let bench = Bench::new();
    let session = pod("u1");
    let (one, two) = (process(&session, "p1"), process(&session, "p2"));
    bench.ok(&one, "agent_resume", none()).await;
    bench.ok(&two, "record_turn", turn()).await;
    assert_eq!(bench.leaves(&one).await, false);
    bench.ok(&two, "record_turn", turn()).await;
    // One that only asks whether it is the owner counts as well.
    bench.ok(&one, "agent_acquire", none()).await;
    assert_eq!(bench.leaves(&two).await, false);
    assert_eq!(bench.leaves(&one).await, true);
}

/// The version of the record that every change of the agent renews.
async fn head_version(bench: &Bench) -> u64 {
    let page = bench
        .store
        .list(&bench.ns, RecordKind::Session, "", None, 10);
    let records = page.await.expect("a page").records;
    records.first().expect("a head").version.0
}

#[tokio::test]
async fn a_process_whose_writes_change_nothing_counts() {
    for (tool, arguments) in [
        ("update_working_state", json!({"goal": "g"})),
        ("agent_milestone", json!({"name": "m"})),
        (
            "record_turn",
            json!({"role": "user", "content": "x", "message_id": "m-1"}),
        ),
        ("remove_pointer", json!({"name": "nothing"})),
    ] {
        let bench = Bench::new();
        let session = pod("u1");
        let (one, two) = (process(&session, "p1"), process(&session, "p2"));
        bench.ok(&one, "agent_resume", none()).await;
        let first = bench.ok(&one, tool, arguments.clone()).await;
        let other = bench.replica();
        let again = other.ok(&two, tool, arguments.clone()).await;
        assert_eq!(again, first, "{tool} changes nothing");
        let version = head_version(&bench).await;
        other.ok(&two, tool, arguments.clone()).await;
        assert_eq!(
            head_version(&bench).await,
            version,
            "{tool}: once is enough"
        );
        assert_eq!(bench.leaves(&one).await, false, "{tool}: p2 works on");
        let (code, _) = bench.refused(&key("other"), "agent_resume", none()).await;
        assert_eq!(code, "lease_held");
        // One that left and works on is there again.
        bench.ok(&one, tool, arguments).await;
        assert_eq!(bench.leaves(&two).await, false, "{tool}: p1 is back");
        assert_eq!(bench.leaves(&one).await, true, "{tool}");
        bench.ok(&key("other"), "agent_resume", none()).await;
    }
}

#[tokio::test]
async fn a_process_without_a_name_is_never_taken_for_gone() {
    let bench = Bench::new();
    let nameless = key("k1");
    let named = process(&nameless, "p1");
    bench.ok(&nameless, "agent_resume", none()).await;
    bench.ok(&named, "agent_resume", none()).await;
    assert_eq!(bench.leaves(&named).await, false);
    bench.ok(&nameless, "record_turn", turn()).await;
    // Its own word is what it always was.
    let released = bench.ok(&nameless, "agent_release", none()).await;
    assert_eq!(released["released"], true);
}

#[tokio::test]
async fn whoever_took_the_agent_again_keeps_it_when_an_earlier_process_ends() {
    let bench = Bench::new();
    let session = key("k1");
    let (one, two) = (process(&session, "p1"), process(&session, "p2"));
    bench.ok(&one, "agent_resume", none()).await;
    bench.ok(&two, "agent_release", none()).await;
    bench.ok(&two, "agent_resume", none()).await;
    assert_eq!(bench.leaves(&one).await, false);
    bench.ok(&two, "record_turn", turn()).await;
    // Nor does the end of a former owner touch the next.
    bench.ok(&two, "agent_release", none()).await;
    bench
        .ok(&process(&pod("u2"), "p3"), "agent_resume", none())
        .await;
    assert_eq!(bench.leaves(&two).await, false);
    bench
        .ok(&process(&pod("u2"), "p3"), "record_turn", turn())
        .await;
}

#[tokio::test]
async fn the_processes_of_a_session_outlast_a_lease_that_ran_out() {
    let bench = Bench::new();
    let session = key("k1");
    let (one, two) = (process(&session, "p1"), process(&session, "p2"));
    bench.ok(&one, "agent_resume", none()).await;
    bench.advance(3600);
    bench.ok(&two, "agent_resume", none()).await;
    assert_eq!(bench.leaves(&two).await, false);
    bench.ok(&one, "record_turn", turn()).await;
}
