//! Many tokens at once.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use recall_identity::{Error, Limits};
use recall_testkit::{NewPod, NewToken, Reply, Route};

use crate::support::{AGENT, World, limits, rules};

/// Tokens of so many pods.
fn tokens(world: &World, count: usize) -> Vec<String> {
    (0..count)
        .map(|n| {
            let name = format!("pod-{n}");
            world
                .cluster()
                .add_pod(&NewPod::new("agents", &name).label(AGENT, &name));
            world
                .cluster()
                .issue_token(&NewToken::of_pod("agents", &name))
        })
        .collect()
}

#[tokio::test]
async fn a_thousand_pods_starting_together_all_get_in() {
    let world = World::with(
        rules(),
        Limits {
            call_timeout: Duration::from_secs(3),
            ..limits()
        },
    );
    let world = world.await;
    let start = Instant::now();
    let mut waiting = tokens(&world, 1000);
    while !waiting.is_empty() {
        let outcomes = join_all(waiting.iter().map(|token| world.exchange(token))).await;
        let mut refused = Vec::new();
        for (token, outcome) in waiting.into_iter().zip(outcomes) {
            match outcome {
                Ok(_) => {}
                Err(Error::Overloaded) => refused.push(token),
                Err(error) => panic!("{error}"),
            }
        }
        waiting = refused;
        assert!(
            start.elapsed() < Duration::from_secs(10),
            "{} left",
            waiting.len()
        );
    }
    assert!(
        world.server.most_at_once() <= 16,
        "{}",
        world.server.most_at_once()
    );
    assert_eq!(world.server.count(Route::TokenReviews), 1000);
}

#[tokio::test]
async fn beyond_the_queue_is_overloaded_and_asks_nothing() {
    let narrow = Limits {
        concurrent_reviews: 2,
        queue: 3,
        ..limits()
    };
    let world = World::with(rules(), narrow).await;
    world
        .server
        .script(Route::TokenReviews, Reply::Late(Duration::from_millis(50)));
    let tokens = tokens(&world, 20);
    let outcomes = join_all(tokens.iter().map(|token| world.exchange(token))).await;
    let overloaded = outcomes
        .iter()
        .filter(|o| **o == Err(Error::Overloaded))
        .count();
    assert_eq!(
        (overloaded, world.server.count(Route::TokenReviews)),
        (15, 5)
    );
    assert_eq!(world.server.most_at_once(), 2);
    assert!(Error::Overloaded.retry_after().is_some());
}

#[tokio::test]
async fn a_repeated_bad_token_is_refused_from_memory() {
    let world = World::new().await;
    for _ in 0..50 {
        assert_eq!(world.outcome("random.bad.token").await, "token_rejected");
    }
    assert_eq!(world.server.requests().len(), 1);
}

#[tokio::test]
async fn a_caller_who_gives_up_does_not_spoil_it_for_the_others() {
    let world = World::new().await;
    world
        .server
        .script_once(Route::TokenReviews, Reply::Late(Duration::from_millis(100)));
    let token = world.token();
    let impatient = tokio::time::timeout(Duration::from_millis(20), world.exchange(&token));
    let (gave_up, patient) = tokio::join!(impatient, world.exchange(&token));
    assert!(gave_up.is_err());
    assert!(patient.is_ok());
    assert_eq!(world.server.count(Route::TokenReviews), 1);
}
