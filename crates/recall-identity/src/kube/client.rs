//! One request to the API server and its answer.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Either;
use hyper::body::Incoming;
use kube::client::Body;

use super::direct::Direct;
use super::own_token::OwnToken;
use crate::trouble::{Trouble, TroubleKind};

/// A connection to an API server, cheap to clone.
#[derive(Clone)]
pub struct Client {
    way: Way,
    token: OwnToken,
}

/// How requests get there.
#[derive(Clone)]
pub(super) enum Way {
    /// As a kubeconfig file says it, with all that may be in one.
    Kubeconfig(kube::Client),
    /// With nothing between us and the connection: an exchange asks twice.
    Direct(Arc<Direct>),
}

/// The body of an answer, by the way it came.
pub(super) type AnswerBody = Either<Body, Incoming>;

/// What is asked.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) accept: &'static str,
    pub(super) body: Bytes,
}

impl Question {
    pub(super) fn get(path: String, accept: &'static str) -> Self {
        Self {
            method: Method::GET,
            path,
            accept,
            body: Bytes::new(),
        }
    }

    pub(super) fn post(path: &str, body: Bytes) -> Self {
        Self {
            method: Method::POST,
            path: path.to_owned(),
            accept: JSON,
            body,
        }
    }
}

/// Plain objects.
pub(super) const JSON: &str = "application/json";
/// The keys that tokens are verified with.
#[cfg(feature = "jwks")]
pub(super) const KEY_SET: &str = "application/jwk-set+json";
/// Objects without spec and status.
pub(super) const METADATA: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";

impl Client {
    pub(super) fn new(way: Way, token: OwnToken) -> Self {
        Self { way, token }
    }

    /// The answer, whatever its status; asked again with the token read anew if ours was refused.
    pub(super) async fn send(&self, question: &Question) -> Result<Response<AnswerBody>, Trouble> {
        let answer = self.send_once(question).await?;
        if answer.status() == StatusCode::UNAUTHORIZED && self.token.can_change() {
            return self.send_once(question).await;
        }
        Ok(answer)
    }

    async fn send_once(&self, question: &Question) -> Result<Response<AnswerBody>, Trouble> {
        let mut request = Request::new(question.body.clone());
        *request.method_mut() = question.method.clone();
        *request.uri_mut() = question.path.parse().map_err(|_| {
            Trouble::new(
                TroubleKind::Nonsense,
                "a name that cannot be part of a path",
            )
        })?;
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static(question.accept));
        if !question.body.is_empty() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        }
        if let Some(bearer) = self.token.header()? {
            headers.insert(AUTHORIZATION, bearer);
        }
        match &self.way {
            Way::Kubeconfig(client) => client
                .send(request.map(Body::from))
                .await
                .map(|answer| answer.map(Either::Left))
                .map_err(|error| unreachable(&error)),
            Way::Direct(client) => client
                .send(request)
                .await
                .map(|answer| answer.map(Either::Right))
                .map_err(|error| unreachable(&error)),
        }
    }
}

/// No answer came. The whole chain is told, since its end says what went wrong.
fn unreachable(error: &dyn Error) -> Trouble {
    let mut detail = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        detail = format!("{detail}: {cause}");
        source = cause.source();
    }
    Trouble::new(TroubleKind::Unreachable, detail)
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("token", &self.token)
            .finish_non_exhaustive()
    }
}
