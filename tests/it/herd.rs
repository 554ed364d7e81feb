//! Many exchanges at once, and an API server in trouble: who gets a key, who has to wait, and what
//! goes on meanwhile.

use std::time::{Duration, Instant};

use recall_testkit::{Reply, Route};
use tokio::task::JoinSet;

use super::simulated::{Cluster, key_of, until};
use super::*;

/// The reviews that may be under way at once.
const TOGETHER: usize = 16;

/// What an error says about when to come back: the header in whole seconds, and the exact time.
fn retry_after(answer: &Answer) -> Duration {
    let header = answer.headers.get("retry-after");
    let seconds = header.and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    let seconds = seconds.expect("a Retry-After in seconds");
    let exact = answer.json()["error"]["retry_after_ms"].as_u64();
    let exact = exact.expect("a time in the body");
    assert!(
        seconds >= 1 && seconds * 1000 >= exact,
        "{seconds} s, {exact} ms"
    );
    Duration::from_millis(exact)
}

#[track_caller]
fn is(answer: &Answer, status: u16, code: &str) {
    let found = (answer.status, answer.code());
    assert_eq!(found, (status, code.to_owned()), "{}", answer.json());
}

/// Exchanges all tokens at once; of each the answer.
async fn together(cluster: &Cluster, tokens: impl IntoIterator<Item = String>) -> Vec<Answer> {
    let mut exchanges = JoinSet::new();
    for token in tokens {
        let (http, url) = (cluster.http.clone(), cluster.server.url.clone());
        exchanges.spawn(async move { http.exchange(&url, &token).await.expect("an answer") });
    }
    exchanges.join_all().await
}

