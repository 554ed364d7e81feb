//! Trouble between us and the API server: never an answer about the token.

use std::time::{Duration, Instant};

use recall_identity::kube::{ApiServer, Connection};
use recall_identity::{Authenticate, Error, Limits, Resolver};
use recall_testkit::{FakeApiServer, FakeCluster, Reply, Route};
use serde_json::json;

use crate::support::{World, client, limits, outcome, rules};

#[tokio::test]
async fn whatever_the_api_server_does_wrong_is_not_the_tokens_fault() {
    for reply in [
        Reply::Json(202, json!({})),
        Reply::Json(204, json!({})),
        Reply::Json(400, json!({})),
        Reply::Json(401, json!({})),
        Reply::Json(403, json!({})),
        Reply::Json(409, json!({})),
        Reply::Json(429, json!({})),
        Reply::Json(500, json!({})),
        Reply::Json(503, json!({})),
        Reply::Text(201, "application/json", "not json".to_owned()),
        Reply::Text(201, "application/json", String::new()),
        Reply::Text(201, "text/html", "{}".to_owned()),
        Reply::Text(200, "", "{}".to_owned()),
        Reply::Truncated,
        Reply::Broken,
        Reply::Hangup,
        Reply::Hang,
        Reply::Huge(50 * 1024 * 1024),
    ] {
        for route in [Route::TokenReviews, Route::Pod] {
            let world = World::new().await;
            world.server.script(route, reply.clone());
            let token = world.token();
            assert_eq!(
                world.outcome(&token).await,
                "upstream",
                "{route:?} {reply:?}"
            );
            world.server.clear_scripts();
            assert_eq!(
                world.outcome(&token).await,
                "agents:demo-1",
                "{route:?} {reply:?}"
            );
        }
    }
}

#[tokio::test]
async fn status_200_is_as_good_as_201() {
    let world = World::new().await;
    let uid = world.cluster().uid(Route::Pod, "agents", "demo-1");
    let review = json!({
        "kind": "TokenReview",
        "status": {
            "authenticated": true,
            "audiences": ["recall"],
            "user": {
                "username": "system:serviceaccount:agents:runner",
                "groups": ["system:serviceaccounts:agents"],
                "extra": {
                    "authentication.kubernetes.io/pod-name": ["demo-1"],
                    "authentication.kubernetes.io/pod-uid": [uid],
                },
            },
        },
    });
    world
        .server
        .script(Route::TokenReviews, Reply::Json(200, review));
    assert_eq!(world.outcome("token").await, "agents:demo-1");
}

#[tokio::test]
async fn a_redirect_gets_neither_our_token_nor_theirs() {
    let elsewhere = FakeApiServer::start(FakeCluster::new()).await.unwrap();
    let world = World::new().await;
    for route in [Route::TokenReviews, Route::Pod] {
        world.server.clear_scripts();
        world
            .server
            .script(route, Reply::Redirect(format!("{}/steal", elsewhere.url())));
        assert_eq!(world.outcome(&world.token()).await, "upstream");
    }
    assert!(elsewhere.requests().is_empty());
}

/// A world whose API server wants to see `good`, and the file with our own token.
async fn with_own_token(content: &str) -> (World, tempfile::NamedTempFile) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), content).unwrap();
    let mut world = World::new().await;
    world.server.require_bearer(&["good"]);
    let token_file = Some(file.path().to_owned());
    let client = client(
        &world.server,
        Connection {
            token_file,
            ..Connection::default()
        },
    )
    .await;
    world.resolver = Resolver::new(ApiServer::new(client), rules(), limits());
    (world, file)
}

#[tokio::test]
async fn our_own_token_is_sent_and_the_callers_never_is() {
    let (world, _file) = with_own_token("good\n").await;
    let token = world.token();
    assert_eq!(world.outcome(&token).await, "agents:demo-1");
    for request in world.server.requests() {
        assert_eq!(request.authorization, "Bearer good");
        assert!(!request.path.contains(&token));
    }
}

#[tokio::test]
async fn our_own_token_is_read_again_after_it_rotates() {
    let (world, file) = with_own_token("stale").await;
    assert_eq!(world.outcome(&world.token()).await, "upstream");
    assert_eq!(world.server.count(Route::TokenReviews), 2, "one retry");
    std::fs::write(file.path(), "good").unwrap();
    assert_eq!(world.outcome(&world.token()).await, "agents:demo-1");
}

#[tokio::test]
async fn a_single_401_is_retried_at_once() {
    let (world, _file) = with_own_token("good").await;
    world
        .server
        .script_once(Route::TokenReviews, Reply::Json(401, json!({})));
    world
        .server
        .script_once(Route::Pod, Reply::Json(401, json!({})));
    assert_eq!(world.outcome(&world.token()).await, "agents:demo-1");
}

