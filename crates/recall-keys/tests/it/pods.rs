//! Keys minted for pods.

use recall_keys::{Filter, PodStanding, Standing};

use super::*;

const TTL: Duration = Duration::from_secs(900);

async fn mint(bench: &Bench, caller: &Caller) -> Minted {
    bench.keys.mint_for_pod(caller, TTL).await.expect("a key")
}

#[tokio::test]
async fn a_pod_key_is_what_the_contract_shows() {
    let bench = Bench::new();
    let minted = mint(&bench, &caller("demo-1", "pod-x", "u1")).await;
    let record = &minted.record;
    assert_eq!(
        record.reach,
        Reach::Namespace("agents:demo-1".parse().expect("a namespace"))
    );
    assert_eq!(record.agent.as_deref(), Some("demo-1"));
    assert_eq!(record.session.as_deref(), Some("pod-x"));
    assert_eq!(
        record.note.as_deref(),
        Some("kubernetes agents/runner pod pod-x")
    );
    assert_eq!((record.ttl, record.renewable()), (Some(TTL), false));
    let grant = bench.check(&minted).await.expect("it is good");
    assert_eq!(grant.pod_uid.as_deref(), Some("u1"));
    refused(bench.keys.renew(&grant).await, "renew_with_token");
}

#[tokio::test]
async fn a_pod_has_at_most_eight_live_keys_and_the_oldest_goes() {
    let bench = Bench::new();
    let pod = caller("a", "p", "u1");
    let mut minted = Vec::new();
    for _ in 0..10 {
        minted.push(mint(&bench, &pod).await);
    }
    for old in &minted[..2] {
        refused(bench.check(old).await, "unauthenticated");
    }
    for young in &minted[2..] {
        bench
            .check(young)
            .await
            .expect("it is among the newest eight");
    }
    let live = Filter {
        pod_uid: Some("u1".to_owned()),
        live: Some(true),
        ..Filter::default()
    };
    assert_eq!(
        bench
            .keys
            .list(&live, None, 100)
            .await
            .expect("a page")
            .keys
            .len(),
        8
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cap_holds_when_a_pod_exchanges_a_hundred_times_at_once_on_two_replicas() {
    let bench = Bench::new();
    let replicas = [bench.keys.clone(), bench.replica()];
    let tasks: Vec<_> = (0..100)
        .map(|n| {
            let keys = replicas[n % 2].clone();
            tokio::spawn(async move { keys.mint_for_pod(&caller("a", "p", "u1"), TTL).await })
        })
        .collect();
    for task in tasks {
        // So many at once may be told to try again, but never more.
        match task.await.expect("no panic") {
            Ok(_) => {}
            Err(error) => assert_eq!(error.code(), "store_unavailable", "{error}"),
        }
    }
    let live = Filter {
        pod_uid: Some("u1".to_owned()),
        live: Some(true),
        ..Filter::default()
    };
    assert_eq!(
        bench
            .keys
            .list(&live, None, 1000)
            .await
            .expect("a page")
            .keys
            .len(),
        8
    );
}

#[tokio::test]
async fn a_pod_that_becomes_another_agent_is_refused_and_loses_its_keys() {
    let bench = Bench::new();
    let first = mint(&bench, &caller("run-1", "p", "u1")).await;
    let changed = bench
        .keys
        .mint_for_pod(&caller("run-2", "p", "u1"), TTL)
        .await;
    refused(changed, "identity_changed");
    refused(bench.check(&first).await, "unauthenticated");
    mint(&bench, &caller("run-1", "p", "u1")).await;
}

#[tokio::test]
async fn renewal_needs_the_token_of_the_very_same_pod() {
    let bench = Bench::new();
    let minted = mint(&bench, &caller("a", "p", "u1")).await;
    let grant = bench.check(&minted).await.expect("it is good");
    bench.clock.advance(Duration::from_secs(600));
    for (other, code) in [
        (caller("a", "p", "u2"), "pod_gone"),
        (caller("b", "q", "u3"), "forbidden"),
        (caller("a", "q", "u3"), "forbidden"),
    ] {
        refused(bench.keys.renew_for_pod(&grant, &other).await, code);
    }
    let renewed = bench
        .keys
        .renew_for_pod(&grant, &caller("a", "p", "u1"))
        .await
        .expect("its own");
    assert_eq!(renewed.id, minted.record.id);
    bench.clock.advance(Duration::from_secs(899));
    bench.check(&minted).await.expect("it lives on");
    bench.clock.advance(Duration::from_secs(1));
    let late = bench
        .keys
        .renew_for_pod(&grant, &caller("a", "p", "u1"))
        .await;
    refused(late, "unauthenticated");
}

#[tokio::test]
async fn renewal_as_another_agent_revokes_the_key() {
    let bench = Bench::new();
    let minted = mint(&bench, &caller("run-1", "p", "u1")).await;
    let grant = bench.check(&minted).await.expect("it is good");
    refused(
        bench
            .keys
            .renew_for_pod(&grant, &caller("run-2", "p", "u1"))
            .await,
        "identity_changed",
    );
    refused(bench.check(&minted).await, "unauthenticated");
}

#[tokio::test]
async fn a_pod_that_is_gone_takes_its_keys_along_and_no_others() {
    let bench = Bench::new();
    let gone = mint(&bench, &caller("a", "p", "u1")).await;
    let recreated = mint(&bench, &caller("a", "p", "u2")).await;
    let revoked = bench.keys.pod_gone("u1").await.expect("its keys");
    assert_eq!(revoked[0].id, gone.record.id);
    assert!(bench.keys.pod_gone("u1").await.expect("none").is_empty());
    refused(bench.check(&gone).await, "unauthenticated");
    bench
        .check(&recreated)
        .await
        .expect("another UID is another pod");
}

#[tokio::test]
async fn a_tenant_or_agent_that_would_build_another_name_is_refused() {
    let bench = Bench::new();
    for (tenant, agent) in [
        ("a:b", "c"),
        ("a", "b:c"),
        ("a", ""),
        ("", "b"),
        ("a", "../x"),
        ("a", "b*"),
    ] {
        let odd = Caller {
            tenant: tenant.to_owned(),
            ..caller(agent, "p", "u1")
        };
        refused(bench.keys.mint_for_pod(&odd, TTL).await, "invalid_argument");
    }
}

#[tokio::test]
async fn many_exchanges_leave_no_more_than_the_live_keys() {
    let bench = Bench::new();
    for n in 0..200 {
        mint(&bench, &caller("a", "p", &format!("u{}", n % 5))).await;
    }
    bench.clock.advance(Duration::from_secs(61));
    bench.keys.sweep().await.expect("a sweep");
    let left = bench
        .keys
        .list(&Filter::default(), None, 1000)
        .await
        .expect("a page")
        .keys
        .len();
    assert_eq!(left, 5 * 8);
    bench.clock.advance(TTL + Duration::from_secs(61));
    bench.keys.sweep().await.expect("a sweep");
    assert!(
        bench
            .keys
            .list(&Filter::default(), None, 1000)
            .await
            .expect("a page")
            .keys
            .is_empty()
    );
}

#[tokio::test]
async fn a_pod_that_renews_for_days_stays_pinned() {
    let bench = Bench::new();
    let minted = mint(&bench, &caller("a", "p", "u1")).await;
    for _ in 0..400 {
        bench.clock.advance(Duration::from_secs(600));
        let grant = bench.check(&minted).await.expect("it is good");
        bench
            .keys
            .renew_for_pod(&grant, &caller("a", "p", "u1"))
            .await
            .expect("its own");
    }
    bench.keys.sweep().await.expect("a sweep");
    refused(
        bench.keys.mint_for_pod(&caller("b", "p", "u1"), TTL).await,
        "identity_changed",
    );
}

#[tokio::test]
async fn a_pod_stands_by_its_keys_until_it_is_known_to_be_gone() {
    let bench = Bench::new();
    let standing = async |bench: &Bench| bench.keys.pod_standing("u1").await.expect("an answer");
    assert_eq!(
        standing(&bench).await,
        PodStanding::Gone,
        "it was never here"
    );
    let minted = mint(&bench, &caller("a", "p", "u1")).await;
    assert_eq!(standing(&bench).await, PodStanding::Live);
    let pod = bench.keys.pod_of("u1").await.expect("an answer");
    assert_eq!(pod.map(|pod| pod.name).as_deref(), Some("p"));
    bench.clock.advance(TTL);
    assert_eq!(standing(&bench).await, PodStanding::Silent);
    let dead = bench
        .keys
        .standing(&minted.record.id)
        .await
        .expect("an answer");
    assert_eq!(dead, Standing::Dead);
    mint(&bench, &caller("a", "p", "u1")).await;
    assert_eq!(standing(&bench).await, PodStanding::Live);
    bench.keys.pod_gone("u1").await.expect("an answer");
    assert_eq!(standing(&bench).await, PodStanding::Gone);
}

#[tokio::test]
async fn a_key_whose_end_is_near_is_told_from_one_that_lasts() {
    let bench = Bench::new();
    let day = 24 * 3600;
    for (ttl, expected) in [
        (None, Standing::Lasting),
        (Some(day + 1), Standing::Lasting),
        (Some(day), Standing::Passing),
        (Some(60), Standing::Passing),
    ] {
        let id = bench.mint(ttl).await.record.id;
        assert_eq!(bench.keys.standing(&id).await.expect("an answer"), expected);
        bench.keys.revoke(&id).await.expect("revoked");
        assert_eq!(
            bench.keys.standing(&id).await.expect("an answer"),
            Standing::Dead
        );
    }
}