#[tokio::test(flavor = "multi_thread")]
async fn one_token_sent_a_thousand_times_at_once_is_one_review_and_every_caller_gets_a_key() {
    let cluster = Cluster::start(&[]).await;
    let token = cluster.pod("demo-1", &[]).await;
    let answers = together(&cluster, (0..1000).map(|_| token.clone())).await;
    let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    assert!(statuses.iter().all(|status| *status == 201), "{statuses:?}");
    assert_eq!(cluster.api().count(Route::TokenReviews), 1);
    let uid = answers[0].json()["pod_uid"]
        .as_str()
        .expect("a UID")
        .to_owned();
    assert!(cluster.live_keys(&uid).await <= 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_that_share_a_review_share_a_key() {
    let cluster = Cluster::start(&[]).await;
    let token = cluster.pod("demo-1", &[]).await;
    let pause = Duration::from_millis(500);
    cluster
        .api()
        .script_once(Route::TokenReviews, Reply::Late(pause));
    let answers = together(&cluster, (0..20).map(|_| token.clone())).await;
    let keys: Vec<String> = answers.iter().map(key_of).collect();
    assert!(keys.iter().all(|key| *key == keys[0]), "one key for all");
    assert_eq!(cluster.call(&keys[0]).await.0, 200);
    let later = cluster.key(&token).await;
    assert_ne!(later, keys[0], "it is not handed out after the fact");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_pods_starting_together_all_get_a_key_within_ten_seconds() {
    let cluster = Cluster::start(&[]).await;
    let mut pods = JoinSet::new();
    let mut tokens = Vec::new();
    for n in 0..1000 {
        tokens.push(cluster.pod(&format!("pod-{n}"), &[]).await);
    }
    let start = Instant::now();
    for token in tokens {
        let (http, url) = (cluster.http.clone(), cluster.server.url.clone());
        pods.spawn(async move {
            loop {
                let answer = http.exchange(&url, &token).await.expect("an answer");
                if answer.status == 201 {
                    return (key_of(&answer), start.elapsed());
                }
                is(&answer, 503, "overloaded");
                tokio::time::sleep(retry_after(&answer)).await;
            }
        });
    }
    let keyed = pods.join_all().await;
    let latest = keyed.iter().map(|(_, after)| *after).max();
    assert!(latest <= Some(Duration::from_secs(10)), "{latest:?}");
    assert_eq!(
        cluster.api().count(Route::TokenReviews),
        1000,
        "one review a pod"
    );
    let most = cluster.api().most_at_once();
    assert!(most <= TOGETHER, "{most} at once");
    for (key, _) in keyed.iter().step_by(100) {
        assert_eq!(cluster.call(key).await.0, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_floods_is_limited_and_no_other_is() {
    let cluster = Cluster::start(&["--kubernetes-limit-per-pod=5/1m"]).await;
    let (greedy, modest) = (
        cluster.pod("demo-1", &[]).await,
        cluster.pod("demo-2", &[]).await,
    );
    let mut key = String::new();
    for _ in 0..5 {
        key = cluster.key(&greedy).await;
    }
    let answer = cluster.exchange(&greedy).await;
    is(&answer, 429, "rate_limited");
    let wait = retry_after(&answer);
    assert!(wait <= Duration::from_secs(12), "{wait:?}");
    let renewal = cluster.renew(&key, &json!({ "token": greedy })).await;
    is(&renewal, 429, "rate_limited");
    assert_eq!(
        cluster.call(&key).await.0,
        200,
        "memory is not limited by it"
    );
    cluster.key(&modest).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_that_floods_is_limited_and_no_other_is() {
    let cluster = Cluster::start(&["--kubernetes-limit-per-tenant=5/1m"]).await;
    for n in 0..5 {
        let token = cluster.pod(&format!("pod-{n}"), &[]).await;
        cluster.key(&token).await;
    }
    let token = cluster.pod("one-more", &[]).await;
    let answer = cluster.exchange(&token).await;
    is(&answer, 429, "rate_limited");
    retry_after(&answer);
    let elsewhere = cluster.pod_in("elsewhere", "demo-1", &[]).await;
    cluster.key(&elsewhere).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_random_tokens_is_limited_by_source_before_the_api_server_is_asked() {
    let cluster = Cluster::start(&["--kubernetes-limit-per-source=20/1m"]).await;
    let random = (0..200).map(|n| format!("random.token.{n}"));
    let answers = together(&cluster, random).await;
    let limited = answers.iter().filter(|answer| answer.status == 429).count();
    let refused = answers.iter().filter(|answer| answer.status == 401).count();
    // The bucket fills a little while the flood lasts.
    assert!(
        limited >= 170 && limited + refused == 200,
        "{limited} and {refused}"
    );
    assert_eq!(cluster.api().count(Route::TokenReviews), refused);
    let good = cluster.pod("demo-1", &[]).await;
    let url = format!("{}/v1/auth/kubernetes", cluster.server.url);
    let body = json!({ "token": good }).to_string();
    let forged = [
        ("x-forwarded-for", "10.9.8.7"),
        ("forwarded", "for=10.9.8.7"),
    ];
    let answer = cluster.http.send("POST", &url, &forged, body).await;
    is(&answer.expect("an answer"), 429, "rate_limited");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_token_that_is_repeated_is_refused_from_memory() {
    let cluster = Cluster::start(&[]).await;
    for _ in 0..50 {
        is(
            &cluster.exchange("random.bad.token").await,
            401,
            "token_rejected",
        );
    }
    let reviews = cluster.api().count(Route::TokenReviews);
    assert!(reviews <= 2, "{reviews}");
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_api_server_is_away_keys_work_to_their_end_and_it_recovers_by_itself() {
    let cluster = Cluster::start(&["--kubernetes-key-ttl=10s"]).await;
    let token = cluster.pod("demo-1", &[]).await;
    let key = cluster.key(&token).await;
    let minted = Instant::now();
    cluster.ready().await;
    for route in [
        Route::TokenReviews,
        Route::Pod,
        Route::PodList,
        Route::PodWatch,
        Route::Version,
    ] {
        cluster.api().script(route, Reply::Json(500, json!({})));
    }
    cluster.api().cut_watches();
    let other = cluster.pod("demo-2", &[]).await;
    for answer in [
        cluster.exchange(&other).await,
        cluster.renew(&key, &json!({ "token": token })).await,
    ] {
        is(&answer, 503, "upstream");
        retry_after(&answer);
    }
    let metrics = cluster.metrics().await;
    assert!(
        metrics.contains("verb=\"create\",resource=\"tokenreviews\",outcome=\"server\""),
        "{metrics}"
    );
    assert_eq!(cluster.call(&key).await.0, 200);
    cluster.refused_after(&key).await;
    assert!(
        minted.elapsed() >= Duration::from_secs(9),
        "{:?}",
        minted.elapsed()
    );
    cluster.api().clear_scripts();
    let key = cluster.key(&token).await;
    assert_eq!(cluster.call(&key).await.0, 200);
    cluster.ready().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_api_server_does_not_slow_memory() {
    let cluster = Cluster::start(&[]).await;
    let token = cluster.pod("demo-0", &[]).await;
    let key = cluster.key(&token).await;
    let slow = Duration::from_secs(2);
    cluster.api().script(Route::TokenReviews, Reply::Late(slow));
    let mut waiting = JoinSet::new();
    for n in 1..=TOGETHER {
        let token = cluster.pod(&format!("demo-{n}"), &[]).await;
        let (http, url) = (cluster.http.clone(), cluster.server.url.clone());
        waiting.spawn(async move { http.exchange(&url, &token).await.expect("an answer") });
    }
    until("all reviews are under way", async || {
        cluster.api().count(Route::TokenReviews) == TOGETHER + 1
    })
    .await;
    let mut took = Vec::new();
    for _ in 0..100 {
        let began = Instant::now();
        assert_eq!(cluster.call(&key).await.0, 200);
        took.push(began.elapsed());
    }
    took.sort();
    assert!(took[98] < slow / 10, "p99 {:?}", took[98]);
    let answers = waiting.join_all().await;
    assert!(answers.iter().all(|answer| answer.status == 201));
}

#[tokio::test(flavor = "multi_thread")]
async fn exchanges_whose_answers_were_lost_leave_no_more_than_eight_live_keys() {
    let cluster = Cluster::start(&[]).await;
    let token = cluster.pod("demo-1", &[]).await;
    let mut keys = Vec::new();
    for _ in 0..10 {
        keys.push(cluster.key(&token).await);
    }
    for (n, key) in keys.iter().enumerate() {
        let expected = if n < 2 { 401 } else { 200 };
        assert_eq!(cluster.call(key).await.0, expected, "key {n}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stops_during_an_exchange_answers_it_whole_or_stores_nothing() {
    let mut cluster = Cluster::start(&[]).await;
    let token = cluster.pod("demo-1", &[]).await;
    let pause = Duration::from_millis(500);
    cluster
        .api()
        .script_once(Route::TokenReviews, Reply::Late(pause));
    let (http, url) = (cluster.http.clone(), cluster.server.url.clone());
    let exchange = tokio::spawn(async move { http.exchange(&url, &token).await });
    until("the review is under way", async || {
        cluster.api().count(Route::TokenReviews) == 1
    })
    .await;
    cluster.restart(|_| ());
    let answer = exchange.await.expect("no panic").expect("an answer");
    assert_eq!(answer.status, 201, "what is under way is finished");
    assert_eq!(
        cluster.call(&key_of(&answer)).await.0,
        200,
        "what was answered is stored"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pods_key_ends_with_the_longest_life_however_often_it_is_renewed() {
    let flags = [
        "--kubernetes-key-ttl=10s",
        "--kubernetes-max-key-lifetime=12s",
    ];
    let cluster = Cluster::start(&flags).await;
    let token = cluster.pod("demo-1", &[]).await;
    let key = cluster.key(&token).await;
    let minted = Instant::now();
    until("the key is refused", async || {
        let answer = cluster.renew(&key, &json!({ "token": token })).await;
        assert!(
            [200, 401, 429].contains(&answer.status),
            "{}",
            answer.json()
        );
        tokio::time::sleep(Duration::from_millis(500)).await;
        answer.status == 401
    })
    .await;
    let lived = minted.elapsed();
    assert!((11..14).contains(&lived.as_secs()), "{lived:?}");
}
