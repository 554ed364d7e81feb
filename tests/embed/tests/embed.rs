//! The toy service lets in whom it should.

use axum::body::Body;
use axum::http::Request;
use axum::http::header::AUTHORIZATION;
use http_body_util::BodyExt;
use recall_identity::kube::Connection;
use recall_testkit::{FakeApiServer, FakeCluster, NewPod, NewToken};
use tower::ServiceExt;

async fn ask(server: &FakeApiServer, token: Option<&str>) -> (u16, String) {
    let connection = Connection {
        api: Some(server.url().to_owned()),
        ..Connection::default()
    };
    let service = embed::service(&connection).await.expect("a service");
    let mut request = Request::new(Body::empty());
    if let Some(token) = token {
        let bearer = format!("Bearer {token}").parse().expect("a header");
        request.headers_mut().insert(AUTHORIZATION, bearer);
    }
    let response = service.oneshot(request).await.expect("an answer");
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.expect("a body");
    (
        status,
        String::from_utf8_lossy(&body.to_bytes()).into_owned(),
    )
}

#[tokio::test]
async fn a_service_outside_the_workspace_lets_in_pods_and_nobody_else() {
    let server = FakeApiServer::start(FakeCluster::new())
        .await
        .expect("a stand-in");
    let cluster = server.cluster();
    cluster.add_pod(&NewPod::new("agents", "demo-1"));
    let token = |audience: &str| {
        cluster.issue_token(&NewToken::of_pod("agents", "demo-1").audiences(&[audience]))
    };
    let good = token("toy");
    let greeting = (200, "hello demo-1 of agents".to_owned());
    assert_eq!(ask(&server, Some(&good)).await, greeting);
    for bad in [None, Some("a.b.c"), Some(token("recall").as_str())] {
        assert_eq!(ask(&server, bad).await.0, 401, "{bad:?}");
    }
    cluster.delete_pod("agents", "demo-1");
    let (status, body) = ask(&server, Some(&good)).await;
    assert!(status == 401 && !body.contains("hello"), "{status} {body}");
}

#[cfg(feature = "two-providers")]
mod two_providers {
    use recall_identity::jwks::{Expected, KeySource, Prechecked};
    use recall_identity::{Authenticate, Authenticating, Error, Trouble};

    /// A key of the curve P-256.
    struct OneKey;

    impl KeySource for OneKey {
        async fn keys(&self) -> Result<String, Trouble> {
            let x = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU";
            let y = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0";
            Ok(format!(
                r#"{{"keys":[{{"kty":"EC","crv":"P-256","kid":"one","x":"{x}","y":"{y}"}}]}}"#
            ))
        }
    }

    struct Never;

    impl Authenticate for Never {
        fn authenticate<'a>(&'a self, _: &'a str) -> Authenticating<'a> {
            Box::pin(async { panic!("a forged token came through") })
        }
    }

    #[tokio::test]
    async fn nothing_panics_with_the_features_of_both_providers_on() {
        let expected = Expected::new("https://kubernetes.default.svc", "toy");
        let checked = Prechecked::new(Never, OneKey, expected);
        // {"alg":"ES256","kid":"one"}, {}, and a signature of the right length.
        let signature = "A".repeat(86);
        let token = format!("eyJhbGciOiJFUzI1NiIsImtpZCI6Im9uZSJ9.e30.{signature}");
        assert_eq!(checked.authenticate(&token).await, Err(Error::Rejected));
    }
}
