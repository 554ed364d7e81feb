//! Whether our own account may do what will be needed.

use std::fmt;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;

use super::api::ApiServer;
use super::client::Question;
use crate::rules::Rules;
use crate::trouble::{Call, Trouble, TroubleKind};

const ACCESS_REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/// A rule that the server's own account lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingRule {
    /// What it may not do.
    pub call: Call,
    /// Where it may not do it; nowhere at all if this is `None`.
    pub namespace: Option<String>,
}

impl fmt::Display for MissingRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let call = self.call;
        write!(
            f,
            "verb `{}` on resource `{}`",
            call.verb(),
            call.resource()
        )?;
        if !call.group().is_empty() {
            write!(f, " of API group `{}`", call.group())?;
        }
        match &self.namespace {
            Some(namespace) => write!(f, " in namespace `{namespace}`"),
            None => Ok(()),
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct AccessReview {
    status: Option<AccessReviewStatus>,
}

#[derive(Debug, Deserialize)]
struct AccessReviewStatus {
    allowed: bool,
}

impl ApiServer {
    /// Whether our account may do all that `rules` lead to, in every namespace.
    ///
    /// # Errors
    ///
    /// The rules that are missing. What the API server cannot tell counts as there: it will show
    /// when it is needed.
    pub async fn check_permissions(&self, rules: &Rules) -> Result<(), Vec<MissingRule>> {
        self.check_calls(&rules.calls(), &[]).await
    }

    /// Whether our account may make these calls in these namespaces, or in every one if there are
    /// none.
    ///
    /// # Errors
    ///
    /// As [`ApiServer::check_permissions`].
    pub async fn check_calls(
        &self,
        calls: &[Call],
        namespaces: &[String],
    ) -> Result<(), Vec<MissingRule>> {
        let mut missing = Vec::new();
        for call in calls {
            for namespace in places(*call, namespaces) {
                if !self.may(*call, namespace).await {
                    missing.push(MissingRule {
                        call: *call,
                        namespace: namespace.cloned(),
                    });
                }
            }
        }
        if missing.is_empty() {
            Ok(())
        } else {
            Err(missing)
        }
    }

    async fn may(&self, call: Call, namespace: Option<&String>) -> bool {
        match self.access(call, namespace).await {
            Ok(allowed) => allowed,
            Err(trouble) => {
                tracing::warn!(
                    verb = call.verb(),
                    resource = call.resource(),
                    kind = trouble.kind.code(),
                    detail = %trouble.detail,
                    "it could not be found out whether the server's own account may do this"
                );
                true
            }
        }
    }

    async fn access(&self, call: Call, namespace: Option<&String>) -> Result<bool, Trouble> {
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": { "resourceAttributes": {
                "namespace": namespace.map_or("", String::as_str),
                "verb": call.verb(),
                "group": call.group(),
                "resource": call.resource(),
            } },
        });
        let question = Question::post(ACCESS_REVIEWS, Bytes::from(review.to_string()));
        let answer: Option<AccessReview> = self.ask(&question).await?;
        let status = answer.and_then(|review| review.status);
        status.map(|status| status.allowed).ok_or_else(|| {
            Trouble::new(TroubleKind::Nonsense, "an access review without a verdict")
        })
    }
}

fn places(call: Call, namespaces: &[String]) -> Vec<Option<&String>> {
    if namespaces.is_empty() || !call.is_namespaced() {
        return vec![None];
    }
    namespaces.iter().map(Some).collect()
}
