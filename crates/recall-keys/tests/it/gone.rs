//! Pods that go, and the longest life of their keys.

use recall_keys::Filter;

use super::*;

const TTL: Duration = Duration::from_secs(900);

fn live() -> Filter {
    Filter {
        live: Some(true),
        ..Filter::default()
    }
}

#[tokio::test]
async fn a_pod_that_goes_while_its_key_is_minted_gets_none() {
    let bench = Bench::new();
    bench.keys.refuse_pod("u1");
    let minted = bench.keys.mint_for_pod(&caller("a", "p", "u1"), TTL).await;
    refused(minted, "pod_gone");
    let left = bench.keys.list(&live(), None, 10).await.expect("a page");
    assert!(left.keys.is_empty(), "{left:?}");
    let pods = bench.keys.pods(None).await.expect("a page");
    assert!(pods.pods.is_empty(), "{pods:?}");
}

#[tokio::test]
async fn a_pod_that_is_gone_is_refused_at_once_and_every_other_goes_on() {
    let bench = Bench::new();
    let gone = bench.keys.mint_for_pod(&caller("a", "p", "u1"), TTL).await;
    let gone = gone.expect("a key");
    let other = bench.keys.mint_for_pod(&caller("b", "q", "u2"), TTL).await;
    let other = other.expect("a key");
    bench.check(&gone).await.expect("it is good");
    bench.keys.refuse_pod("u1");
    refused(bench.check(&gone).await, "unauthenticated");
    bench.check(&other).await.expect("it is good");
}

#[tokio::test]
async fn pods_with_keys_are_listed_until_they_are_gone() {
    let bench = Bench::new();
    for uid in ["u1", "u2"] {
        let minted = bench.keys.mint_for_pod(&caller("a", "p", uid), TTL).await;
        minted.expect("a key");
    }
    bench.keys.pod_gone("u1").await.expect("its keys");
    let page = bench.keys.pods(None).await.expect("a page");
    assert_eq!(page.pods, [caller("a", "p", "u2").pod]);
    assert_eq!(page.next, None);
}

#[tokio::test]
async fn the_pods_of_another_cluster_on_the_same_store_are_not_listed() {
    let bench = Bench::new();
    let config = Config {
        cluster: Some("eu-1".to_owned()),
        ..Config::default()
    };
    let other = bench.replica_with(config);
    let minted = other.mint_for_pod(&caller("a", "p", "u1"), TTL).await;
    minted.expect("a key");
    assert!(bench.keys.pods(None).await.expect("a page").pods.is_empty());
    assert_eq!(other.pods(None).await.expect("a page").pods.len(), 1);
}

#[tokio::test]
async fn renewal_never_goes_past_the_longest_life() {
    let bench = Bench::new();
    let longest = Duration::from_secs(2000);
    let config = Config {
        max_pod_key_lifetime: Some(longest),
        ..Config::default()
    };
    let keys = bench.replica_with(config);
    let pod = caller("a", "p", "u1");
    let minted = keys.mint_for_pod(&pod, TTL).await.expect("a key");
    let check = || keys.verify(minted.key.expose_secret());
    let grant = check().await.expect("it is good");
    let last = minted.record.created_at + longest;
    for seconds in [600, 600, 600] {
        bench.clock.advance(Duration::from_secs(seconds));
        let renewed = keys.renew_for_pod(&grant, &pod).await.expect("its own");
        assert!(renewed.expires_at <= Some(last), "{renewed:?}");
    }
    bench.clock.advance(Duration::from_secs(199));
    check().await.expect("a second is left");
    bench.clock.advance(Duration::from_secs(1));
    refused(check().await, "unauthenticated");
    refused(keys.renew_for_pod(&grant, &pod).await, "unauthenticated");

    let long = keys.mint_for_pod(&pod, longest * 10).await.expect("a key");
    let last = long.record.created_at + longest;
    assert_eq!(long.record.expires_at, Some(last));
}
