//! Who owns an agent, and what becomes of those who do not any more.

use super::*;

fn turn(content: &str) -> Value {
    json!({"role": "user", "content": content})
}

#[tokio::test]
async fn nobody_writes_before_resuming() {
    let bench = Bench::new();
    let (code, text) = bench.refused(&key("k1"), "record_turn", turn("x")).await;
    assert_eq!(code, "tool_error");
    assert!(text.contains("call agent_resume first"), "{text}");
    assert_eq!(
        bench.ok(&key("k1"), "recent_turns", none()).await,
        json!([])
    );
}

#[tokio::test]
async fn a_held_agent_names_its_holder_and_the_time() {
    let bench = Bench::new();
    bench
        .ok(&key("k1"), "agent_resume", json!({"holder": "laptop:1"}))
        .await;
    let (code, text) = bench.refused(&key("k2"), "agent_resume", none()).await;
    assert_eq!(code, "lease_held");
    let expected =
        "lease is held by another process: held by \"laptop:1\" until 2026-11-29T12:01:00Z";
    assert_eq!(text, expected);
}

#[tokio::test]
async fn once_the_time_is_up_another_takes_over_and_the_old_owner_has_lost() {
    let bench = Bench::new();
    let (old, new) = (key("k1"), key("k2"));
    bench.ok(&old, "agent_resume", none()).await;
    bench.ok(&old, "record_turn", turn("mine")).await;
    bench.advance(60);
    let taken = bench.ok(&new, "agent_resume", none()).await;
    has(
        &taken,
        &json!({"epoch": 2, "turn_seq": 1, "lease_held": true}),
    );
    for server in [&bench, &bench.replica()] {
        for (tool, arguments) in [
            ("record_turn", turn("stale")),
            ("update_working_state", json!({"goal": "stale"})),
            ("begin_action", json!({"tool": "t", "class": "external"})),
            ("remove_pointer", json!({"name": "x"})),
        ] {
            let (code, text) = server.refused(&old, tool, arguments).await;
            assert_eq!(code, "lease_lost");
            assert!(text.starts_with("lease was lost"), "{text}");
        }
    }
    assert_eq!(
        bench.ok(&old, "agent_release", none()).await["released"],
        false
    );
    let (code, _) = bench.refused(&old, "agent_acquire", none()).await;
    assert_eq!(code, "lease_held", "acquire after a loss never pretends");
    bench.ok(&new, "record_turn", turn("theirs")).await;
    bench.ok(&new, "agent_release", none()).await;
    let back = bench.ok(&old, "agent_acquire", none()).await;
    assert_eq!(back["epoch"], 3);
    bench.ok(&old, "record_turn", turn("back")).await;
}

#[tokio::test]
async fn an_owner_whose_time_ran_out_with_nobody_after_goes_on() {
    let bench = Bench::new();
    let me = key("k1");
    bench.ok(&me, "agent_resume", none()).await;
    bench.advance(3600);
    assert_eq!(bench.ok(&me, "record_turn", turn("x")).await["seq"], 1);
    let (code, _) = bench.refused(&key("k2"), "agent_resume", none()).await;
    assert_eq!(code, "lease_held", "its call took the lease again");
}

#[tokio::test]
async fn calls_keep_the_lease_up() {
    let bench = Bench::new();
    let me = key("k1");
    bench.ok(&me, "agent_resume", none()).await;
    for round in 0..10 {
        bench.advance(40);
        let server = match round % 2 {
            0 => bench.clone(),
            _ => bench.replica(),
        };
        server.ok(&me, "recent_turns", none()).await;
        let (code, _) = bench.refused(&key("k2"), "agent_resume", none()).await;
        assert_eq!(code, "lease_held", "round {round}");
    }
    assert_eq!(bench.ok(&me, "agent_context", none()).await["epoch"], 1);
}

#[tokio::test]
async fn the_owner_is_served_by_any_server() {
    let bench = Bench::new();
    let servers = [bench.clone(), bench.replica(), bench.replica()];
    let me = pod("u1");
    let epoch = servers[0].ok(&me, "agent_resume", none()).await["epoch"].clone();
    for number in 1..=9 {
        let server = &servers[number % 3];
        assert_eq!(
            server.ok(&me, "record_turn", turn("x")).await["seq"],
            number
        );
        assert_eq!(
            server.ok(&me, "agent_context", none()).await["epoch"],
            epoch
        );
    }
    assert_eq!(
        servers[2].ok(&me, "agent_release", none()).await["released"],
        true
    );
}

