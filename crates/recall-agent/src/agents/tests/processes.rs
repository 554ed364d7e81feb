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
