use serde_json::json;

use super::support::World;
use crate::Operation::{Diff, Explain, Forget, History, Predicates, Recall, Remember, Timeline};

/// The ids and shapes were taken from a run of the published server.
#[tokio::test]
async fn a_statement_is_stored_and_replaced() {
    let world = World::typed();
    let stored = world
        .said(
            " User ",
            "prefers_editor",
            json!(" Vim "),
            "2026-01-01T00:00:00.5Z",
        )
        .await;
    assert_eq!(
        stored,
        json!({"stored": {
            "subject": "user", "predicate": "prefers_editor", "value": "Vim", "confidence": 1,
            "kind": "fact", "source": "user_stated", "observed_at": "2026-01-01T00:00:00.5Z",
            "event_id": "m-cb7c6ec3bdaa4535680cf0d6",
        }})
    );
    let known = world.say("user", "prefers_editor", json!("vim")).await;
    assert_eq!(known["already_known"], true);
    assert_eq!(known["stored"], stored["stored"]);
    let args = json!({
        "subject": "user", "predicate": "prefers_editor", "value": "helix", "confidence": 0.9,
        "observed_at": "2026-02-01T10:00:00+02:00", "source": "agent_inferred", "kind": "preference",
    });
    let replaced = world.ask(Remember, args).await;
    assert_eq!(replaced["superseded"], json!([stored["stored"]]));
    assert_eq!(replaced["stored"]["event_id"], "m-9779f9cf1b898df7e8a3146d");
    let recalled = world
        .ask(
            Recall,
            json!({"subject": "user", "predicate": "prefers_editor"}),
        )
        .await;
    assert_eq!(
        recalled,
        json!([{
            "subject": "user", "predicate": "prefers_editor", "value": "helix", "confidence": 0.9,
            "kind": "preference", "source": "agent_inferred", "observed_at": "2026-02-01T08:00:00Z",
            "event_id": "m-9779f9cf1b898df7e8a3146d", "days_ago": 120,
            "replaced": [{"value": "Vim", "source": "user_stated",
                "observed_at": "2026-01-01T00:00:00.5Z", "event_id": "m-cb7c6ec3bdaa4535680cf0d6"}],
        }])
    );
    assert_eq!(world.forget("user", "prefers_editor", None).await, 1);
    assert_eq!(world.forget("user", "prefers_editor", None).await, 0);
    for operation in [Forget, History, Timeline] {
        world
            .ask(
                operation,
                json!({"subject": "user", "predicate": "prefers_editor"}),
            )
            .await;
    }
    world
        .ask(Diff, json!({"from": "2026-01-10T00:00:00Z"}))
        .await;
    world.ask(Explain, json!({"question": "editor"})).await;
    world.ask(Predicates, json!({})).await;
}
