//! The JSON of the API server, as far as it is read. Everything may be absent: the API server
//! leaves out what is empty, and the decisions treat what is absent as not proved.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

use crate::facts::{self, Phase};

/// A refusal in words.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Status {
    pub(super) kind: String,
    pub(super) reason: String,
}

/// A `TokenReview`, without the token that it repeats.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TokenReview {
    kind: String,
    status: Option<TokenReviewStatus>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TokenReviewStatus {
    authenticated: bool,
    #[serde(deserialize_with = "nullable")]
    error: String,
    #[serde(deserialize_with = "nullable")]
    audiences: Vec<String>,
    user: Option<UserInfo>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct UserInfo {
    username: String,
    uid: String,
    #[serde(deserialize_with = "nullable")]
    groups: Vec<String>,
    #[serde(deserialize_with = "nullable")]
    extra: BTreeMap<String, Vec<String>>,
}

/// Any object of which the metadata is enough.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Object {
    pub(super) metadata: Metadata,
}

/// A pod.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Pod {
    metadata: Metadata,
    spec: PodSpec,
    status: PodStatus,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PodSpec {
    service_account_name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PodStatus {
    phase: String,
}

/// A `SandboxClaim`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Claim {
    metadata: Metadata,
    spec: ClaimSpec,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ClaimSpec {
    #[serde(deserialize_with = "nullable")]
    additional_pod_metadata: AdditionalMetadata,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct AdditionalMetadata {
    #[serde(deserialize_with = "nullable")]
    labels: BTreeMap<String, String>,
}

/// One page of objects.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Page {
    pub(super) metadata: PageMetadata,
    #[serde(deserialize_with = "nullable")]
    pub(super) items: Vec<Object>,
}

/// Where a page stands.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PageMetadata {
    pub(super) resource_version: String,
    /// Where the next page begins; empty after the last.
    #[serde(rename = "continue")]
    pub(super) next: String,
}

/// One line of a watch.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WatchLine {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) object: WatchObject,
}

/// What a line of a watch is about: an object, or a refusal.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WatchObject {
    #[serde(deserialize_with = "nullable")]
    pub(super) metadata: Metadata,
    pub(super) code: u16,
}

/// The metadata of any object.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Metadata {
    pub(super) name: String,
    pub(super) namespace: String,
    pub(super) uid: String,
    pub(super) resource_version: String,
    #[serde(deserialize_with = "nullable")]
    labels: BTreeMap<String, String>,
    #[serde(deserialize_with = "nullable")]
    owner_references: Vec<OwnerReference>,
    deletion_timestamp: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct OwnerReference {
    api_version: String,
    kind: String,
    name: String,
    uid: String,
    controller: Option<bool>,
}

/// What is written as `null` is as what is left out.
fn nullable<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

impl TokenReview {
    /// The verdict, if this is a review that has one.
    pub(super) fn verdict(self) -> Option<facts::Review> {
        let status = self.status.filter(|_| self.kind == "TokenReview")?;
        Some(facts::Review {
            authenticated: status.authenticated,
            error: Some(status.error).filter(|error| !error.is_empty()),
            audiences: status.audiences,
            user: status.user.map(|user| facts::User {
                username: user.username,
                uid: user.uid,
                groups: user.groups,
                extra: user.extra,
            }),
        })
    }
}

impl From<Metadata> for facts::Meta {
    fn from(meta: Metadata) -> Self {
        let controller = meta
            .owner_references
            .into_iter()
            .find(|o| o.controller == Some(true));
        Self {
            name: meta.name,
            namespace: meta.namespace,
            uid: meta.uid,
            labels: meta.labels,
            controller: controller.map(|owner| facts::Owner {
                api_version: owner.api_version,
                kind: owner.kind,
                name: owner.name,
                uid: owner.uid,
            }),
            deleted: meta.deletion_timestamp.is_some(),
        }
    }
}

impl From<Pod> for facts::Pod {
    fn from(pod: Pod) -> Self {
        Self {
            meta: pod.metadata.into(),
            service_account: pod.spec.service_account_name,
            phase: phase(&pod.status.phase),
        }
    }
}

impl From<Claim> for facts::SandboxClaim {
    fn from(claim: Claim) -> Self {
        let pod_labels = claim.spec.additional_pod_metadata.labels;
        Self {
            meta: claim.metadata.into(),
            pod_labels,
        }
    }
}

fn phase(text: &str) -> Phase {
    match text {
        "Pending" => Phase::Pending,
        "Running" => Phase::Running,
        "Succeeded" => Phase::Succeeded,
        "Failed" => Phase::Failed,
        "Unknown" => Phase::Unknown,
        _ => Phase::Unreadable,
    }
}

#[cfg(test)]
mod tests;
