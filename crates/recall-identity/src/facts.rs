//! What the API server says, as far as it matters here.

use std::collections::BTreeMap;

/// The verdict on a token: the status of a `TokenReview`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Review {
    /// Whether the token is one of this cluster.
    pub authenticated: bool,
    /// What was wrong with it. It names UIDs: for a log, not for an answer.
    pub error: Option<String>,
    /// Those of the audiences asked for that the token is good for.
    pub audiences: Vec<String>,
    /// Whose token it is.
    pub user: Option<User>,
}

/// The user in a [`Review`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct User {
    /// For example `system:serviceaccount:agents:runner`.
    pub username: String,
    /// The UID of the service account.
    pub uid: String,
    /// The groups the user is in.
    pub groups: Vec<String>,
    /// What else the authenticator says, the bound pod included.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// The metadata that every object has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Meta {
    /// The object's name.
    pub name: String,
    /// Its namespace; empty for an object outside any.
    pub namespace: String,
    /// Its UID.
    pub uid: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// The one owner that controls it.
    pub controller: Option<Owner>,
    /// Whether its deletion was asked for.
    pub deleted: bool,
}

/// A reference from an object to its controller.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Owner {
    /// Group and version, for example `agents.x-k8s.io/v1beta1`.
    pub api_version: String,
    /// The owner's kind.
    pub kind: String,
    /// The owner's name, in the namespace of the owned object.
    pub name: String,
    /// The owner's UID.
    pub uid: String,
}

/// A pod.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pod {
    /// The metadata.
    pub meta: Meta,
    /// The service account it runs as.
    pub service_account: String,
    /// How far it is.
    pub phase: Phase,
}

/// How far a pod is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Phase {
    /// It is not started, or only partly.
    Pending,
    /// It runs.
    Running,
    /// It ended well.
    Succeeded,
    /// It ended badly.
    Failed,
    /// Its node cannot be asked.
    Unknown,
    /// The answer held no phase, or none that is known here.
    #[default]
    Unreadable,
}

/// A `SandboxClaim`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SandboxClaim {
    /// The metadata.
    pub meta: Meta,
    /// The labels that it wants on the pod (`spec.additionalPodMetadata.labels`).
    pub pod_labels: BTreeMap<String, String>,
}

impl Owner {
    /// The group of [`Owner::api_version`]; empty for the core group.
    #[must_use]
    pub fn group(&self) -> &str {
        self.api_version
            .split_once('/')
            .map_or("", |(group, _)| group)
    }

    /// The version of [`Owner::api_version`].
    #[must_use]
    pub fn version(&self) -> &str {
        self.api_version
            .split_once('/')
            .map_or(&self.api_version, |(_, version)| version)
    }
}