#[tokio::test]
async fn a_container_restarted_in_its_pod_comes_back_at_once_with_the_same_epoch() {
    let bench = Bench::new();
    let me = pod("u1");
    let first = bench.ok(&me, "agent_resume", none()).await;
    for class in ["pure", "idempotent", "external"] {
        bench
            .ok(&me, "begin_action", json!({"tool": class, "class": class}))
            .await;
    }
    // The pod's key may be another by now.
    let later = Session {
        key: Some("newer".to_owned()),
        ..me
    };
    let again = bench
        .replica()
        .ok(&later, "agent_resume", json!({"token_budget": 300}))
        .await;
    has(
        &again,
        &json!({"epoch": first["epoch"], "fresh": false, "token_budget": 300}),
    );
    let pending = again["pending_actions"].as_array().expect("a list");
    let statuses: Vec<_> = pending.iter().map(|action| &action["status"]).collect();
    assert_eq!(statuses, ["started", "started", "unknown"]);
    bench.ok(&later, "record_turn", turn("x")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_same_session_resuming_twice_at_once_is_one_owner() {
    let bench = Bench::new();
    let resumes = (0..8).map(|_| {
        let bench = bench.replica();
        tokio::spawn(async move { bench.call(&pod("u1"), "agent_resume", none()).await })
    });
    let mut epochs = std::collections::BTreeSet::new();
    for resume in resumes.collect::<Vec<_>>() {
        let context = resume.await.expect("no panic").expect("it is resumed");
        epochs.extend(context["epoch"].as_u64());
    }
    let newest = *epochs.last().expect("an epoch");
    let context = bench.ok(&pod("u1"), "agent_context", none()).await;
    assert_eq!(context["epoch"], newest);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_pods_that_resume_at_once_one_owns_the_agent() {
    let bench = Bench::new();
    for uid in ["u1", "u2", "u3", "u4"] {
        bench.life.say(&pod(uid), Life::Alive);
    }
    let resumes = ["u1", "u2", "u3", "u4"].map(|uid| {
        let bench = bench.replica();
        tokio::spawn(async move { bench.call(&pod(uid), "agent_resume", none()).await })
    });
    let mut owners = 0;
    for resume in resumes {
        match resume.await.expect("no panic") {
            Ok(_) => owners += 1,
            Err(error) => assert_eq!(error.code(), "lease_held"),
        }
    }
    assert_eq!(owners, 1);
}

#[tokio::test]
async fn a_pod_that_is_gone_passes_the_agent_on_at_once() {
    let bench = Bench::new();
    let (old, new) = (pod("u1"), pod("u2"));
    bench.ok(&old, "agent_resume", none()).await;
    for class in ["pure", "idempotent", "external"] {
        bench
            .ok(&old, "begin_action", json!({"tool": class, "class": class}))
            .await;
    }
    for life in [Life::Alive, Life::Quiet, Life::Ending] {
        bench.life.say(&old, life);
        let (code, _) = bench.refused(&new, "agent_resume", none()).await;
        assert_eq!(code, "lease_held", "{life:?} is no proof");
    }
    bench.life.say(&old, Life::Gone);
    let taken = bench.ok(&new, "agent_resume", none()).await;
    assert!(taken["epoch"].as_u64() > Some(1), "{taken}");
    let pending = taken["pending_actions"].as_array().expect("a list");
    let left: Vec<_> = pending
        .iter()
        .map(|action| (action["class"].as_str(), action["status"].as_str()))
        .collect();
    let expected = [
        (Some("idempotent"), Some("started")),
        (Some("external"), Some("unknown")),
    ];
    assert_eq!(left, expected);
    assert!(pending[1]["resolution"].is_string());
    let (code, _) = bench.refused(&old, "record_turn", turn("stale")).await;
    assert_eq!(code, "lease_lost");
}

#[tokio::test]
async fn named_sessions_replace_each_other_and_one_of_the_same_name_must_release_first() {
    let bench = Bench::new();
    let first = bench.ok(&named("pod-1"), "agent_resume", none()).await;
    let other_key = Session {
        key: Some("another".to_owned()),
        ..named("pod-1")
    };
    let (code, text) = bench.refused(&other_key, "agent_resume", none()).await;
    assert_eq!(code, "tool_error");
    assert!(text.contains("call agent_release first"), "{text}");
    bench.ok(&other_key, "record_turn", turn("shared")).await;
    let taken = bench.ok(&named("pod-2"), "agent_resume", none()).await;
    assert!(taken["epoch"].as_u64() > first["epoch"].as_u64());
    let (code, _) = bench
        .refused(&other_key, "record_turn", turn("stale"))
        .await;
    assert_eq!(code, "lease_lost");
    for stranger in [pod("pod-2"), key("pod-2")] {
        let (code, _) = bench.refused(&stranger, "agent_resume", none()).await;
        assert_eq!(code, "lease_held", "a name is no proof to others");
    }
    assert_eq!(
        bench.ok(&named("pod-2"), "agent_release", none()).await["released"],
        true
    );
    bench.ok(&key("k"), "agent_resume", none()).await;
}

#[tokio::test]
async fn a_deferred_resume_changes_nothing_and_acquires_later() {
    let bench = Bench::new();
    let (owner, reader) = (key("k1"), key("k2"));
    bench.ok(&owner, "agent_resume", none()).await;
    bench.ok(&owner, "record_turn", turn("one")).await;
    let before = everything(&bench).await;
    let deferred = json!({"defer_lease": true, "token_budget": 700});
    let seen = bench.ok(&reader, "agent_resume", deferred).await;
    has(
        &seen,
        &json!({"lease_held": false, "turn_seq": 1, "token_budget": 700}),
    );
    assert!(seen.get("epoch").is_none());
    let (code, text) = bench.refused(&reader, "record_turn", turn("x")).await;
    assert_eq!(code, "lease_not_held");
    assert!(text.starts_with("lease not acquired"), "{text}");
    let (code, _) = bench.refused(&reader, "agent_acquire", none()).await;
    assert_eq!(code, "lease_held");
    assert_eq!(everything(&bench).await, before, "reading leaves no trace");
    bench.ok(&owner, "record_turn", turn("two")).await;
    bench.ok(&owner, "agent_release", none()).await;
    for _ in 0..2 {
        let acquired = bench.ok(&reader, "agent_acquire", none()).await;
        has(&acquired, &json!({"acquired": true, "epoch": 2}));
        assert!(
            acquired["briefing"]
                .as_str()
                .is_some_and(|text| text.contains("two"))
        );
    }
    assert_eq!(
        bench.ok(&reader, "record_turn", turn("three")).await["seq"],
        3
    );
    assert_eq!(
        bench.ok(&reader, "agent_context", none()).await["token_budget"],
        700
    );
}

async fn everything(bench: &Bench) -> Vec<(u8, String, u64)> {
    let mut all = Vec::new();
    for kind in RecordKind::ALL {
        let page = bench
            .store
            .list(&bench.ns, kind, "", None, 10_000)
            .await
            .expect("a page");
        let rows = page.records.into_iter();
        all.extend(rows.map(|record| (kind.number(), record.key, record.version.0)));
    }
    all
}

#[tokio::test]
async fn a_grant_that_was_never_recorded_is_taken_up_by_its_own_session_only() {
    let bench = Bench::new();
    let me = pod("u1");
    // As a server leaves it that ends between the grant and the record.
    let holder = crate::head::Hold::lease_holder(&me.id(), &Settings::of(&me));
    let ttl = Duration::from_secs(60);
    bench
        .store
        .acquire(&bench.ns, "a", &holder, ttl)
        .await
        .expect("a grant");
    let (code, text) = bench.refused(&pod("u2"), "agent_resume", none()).await;
    assert_eq!(code, "lease_held");
    assert!(text.contains("held by \"u1\""), "{text}");
    has(
        &bench.ok(&me, "agent_resume", none()).await,
        &json!({"epoch": 2}),
    );
}

#[tokio::test]
async fn ten_rounds_of_crash_and_resume_keep_everything_in_order() {
    let bench = Bench::new();
    for round in 1..=10u64 {
        let me = pod(&format!("u{round}"));
        let context = bench.ok(&me, "agent_resume", none()).await;
        assert_eq!(context["turn_seq"], round - 1);
        bench.ok(&me, "record_turn", turn(&round.to_string())).await;
        bench.life.say(&me, Life::Gone);
    }
    let turns = bench.ok(&key("reader"), "recent_turns", none()).await;
    let turns = turns.as_array().expect("a list");
    let contents: Vec<_> = turns.iter().map(|turn| turn["content"].clone()).collect();
    let expected: Vec<_> = (1..=10).map(|round| json!(round.to_string())).collect();
    assert_eq!(contents, expected);
}

#[tokio::test]
async fn agents_whose_names_begin_alike_are_apart() {
    let bench = Bench::new();
    let me = key("k1");
    for agent in ["a", "a.b", "a-1", "A"] {
        bench
            .ok(&me, "agent_resume", json!({"agent_id": agent}))
            .await;
        let said = json!({"agent_id": agent, "role": "user", "content": agent});
        assert_eq!(bench.ok(&me, "record_turn", said).await["seq"], 1);
    }
    for agent in ["a", "a.b", "a-1", "A"] {
        let turns = bench
            .ok(&me, "recent_turns", json!({"agent_id": agent}))
            .await;
        assert_eq!(turns.as_array().map(Vec::len), Some(1), "{agent}");
        assert_eq!(turns[0]["content"], agent);
    }
}
