//! Requests in, answers out, with an authenticator that knows one token.

use std::convert::Infallible;
use std::time::Duration;

use super::*;
use crate::authenticate::Authenticating;
use crate::caller::{Caller, PodRef};

/// Knows `good`; every other token fails as it says.
struct Known;

impl Authenticate for Known {
    fn authenticate<'a>(&'a self, token: &'a str) -> Authenticating<'a> {
        let outcome = match token {
            "good" => Ok(caller()),
            "rejected" => Err(Error::Rejected),
            "gone" => Err(Error::PodGone),
            "malformed" => Err(Error::Malformed("must not be \"odd\"")),
            "unlabelled" => Err(Error::AgentLabelMissing),
            "unclaimed" => Err(Error::SandboxUnclaimed),
            "throttled" => Err(Error::Upstream {
                retry_after: Some(Duration::from_millis(4200)),
            }),
            _ => Err(Error::Overloaded),
        };
        Box::pin(async move { outcome })
    }
}

fn caller() -> Caller {
    Caller {
        tenant: "agents".to_owned(),
        agent: "demo-1".to_owned(),
        pod: PodRef {
            namespace: "agents".to_owned(),
            name: "demo-1".to_owned(),
            uid: "u1".to_owned(),
        },
        service_account: "runner".to_owned(),
        node: None,
        token_id: None,
    }
}

/// Answers with the agent it was called by, and with the token, should it see one.
#[derive(Clone)]
struct Agent;

impl Service<Request<()>> for Agent {
    type Response = Response<String>;
    type Error = Infallible;
    type Future = std::future::Ready<Result<Response<String>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<()>) -> Self::Future {
        let caller = request.extensions().get::<Caller>();
        let agent = caller.map_or("nobody", |caller| &caller.agent);
        let text = format!("{agent} {:?}", request.headers().get(AUTHORIZATION));
        std::future::ready(Ok(Response::new(text)))
    }
}

async fn ask(headers: &[&str]) -> Response<String> {
    let mut request = Request::new(());
    for header in headers {
        let header = HeaderValue::from_str(header).unwrap();
        request.headers_mut().append(AUTHORIZATION, header);
    }
    let mut service = AuthLayer::new(Arc::new(Known)).layer(Agent);
    service.call(request).await.unwrap()
}

#[tokio::test]
async fn a_verified_caller_reaches_the_service_and_its_token_does_not() {
    for header in ["Bearer good", "bearer good", "BEARER   good "] {
        assert_eq!(ask(&[header]).await.body(), "demo-1 None", "{header}");
    }
}

#[tokio::test]
async fn without_exactly_one_bearer_token_nobody_is_asked() {
    for headers in [
        &[][..],
        &["good"],
        &["Basic good"],
        &["Bearer"],
        &["Bearer "],
        &["Bearer good", "Bearer good"],
    ] {
        let response = ask(headers).await;
        assert_eq!(response.status(), 401, "{headers:?}");
        assert!(response.body().contains("\"unauthenticated\""));
        assert_eq!(response.headers()[WWW_AUTHENTICATE], "Bearer");
    }
}

#[tokio::test]
async fn each_refusal_has_its_status_and_code_and_a_time_to_come_back() {
    for (token, status, code, retry_after) in [
        ("rejected", 401, "token_rejected", None),
        ("gone", 401, "pod_gone", None),
        ("malformed", 401, "invalid_argument", None),
        ("unlabelled", 403, "agent_label_missing", None),
        ("unclaimed", 409, "sandbox_unclaimed", Some("1")),
        ("throttled", 503, "upstream", Some("5")),
        ("other", 503, "overloaded", Some("1")),
    ] {
        let response = ask(&[&format!("Bearer {token}")]).await;
        assert_eq!(response.status().as_u16(), status, "{token}");
        let after = response.headers().get(RETRY_AFTER);
        assert_eq!(after.and_then(|value| value.to_str().ok()), retry_after);
        let body: serde_json::Value = serde_json::from_str(response.body()).unwrap();
        assert_eq!(body["error"]["code"], code);
        assert!(!response.body().contains(token) || code.contains(token));
    }
}
