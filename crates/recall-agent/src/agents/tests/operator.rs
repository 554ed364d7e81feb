//! What an operator sees, and ending a lease.

use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry as Prometheus;
use recall_store::AgentId;

use super::*;

fn named(agent: &str) -> AgentId {
    agent.parse().expect("an agent")
}

async fn begin(bench: &Bench, who: &Session, agent: &str) {
    let action = json!({"agent_id": agent, "tool": "deploy", "class": "external"});
    bench.ok(who, "begin_action", action).await;
}

#[tokio::test]
async fn agents_are_listed_page_by_page_with_their_leases() {
    let bench = Bench::new();
    for agent in ["c", "a", "b"] {
        bench
            .ok(
                &key("k1"),
                "agent_resume",
                json!({"agent_id": agent, "holder": "laptop"}),
            )
            .await;
    }
    begin(&bench, &key("k1"), "b").await;
    bench
        .ok(&key("k1"), "agent_release", json!({"agent_id": "c"}))
        .await;
    let first = bench.agents.list(&bench.ns, None, 2).await.expect("a page");
    let ids: Vec<_> = first
        .agents
        .iter()
        .map(|agent| agent["agent_id"].as_str())
        .collect();
    assert_eq!(ids, [Some("a"), Some("b")]);
    assert_eq!(
        first.agents[1],
        json!({
            "agent_id": "b", "turn_seq": 0, "version": 0, "open_actions": 1,
            "lease": {
                "state": "held", "holder": "laptop", "epoch": 1,
                "expires_at": "2026-11-29T12:01:00Z",
            },
        })
    );
    let rest = bench
        .agents
        .list(&bench.ns, first.next.as_deref(), 2)
        .await
        .expect("a page");
    assert_eq!(rest.agents[0]["lease"], json!({"state": "free"}));
    assert_eq!(rest.next, None);
    let other = "team:other".parse().expect("a namespace");
    let none = bench.agents.list(&other, None, 2).await.expect("a page");
    assert_eq!(none.agents, Vec::<Value>::new());
}

#[tokio::test]
async fn an_agent_is_shown_with_what_it_left_open() {
    let bench = Bench::new();
    let missing = bench
        .agents
        .show(&bench.ns, &named("a"))
        .await
        .expect("an answer");
    assert_eq!(missing, None);
    bench.ok(&key("k1"), "agent_resume", none()).await;
    begin(&bench, &key("k1"), "a").await;
    let shown = bench
        .agents
        .show(&bench.ns, &named("a"))
        .await
        .expect("an answer");
    let shown = shown.expect("it is there");
    has(
        &shown["pending_actions"][0],
        &json!({"tool": "deploy", "status": "started"}),
    );
}

#[tokio::test]
async fn the_owner_of_a_broken_lease_has_lost_and_may_take_it_again() {
    let bench = Bench::new();
    let (old, new) = (key("k1"), key("k2"));
    let broken = bench
        .agents
        .break_lease(&bench.ns, &named("a"))
        .await
        .expect("an answer");
    assert_eq!(broken, None, "nobody held it");
    bench
        .ok(&old, "agent_resume", json!({"holder": "stuck"}))
        .await;
    let broken = bench
        .agents
        .break_lease(&bench.ns, &named("a"))
        .await
        .expect("an answer");
    has(
        &broken.expect("it was held"),
        &json!({"holder": "stuck", "epoch": 1}),
    );
    for server in [&bench, &bench.replica()] {
        let turn = json!({"role": "user", "content": "x"});
        let (code, text) = server.refused(&old, "record_turn", turn).await;
        assert_eq!(code, "lease_lost", "{text}");
    }
    let taken = bench.ok(&new, "agent_resume", none()).await;
    assert!(taken["epoch"].as_u64() > Some(1), "{taken}");
    bench.ok(&new, "agent_release", none()).await;
    bench.ok(&old, "agent_resume", none()).await;
}

#[tokio::test]
async fn unfinished_actions_are_measured_until_somebody_ends_them() {
    let bench = Bench::new();
    let mut registry = Prometheus::default();
    let metrics = crate::Metrics::register(&mut registry);
    let shown = async |bench: &Bench| {
        bench.agents.measure(&metrics).await;
        let mut text = String::new();
        encode(&mut text, &registry).expect("it is written");
        text.lines()
            .filter(|line| !line.starts_with('#'))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    bench.ok(&key("k1"), "agent_resume", none()).await;
    assert!(shown(&bench).await.is_empty());
    begin(&bench, &key("k1"), "a").await;
    bench.advance(5);
    begin(&bench, &key("k1"), "a").await;
    let began = "2026-11-29T12:00:00Z"
        .parse::<jiff::Timestamp>()
        .expect("an instant");
    let expected = [
        "recall_agent_open_actions{namespace=\"team:a\",agent=\"a\"} 2".to_owned(),
        format!(
            "recall_agent_oldest_open_action_timestamp_seconds{{namespace=\"team:a\",agent=\"a\"}} {}",
            began.as_second()
        ),
    ];
    assert_eq!(shown(&bench).await, expected);
    let other = bench.replica();
    for seq in [1, 2] {
        let end = json!({"seq": seq, "status": "done"});
        other.ok(&key("k1"), "end_action", end).await;
    }
    assert!(shown(&bench).await.is_empty(), "another server saw the end");
}
