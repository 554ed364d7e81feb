//! The token exchange of the whole server, against the stand-in for an API server.

use recall_testkit::{Reply, Route};

use super::simulated::{Cluster, LABEL};
use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_pods_key_is_what_the_contract_shows() {
    let cluster = Cluster::start(&["--kubernetes-key-ttl=15m"]).await;
    let token = cluster.pod("demo-1", &[]).await;
    let answer = cluster.exchange(&token).await;
    assert_eq!(answer.status, 201, "{}", answer.json());
    let record = answer.json();
    for (name, expected) in [
        ("namespace", "agents:demo-1"),
        ("agent", "demo-1"),
        ("session", "demo-1"),
        ("note", "kubernetes agents/runner pod demo-1"),
        ("ttl", "15m0s"),
    ] {
        assert_eq!(record[name], expected, "{record}");
    }
    assert_eq!(
        (&record["renewable"], &record["revoked"], &record["admin"]),
        (&json!(false), &json!(false), &json!(false))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_agent_is_the_label_where_one_is_configured() {
    let flag = format!("--kubernetes-agent-label={LABEL}");
    let cluster = Cluster::start(&[&flag]).await;
    let token = cluster.pod("pool-x7k2p", &[(LABEL, "run-1")]).await;
    assert_eq!(
        cluster.exchange(&token).await.json()["namespace"],
        "agents:run-1"
    );
    let token = cluster.pod("plain", &[]).await;
    let answer = cluster.exchange(&token).await;
    assert_eq!(
        (answer.status, answer.code().as_str()),
        (403, "agent_label_missing")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pods_key_renews_only_with_the_pods_token() {
    let cluster = Cluster::start(&[]).await;
    let token = cluster.pod("demo-1", &[]).await;
    let other = cluster.pod("demo-2", &[]).await;
    let key = cluster.exchange(&token).await.json()["key"]
        .as_str()
        .expect("a key")
        .to_owned();
    for (body, status, code) in [
        (json!({}), 409, "renew_with_token"),
        (json!({ "token": other }), 403, "forbidden"),
        (json!({ "token": "a.b.c" }), 401, "token_rejected"),
        (
            json!({ "token": token, "ttl": "24h" }),
            400,
            "invalid_argument",
        ),
    ] {
        let answer = cluster.renew(&key, &body).await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (status, code),
            "{body}"
        );
    }
    let renewed = cluster.renew(&key, &json!({ "token": token })).await;
    assert_eq!(renewed.status, 200, "{}", renewed.json());
    assert!(
        renewed.json().get("key").is_none(),
        "a renewal shows no secret"
    );
    cluster
        .world
        .delete_pod("agents", "demo-1")
        .await
        .expect("it is there");
    let token = cluster.pod("demo-1", &[]).await;
    let answer = cluster.renew(&key, &json!({ "token": token })).await;
    assert_eq!(answer.status, 401, "{}", answer.json());
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_exchange_bodies_ask_nobody() {
    let cluster = Cluster::start(&[]).await;
    let url = format!("{}/v1/auth/kubernetes", cluster.server.url);
    for (body, status) in [
        (String::new(), 400),
        ("{}".to_owned(), 400),
        (json!({ "token": "" }).to_string(), 400),
        (json!({ "token": "  " }).to_string(), 400),
        (json!({ "token": 5 }).to_string(), 400),
        (
            json!({ "token": "a.b.c", "audience": "x" }).to_string(),
            400,
        ),
        (json!({ "token": "a b" }).to_string(), 400),
        (json!({ "token": "\u{FEFF}a.b.c" }).to_string(), 400),
        (json!({ "token": "é" }).to_string(), 400),
        ("{\"token\":\"a.b.c\"} x".to_owned(), 400),
        (
            json!({ "token": "x".repeat(16 * 1024 + 1) }).to_string(),
            413,
        ),
        (json!({ "token": "x".repeat(1024 * 1024) }).to_string(), 413),
    ] {
        let shown: String = body.chars().take(60).collect();
        let answer = cluster
            .http
            .send("POST", &url, &[], body)
            .await
            .expect("an answer");
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (status, "invalid_argument"),
            "{shown}"
        );
    }
    let query = format!("{url}?token=a.b.c");
    assert_eq!(
        cluster
            .http
            .send("POST", &query, &[], "")
            .await
            .expect("an answer")
            .status,
        400
    );
    assert_eq!(
        cluster
            .http
            .send("GET", &url, &[], "")
            .await
            .expect("an answer")
            .status,
        405
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exchange_that_is_off_says_so() {
    let running = Running::start(&[]);
    let answer = running
        .http
        .exchange(&running.server.url, "a.b.c")
        .await
        .expect("an answer");
    assert_eq!((answer.status, answer.code().as_str()), (404, "not_found"));
    assert!(
        answer.json()["error"]["message"]
            .as_str()
            .is_some_and(|text| text.contains("--kubernetes"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn every_decision_is_audited_and_no_secret_is_logged() {
    let mut cluster = Cluster::start(&["--log-filter=debug"]).await;
    let token = cluster.pod("demo-1", &[]).await;
    let key = cluster.exchange(&token).await.json()["key"]
        .as_str()
        .expect("a key")
        .to_owned();
    let url = format!("{}/v1/remember", cluster.server.url);
    let text = "canary-in-memory-text";
    cluster
        .http
        .post(&url, &key, &json!({ "text": text }))
        .await
        .expect("an answer");
    let wrong = cluster
        .world
        .token("agents", "demo-1", "vault")
        .await
        .expect("a token");
    assert_eq!(cluster.exchange(&wrong).await.status, 401);
    let log = cluster
        .server
        .log_with("token_rejected")
        .expect("a refusal is logged");
    let secret = key.splitn(3, '_').last().expect("a key has a secret");
    for hidden in [secret, token.as_str(), wrong.as_str(), text, "stand-in"] {
        assert!(!log.contains(hidden), "the log shows {hidden}");
    }
    let granted = log
        .lines()
        .find(|line| line.contains("\"decision\":\"granted\""))
        .expect("an audit line");
    let granted: Value = serde_json::from_str(granted).expect("JSON");
    for (name, expected) in [
        ("tenant", "agents"),
        ("agent", "demo-1"),
        ("pod", "demo-1"),
        ("service_account", "runner"),
        ("source", "127.0.0.1"),
    ] {
        assert_eq!(granted[name], expected, "{granted}");
    }
    assert!(
        granted["pod_uid"].is_string() && granted["key_id"].is_string(),
        "{granted}"
    );
    assert!(log.contains("\"decision\":\"refused\""));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_became_of_exchanges_and_what_the_api_server_said_is_counted() {
    let flag = format!("--kubernetes-agent-label={LABEL}");
    let mut cluster = Cluster::start(&[&flag]).await;
    let token = cluster.pod("demo-1", &[(LABEL, "demo-1")]).await;
    cluster.key(&token).await;
    cluster
        .cluster()
        .add_warm_pod("agents", "pool", "pool-x7k2p");
    let unclaimed = cluster.world.token("agents", "pool-x7k2p", "recall").await;
    let answer = cluster.exchange(&unclaimed.expect("a token")).await;
    assert_eq!(
        (answer.status, answer.code().as_str()),
        (409, "sandbox_unclaimed")
    );
    assert_eq!(answer.headers["retry-after"], "1");
    let waiting = cluster.world.token("agents", "pool-x7k2p", "recall").await;
    let waiting = waiting.expect("a token");
    assert_eq!(cluster.exchange(&waiting).await.status, 409);
    let fake = cluster.cluster();
    fake.add_claim("agents", "demo-2", &[(LABEL, "demo-2")]);
    fake.begin_adoption("agents", "pool-x7k2p", "demo-2");
    fake.finish_adoption("agents", "pool-x7k2p", "demo-2");
    cluster.key(&waiting).await;
    let unaware = json!({ "kind": "TokenReview", "status": { "authenticated": true, "user": { "username": "x" } } });
    cluster
        .api()
        .script_once(Route::TokenReviews, Reply::Json(201, unaware));
    assert_eq!(cluster.exchange("a.b.c").await.status, 401);
    cluster
        .api()
        .script(Route::TokenReviews, Reply::RetryAfter(429, 5));
    let answer = cluster.exchange("d.e.f").await;
    assert_eq!((answer.status, answer.code().as_str()), (503, "upstream"));
    assert_eq!(answer.headers["retry-after"], "5");
    let metrics = cluster.metrics().await;
    for expected in [
        "recall_exchanges_total{code=\"ok\"} 2",
        "recall_exchanges_total{code=\"sandbox_unclaimed\"} 2",
        "recall_unclaimed_wait_seconds_count 1",
        "recall_exchanges_total{code=\"upstream\"} 1",
        "recall_kubernetes_audience_unaware_total 1",
        "recall_kubernetes_call_duration_seconds_bucket{le=\"+Inf\",verb=\"create\",resource=\"tokenreviews\"} 5",
        "recall_kubernetes_calls_total{verb=\"create\",resource=\"tokenreviews\",outcome=\"throttled\"} 1",
        "recall_kubernetes_calls_total{verb=\"get\",resource=\"pods\",outcome=\"ok\"}",
    ] {
        assert!(metrics.contains(expected), "{expected} in {metrics}");
    }
    for hidden in [token.as_str(), "demo-1", "a.b.c"] {
        assert!(!metrics.contains(hidden), "{hidden} in {metrics}");
    }
    // Keys are counted when dead ones are swept, first of all at the start.
    cluster.restart(|_| ());
    simulated::until("live keys are counted", async || {
        let metrics = cluster.metrics().await;
        metrics.contains("recall_keys_live{tenant=\"agents\"} 2\n")
    })
    .await;
}

/// supermemoryai/supermemory#693: an outage of sign-in turned every call into 401 for all.
#[tokio::test(flavor = "multi_thread")]
async fn an_outage_of_sign_in_leaves_the_keys_of_others_alone() {
    let cluster = Cluster::start(&[]).await;
    let token = cluster.pod("demo-1", &[]).await;
    let key = cluster.key(&token).await;
    let later = cluster.pod("demo-2", &[]).await;
    for route in [Route::TokenReviews, Route::Pod] {
        cluster.api().script(route, Reply::Json(500, json!({})));
    }
    for _ in 0..3 {
        assert_eq!(cluster.call(&key).await, (200, String::new()));
        let refused = cluster.exchange(&later).await;
        assert_eq!(
            (refused.status, refused.code()),
            (503, "upstream".to_owned())
        );
        assert!(refused.headers.contains_key("retry-after"));
        let told = refused.json()["error"]["message"].to_string();
        assert!(told.contains("Kubernetes API server"), "{told}");
    }
    cluster.api().clear_scripts();
    cluster.key(&later).await;
}

/// What else a renewal holds is named beside the answer that published clients expect.
#[tokio::test(flavor = "multi_thread")]
async fn a_renewal_with_an_unknown_field_is_told_so() {
    let cluster = Cluster::start(&[]).await;
    let token = cluster.pod("demo-1", &[]).await;
    let key = cluster.key(&token).await;
    let refused = cluster.renew(&key, &json!({ "zz": 1 })).await;
    assert_eq!(
        (refused.status, refused.code()),
        (409, "renew_with_token".to_owned())
    );
    let told = refused.json()["error"]["message"].to_string();
    assert!(told.contains("zz: unknown field"), "{told}");
    let refused = cluster
        .renew(&key, &json!({ "token": token, "zz": 1 }))
        .await;
    assert_eq!(
        (refused.status, refused.code()),
        (400, "invalid_argument".to_owned())
    );
}