#[tokio::test]
async fn our_own_token_missing_is_trouble_and_no_request() {
    let (world, file) = with_own_token("good").await;
    file.close().unwrap();
    assert_eq!(world.outcome(&world.token()).await, "upstream");
    assert!(world.server.requests().is_empty());
}

#[tokio::test]
async fn retry_after_that_fits_is_waited_out_and_a_longer_one_passed_on() {
    let short = Limits {
        call_timeout: Duration::from_secs(3),
        ..limits()
    };
    for status in [429, 503] {
        let world = World::with(rules(), short).await;
        world
            .server
            .script_once(Route::TokenReviews, Reply::RetryAfter(status, 1));
        let start = Instant::now();
        assert_eq!(world.outcome(&world.token()).await, "agents:demo-1");
        assert!(
            start.elapsed() >= Duration::from_secs(1),
            "it was not waited out"
        );

        let world = World::with(rules(), short).await;
        world
            .server
            .script(Route::TokenReviews, Reply::RetryAfter(status, 5));
        let refused = world.exchange(&world.token()).await;
        let five = Some(Duration::from_secs(5));
        assert_eq!(refused, Err(Error::Upstream { retry_after: five }));
        assert_eq!(world.server.count(Route::TokenReviews), 1);
    }
}

#[tokio::test]
async fn a_passing_failure_is_asked_about_once_more_and_not_twice() {
    let world = World::new().await;
    let token = world.token();
    world
        .server
        .script_once(Route::TokenReviews, Reply::Json(500, json!({})));
    assert_eq!(world.outcome(&token).await, "agents:demo-1");
    world
        .server
        .script(Route::TokenReviews, Reply::Json(500, json!({})));
    assert_eq!(
        world.outcome(&token).await,
        "agents:demo-1",
        "the same review, reused"
    );
    world.server.script(Route::Pod, Reply::Json(500, json!({})));
    let before = world.server.count(Route::Pod);
    assert_eq!(world.outcome(&token).await, "upstream");
    assert_eq!(world.server.count(Route::Pod) - before, 2);
}

#[tokio::test]
async fn a_kept_connection_that_died_is_replaced() {
    let world = World::new().await;
    assert_eq!(world.outcome(&world.token()).await, "agents:demo-1");
    world.server.script_once(Route::TokenReviews, Reply::Hangup);
    world.server.script_once(Route::Pod, Reply::Hangup);
    assert_eq!(world.outcome(&world.token()).await, "agents:demo-1");
}

#[tokio::test]
async fn an_api_server_that_hangs_is_left_after_the_time_of_a_call() {
    let one = Limits {
        concurrent_reviews: 1,
        ..limits()
    };
    let world = World::with(rules(), one).await;
    world.server.script_once(Route::TokenReviews, Reply::Hang);
    let start = Instant::now();
    assert_eq!(world.outcome(&world.token()).await, "upstream");
    assert!(start.elapsed() < Duration::from_secs(3));
    assert_eq!(
        world.outcome(&world.token()).await,
        "agents:demo-1",
        "the turn is free again"
    );
}

#[tokio::test]
async fn an_api_server_that_is_down_and_comes_back_is_found_without_a_restart() {
    let reserved = tokio::net::TcpListener::bind(("127.0.0.1", 0))
        .await
        .unwrap();
    let address = reserved.local_addr().unwrap();
    drop(reserved);
    let connection = Connection {
        api: Some(format!("http://{address}")),
        ..Connection::default()
    };
    let client = recall_identity::kube::connect(&connection).await.unwrap();
    let resolver = Resolver::new(ApiServer::new(client), rules(), limits());
    assert_eq!(outcome(&resolver.authenticate("token").await), "upstream");

    let world = World::new().await;
    let token = world.token();
    let listener = tokio::net::TcpListener::bind(address).await.unwrap();
    let target = world.server.url().trim_start_matches("http://").to_owned();
    let relay = tokio::spawn(async move {
        while let Ok((mut from, _)) = listener.accept().await {
            let mut to = tokio::net::TcpStream::connect(&target).await.unwrap();
            // A few bytes each way, one connection after the other.
            let _ = tokio::io::copy_bidirectional(&mut from, &mut to).await;
        }
    });
    assert_eq!(
        outcome(&resolver.authenticate(&token).await),
        "agents:demo-1"
    );
    relay.abort();
}

#[tokio::test]
async fn an_error_says_nothing_that_the_api_server_said() {
    let world = World::new().await;
    let secret = "uid-4711-secret";
    for reply in [
        Reply::Json(403, json!({ "message": secret })),
        Reply::Json(
            201,
            json!({ "kind": "TokenReview", "status": { "error": secret } }),
        ),
        Reply::Text(201, "application/json", format!("{{\"kind\": {secret}")),
    ] {
        world.server.script(Route::TokenReviews, reply);
        let error = world.exchange(&world.token()).await.unwrap_err();
        assert!(!error.to_string().contains(secret), "{error}");
        assert!(!format!("{error:?}").contains(secret), "{error:?}");
    }
}
