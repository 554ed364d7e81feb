//! What a namespace may hold.

use proptest::prelude::{ProptestConfig, prop_assert, proptest};
use recall_store::MemoryStore;
use serde_json::{Value, json};

use super::support::{World, config, run};
use crate::Operation::{Forget, Remember};
use crate::{Error, Quota, Surface};

fn bounded(surface: Surface, quota: Quota) -> World {
    let config = crate::Config {
        quota,
        ..config(surface, true)
    };
    World::over(MemoryStore::new(), config)
}

fn facts(most: u32) -> World {
    let quota = Quota {
        facts: Some(most),
        bytes: None,
    };
    bounded(Surface::Typed, quota)
}

fn fact(subject: &str, predicate: &str, value: &str) -> Value {
    json!({ "subject": subject, "predicate": predicate, "value": value })
}

#[tokio::test]
async fn a_full_namespace_takes_what_adds_nothing() {
    let world = facts(2);
    world
        .ask(Remember, fact("u", "prefers_editor", "vim"))
        .await;
    world.ask(Remember, fact("u", "likes", "tea")).await;
    let error = world.fails(Remember, fact("u", "likes", "rain")).await;
    assert_eq!(error.code(), "quota_exceeded");
    assert!(
        error.to_string().contains("2 of 2 facts; forget some"),
        "{error}"
    );
    let again = world.ask(Remember, fact("u", "likes", "tea")).await;
    assert_eq!(again["already_known"], true);
    // One value takes the place of the other.
    world
        .ask(Remember, fact("u", "prefers_editor", "helix"))
        .await;
    // Stated under an excluding predicate: one belief ends and one begins.
    world.ask(Remember, fact("u", "dislikes", "tea")).await;
    // What another one takes the place of by name.
    let mut replaced = fact("u", "likes", "rain");
    replaced["replaces"] = json!([{ "predicate": "dislikes", "value": "tea" }]);
    world.ask(Remember, replaced).await;
    // Said long ago: history, and no belief of now.
    let mut earlier = fact("u", "prefers_editor", "ed");
    earlier["observed_at"] = json!("2020-01-01T00:00:00Z");
    world.ask(Remember, earlier).await;
    world.fails(Remember, fact("u", "likes", "snow")).await;
    world
        .ask(Forget, json!({ "subject": "u", "predicate": "likes" }))
        .await;
    world.ask(Remember, fact("u", "likes", "snow")).await;
    assert_eq!(
        world.memory.usage(&world.ns).await.expect("a view").facts,
        2
    );
}

#[tokio::test]
async fn statements_of_one_text_fit_together_or_not_at_all() {
    let world = facts(3);
    let statement = |value: &str| {
        let mut statement = fact("u", "likes", value);
        statement["evidence"] = "likes".into();
        statement
    };
    let text = |values: &[&str]| {
        let statements: Vec<_> = values.iter().map(|value| statement(value)).collect();
        json!({ "text": format!("u likes {values:?}"), "statements": statements })
    };
    let error = world.fails(Remember, text(&["a", "b", "c"])).await;
    assert!(matches!(error, Error::Full(_)), "{error}");
    assert_eq!(world.revision().await, 0, "nothing of it was written");
    world.ask(Remember, text(&["a", "b"])).await;
    assert_eq!(
        world.memory.usage(&world.ns).await.expect("a view").facts,
        3
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// What a write may take is estimated before it is written. Tables of words grow by doubling; with
    /// that, and even if no word comes twice, a half is never overshot.
    #[test]
    fn bytes_are_kept_to_within_a_half(
        most in 60_000_u64..300_000,
        texts in proptest::collection::vec("([a-z]{2,12}[ .,]){0,400}x", 20..60),
    ) {
        let held = run(async {
            let quota = Quota { facts: None, bytes: Some(most) };
            let world = bounded(Surface::Text, quota);
            let mut refused = 0;
            for text in &texts {
                match world.answer(Remember, json!({ "text": text })).await {
                    Ok(_) => {}
                    Err(Error::Full(_)) => refused += 1,
                    // Some of these signs no text may hold.
                    Err(Error::Refused(_) | Error::Invalid(_)) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            (world.memory.usage(&world.ns).await.expect("a view").bytes, refused)
        });
        prop_assert!(held.0 <= most + most / 2, "{held:?} of {most}");
    }
}
