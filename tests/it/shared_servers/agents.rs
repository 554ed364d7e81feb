//! One owner of an agent at a time, whichever server is asked.

use super::*;

impl Fleet {
    /// Calls a tool on the next server; the answer, or the text of the refusal.
    async fn tool(&self, key: &str, tool: &str, more: Value) -> Result<Value, String> {
        super::super::agents::call(&self.http, &self.next(), key, tool, more).await
    }
}

on_each_store![
    any_server_serves_any_call_of_the_owner,
    a_former_owner_is_refused_on_every_server,
    writes_of_one_owner_through_three_servers_at_once_are_all_numbered,
];

async fn any_server_serves_any_call_of_the_owner(kind: Kind) {
    let Some(fleet) = Fleet::start(kind, 3, &["--surface=typed"]) else {
        return;
    };
    let key = fleet.key(&json!({ "namespace": "team:a" })).await;
    let context = fleet
        .tool(&key, "agent_resume", json!({}))
        .await
        .expect("it is free");
    let epoch = context["epoch"].clone();
    for n in 1..=12 {
        let content = format!("turn {n}");
        let turn = fleet
            .tool(
                &key,
                "record_turn",
                json!({ "role": "user", "content": content }),
            )
            .await;
        assert_eq!(turn.expect("the owner writes")["seq"], n);
    }
    fleet
        .tool(&key, "update_working_state", json!({ "goal": "g" }))
        .await
        .expect("the owner writes");
    fleet.kill(0);
    let context = fleet
        .tool(&key, "agent_resume", json!({}))
        .await
        .expect("it is the owner");
    assert_eq!(
        (&context["epoch"], &context["turn_seq"]),
        (&epoch, &json!(12))
    );
    let turns = fleet
        .tool(&key, "recent_turns", json!({ "limit": 100 }))
        .await
        .expect("a reader");
    assert_eq!(turns.as_array().expect("turns").len(), 12);
}

async fn a_former_owner_is_refused_on_every_server(kind: Kind) {
    let Some(fleet) = Fleet::start(kind, 3, &["--surface=typed"]) else {
        return;
    };
    let old = fleet
        .key(&json!({ "namespace": "team:a", "session": "one" }))
        .await;
    let new = fleet
        .key(&json!({ "namespace": "team:a", "session": "two" }))
        .await;
    let turn = |content: &str| json!({ "role": "user", "content": content });
    let first = fleet
        .tool(&old, "agent_resume", json!({}))
        .await
        .expect("it is free");
    fleet
        .tool(&old, "record_turn", turn("old"))
        .await
        .expect("the owner writes");
    let second = fleet
        .tool(&new, "agent_resume", json!({}))
        .await
        .expect("named sessions replace each other");
    assert!(second["epoch"].as_u64() > first["epoch"].as_u64());
    for _ in 0..3 {
        let refusal = fleet
            .tool(&old, "record_turn", turn("late"))
            .await
            .expect_err("it was replaced");
        assert!(refusal.contains("lease was lost"), "{refusal}");
    }
    let turn = fleet
        .tool(&new, "record_turn", turn("new"))
        .await
        .expect("the owner writes");
    assert_eq!(turn["seq"], 2);
}

/// Writes of one owner through several servers at once: numbers have no gap and none comes twice.
async fn writes_of_one_owner_through_three_servers_at_once_are_all_numbered(kind: Kind) {
    let Some(fleet) = Fleet::start(kind, 3, &["--surface=typed"]) else {
        return;
    };
    let fleet = std::sync::Arc::new(fleet);
    let key = fleet.key(&json!({ "namespace": "team:a" })).await;
    fleet
        .tool(&key, "agent_resume", json!({}))
        .await
        .expect("it is free");
    let writers = (0..6).map(|writer| {
        let (fleet, key) = (std::sync::Arc::clone(&fleet), key.clone());
        tokio::spawn(async move {
            let mut numbers = Vec::new();
            for n in 0..4 {
                let turn = json!({ "role": "user", "content": format!("{writer}-{n}") });
                let turn = fleet
                    .tool(&key, "record_turn", turn)
                    .await
                    .expect("the owner writes");
                numbers.push(turn["seq"].as_u64().expect("a number"));
            }
            numbers
        })
    });
    let mut numbers = Vec::new();
    for writer in writers.collect::<Vec<_>>() {
        numbers.extend(writer.await.expect("no writer fails"));
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=24).collect::<Vec<u64>>());
}
