//! The ports, answered by an API server.

use std::time::Duration;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::time::timeout;

use super::answer::{self, MAX_ANSWER_BYTES};
use super::client::{Client, JSON, METADATA, Question};
use super::wire;
use crate::caller::PodRef;
use crate::facts::{Meta, Owner, Pod, Review, SandboxClaim};
use crate::names;
use crate::ports::{Pods, TokenReviewer};
use crate::trouble::{Trouble, TroubleKind};

const REVIEWS: &str = "/apis/authentication.k8s.io/v1/tokenreviews";
/// A resolver has less patience; this is for those who ask without one.
const PATIENCE: Duration = Duration::from_secs(10);

/// A real API server.
#[derive(Debug, Clone)]
pub struct ApiServer {
    client: Client,
}

impl ApiServer {
    /// The API server that `client` is connected to.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    /// Whether the API server answers at all.
    ///
    /// # Errors
    ///
    /// [`Trouble`] if it does not, or not with a success.
    pub async fn ping(&self) -> Result<(), Trouble> {
        let version: Option<serde_json::Value> = self
            .ask(&Question::get("/version".to_owned(), JSON))
            .await?;
        version
            .map(|_| ())
            .ok_or_else(|| Trouble::new(TroubleKind::Nonsense, "has no version"))
    }

    /// Whether this very pod is still there.
    ///
    /// # Errors
    ///
    /// [`Trouble`] if it cannot be said.
    pub async fn exists(&self, pod: &PodRef) -> Result<bool, Trouble> {
        let path = in_namespace("/api/v1", &pod.namespace, "pods", &pod.name)?;
        let found = self.metadata(path).await?;
        Ok(found.is_some_and(|found| found.uid == pod.uid))
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        question: &Question,
    ) -> Result<Option<T>, Trouble> {
        self.ask_for(question, MAX_ANSWER_BYTES).await
    }

    /// Asks for an answer of at most `limit` bytes.
    pub(super) async fn ask_for<T: DeserializeOwned>(
        &self,
        question: &Question,
        limit: usize,
    ) -> Result<Option<T>, Trouble> {
        let answer = async { answer::object(self.client.send(question).await?, limit).await };
        let late = || Trouble::new(TroubleKind::TimedOut, "no answer in time");
        timeout(PATIENCE, answer)
            .await
            .unwrap_or_else(|_| Err(late()))
    }

    async fn get<T: DeserializeOwned>(
        &self,
        path: String,
        accept: &'static str,
    ) -> Result<Option<T>, Trouble> {
        self.ask(&Question::get(path, accept)).await
    }

    async fn metadata(&self, path: String) -> Result<Option<Meta>, Trouble> {
        let object: Option<wire::Object> = self.get(path, METADATA).await?;
        Ok(object.map(|object| object.metadata.into()))
    }
}

impl TokenReviewer for ApiServer {
    async fn review(&self, token: &str, audience: &str) -> Result<Review, Trouble> {
        let review = json!({
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "spec": { "audiences": [audience], "token": token },
        });
        let question = Question::post(REVIEWS, Bytes::from(review.to_string()));
        let answer: Option<wire::TokenReview> = self.ask(&question).await?;
        answer
            .and_then(wire::TokenReview::verdict)
            .ok_or_else(|| Trouble::new(TroubleKind::Nonsense, "a review without a verdict"))
    }
}

impl Pods for ApiServer {
    async fn pod(&self, namespace: &str, name: &str) -> Result<Option<Pod>, Trouble> {
        let path = in_namespace("/api/v1", namespace, "pods", name)?;
        // Phase and service account are no metadata.
        let pod: Option<wire::Pod> = self.get(path, JSON).await?;
        Ok(pod.map(Pod::from))
    }

    async fn service_account(&self, namespace: &str, name: &str) -> Result<Option<Meta>, Trouble> {
        self.metadata(in_namespace("/api/v1", namespace, "serviceaccounts", name)?)
            .await
    }

    async fn namespace(&self, name: &str) -> Result<Option<Meta>, Trouble> {
        self.metadata(format!("/api/v1/namespaces/{}", part(name)?))
            .await
    }

    async fn sandbox(&self, namespace: &str, owner: &Owner) -> Result<Option<Meta>, Trouble> {
        let api = api_of(owner)?;
        self.metadata(in_namespace(&api, namespace, "sandboxes", &owner.name)?)
            .await
    }

    async fn sandbox_claim(
        &self,
        namespace: &str,
        owner: &Owner,
    ) -> Result<Option<SandboxClaim>, Trouble> {
        let api = api_of(owner)?;
        let path = in_namespace(&api, namespace, "sandboxclaims", &owner.name)?;
        let claim: Option<wire::Claim> = self.get(path, JSON).await?;
        Ok(claim.map(SandboxClaim::from))
    }
}

/// Every service account may read them, by the role `system:service-account-issuer-discovery`.
#[cfg(feature = "jwks")]
impl crate::jwks::KeySource for ApiServer {
    async fn keys(&self) -> Result<String, Trouble> {
        let question = Question::get("/openid/v1/jwks".to_owned(), super::client::KEY_SET);
        answer::key_set(self.client.send(&question).await?).await
    }
}

fn in_namespace(api: &str, namespace: &str, resource: &str, name: &str) -> Result<String, Trouble> {
    let (namespace, name) = (part(namespace)?, part(name)?);
    Ok(format!("{api}/namespaces/{namespace}/{resource}/{name}"))
}

fn api_of(owner: &Owner) -> Result<String, Trouble> {
    Ok(format!(
        "/apis/{}/{}",
        part(owner.group())?,
        part(owner.version())?
    ))
}

/// A name that is safe in a path: no other one can be the name of an object.
pub(super) fn part(name: &str) -> Result<&str, Trouble> {
    if names::is_subdomain(name) {
        return Ok(name);
    }
    Err(Trouble::new(
        TroubleKind::Nonsense,
        "a name that cannot be part of a path",
    ))
}
