//! What is written down.

use std::io;
use std::sync::{Arc, Mutex};

use recall_identity::kube::{ApiServer, Connection};
use recall_identity::{Authenticate, Resolver};
use recall_testkit::{Reply, Route};
use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;

use crate::support::{World, client, limits, rules};

#[derive(Debug, Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// All that is logged while a token is looked at, however little matters.
async fn logged(reply: Option<(Route, Reply)>) -> (String, String) {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(log.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "our-own-token").unwrap();
    let world = World::new().await;
    if let Some((route, reply)) = reply {
        world.server.script(route, reply);
    }
    let token_file = Some(file.path().to_owned());
    let client = client(
        &world.server,
        Connection {
            token_file,
            ..Connection::default()
        },
    )
    .await;
    let resolver = Resolver::new(ApiServer::new(client), rules(), limits());
    let token = world.token();
    let outcome = resolver.authenticate(&token).await;
    tracing::info!("{outcome:?} {resolver:?}");
    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    (text, token)
}

#[tokio::test]
async fn no_token_is_ever_logged() {
    for reply in [
        None,
        Some((
            Route::TokenReviews,
            Reply::Json(201, json!({ "status": {} })),
        )),
        Some((Route::TokenReviews, Reply::Truncated)),
        Some((Route::TokenReviews, Reply::Json(401, json!({})))),
        Some((Route::Pod, Reply::Json(500, json!({})))),
        Some((Route::Pod, Reply::Hang)),
    ] {
        let (text, token) = logged(reply.clone()).await;
        assert!(text.contains("Resolver"), "nothing is logged at all");
        assert!(!text.contains(&token), "{reply:?}");
        assert!(!text.contains("our-own-token"), "{reply:?}");
        let payload = token.split('.').nth(1).unwrap();
        assert!(!text.contains(payload), "{reply:?}");
    }
}

#[tokio::test]
async fn a_missing_rule_is_logged_with_verb_and_resource() {
    for (route, verb, resource) in [
        (Route::TokenReviews, "create", "tokenreviews"),
        (Route::Pod, "get", "pods"),
    ] {
        let (text, _) = logged(Some((route, Reply::Json(403, json!({}))))).await;
        let expected = format!("verb=\"{verb}\" resource=\"{resource}\"");
        assert!(
            text.lines()
                .any(|l| l.contains("ERROR") && l.contains(&expected)),
            "{text}"
        );
    }
}

#[tokio::test]
async fn an_authenticator_that_ignores_audiences_is_an_error_in_the_log() {
    let status = json!({ "authenticated": true, "user": { "username": "x" } });
    let review = json!({ "kind": "TokenReview", "status": status });
    let (text, _) = logged(Some((Route::TokenReviews, Reply::Json(201, review)))).await;
    assert!(
        text.lines()
            .any(|l| l.contains("ERROR") && l.contains("audience")),
        "{text}"
    );
}
